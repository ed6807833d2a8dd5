// What is sealed is opened by nobody else, and whatever of it is changed is noticed.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "dataplane/base/prng.h"
#include "dataplane/pass/raw_port.h"
#include "tests/property/property.h"
#include "tests/unit/core/loop_port.h"
#include "tests/unit/seal/sites.h"

namespace cw::seal {
namespace {

struct Ready : SealedPair {
  explicit Ready(bool data = true) {
    sends_data = false;
    seals_data = data;
    make_a();
    make_b();
    run(200);
  }
};

OnWire slot(uint32_t bytes = 1400) {
  OnWire it;
  it.head = {.target_qp = 0x1234,
             .psn = Psn(0xfffffe),
             .address = 0x1122334455667788,
             .key = 0xabcdef01,
             .immediate = 0x8000'0001,
             .is_solicited = true};
  for (uint32_t i = 0; i < bytes; ++i) it.payload.push_back(static_cast<uint8_t>(i * 7));
  return it;
}

TEST(Sealer, a_payload_of_any_length_comes_back_and_is_nowhere_on_the_wire) {
  Ready pair;
  ASSERT_TRUE(pair.both_have_keys());
  for (const uint32_t bytes : {0u, 1u, 15u, 16u, 17u, 1400u, 2048u}) {
    const OnWire plain = slot(bytes);
    auto sealed = pair.a->seal(plain);
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealed->payload.size(), bytes + 24);
    if (bytes >= 15) {
      EXPECT_EQ(memmem(sealed->payload.data(), sealed->payload.size(), plain.payload.data(), 15),
                nullptr);
    }
    const auto arrival = pair.b->open(*sealed);
    ASSERT_TRUE(arrival);
    ASSERT_EQ(arrival->form, Form::Write);
    EXPECT_EQ(Bytes(arrival->payload, arrival->payload + arrival->head.payload_bytes),
              plain.payload);
  }
}

TEST(Sealer, no_two_packets_have_a_number_and_none_of_it_says_what_is_inside) {
  Ready pair;
  std::set<Bytes> numbers, texts;
  for (int i = 0; i < 1000; ++i) {
    const auto sealed = pair.a->seal(slot(64));
    numbers.insert(Bytes(sealed->payload.end() - 24, sealed->payload.end() - 16));
    texts.insert(Bytes(sealed->payload.begin(), sealed->payload.begin() + 64));
  }
  EXPECT_EQ(numbers.size(), 1000u);
  EXPECT_EQ(texts.size(), 1000u) << "the same slot, sent again";
}

RC_GTEST_PROP(SealerProperty, whatever_is_changed_is_noticed, (uint64_t seed)) {
  static Ready pair;
  Prng prng(seed);
  OnWire sealed = *pair.a->seal(slot(static_cast<uint32_t>(prng.below(200))));
  const auto bit = uint32_t{1} << prng.below(24);
  switch (prng.below(10)) {
    case 0:
      sealed.head.target_qp ^= bit;
      break;
    case 1:
      sealed.head.psn = Psn(sealed.head.psn.value() ^ bit);
      break;
    case 2:
      sealed.head.address ^= uint64_t{bit} << prng.below(40);
      break;
    case 3:
      sealed.head.key ^= bit;
      break;
    case 4:
      sealed.head.immediate ^= bit;
      break;
    case 5:
      sealed.head.is_solicited ^= true;
      break;
    case 6:
      sealed.payload.pop_back();
      break;
    case 7:
      sealed.payload.push_back(0);
      break;
    default:
      sealed.payload[prng.below(sealed.payload.size())] ^=
          static_cast<uint8_t>(1u << prng.below(8));
  }
  const auto arrival = pair.b->open(sealed);
  RC_ASSERT(arrival.has_value());
  RC_ASSERT(arrival->form == Form::Other);
}

TEST(Sealer, what_goes_back_to_its_sender_does_not_open) {
  Ready pair;
  OnWire sealed = *pair.a->seal(slot());
  const auto arrival = pair.a->open(sealed);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->form, Form::Other);
}

