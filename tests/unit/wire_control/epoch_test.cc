// What control packets are signed and told apart by.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/wire/control/epoch.h"
#include "dataplane/wire/control/replay_window.h"
#include "dataplane/wire/immediate.h"
#include "offload/mac.h"
#include "tests/golden_packets.h"
#include "tests/property/property.h"

namespace cw::test {
namespace {

// ---- epoch ----
// Two ends, a network that loses, repeats and reorders, and someone who has recorded everything.

constexpr uint64_t a1 = 0xa1, a2 = 0xa2, b1 = 0xb1, b2 = 0xb2;
constexpr RecordTypes only_hello = types_of<Hello, Pad>;

Envelope envelope(uint64_t sender, uint64_t receiver, uint64_t sequence = 1,
                  RecordTypes types = only_hello) {
  return {{sender, receiver, sequence}, {}, types};
}
ControlError error_of(EpochExchange& end, const Envelope& envelope) {
  const auto standing = end.judge(envelope);
  EXPECT_FALSE(standing);
  return standing ? ControlError{255} : standing.error();
}
/// An end with nonce a1 that has been proven to by b1.
EpochExchange in_force() {
  EpochExchange end(a1);
  EXPECT_EQ(end.judge(envelope(b1, a1)), Standing::NewEpoch);
  return end;
}

TEST(Epoch, is_in_force_when_the_peer_names_our_nonce) {
  EpochExchange end(a1);
  EXPECT_EQ(end.judge(envelope(b1, 0)), Standing::Stranger);
  EXPECT_EQ(end.answer_to(b1), (EpochExchange::Nonces{a1, b1}));
  EXPECT_FALSE(end.is_in_force());
  EXPECT_EQ(end.judge(envelope(b1, a1)), Standing::NewEpoch);
  EXPECT_EQ(end.current(), (EpochExchange::Nonces{a1, b1}));
  EXPECT_EQ(end.judge(envelope(b1, a1, 2, types_of<ClearToSend>)), Standing::Current);
}

TEST(Epoch, a_stranger_may_only_greet) {
  EpochExchange end(a1);
  EXPECT_EQ(error_of(end, envelope(b1, 0, 1, types_of<Hello, Note>)), ControlError::Unproven);
  EXPECT_EQ(error_of(end, envelope(b1, 0, 1, types_of<Description>)), ControlError::Unproven);
}

TEST(Epoch, our_own_packets_are_dropped_when_they_come_back) {
  auto end = in_force();
  EXPECT_EQ(error_of(end, envelope(a1, b1)), ControlError::Reflected);
  EXPECT_EQ(error_of(end, envelope(a1, a1)), ControlError::Reflected);
  end.offer(a2);
  EXPECT_EQ(error_of(end, envelope(a2, 0)), ControlError::Reflected);
}

TEST(Epoch, a_sequence_counts_once_and_the_proof_counts_too) {
  auto end = in_force();
  EXPECT_EQ(error_of(end, envelope(b1, a1, 1)), ControlError::Replay);
  EXPECT_TRUE(end.judge(envelope(b1, a1, 9)));
  EXPECT_TRUE(end.judge(envelope(b1, a1, 8)));
  EXPECT_EQ(error_of(end, envelope(b1, a1, 8)), ControlError::Replay);
}

TEST(Epoch, a_packet_without_a_sequence_proves_nothing) {
  EpochExchange end(a1);
  EXPECT_EQ(error_of(end, envelope(b1, a1, 0)), ControlError::Replay);
  EXPECT_FALSE(end.is_in_force());
}

TEST(Epoch, the_old_one_stays_until_the_restarted_peer_proves_the_new_one) {
  auto end = in_force();
  ASSERT_EQ(end.judge(envelope(b2, 0)), Standing::Stranger);
  ASSERT_TRUE(end.needs_offer());
  end.offer(a2);
  EXPECT_EQ(end.judge(envelope(b1, a1, 2)), Standing::Current);
  EXPECT_EQ(end.judge(envelope(b2, a2, 1)), Standing::NewEpoch);
  EXPECT_EQ(end.current(), (EpochExchange::Nonces{a2, b2}));
  EXPECT_EQ(error_of(end, envelope(b1, a1, 3)), ControlError::Stale);
}

TEST(Epoch, a_recording_of_the_peers_last_life_does_not_bring_it_back) {
  auto end = in_force();
  end.offer(a2);
  ASSERT_EQ(end.judge(envelope(b2, a2)), Standing::NewEpoch);
  EXPECT_EQ(error_of(end, envelope(b1, a1, 77)), ControlError::Stale);
  EXPECT_EQ(end.judge(envelope(b1, 0)), Standing::Stranger);  // answered with a nonce it cannot use
  EXPECT_EQ(end.current(), (EpochExchange::Nonces{a2, b2}));
}

TEST(Epoch, a_late_first_hello_of_the_peer_in_force_is_stale) {
  auto end = in_force();
  EXPECT_EQ(error_of(end, envelope(b1, 0)), ControlError::Stale);
}

TEST(Epoch, a_wrong_receiver_nonce_is_stale_whoever_sends_it) {
  auto end = in_force();
  EXPECT_EQ(error_of(end, envelope(b1, 0xdead, 2)), ControlError::Stale);
  EXPECT_EQ(error_of(end, envelope(b2, 0xdead)), ControlError::Stale);
  EXPECT_EQ(error_of(end, envelope(b2, a1)), ControlError::Stale);
}

TEST(Epoch, after_leaving_the_peer_has_to_prove_itself_again) {
  auto end = in_force();
  end.leave(a2);
  EXPECT_FALSE(end.is_in_force());
  EXPECT_EQ(error_of(end, envelope(b1, a1, 2)), ControlError::Stale);
  EXPECT_EQ(end.judge(envelope(b1, a2, 3)), Standing::NewEpoch);
}

/// What a gateway sends as far as its epoch goes: in force, an echo's question with each packet,
/// and an answer once it has been asked.
struct Greeting {
  Envelope envelope;
  bool asks = false, answers = false;
};

/// A gateway as far as its greetings go.
struct End {
  explicit End(uint64_t fresh) : exchange(fresh) {}

