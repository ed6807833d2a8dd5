// Several streams on one stock of memory: what one of them holds, and what that leaves to others.
#include "dataplane/gateway/to_lan/inbound_stock.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/gateway/to_lan/inbound.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

constexpr SlotReaderOptions slots{
    .messages = 8, .data_slots_max = 64, .payload_bytes_max = 256, .stall = 50_ms};
constexpr size_t streams = 4;

/// One of the streams, from its link to a LAN of its own: every slot holds a frame.
struct Lane {
  explicit Lane(InboundStock& stock) : inbound({.slots = slots}, stock, stream.sink(), release) {}

  /// One slot more of the message under way; false when its sender may use none.
  bool send(Instant now) {
    if (!stream.is_open(seq)) return false;
    Packer packer(slots.payload_bytes_max, slots.data_slots_max, seq);
    TestFrame frame{{.order = FrameOrder::AtOnce}, ip_packet(random, 100)};
    packer.add(frame);
    packer.end_slot();
    stream.place(seq, slot, packer.messages()[0][0]);
    if (++slot == slots.data_slots_max) close();
    inbound.take_news(now);
    return true;
  }
  void close() {
    if (slot == 0) return;
    stream.say_length(seq, slot, slot);
    seq = seq + 1;
    slot = 0;
  }
  void end_epoch(Instant now) {
    stream.reset();
    seq = {};
    slot = 0;
    inbound.take_news(now);
  }
  size_t drain(Instant now) { return lan.drain(release, now).size(); }

  Prng random{3};
  Counters counters;
  LanPort lan{64, 1500};
  SlotStream stream{slots};
  Release release{{.rate = Rate::from_gbps(100)}, lan, counters};
  Inbound inbound;
  MessageSeq seq;
  uint32_t slot = 0;
};

struct Site {
  Site() {
    for (size_t i = 0; i < streams; ++i) lanes.push_back(std::make_unique<Lane>(*stock));
    turn();
  }
  void turn() {
    now += 1_ms;
    for (const auto& lane : lanes) lane->inbound.on_time(now);
    EXPECT_LE(buffers.promised_count(), buffers.count()) << "credit is memory [C-33]";
  }

  Instant now = Instant::from_ns(1'000'000'000);
  Drops drops;
  std::unique_ptr<InboundStock> stock = stock_for(slots, drops, 4096, streams);
  sdr::RecvBuffers& buffers = stock->buffers();
  std::vector<std::unique_ptr<Lane>> lanes;
};

// 15 messages: two each, and seven.
TEST(InboundStock, of_what_one_never_lets_go_others_keep_their_part) {
  Site site;
  Lane& stuck = *site.lanes.front();  // its LAN takes nothing
  for (int i = 0; i < 2000; ++i) {
    stuck.send(site.now);
    if (i % 16 == 0) site.turn();
  }
  EXPECT_FALSE(stuck.send(site.now)) << "a short count, and no more";
  EXPECT_GT(stuck.stream.posted_count(), 2u) << "it has had of what is common";
  for (size_t i = 1; i < streams; ++i) {
    Lane& other = *site.lanes[i];
    for (int frames = 0; frames < 1000; ++frames) {
      EXPECT_TRUE(other.send(site.now)) << "stream " << i << ", frame " << frames;
      site.turn();
      EXPECT_EQ(other.drain(site.now), 1u);
    }
  }
  EXPECT_EQ(site.drops.snapshot_any_thread().sum(), 0u);
}

TEST(InboundStock, who_is_busy_may_have_all_that_is_common) {
  Site site;
  Lane& busy = *site.lanes.back();
  for (int i = 0; i < 64 * 12; ++i) {
    busy.send(site.now);
    site.turn();
  }
  EXPECT_EQ(busy.stream.posted_count(), slots.messages) << "all places: of 2 + 7 messages";
  EXPECT_EQ(busy.seq.value(), 8u);
}

TEST(InboundStock, has_everything_back_when_epochs_end) {
  Site site;
  for (int i = 0; i < 3000; ++i) {
    for (const auto& lane : site.lanes) lane->send(site.now);
    site.turn();
  }
  EXPECT_LT(site.buffers.unused().size(), site.buffers.count());
  for (const auto& lane : site.lanes) lane->end_epoch(site.now);
  EXPECT_EQ(site.buffers.promised_count(), 0u);
  EXPECT_EQ(site.buffers.unused().size(), site.buffers.count());
  for (const auto& lane : site.lanes) EXPECT_EQ(lane->inbound.frames_lent(), 0u);
  site.turn();
  for (const auto& lane : site.lanes) EXPECT_TRUE(lane->send(site.now));
}

// Whatever streams and LANs do, what is promised is there, and nobody waits for his part for ever.
TEST(InboundStock, promises_no_more_than_there_is_whatever_happens) {
  Site site;
  Prng random(20261124);
  size_t sent = 0, out = 0;
  for (int i = 0; i < 50'000; ++i) {
    Lane& lane = *site.lanes[random.below(streams)];
    switch (random.below(64)) {
      case 0:
        lane.end_epoch(site.now);
        break;
      case 1:
        lane.close();
        break;
      case 2:
      case 3:
      case 4:
        out += lane.drain(site.now);
        break;
      case 5:
      case 6:
        site.turn();
        break;
      default:
        sent += lane.send(site.now);
    }
  }
  EXPECT_GT(sent, 10'000u);
  EXPECT_GT(out, 1'000u);
  for (const auto& lane : site.lanes) {
    lane->close();
    lane->inbound.take_news(site.now);
  }
  for (int i = 0; i < 500; ++i) {
    site.turn();
    for (const auto& lane : site.lanes) lane->drain(site.now);
  }
  EXPECT_EQ(site.buffers.unused().size(), site.buffers.count());
  for (const auto& lane : site.lanes) {
    EXPECT_TRUE(lane->inbound.accounts().is_balanced());
    EXPECT_TRUE(lane->send(site.now));
  }
}

}  // namespace
}  // namespace cw::gateway::test
