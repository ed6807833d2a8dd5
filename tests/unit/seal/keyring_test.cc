// Sites agree on keys, renew them, and lose no packet by it.
#include <gtest/gtest.h>

#include <algorithm>

#include <set>
#include <string_view>

#include "tests/unit/seal/sites.h"

namespace cw::seal {
namespace {

bool is_handshake(const OnWire& packet) { return MessageCheck::is_handshake(packet.payload); }

TEST(Keyring, two_sites_have_keys_after_one_round_trip_and_everything_is_opened) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 55)) << "50 ms are one";
  pair.run(1000);
  EXPECT_GT(pair.sent, 1900u);
  EXPECT_GE(pair.opened + 60, pair.sent) << "but for those under way";
  EXPECT_EQ(pair.refused, 0u);
}

TEST(Keyring, one_that_begins_later_or_anew_has_keys_after_one_round_trip) {
  SealedPair pair;
  pair.make_a();
  pair.run(3000);
  pair.make_b();
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 80));
  for (int i = 0; i < 5; ++i) {
    pair.run(2000);
    pair.make_b();
    EXPECT_TRUE(pair.run_until([&] { return pair.b->sealer.has_keys(0); }, 55)) << i;
    pair.run(60);
    const uint64_t opened = pair.opened, sent = pair.sent;
    pair.run(500);
    EXPECT_GE(pair.opened - opened + 5, pair.sent - sent) << "in both directions, " << i;
  }
}

TEST(Keyring, keys_are_renewed_for_hours_and_no_packet_is_lost) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(200);
  const uint64_t before = pair.sent - pair.opened;
  pair.run(1'000'000);
  EXPECT_EQ(pair.refused, 0u);
  EXPECT_LE(pair.sent - pair.opened, before + 60);
  const auto view = pair.a->ring->views(pair.now).front();
  EXPECT_GE(view.counts.agreed, 7u) << "one in two minutes at least";
  EXPECT_LE(view.counts.agreed, 20u);
  EXPECT_LE(view.age, Duration::from_s(121));
}

TEST(Keyring, lossy_handshakes_come_to_an_end) {
  SealedPair pair;
  uint64_t seed = 1;
  pair.loses = [&](const OnWire& packet, bool) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return is_handshake(packet) && (seed >> 33) % 2 != 0;
  };
  for (int i = 0; i < 10; ++i) {
    pair.make_a();
    pair.make_b();
    EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 40'000)) << i;
  }
}

TEST(Keyring, a_session_whose_answer_was_lost_is_answered_again_with_the_same) {
  SealedPair pair;
  int seconds = 0;
  pair.loses = [&](const OnWire& packet, bool) {
    if (!is_handshake(packet) || packet.payload[3] != 2) return false;
    return seconds++ < 4;
  };
  pair.make_a();
  pair.make_b();
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 5000));
  EXPECT_LE(pair.a->ring->views(pair.now).front().counts.agreed, 2u) << "its own and the other's";
}

TEST(Keyring, silence_is_answered_by_new_keys) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(1000);
  const uint64_t agreed = pair.a->ring->views(pair.now).front().counts.agreed;
  pair.loses = [](const OnWire&, bool) { return true; };
  pair.run(20'000);
  EXPECT_TRUE(pair.both_have_keys()) << "they are not forgotten by that";
  EXPECT_EQ(pair.a->ring->views(pair.now).front().counts.agreed, agreed);
  pair.loses = [](const OnWire&, bool) { return false; };
  const uint64_t opened = pair.opened;
  pair.run(100);
  EXPECT_GT(pair.opened, opened) << "the old ones are good still";
  pair.loses = [](const OnWire&, bool) { return true; };
  pair.run(200'000);
  EXPECT_FALSE(pair.both_have_keys()) << "three minutes";
  pair.loses = [](const OnWire&, bool) { return false; };
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 6000));
}

TEST(Keyring, no_recording_of_a_handshake_takes_the_keys_away_or_is_believed) {
  SealedPair pair;
  pair.records = true;
  for (int i = 0; i < 12; ++i) {
    pair.make_a();
    pair.make_b();
    pair.run(300);
  }
  pair.records = false;
  const auto old = pair.recorded;
  pair.run(1000);
  const uint64_t sent = pair.sent, opened = pair.opened, refused = pair.refused;
  for (int round = 0; round < 30; ++round) {
    for (const auto& [packet, is_to_b] : old) {
      if (!is_handshake(packet)) continue;
      OnWire copy = packet, reflected = packet;
      (void)(is_to_b ? pair.b : pair.a)->open(copy);
      (void)(is_to_b ? pair.a : pair.b)->open(reflected);
    }
    pair.run(100);
  }
  EXPECT_GE(pair.opened - opened + 60, pair.sent - sent);
  EXPECT_GE(pair.sent - sent, 5990u) << "both have had keys all the time";
  EXPECT_EQ(pair.refused, refused);
}

