#include "dataplane/gateway/order/release.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/gateway/ingress/ip_packet.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

/// Frames of one stream, each of a packet of its own, in a slot of its own.
struct Frames {
  void push(Release& release, ByteRow packet, FrameOrder order = FrameOrder::InTurn,
            bool is_marked = false) {
    const auto slot = static_cast<uint32_t>(packets.size());
    const auto bytes = static_cast<uint16_t>(packet.size());
    std::ranges::copy(packet, memory.begin() + slot * slot_bytes + slot_header_bytes);
    row.slots[slot].used = bytes;
    Frame* const frame = table.try_take(0);
    CW_ASSERT(frame != nullptr && slot < slots_max);
    frame->parsed = {.header = {bytes, 0, 0, order}, .packet = {.slot = slot}};
    frame->parsed.is_marked = is_marked;
    packets.push_back(std::move(packet));
    release.push(lane, table.index_of(*frame));
  }
  size_t out() const { return table.out_count(); }
  uint64_t dropped(DropReason reason) const { return table.dropped()[reason]; }
  uint64_t dropped() const { return table.dropped().sum(); }

  static constexpr uint32_t slots_max = 1024, slot_bytes = 2048;
  Drops drops;
  FrameStock stock{slots_max};
  FrameTable table{stock, 1, drops};
  SlotRowStock row_stock{1, slots_max};
  SlotRows rows{1, slots_max, row_stock};
  ByteRow memory = ByteRow(slots_max * slot_bytes);
  SlotRow& row = rows.begin(0);
  Release::Lane lane{table, rows};
  std::vector<ByteRow> packets;

  Frames() {
    row.memory = memory.data();
    row.payload_bytes = slot_bytes;
  }
};

struct Bench {
  explicit Bench(ReleaseOptions options = {}) : release(options, lan, counters) {}

  void push(ByteRow packet, FrameOrder order = FrameOrder::InTurn, bool is_marked = false) {
    frames.push(release, std::move(packet), order, is_marked);
  }
  void push(size_t bytes, FrameOrder order = FrameOrder::InTurn) {
    push(ip_packet(random, bytes), order);
  }
  /// What leaves now, as it leaves.
  std::vector<ByteRow> collect() { return lan.drain(release, now); }
  uint64_t count(Counter counter) const { return counters.read_any_thread(counter); }