TEST(Sealer, what_is_not_sealed_is_refused_with_a_reason) {
  Ready pair;
  OnWire plain = slot(), tiny = slot(23);
  EXPECT_EQ(pair.b->open(plain)->form, Form::Other);
  const auto arrival = pair.b->open(tiny);
  EXPECT_EQ(arrival->form, Form::Other);
  EXPECT_EQ(arrival->error, WireError::SealShort);
  OnWire keyless = *pair.a->seal(slot());
  keyless.payload[keyless.payload.size() - 24] ^= 0x40;  // the index's round
  EXPECT_EQ(pair.b->open(keyless)->error, WireError::SealKey);
  OnWire forged = *pair.a->seal(slot());
  forged.payload.back() ^= 1;
  EXPECT_EQ(pair.b->open(forged)->error, WireError::SealForged);
}

TEST(Sealer, a_key_without_numbers_seals_nothing) {
  Sealer sealer({.payload_max = 2048});
  const std::array<uint8_t, 32> key{7};
  ShardKeys keys(*cw_aead_openssl(), CW_AEAD_AES_128_GCM, key.data(), key.data());
  keys.sealed = packets_max - 1;
  for (const auto what : {SealerOrder::What::Add, SealerOrder::What::Use}) {
    ASSERT_TRUE(sealer.try_order({.what = what, .keys = &keys, .note = {}}));
  }
  sealer.take_orders(Instant());
  const OnWire plain = slot(64);
  Bytes out(64 + seal_bytes);
  EXPECT_TRUE(sealer.try_seal(SealedSite::send_of(plain), out.data()));
  EXPECT_FALSE(sealer.try_seal(SealedSite::send_of(plain), out.data()));
}

TEST(Sealer, the_last_datagram_that_had_no_keys_leaves_when_there_are_some) {
  SealedPair pair;
  pair.sends_data = false;
  pair.make_a();
  OnWire hello{.form = Form::Datagram, .payload = Bytes(40, 1)};
  pair.a->sealer.hold(SealedSite::send_of(hello));
  hello.payload = Bytes(44, 2);
  pair.a->sealer.hold(SealedSite::send_of(hello));
  pair.a->sealer.hold(SealedSite::send_of(slot()));
  EXPECT_EQ(pair.a->sealer.counts().no_keys, 2u) << "the first, and the slot";
  pair.make_b();
  pair.records = true;
  pair.run(500);
  std::vector<OnWire> held;
  for (auto& [packet, is_to_b] : pair.recorded) {
    if (!MessageCheck::is_handshake(packet.payload)) held.push_back(packet);
  }
  ASSERT_EQ(held.size(), 1u);
  const auto arrival = pair.b->open(held.front());
  ASSERT_EQ(arrival->form, Form::Datagram);
  EXPECT_EQ(Bytes(arrival->payload, arrival->payload + 44), Bytes(44, 2));
}

TEST(Sealer, control_alone_leaves_data_as_it_is) {
  Ready pair(/*data=*/false);
  OnWire plain = slot();
  EXPECT_EQ(pair.b->open(plain)->form, Form::Write);
  OnWire hello{.form = Form::Datagram, .payload = Bytes(40, 1)};
  EXPECT_EQ(pair.b->open(hello)->form, Form::Other) << "not sealed";
  OnWire sealed = *pair.a->seal(OnWire{.form = Form::Datagram, .payload = Bytes(40, 1)});
  EXPECT_EQ(pair.b->open(sealed)->form, Form::Datagram);
}

// ---- behind a port ----

/// A site's port, and a stranger's on the same wire.
struct Joined {
  LoopPort wire{32};
  RawPort stranger{wire}, port;
  std::array<Arrival, 8> arrived;

  explicit Joined(Sealer& sealer) : port(wire, &sealer) {}
  size_t take(const OnWire& packet) {
    port.end_arrivals();
    std::array<uint64_t, 8> cookies;
    EXPECT_EQ(stranger.send(std::array{SealedSite::send_of(packet)}, Instant()), 1u);
    EXPECT_EQ(stranger.take_done(cookies), 1u);
    return port.receive(arrived, Instant());
  }
};

TEST(SealingRawPort, the_icrc_of_what_a_key_proves_is_asked_for_by_nobody) {
  Ready pair;
  Joined b(pair.b->sealer);
  b.wire.are_icrcs_right = false;
  ASSERT_EQ(b.take(*pair.a->seal(slot(100))), 1u);
  EXPECT_EQ(b.arrived[0].form, Form::Write);
  OnWire damaged = *pair.a->seal(slot(100));
  damaged.payload[50] ^= 1;
  ASSERT_EQ(b.take(damaged), 1u);
  EXPECT_EQ(b.arrived[0].error, WireError::SealForged);
  EXPECT_EQ(b.wire.icrcs_asked, 0u);
}

