// A peer that has the key, and lies: what it says may cost it its own messages, and nobody a crash,
// a turn that does not end, or memory that is not its own.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint32_t payload = 1024, slots_max = 64;

/// A pair that is up, of which a is the liar; all messages are the test's own.
struct Liar {
  explicit Liar(const PairOptions& options = reliable_pair()) : pair(options, script(), b_script) {
    pair.courier().stop();
    pair.courier().post_nothing();
    EXPECT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  }
  WireScript& script() {
    a_script.data = [this](const Packet& packet) { return recorded.take_data(packet); };
    a_script.control = [this](const Packet& packet) {
      recorded.take_control(packet);
      return is_mute ? Fate::Lose : Fate::Pass;
    };
    return a_script;
  }
  sdr::RecvStream& receives() { return pair.b->receives(); }
  /// One that arrives, so that a slot has been recorded.
  void send_one_slot() {
    static std::array<uint8_t, payload> from, to;
    ASSERT_TRUE(receives().try_post(to));
    const auto sending = pair.a->sends().try_open({});
    ASSERT_TRUE(sending && pair.a->sends().append(*sending, 0, from));
    ASSERT_TRUE(pair.a->sends().close(*sending));
    pair.run_for(200_ms);
    ASSERT_FALSE(recorded.data.empty());
  }
  template <class... Records>
  void say(const Records&... records) {
    EnvelopeHeader header = intruder.header();
    header.sequence += ++sequences_ * 100;
    inject(pair, intruder.control(header, [&](EnvelopeWriter& writer) {
             EXPECT_TRUE((writer.try_add(records) && ...));
           }));
  }
  uint64_t count_at_b(Counter counter) { return pair.b->counters().read_any_thread(counter); }

  Recorded recorded;
  bool is_mute = false;  ///< the real a, to b
  WireScript a_script, b_script;
  Pair pair;
  Intruder intruder{recorded, SiteOptions().key};

 private:
  uint64_t sequences_ = 0;
};

/// A slot of message `place` of the first round.
PacketBytes slot_of(const Liar& liar, uint32_t place, uint32_t slot, uint32_t bytes) {
  return liar.intruder.slot([&](SlotWrite& write) {
    write.psn = write.psn + 1;
    write.address += int64_t{place} * slots_max * payload + slot * payload;
    write.immediate = split_default.pack({place, slot, 0});
    write.payload_bytes = bytes;
  });
}

// Nobody lends it memory: it has no slot, not even an empty one.
TEST(HostilePeer, a_receive_of_no_bytes_takes_no_slot) {
  Liar liar;
  liar.send_one_slot();
  const auto empty = liar.receives().try_post(std::span<uint8_t>());
  ASSERT_TRUE(empty && empty->place == 1);
  for (const uint32_t bytes : {0u, 1u}) {
    inject(liar.pair, slot_of(liar, 1, 0, bytes));
    liar.pair.run_for(20_ms);
  }
  EXPECT_EQ(liar.pair.dropped_at_b(DropReason::slot_range), 2u);
  EXPECT_EQ(liar.receives().info(*empty).slots_in_place, 0u);
}

TEST(HostilePeer, a_message_of_no_bytes_is_whole_when_its_length_is_known) {
  Liar liar;
  const auto receiving = liar.receives().try_post(std::span<uint8_t>());
  sdr::SendStream& sends = liar.pair.a->sends();
  const auto sending = sends.try_open({.immediate = 7});
  ASSERT_TRUE(receiving && sending && sends.close(*sending));
  liar.pair.run_for(200_ms);
  EXPECT_EQ(liar.receives().info(*receiving).status, sdr::MessageStatus::Done);
  EXPECT_EQ(liar.receives().info(*receiving).bytes, 0u);
  EXPECT_EQ(liar.receives().immediate(*receiving), 7u);
  EXPECT_TRUE(liar.receives().complete(*receiving, liar.pair.network().now()));
  EXPECT_TRUE(liar.pair.run_until(
      [&] { return sends.status(*sending) == sdr::MessageStatus::Done; }, 1_s));
}

}  // namespace
}  // namespace cw::sim