  Prng random{3};
  Instant now = Instant::from_ns(1'000'000'000);
  LanPort lan{8, 1500};
  Counters counters;
  Frames frames;
  Release release;
};

/// Room for one packet of 1500 bytes per millisecond.
constexpr ReleaseOptions slow{.rate = Rate::from_mbps(12), .burst_bytes = 0};

TEST(Release, frames_leave_as_they_came_those_without_order_first) {
  Bench bench;
  bench.push(100);
  bench.push(200, FrameOrder::Behind);
  bench.push(300, FrameOrder::AtOnce);
  const auto& sent = bench.frames.packets;
  EXPECT_EQ(bench.collect(), (std::vector<ByteRow>{sent[2], sent[0], sent[1]}));
  EXPECT_EQ(bench.frames.out(), 3u);
  EXPECT_EQ(bench.release.next_due(), Instant::never());
  EXPECT_EQ(bench.count(Counter::frames_out), 3u);
}

TEST(Release, the_pacer_spreads_a_backlog) {
  Bench bench(slow);
  for (int i = 0; i < 20; ++i) bench.push(1500);
  EXPECT_EQ(bench.collect().size(), 1u);
  EXPECT_EQ(bench.release.next_due(), bench.now + 1_ms);
  for (int i = 1; i < 20; ++i) {
    bench.now += 999_us;
    EXPECT_EQ(bench.collect().size(), 0u);
    bench.now += 1_us;
    EXPECT_EQ(bench.collect().size(), 1u);
  }
  EXPECT_EQ(bench.release.queued_count(), 0u);
}

TEST(Release, a_burst_may_leave_after_an_idle_time) {
  Bench bench({.rate = Rate::from_mbps(12), .burst_bytes = 6000});
  for (int i = 0; i < 20; ++i) bench.push(1500);
  EXPECT_EQ(bench.collect().size(), 5u);
  bench.release.set_rate(Rate::from_mbps(24));
  bench.now += 2_ms;
  EXPECT_EQ(bench.collect().size(), 3u);  // since the line was free, a millisecond ago
}

TEST(Release, what_the_machine_stood_still_for_is_made_up_at_twice_the_rate) {
  for (const bool is_pause : {false, true}) {
    Bench bench(slow);
    for (int i = 0; i < 40; ++i) bench.push(1500);
    EXPECT_EQ(bench.collect().size(), 1u);
    bench.now += 8_ms;
    if (is_pause) bench.release.rebase(6_ms);
    const auto frames_in = [&](Duration time) {
      size_t frames = 0;
      for (const Instant end = bench.now + time; bench.now < end;) {
        frames += bench.collect().size();
        bench.now += 250_us;
      }
      return frames;
    };
    EXPECT_EQ(frames_in(6_ms), is_pause ? 12u : 6u);
    EXPECT_NEAR(static_cast<double>(frames_in(6_ms)), 6, 1);
  }
}

TEST(Release, what_comes_in_long_turns_leaves_with_them) {
  // In 60 us the line carries 80 such frames, and a burst is 20.
  Bench bench({.rate = Rate::from_gbps(16), .burst_bytes = 30'000});
  bench.collect();
  for (int turn = 0; turn < 10; ++turn) {
    bench.now += 60_us;
    for (int i = 0; i < 64; ++i) bench.push(1500);
    EXPECT_EQ(bench.collect().size(), 64u) << turn;
  }
}

TEST(Release, what_the_port_has_no_packet_for_waits_and_is_dropped_in_the_end) {
  Bench bench;
  bench.lan.lock(8);
  bench.push(100);
  EXPECT_EQ(bench.collect().size(), 0u);
  EXPECT_GT(bench.release.next_due(), bench.now);  // not at once: that would be a busy loop
  EXPECT_LE(bench.release.next_due(), bench.now + 1_ms);
  bench.now += 10_ms;
  bench.lan.lock(7);
  EXPECT_EQ(bench.collect().size(), 1u);
  bench.push(100);
  bench.lan.lock(8);
  EXPECT_EQ(bench.collect().size(), 0u);
  bench.now += 10_ms + 1_ns;
  bench.lan.lock(0);
  EXPECT_EQ(bench.collect().size(), 0u);
  EXPECT_EQ(bench.frames.dropped(DropReason::lan_queue_full), 1u);
  EXPECT_EQ(bench.frames.drops.read_any_thread(DropReason::lan_queue_full), 1u);
}

TEST(Release, time_slept_is_not_time_queued) {
  Bench bench;
  bench.lan.lock(8);
  bench.push(100);
  bench.collect();
  bench.lan.lock(0);
  bench.release.rebase(1_s);
  bench.now += 1_s;
  EXPECT_EQ(bench.collect().size(), 1u);
}

ByteRow with_ecn(Prng& random, uint8_t ecn) { return ip_packet(random, 100, ecn); }

ByteRow v6_packet(uint8_t ecn, uint8_t hops) {
  ByteRow packet(80);
  packet[0] = 0x60;
  packet[1] = static_cast<uint8_t>(ecn << 4);
  packet[5] = 40;
  packet[7] = hops;
  return packet;
}

/// Sound, checksum and all, and with this ECN field.
bool is_sound_with(std::span<const uint8_t> packet, uint8_t ecn) {
  const auto parsed = parse_ip_packet(packet);
  return parsed && parsed->ecn == ecn;
}

/// The sender's addresses are random; they need only parse.
TEST(Release, marks_above_half_of_the_queue_whoever_understands) {
  Bench bench;
  bench.lan.lock(8);
  for (const uint8_t ecn : {ecn_ect0, ecn_ect1, ecn_not_capable}) {
    bench.push(with_ecn(bench.random, ecn));
  }
  bench.collect();
  bench.lan.lock(0);
  bench.now += 5_ms + 1_ns;
  const auto out = bench.collect();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(is_sound_with(out[0], ecn_ce));
  EXPECT_TRUE(is_sound_with(out[1], ecn_ce));
  EXPECT_EQ(out[2], bench.frames.packets[2]);
  EXPECT_EQ(bench.count(Counter::frames_marked), 2u);
  EXPECT_EQ(bench.count(Counter::marks_lost), 0u);
}

TEST(Release, passes_the_mark_of_the_wan_on) {
  Bench bench;
  for (const uint8_t ecn : {ecn_ect0, ecn_ect1, ecn_not_capable, ecn_ce}) {
    bench.push(with_ecn(bench.random, ecn), FrameOrder::InTurn, true);
  }
  bench.push(v6_packet(ecn_ect0, 9), FrameOrder::InTurn, true);
  const auto out = bench.collect();
  ASSERT_EQ(out.size(), 5u);
  EXPECT_TRUE(is_sound_with(out[0], ecn_ce));
  EXPECT_TRUE(is_sound_with(out[1], ecn_ce));
  EXPECT_EQ(out[2], bench.frames.packets[2]);
  EXPECT_EQ(out[3], bench.frames.packets[3]);
  EXPECT_EQ(out[4], v6_packet(ecn_ce, 9));
  EXPECT_EQ(bench.count(Counter::frames_marked), 3u);
  EXPECT_EQ(bench.count(Counter::marks_lost), 1u);
}

TEST(Release, takes_one_hop_off_where_asked) {
  Bench bench({.decrement_ttl = true});
  bench.push(v6_packet(0, 9));
  bench.push(v6_packet(0, 1));
  EXPECT_EQ(bench.collect(), (std::vector<ByteRow>{v6_packet(0, 8)}));
  EXPECT_EQ(bench.frames.dropped(DropReason::ttl_expired), 1u);
}

TEST(Release, what_the_lan_cannot_take_is_dropped_and_costs_no_packet) {
  Bench bench;
  bench.push(1501);
  bench.push(ByteRow(40));  // no version
  ByteRow longer = ip_packet(bench.random, 60);
  longer.push_back(0);
  bench.push(longer);
  ByteRow v6 = v6_packet(0, 9);
  v6.pop_back();
  bench.push(v6);
  bench.push(1500);
  EXPECT_EQ(bench.collect().size(), 1u);
  EXPECT_EQ(bench.frames.dropped(DropReason::frame_too_big), 1u);
  EXPECT_EQ(bench.frames.dropped(DropReason::frame_malformed), 3u);
  EXPECT_EQ(bench.frames.dropped(), 4u);
  EXPECT_EQ(bench.lan.free_count(), 8u);
}

TEST(Release, a_stream_that_floods_takes_no_share_from_others) {
  Bench bench(slow);
  Frames other;
  for (int i = 0; i < 60; ++i) bench.push(1500, FrameOrder::AtOnce);
  for (int i = 0; i < 30; ++i) other.push(bench.release, ip_packet(bench.random, 1500));
  for (int i = 0; i < 40; ++i, bench.now += 1_ms) bench.collect();
  EXPECT_NEAR(static_cast<double>(other.out()), 20, 6);  // rounds are of six frames
  EXPECT_EQ(bench.frames.out() + other.out(), 40u);
  // What is not wanted is not saved up, and nobody waits for it.
  for (int i = 0; i < 50; ++i, bench.now += 1_ms) bench.collect();
  EXPECT_EQ(other.out(), 30u);
  EXPECT_EQ(bench.frames.out(), 60u);
  EXPECT_EQ(bench.release.next_due(), Instant::never());
}

TEST(Release, shares_are_of_bytes_not_of_frames) {
  Bench bench(slow);
  Frames other;
  for (int i = 0; i < 10; ++i) bench.push(1500);
  for (int i = 0; i < 60; ++i) other.push(bench.release, ip_packet(bench.random, 300));
  for (int i = 0; i < 65; ++i, bench.now += 200_us) bench.collect();
  EXPECT_NEAR(static_cast<double>(other.out()), 31, 1);
  EXPECT_NEAR(static_cast<double>(bench.frames.out()), 7, 1);
}

TEST(Release, forgets_one_source_and_keeps_the_order_of_the_others) {
  Bench bench(slow);
  Frames other;
  bench.push(1500);
  other.push(bench.release, ip_packet(bench.random, 700));
  bench.push(1500);
  other.push(bench.release, ip_packet(bench.random, 800));
  bench.push(100, FrameOrder::AtOnce);
  bench.release.forget(bench.frames.lane);
  EXPECT_EQ(bench.frames.dropped(DropReason::epoch_over), 3u);
  EXPECT_EQ(bench.frames.table.lent_count(), 0u);
  EXPECT_EQ(bench.collect(), (std::vector<ByteRow>{other.packets[0]}));
  bench.now += 1_ms;
  EXPECT_EQ(bench.collect(), (std::vector<ByteRow>{other.packets[1]}));
}

}  // namespace
}  // namespace cw::gateway::test