TEST(SealingRawPort, what_no_key_proves_must_have_a_right_icrc) {
  Ready pair;
  Joined b(pair.b->sealer);
  OnWire keyless = *pair.a->seal(slot(100));
  keyless.payload[keyless.payload.size() - 24] ^= 0x40;
  const OnWire odd{.form = Form::Datagram, .payload = Bytes(3, 1)};
  for (const OnWire& packet : {keyless, slot(10), odd}) {
    b.wire.are_icrcs_right = true;
    EXPECT_EQ(b.take(packet), 1u);
    b.wire.are_icrcs_right = false;
    EXPECT_EQ(b.take(packet), 0u);
    EXPECT_EQ(b.wire.lent_count(), 0u);
  }
  EXPECT_EQ(b.wire.icrcs_asked, 6u);
}

TEST(SealingRawPort, where_no_key_covers_psns_the_icrc_must_do_it) {
  Sealer sealer({.payload_max = 200});
  const std::array<uint8_t, 32> key{7};
  ShardKeys keys(*cw_aead_openssl(), CW_AEAD_AES_128_GCM, key.data(), key.data());
  for (const auto what : {SealerOrder::What::Add, SealerOrder::What::Use}) {
    ASSERT_TRUE(sealer.try_order({.what = what, .keys = &keys, .note = {}}));
  }
  sealer.take_orders(Instant());
  Joined joined(sealer);
  for (const bool is_right : {true, false}) {
    OnWire sealed = slot(64);
    sealed.payload.resize(64 + seal_bytes);
    ASSERT_TRUE(sealer.try_seal(SealedSite::send_of(slot(64)), sealed.payload.data()));
    joined.wire.are_icrcs_right = is_right;
    EXPECT_EQ(joined.take(sealed), is_right ? 1u : 0u);
    EXPECT_EQ(keys.opened, 1u);
  }
  EXPECT_EQ(joined.wire.icrcs_asked, 2u);
}

TEST(SealingRawPort, where_data_is_not_sealed_its_icrc_is_looked_at_whatever_it_ends_in) {
  Ready pair(/*data=*/false);
  const OnWire sealed = *pair.a->seal(OnWire{.form = Form::Datagram, .payload = Bytes(40, 1)});
  OnWire plain = slot(100);
  std::copy_n(sealed.payload.end() - seal_bytes, seal_bytes, plain.payload.end() - seal_bytes);
  Joined b(pair.b->sealer);
  ASSERT_EQ(b.take(plain), 1u);
  EXPECT_EQ(b.arrived[0].form, Form::Write);
  b.wire.are_icrcs_right = false;
  EXPECT_EQ(b.take(plain), 0u);
  EXPECT_EQ(b.wire.icrcs_asked, 2u);
}

TEST(SealingRawPort, a_handshake_is_proven_by_no_key_that_its_bytes_happen_to_name) {
  Ready pair;
  Joined b(pair.b->sealer);
  SealedPair others;
  others.make_a();
  OnWire first = others.a->turn(others.now).at(0);
  const OnWire sealed = *pair.a->seal(slot(100));
  first.payload[first.payload.size() - seal_bytes] = sealed.payload[100];
  b.wire.are_icrcs_right = false;
  EXPECT_EQ(b.take(first), 0u);
  EXPECT_EQ(b.wire.icrcs_asked, 1u);
  EXPECT_EQ(pair.b->sealer.counts().handshakes_wrong, 0u) << "nobody has looked at it";
}

TEST(Sealer, bursts_of_nothing_but_handshakes_keep_no_packets_of_the_port) {
  SealedPair pair;
  pair.make_a();
  pair.make_b();
  const std::vector<OnWire> first = pair.a->turn(pair.now);
  ASSERT_EQ(first.size(), 1u);
  LoopPort wire(32);
  RawPort stranger(wire), port(wire, &pair.b->sealer);
  std::array<Arrival, 8> arrived;
  std::array<uint64_t, 8> cookies;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(stranger.send(std::array{SealedSite::send_of(first[0])}, pair.now), 1u);
    ASSERT_EQ(stranger.take_done(cookies), 1u);
    ASSERT_EQ(port.receive(arrived, pair.now), 0u);
  }
  EXPECT_EQ(wire.lent_count(), 0u);
}

}  // namespace
}  // namespace cw::seal