// [C-85]
TEST(Keyring, old_packets_of_an_earlier_life_are_of_no_key_or_do_not_open) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.records = true;
  pair.run(500);
  pair.records = false;
  pair.make_b();
  pair.make_a();
  pair.run(1000);
  uint64_t keyless = 0, forged = 0;
  for (auto& [packet, is_to_b] : pair.recorded) {
    if (is_handshake(packet)) continue;
    const auto arrival = (is_to_b ? pair.b : pair.a)->open(packet);
    ASSERT_TRUE(arrival);
    ASSERT_EQ(arrival->form, Form::Other);
    keyless += arrival->error == WireError::SealKey;
    forged += arrival->error == WireError::SealForged;
  }
  EXPECT_GT(keyless + forged, 800u);
}

TEST(Keyring, what_is_replayed_keeps_no_keys_longer_than_their_time) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(200);
  pair.records = true;
  pair.run(100);
  pair.records = false;
  const auto is_to_b = [](const auto& each) { return each.second && !is_handshake(each.first); };
  const OnWire old = std::ranges::find_if(pair.recorded, is_to_b)->first;
  const auto replay = [&] {
    OnWire copy = old;
    return pair.b->open(copy)->form;
  };
  for (int s = 0; s < 170; s += 10) {
    EXPECT_EQ(replay(), Form::Write) << s;
    pair.run(10'000);
  }
  for (int s = 170; s < 220; s += 10) {
    (void)replay();
    pair.run(10'000);
  }
  EXPECT_EQ(replay(), Form::Other);
}

TEST(Keyring, a_strangers_key_is_refused_and_said) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  const Identity stranger = Identity::random();
  pair.b =
      std::make_unique<SealedSite>(stranger, KeyringPeer{pair.key_a.public_key, {}, {}}, pair.now);
  pair.run(3000);
  EXPECT_FALSE(pair.a->sealer.has_keys(0));
  EXPECT_FALSE(pair.b->sealer.has_keys(0));
  const std::string trouble = pair.a->ring->views(pair.now).front().trouble;
  EXPECT_NE(trouble.find(text_of(stranger.public_key)), std::string::npos) << trouble;
}

TEST(Keyring, preshared_keys_that_differ_are_no_keys) {
  SealedPair pair;
  const Secret one = Secret::random();
  pair.a = std::make_unique<SealedSite>(pair.key_a, KeyringPeer{pair.key_b.public_key, {}, one},
                                        pair.now);
  pair.make_b();
  pair.run(3000);
  EXPECT_FALSE(pair.a->sealer.has_keys(0));
  EXPECT_FALSE(pair.b->sealer.has_keys(0));
  EXPECT_NE(pair.b->ring->views(pair.now).front().trouble.find("preshared"), std::string::npos);
  pair.b->ring->set_peer(0, KeyringPeer{pair.key_a.public_key, {}, one});
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 6000));
}

TEST(Keyring, a_site_changes_its_key_while_the_other_takes_both) {
  SealedPair pair;
  const Identity next = Identity::random();
  pair.make_a();
  pair.b = std::make_unique<SealedSite>(
      pair.key_b, KeyringPeer{pair.key_a.public_key, next.public_key, {}}, pair.now);
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 100));
  pair.run(2000);
  pair.a = std::make_unique<SealedSite>(next, KeyringPeer{pair.key_b.public_key, {}, {}}, pair.now);
  EXPECT_TRUE(pair.run_until([&] { return pair.a->sealer.has_keys(0); }, 55));
  pair.run(100);
  const uint64_t sent = pair.sent, opened = pair.opened;
  pair.run(300'000);
  EXPECT_GE(pair.opened - opened + 60, pair.sent - sent);
}