  Greeting greet() {
    const bool asks = exchange.is_in_force();
    const auto nonces = asks ? exchange.current() : exchange.answer_to(0);
    return {envelope(nonces.mine, nonces.peer, ++sequence), asks, asks && was_asked};
  }
  void leave(uint64_t fresh) {
    exchange.leave(fresh);
    begin();
  }
  void begin() {
    was_asked = is_confirmed = false;
    silent_rounds = 0;
  }
  /// Of the epoch in force.
  void hear(const Greeting& greeting) {
    was_asked = was_asked || greeting.asks;
    is_confirmed = is_confirmed || greeting.answers;
    silent_rounds = 0;
  }

  EpochExchange exchange;
  uint64_t sequence = 0;
  bool was_asked = false, is_confirmed = false;
  int silent_rounds = 0;
};

/// Two ends and everything that was ever sent to either. Nonces count up, so that a nonce tells
/// when it was drawn.
struct Network {
  explicit Network(uint64_t seed) : prng(seed) {}

  void greet(int from) { sent[1 - from].push_back(ends[from].greet()); }
  void restart(int end) { ends[end] = End(fresh()); }
  void deliver(int to, const Greeting& greeting) {
    EpochExchange& exchange = ends[to].exchange;
    const auto before = exchange.current();
    const auto standing = exchange.judge(greeting.envelope);
    if (!standing) return;
    if (standing == Standing::Stranger) {
      if (exchange.needs_offer()) exchange.offer(fresh());
      const auto nonces = exchange.answer_to(greeting.envelope.header.sender_nonce);
      sent[1 - to].push_back({envelope(nonces.mine, nonces.peer, ++ends[to].sequence)});
      return;
    }
    if (standing == Standing::NewEpoch) {
      // Safety: whoever named our nonce was alive after we had drawn it, and a life that had ended
      // by then cannot have been.
      ended_at[before.mine] = last_nonce;
      const auto& epoch = exchange.current();
      const auto ended = ended_at.find(epoch.peer);
      const bool was_alive = ended == ended_at.end() || ended->second >= epoch.mine;
      RC_ASSERT(was_alive);
      RC_ASSERT(before.mine != epoch.mine);
      ends[to].begin();
    }
    ends[to].hear(greeting);
  }
  uint64_t fresh() { return ++last_nonce; }

