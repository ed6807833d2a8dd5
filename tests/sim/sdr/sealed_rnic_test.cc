// Ends that seal, of which one or both have hardware that places what comes before anybody can look
// at it: it lands in memory of the stream's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "dataplane/pass/sealed_port.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "dataplane/wire/roce_inline.h"
#include "offload/codec/codecs.h"
#include "tests/made_identity.h"
#include "tests/sim/sdr/pair.h"
#include "tests/unit/core/loop_port.h"

namespace cw::sim {
namespace {
using namespace literals;

const WireScript calm;
constexpr bool has_rnics[][2] = {{true, true}, {true, false}, {false, true}, {false, false}};

PairOptions sealed_pair(bool a_has_rnic, bool b_has_rnic, uint64_t seed = 1) {
  PairOptions options = reliable_pair(seed);
  options.a.has_rnic = a_has_rnic;
  options.b.has_rnic = b_has_rnic;
  options.a.identity = test::made_identity(1);
  options.b.identity = test::made_identity(2);
  options.a.other_key = options.b.identity->public_key;
  options.b.other_key = options.a.identity->public_key;
  options.a.paths = options.b.paths = 2;
  return options;
}

TEST(SealedRnics, talk_to_each_other_and_to_ends_that_have_none) {
  for (const auto& [a, b] : has_rnics) {
    PairOptions options = sealed_pair(a, b);
    options.wire.loss = 0.02;
    Pair pair(options, calm);
    ASSERT_TRUE(pair.delivers(300, 20_s)) << a << b << pair.courier().state();
    EXPECT_EQ(pair.courier().complaint(), "");
    EXPECT_GT(pair.b->sealer()->counts().opened.load(), 300u);
    EXPECT_EQ(pair.dropped_at_b(DropReason::seal_forged), 0u);
    EXPECT_EQ(pair.dropped_at_b(DropReason::seal_key), 0u);
  }
}

TEST(SealedRnics, begin_again_when_either_does) {
  for (const auto& [a, b] : has_rnics) {
    Pair pair(sealed_pair(a, b), calm, calm);
    ASSERT_TRUE(pair.delivers(20, 5_s));
    for (int i = 0; i < 3; ++i) {
      pair.restart_sender();
      ASSERT_TRUE(pair.delivers(20, 20_s)) << a << b << i;
      pair.restart_receiver();
      ASSERT_TRUE(pair.delivers(20, 20_s)) << a << b << i;
    }
    EXPECT_EQ(pair.courier().complaint(), "");
  }
}

TEST(SealedRnics, repair_slots_land_as_others_do) {
  const cw_policy_ops* const erasure = cw_policy_erasure();
  for (const auto& [a, b] : has_rnics) {
    PairOptions options = sealed_pair(a, b);
    options.wire.loss = 0.03;
    for (SiteOptions* site : {&options.a, &options.b}) {
      std::vector<double> params;
      for (uint32_t i = 0; i < erasure->param_count; ++i) {
        params.push_back(erasure->params[i].initial);
      }
      site->stream.data_slots_max = 256;
      const auto needs = sdr::needs_of({erasure, params}, site->stream, {});
      site->policy = erasure;
      site->stream = sdr::coded(site->stream, needs, code::all());
    }
    Pair pair(options, calm, calm);
    ASSERT_TRUE(pair.delivers(300, 20_s)) << a << b << pair.courier().state();
    EXPECT_EQ(pair.courier().complaint(), "");
    EXPECT_GT(pair.b->counters().read_any_thread(Counter::slots_rebuilt), 0u) << a << b;
  }
}

/// Of each data packet that a link of ours sends, some are made others on their way.
struct Forger {
  explicit Forger(uint32_t every) {
    script.data = [this, every](const Packet& packet) {
      if (++seen % every != 0) return Fate::Pass;
      ++forged;
      packet.data[slot_write_header_bytes + seen % 32] ^= 0x10;
      return Fate::Pass;
    };
  }
  uint32_t seen = 0, forged = 0;
  WireScript script;
};

TEST(SealedRnics, believe_nothing_that_was_changed_on_its_way) {
  for (const auto& [a, b] : has_rnics) {
    Forger forger(7);
    Pair pair(sealed_pair(a, b), forger.script, calm);
    ASSERT_TRUE(pair.delivers(200, 20_s)) << a << b << pair.courier().state();
    pair.courier().stop();
    ASSERT_TRUE(pair.run_until([&] { return pair.courier().is_idle(); }, 5_s));
    pair.run_for(1_s);
    EXPECT_EQ(pair.courier().complaint(), "");
    EXPECT_GT(forger.forged, 50u);
    EXPECT_EQ(pair.dropped_at_b(DropReason::seal_forged), forger.forged);
  }
}

/// Whoever has seen a packet can have hardware write to its place again, as often as he likes, and
/// no completion tells of it.
struct Overwriter {
  static constexpr size_t seen_max = 100;