TEST(Keyring, ciphers_are_the_responders_choice_and_one_without_a_common_one_is_said) {
  SealedPair pair;
  const KeyringPeer b{pair.key_b.public_key, {}, {}}, a{pair.key_a.public_key, {}, {}};
  pair.a = std::make_unique<SealedSite>(
      pair.key_a, b, pair.now, true, std::vector{CW_AEAD_AES_256_GCM, CW_AEAD_CHACHA20_POLY1305});
  pair.b = std::make_unique<SealedSite>(pair.key_b, a, pair.now, true,
                                        std::vector{CW_AEAD_CHACHA20_POLY1305});
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 100));
  pair.run(200);
  EXPECT_EQ(pair.a->ring->views(pair.now).front().kind, CW_AEAD_CHACHA20_POLY1305);
  EXPECT_EQ(pair.refused, 0u);
  pair.b =
      std::make_unique<SealedSite>(pair.key_b, a, pair.now, true, std::vector{CW_AEAD_AES_128_GCM});
  pair.a =
      std::make_unique<SealedSite>(pair.key_a, b, pair.now, true, std::vector{CW_AEAD_AES_256_GCM});
  pair.run(1000);
  EXPECT_FALSE(pair.both_have_keys());
  EXPECT_NE(pair.a->ring->views(pair.now).front().trouble.find("cipher"), std::string::npos);
}

TEST(Keyring, one_end_that_does_not_seal_data_is_said_at_both) {
  SealedPair pair;
  pair.make_a();
  pair.b = std::make_unique<SealedSite>(pair.key_b, KeyringPeer{pair.key_a.public_key, {}, {}},
                                        pair.now, false);
  pair.run(1000);
  EXPECT_FALSE(pair.a->sealer.has_keys(0));
  EXPECT_NE(pair.a->ring->views(pair.now).front().trouble.find("the peer has pair.seal = false"),
            std::string::npos);
  EXPECT_NE(pair.b->ring->views(pair.now).front().trouble.find("this site has"), std::string::npos);
}