  void act_of_chaos() {
    const int end = static_cast<int>(prng.below(2));
    if (prng.chance(0.05)) return note_the_dead(end), restart(end);
    if (prng.chance(0.02)) return note_the_dead(end), ends[end].leave(fresh());
    if (prng.chance(0.3) || sent[end].empty()) return greet(end);
    // The newest often, anything recorded otherwise, and nothing is ever taken away.
    const size_t count = sent[end].size();
    deliver(end, Greeting(sent[end][prng.chance(0.5) ? count - 1 : prng.below(count)]));
  }
  void note_the_dead(int end) {
    const EpochExchange& exchange = ends[end].exchange;
    ended_at[exchange.current().mine] = last_nonce;
    if (!exchange.needs_offer()) ended_at[exchange.answer_to(0).mine] = last_nonce;
  }
  /// Both greet once, and all that is new arrives in order. Who hears nothing of an epoch that no
  /// answer has confirmed leaves it [C-29].
  void calm_round() {
    for (const int end : {0, 1}) {
      const bool is_confirmed = !ends[end].exchange.is_in_force() || ends[end].is_confirmed;
      if (++ends[end].silent_rounds > 2 && !is_confirmed) ends[end].leave(fresh());
      greet(end);
    }
    for (const int to : {0, 1, 0, 1}) {
      while (read[to] < sent[to].size()) deliver(to, Greeting(sent[to][read[to]++]));
    }
  }
  bool do_agree() const {
    const auto& a = ends[0].exchange;
    const auto& b = ends[1].exchange;
    return a.is_in_force() && b.is_in_force() && a.current().mine == b.current().peer &&
           a.current().peer == b.current().mine;
  }