  Overwriter() {
    script.data = [this](const Packet& packet) {
      seen.emplace_back(packet.data, packet.data + packet.bytes);
      if (seen.size() > seen_max) seen.pop_front();
      return Fate::Pass;
    };
  }
  void overwrite(Rnic& rnic) {
    for (std::vector<uint8_t>& bytes : seen) {
      std::fill(bytes.begin() + slot_write_header_bytes, bytes.end(), uint8_t{0xa5});
      const Packet packet{.data = bytes.data(), .bytes = static_cast<uint32_t>(bytes.size())};
      Arrival arrival;
      written += rnic.try_take(packet, arrival);
    }
  }
  std::deque<std::vector<uint8_t>> seen;
  uint64_t written = 0;
  WireScript script;
};

/// What the courier says of it.
std::string overwritten(const PairOptions& options) {
  Overwriter overwriter;
  Pair pair(options, overwriter.script, calm);
  pair.b->after_turns([&](Instant) { overwriter.overwrite(pair.b->rnic()); });
  (void)pair.delivers(100, 20_s);
  EXPECT_GT(overwriter.written, 100u);
  return pair.courier().complaint();
}

TEST(SealedRnics, what_is_written_again_later_is_nowhere_that_anybody_reads) {
  PairOptions options = sealed_pair(true, true);
  EXPECT_EQ(overwritten(options), "");
  options.a.identity.reset();
  options.b.identity.reset();
  EXPECT_NE(overwritten(options), "") << "or this finds nothing";
}

TEST(SealedRnics, what_was_held_for_a_key_that_has_no_numbers_is_lost_and_holds_nobody_up) {
  LoopPort wire(32);
  Rnic rnic(wire, 1);
  seal::Sealer sealer({.payload_max = 64});
  SealedPort port(rnic, sealer);
  constexpr std::array<uint8_t, CW_AEAD_KEY_BYTES_MAX> key{1};
  seal::ShardKeys keys(*cw_aead_openssl(), CW_AEAD_AES_128_GCM, key.data(), key.data());
  keys.sealed = seal::packets_max;
  const std::array<uint8_t, 32> envelope{};
  Send send;
  send.form = Form::Datagram;
  send.payload = envelope.data();
  send.head.payload_bytes = envelope.size();
  send.cookie = 1;
  ASSERT_EQ(port.send(std::array{send}, {}), 1u);
  for (const auto what : {seal::SealerOrder::What::Add, seal::SealerOrder::What::Use}) {
    ASSERT_TRUE(sealer.try_order({.what = what, .keys = &keys, .note = {}}));
  }
  std::array<Arrival, 8> arrived;
  EXPECT_EQ(port.receive(arrived, {}), 0u);
  EXPECT_EQ(sealer.take_held(), nullptr);
  EXPECT_EQ(wire.lent_count(), 0u);
}

TEST(SealedRnics, write_to_the_receiver_itself_where_control_alone_is_sealed) {
  for (const auto& [a, b] : has_rnics) {
    PairOptions options = sealed_pair(a, b);
    options.a.seals_data = options.b.seals_data = false;
    Pair pair(options, calm, calm);
    ASSERT_TRUE(pair.delivers(100, 5_s)) << a << b << pair.courier().state();
    EXPECT_EQ(pair.courier().complaint(), "");
    EXPECT_GT(pair.b->sealer()->counts().opened.load(), 0u);
  }
}

}  // namespace
}  // namespace cw::sim