TEST(Keyring, a_flood_of_first_messages_is_told_to_prove_its_address_and_the_peer_gets_through) {
  SealedPair pair;
  pair.make_a();
  // Who knows both public keys, and is not the peer.
  const MessageCheck check(pair.key_a.public_key);
  const auto flood = [&] {
    for (int i = 0; i < 20; ++i) {
      Bytes message(first_message_bytes + offer_bytes);
      for (uint8_t& each : message) each = static_cast<uint8_t>(rand());
      OnWire packet{
          .form = Form::Datagram,
          .payload = handshake_packet({HandshakeType::First, 77}, message, check, std::nullopt)};
      (void)pair.a->open(packet);
    }
  };
  for (int i = 0; i < 1000; ++i) {
    flood();
    pair.run(1);
  }
  const auto view = pair.a->ring->views(pair.now).front();
  EXPECT_GT(view.counts.cookies, 10'000u);
  EXPECT_LE(view.counts.refused, 8u) << "so many were looked at, of 20,000";
  pair.make_b();
  bool has = false;
  for (int i = 0; i < 400 && !has; ++i) {
    flood();
    pair.run(1);
    has = pair.both_have_keys();
  }
  EXPECT_TRUE(has);
}

/// First messages by who has b's private key, each with an ephemeral key of its own.
std::vector<OnWire> firsts_of_b(const SealedPair& pair, int count, std::optional<Check> cookie) {
  constexpr std::string_view text = "causeway seal 1";
  const std::span common(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const MessageCheck check(pair.key_a.public_key);
  std::vector<OnWire> firsts;
  for (int i = 0; i < count; ++i) {
    Initiator initiator(pair.key_b, pair.key_a.public_key, common);
    const auto message = *initiator.write_first(
        bytes_of({.index = 1, .kinds = 1, .has_psns = true, .seals_data = true}));
    firsts.push_back(
        {.form = Form::Datagram,
         .payload = handshake_packet({HandshakeType::First, 77}, message, check, cookie)});
  }
  return firsts;
}

TEST(Keyring, what_a_worker_seals_by_already_does_not_go_for_what_is_asked_in_that_turn) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(3000);
  pair.make_b();
  ASSERT_TRUE(pair.run_until([&] { return pair.b->sealer.has_keys(0); }, 55));
  std::optional<Check> cookie;
  std::vector<OnWire> few = firsts_of_b(pair, 5, std::nullopt);
  for (OnWire& each : few) (void)pair.a->open(each);
  for (const OnWire& each : pair.a->turn(pair.now)) {
    if (each.payload[3] != 3) continue;
    for (const OnWire& first : few) {
      const auto it =
          open_cookie(each.payload, pair.key_a.public_key, first_check_of(first.payload));
      if (it) cookie = it;
    }
  }
  ASSERT_TRUE(cookie);

  const OnWire plain{.head = {.target_qp = 7, .key = 9}, .payload = Bytes(64, 0x5a)};
  auto sealed = pair.b->seal(plain);
  ASSERT_TRUE(sealed);
  ASSERT_EQ(pair.a->open(*sealed)->form, Form::Write);
  std::vector<OnWire> many = firsts_of_b(pair, 12, cookie);
  for (OnWire& each : many) (void)pair.a->open(each);
  (void)pair.a->turn(pair.now);
  auto answer = pair.a->seal(plain);
  ASSERT_TRUE(answer);
  EXPECT_EQ(pair.b->open(*answer)->form, Form::Write);
}

TEST(Keyring, a_peer_that_asks_for_more_sessions_at_once_than_there_are_places_has_the_newest) {
  SealedPair pair;
  pair.make_a();
  std::vector<OnWire> few = firsts_of_b(pair, 5, std::nullopt);
  for (OnWire& each : few) (void)pair.a->open(each);
  std::optional<Check> cookie;
  for (const OnWire& each : pair.a->turn(pair.now)) {
    if (each.payload[3] != 3) continue;
    cookie = open_cookie(each.payload, pair.key_a.public_key, first_check_of(few[4].payload));
  }
  ASSERT_TRUE(cookie);
  std::vector<OnWire> many = firsts_of_b(pair, 16, cookie);
  for (OnWire& each : many) (void)pair.a->open(each);
  (void)pair.a->turn(pair.now);
  EXPECT_EQ(pair.a->ring->views(pair.now).front().counts.agreed, 20u);
  pair.make_b();
  EXPECT_TRUE(pair.run_until([&] { return pair.both_have_keys(); }, 1000));
}

TEST(Keyring, a_worker_that_stands_still_while_sessions_come_and_go_takes_them_up_later) {
  SealedPair pair;
  const KeyringPeer b{pair.key_b.public_key, {}, {}};
  KeyringOptions options;
  options.own = pair.key_a;
  options.aead = cw_aead_openssl();
  options.kinds = {CW_AEAD_AES_128_GCM};
  Sealer first({.payload_max = 2048, .own = pair.key_a.public_key});
  Sealer second({.shard = 1, .payload_max = 2048, .own = pair.key_a.public_key});
  Sealer* const all[] = {&first, &second};
  Keyring ring(options, all, pair.now);
  ring.set_peer(0, b);
  for (int i = 0; i < 40; ++i) {  // a replay four times a second would do the same
    pair.now = pair.now + Duration::from_ms(250);
    for (OnWire& each : firsts_of_b(pair, 1, std::nullopt)) {
      Arrival arrival;
      arrival.form = each.form;
      arrival.payload = each.payload.data();
      arrival.head.payload_bytes = static_cast<uint32_t>(each.payload.size());
      (void)first.open(arrival);
    }
    ring.turn(pair.now);
    first.take_orders(Instant());
  }
  EXPECT_EQ(ring.views(pair.now).front().counts.agreed, 40u);
  bool has_more = true;
  for (int i = 0; i < 10; ++i) {
    second.take_orders(Instant());
    has_more = ring.turn(pair.now);
  }
  EXPECT_FALSE(has_more) << "nothing is left of what it had to catch up with";
}

TEST(Keyring, a_keyring_that_stood_still_costs_no_keys) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(1000);
  const uint64_t agreed = pair.a->ring->views(pair.now).front().counts.agreed;
  pair.now = pair.now + Duration::from_s(20);
  pair.run(1000);
  EXPECT_TRUE(pair.both_have_keys());
  EXPECT_EQ(pair.a->ring->views(pair.now).front().counts.agreed, agreed);
}

TEST(Keyring, a_peer_that_goes_takes_its_keys_with_it) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  pair.run(200);
  pair.a->ring->set_peer(0, std::nullopt);
  pair.run(900);
  EXPECT_TRUE(pair.a->sealer.has_keys(0)) << "it can be told so";
  pair.run(200);
  EXPECT_FALSE(pair.a->sealer.has_keys(0));
  EXPECT_FALSE(pair.a->ring->views(pair.now).front().has_keys);
}

}  // namespace
}  // namespace cw::seal