  Prng prng;
  uint64_t last_nonce = 0;
  std::vector<End> ends{End(fresh()), End(fresh())};
  std::vector<Greeting> sent[2];
  size_t read[2] = {0, 0};
  /// The newest nonce at the time when another went out of use. Absent: it is in use.
  std::map<uint64_t, uint64_t> ended_at;
};

RC_GTEST_PROP(Epoch, survives_chaos_and_recordings_and_both_ends_agree_once_it_is_calm,
              (uint64_t seed)) {
  Network network(seed);
  for (int act = 0; act < 400; ++act) network.act_of_chaos();
  for (const int end : {0, 1}) network.read[end] = network.sent[end].size();
  for (int round = 0; round < 6; ++round) network.calm_round();
  RC_ASSERT(network.do_agree());
  RC_ASSERT(network.ends[0].is_confirmed);
  RC_ASSERT(network.ends[1].is_confirmed);
}

// The late proof of a life that is over, behind the same nonce's use by the next one.
TEST(Epoch, one_nonce_taken_by_two_lives_is_given_up_by_the_end_that_hears_no_answer) {
  Network network(1);
  End& a = network.ends[0];
  const auto latest = [&](int to) { return Greeting(network.sent[to].back()); };
  network.greet(1);
  network.deliver(0, latest(0));  // A offers its nonce
  network.deliver(1, latest(1));
  network.greet(1);
  const Greeting late = latest(0);  // and B names it
  ASSERT_NE(late.envelope.header.receiver_nonce, 0u);
  network.restart(1);
  network.greet(1);
  network.deliver(0, latest(0));
  network.deliver(1, latest(1));
  ASSERT_TRUE(network.ends[1].exchange.is_in_force());
  network.deliver(0, late);
  ASSERT_TRUE(a.exchange.is_in_force());
  ASSERT_FALSE(network.do_agree());
  for (const int end : {0, 1}) network.read[end] = network.sent[end].size();
  for (int round = 0; round < 6; ++round) network.calm_round();
  EXPECT_TRUE(network.do_agree());
}

// ---- HMAC-SHA-256 against RFC 4231 section 4 ----

std::string filled(size_t count, int byte) { return std::string(count, static_cast<char>(byte)); }

/// The MAC as hex.
std::string mac_of(const std::string& key, const std::string& bytes) {
  cw_mac mac;
  cw_mac_init(&mac, key.data(), key.size());
  uint8_t out[CW_MAC_BYTES];
  cw_mac_compute(&mac, bytes.data(), bytes.size(), out);
  std::string hex;
  for (const uint8_t byte : out)
    hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

TEST(Mac, agrees_with_rfc_4231_for_short_keys) {
  EXPECT_EQ(mac_of(filled(20, 0x0b), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac_of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac_of(filled(20, 0xaa), filled(50, 0xdd)),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (int byte = 1; byte <= 25; ++byte) counting += static_cast<char>(byte);
  EXPECT_EQ(mac_of(counting, filled(50, 0xcd)),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

TEST(Mac, agrees_with_rfc_4231_for_keys_longer_than_a_block) {
  EXPECT_EQ(mac_of(filled(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(mac_of(filled(131, 0xaa),
                   "This is a test using a larger than block-size key and a larger than "
                   "block-size data. The key needs to be hashed before being used by the HMAC "
                   "algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Mac, a_prepared_key_is_not_used_up) {
  cw_mac mac;
  cw_mac_init(&mac, "Jefe", 4);
  uint8_t first[CW_MAC_BYTES], second[CW_MAC_BYTES];
  cw_mac_compute(&mac, "a", 1, first);
  cw_mac_compute(&mac, "a", 1, second);
  EXPECT_EQ(std::vector(first, first + CW_MAC_BYTES), std::vector(second, second + CW_MAC_BYTES));
}

TEST(Mac, an_empty_key_and_no_bytes_are_allowed) {
  EXPECT_EQ(mac_of("", ""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

// ---- replay window ----

TEST(ReplayWindow, takes_a_sequence_once) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(1));
  EXPECT_FALSE(window.try_accept(1));
  EXPECT_TRUE(window.try_accept(3));
  EXPECT_TRUE(window.try_accept(2));
  EXPECT_FALSE(window.try_accept(2));
}

TEST(ReplayWindow, refuses_zero) {
  ReplayWindow window;
  EXPECT_FALSE(window.try_accept(0));
  EXPECT_TRUE(window.try_accept(500));
  EXPECT_FALSE(window.try_accept(0));
}

TEST(ReplayWindow, knows_the_last_1024_exactly_and_refuses_what_is_older) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(5000));
  EXPECT_TRUE(window.try_accept(5000 - 1023));
  EXPECT_FALSE(window.try_accept(5000 - 1023));
  EXPECT_FALSE(window.try_accept(5000 - 1024));
  EXPECT_TRUE(window.try_accept(5001));
  EXPECT_FALSE(window.try_accept(5001 - 1024));
}

TEST(ReplayWindow, jumps_any_distance_and_reaches_the_last_number) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(7));
  EXPECT_TRUE(window.try_accept(UINT64_MAX));
  EXPECT_FALSE(window.try_accept(UINT64_MAX));
  EXPECT_TRUE(window.try_accept(UINT64_MAX - 1));
  EXPECT_FALSE(window.try_accept(7));
}

RC_GTEST_PROP(ReplayWindow, agrees_with_a_set_of_all_numbers_seen, ()) {
  ReplayWindow window;
  std::set<uint64_t> seen;
  uint64_t highest = *rc::gen::inRange<uint64_t>(0, 3000);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1500, 700));
  for (const int step : steps) {
    const uint64_t sequence = step < 0 && static_cast<uint64_t>(-step) > highest
                                  ? 0
                                  : highest + static_cast<int64_t>(step);
    const uint64_t floor = seen.empty() ? 0 : *seen.rbegin();
    const bool is_too_old = sequence == 0 || (floor >= 1024 && sequence <= floor - 1024);
    const bool is_new = !is_too_old && seen.insert(sequence).second;
    RC_ASSERT(window.try_accept(sequence) == is_new);
    highest = std::max(highest, sequence);
  }
}

// ---- immediate ----

TEST(Immediate, the_golden_split_puts_the_id_on_top) {
  // As the captured packets of tests/data have it: 5 << 22 | i << 4 | i.
  EXPECT_EQ(split_default.pack({5, 9, 9}), 5u << 22 | 9u << 4 | 9u);
  EXPECT_EQ(split_default.unpack(0xffffffff), (ImmediateSplit::Parts{1023, 262143, 15}));
  EXPECT_EQ(split_long_messages.unpack(0x12345678), (ImmediateSplit::Parts{0x12, 0xd159e, 0}));
  EXPECT_EQ(split_multicast.unpack(0x12345678), (ImmediateSplit::Parts{0x12, 0x345678, 0}));
}

TEST(Immediate, the_user_immediate_takes_8_slots_or_16_or_cannot_travel_in_slots) {
  EXPECT_EQ(split_default.fragment_count(), 8u);
  EXPECT_EQ(split_long_messages.fragment_count(), 16u);
  EXPECT_EQ(split_multicast.fragment_count(), 0u);
  EXPECT_EQ(ImmediateSplit(9, 20, 3).fragment_count(), 11u);
  EXPECT_EQ(split_default.fragment(0xfeedbeef, 0), 0xfu);
  EXPECT_EQ(split_default.fragment(0xfeedbeef, 8 + 3), 0xbu);
  EXPECT_EQ(split_multicast.fragment(0xfeedbeef, 1), 0u);
  // The worked example of SPEC.md 7.3.
  EXPECT_EQ(split_default.pack({5, 9, split_default.fragment(0xfeedbeef, 9)}), 0x0140009eu);
}

TEST(Immediate, refuses_widths_that_do_not_fill_32_bits_or_exceed_the_limits) {
  EXPECT_TRUE(ImmediateSplit::can_be(10, 18, 4));
  EXPECT_FALSE(ImmediateSplit::can_be(10, 18, 5));
  EXPECT_FALSE(ImmediateSplit::can_be(11, 18, 3));
  EXPECT_FALSE(ImmediateSplit::can_be(7, 25, 0));
  EXPECT_FALSE(ImmediateSplit::can_be(0, 24, 8));
  EXPECT_FALSE(ImmediateSplit::can_be(10, 0, 22));
  EXPECT_FALSE(ImmediateSplit::can_be(8, 24, 256));
}

ImmediateSplit any_split() {
  const unsigned id_bits = *rc::gen::inRange(1u, 11u);
  const unsigned slot_bits = *rc::gen::inRange(1u, 25u);
  if (!ImmediateSplit::can_be(id_bits, slot_bits, 32 - id_bits - slot_bits)) return split_multicast;
  return {id_bits, slot_bits, 32 - id_bits - slot_bits};
}

RC_GTEST_PROP(Immediate, packs_what_it_unpacks, (uint32_t immediate)) {
  const ImmediateSplit split = any_split();
  RC_ASSERT(split.pack(split.unpack(immediate)) == immediate);
}

RC_GTEST_PROP(Immediate, any_row_of_slots_as_long_as_the_count_carries_the_whole_user_immediate,
              (uint32_t user, uint16_t first)) {
  const ImmediateSplit split = any_split();
  RC_PRE(split.user_bits() > 0);
  uint32_t gathered = ~user;
  // From a multiple of the count on, or from anywhere: the fragments are the same.
  for (uint32_t slot = first; slot < first + split.fragment_count(); ++slot) {
    gathered = split.with_fragment(gathered, slot, split.fragment(user, slot));
  }
  RC_ASSERT(gathered == user);
}

}  // namespace

}  // namespace cw::test
