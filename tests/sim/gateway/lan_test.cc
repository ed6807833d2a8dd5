// Hosts on the LAN, and who is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce_inline.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;

// ---- The LAN's side of a gateway under strain: ports that take nothing, backlogs, and memory ----

constexpr Duration one_way = Duration::from_ms(10);

/// A LAN port that has no packet for anybody while it is stopped.
class StoppablePort final : public PortAround {
 public:
  StoppablePort(Port& inner, const bool& is_stopped) : PortAround(inner), is_stopped_(is_stopped) {}
  size_t take_burst(std::span<Packet*> out) override {
    return is_stopped_ ? 0 : PortAround::take_burst(out);
  }

 private:
  const bool& is_stopped_;
};

TEST(LanQueue, of_a_port_that_takes_nothing_is_bounded_and_recovers) {
  bool is_stopped = false;
  TwoSitesOptions options{.seed = 61, .wan = {.delay = one_way}};
  options.lan_around = [&](int site, Port& inner) -> std::unique_ptr<Port> {
    if (site == 1) return nullptr;
    return std::make_unique<StoppablePort>(inner, is_stopped);
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  // 2,000 packets of 1,000 bytes a second: 10 ms of queue are about 20 of them.
  const FlowOptions flow{
      .rate = Rate::from_mbps(16), .packets = 4000, .begin = sites.now(), .ecn = 2};
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_ms(500));
  is_stopped = true;
  for (int ms = 0; ms < 30; ++ms) {
    sites.run_for(Duration::from_ms(1));
    EXPECT_LE(sites.gateway(2).gateway().view(0).inbound.queued, 21u);
  }
  is_stopped = false;
  sites.run_for(Duration::from_s(3));
  const uint64_t dropped = sites.gateway(2).drops().read_any_thread(DropReason::lan_queue_full);
  // What came in the first 20 ms, less what still waits at the end of the 30.
  EXPECT_GE(dropped, 38u);
  EXPECT_LE(dropped, 42u);
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received + dropped, 4000u);
  EXPECT_EQ(report.wrong + report.doubled, 0u);
  EXPECT_EQ(report.next, 4000u);
  EXPECT_LT(report.delay_max, one_way + options.lan_queue + Duration::from_ms(1));
  // Those that had waited for more than half of the queue's time.
  EXPECT_GE(report.marked, 8u);
  EXPECT_LE(report.marked, 12u);
  EXPECT_TRUE(sites.gateway(2).gateway().view(0).inbound.is_balanced());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

/// Bytes of a flow that arrived in any `window`.
uint64_t most_in(const FlowReport& report, Duration window, uint32_t bytes) {
  size_t first = 0, most = 0;
  for (size_t last = 0; last < report.arrivals.size(); ++last) {
    while (report.arrivals[last] - report.arrivals[first] > window) ++first;
    most = std::max(most, last - first + 1);
  }
  return most * bytes;
}

// One late slot holds a flow in order for a round trip and more; what was held leaves at a pace.
TEST(Release, of_a_backlog_is_no_faster_than_a_quarter_above_the_link) {
  TwoSites sites({.seed = 67,
                  .wan = {.loss = 0.0005, .delay = Duration::from_ms(20)},
                  .rate = Rate::from_mbps(200),
                  .messages = 64});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(100));
  sites.host(1).add_flow({.kind = PacketKind::Tcp,
                          .rate = Rate::from_mbps(150),
                          .packets = 20'000,
                          .begin = sites.now()});
  sites.run_for(Duration::from_s(3));
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received, 20'000u);
  EXPECT_EQ(report.overtaken + report.wrong + report.doubled, 0u);
  EXPECT_GT(report.delay_max, Duration::from_ms(60));  // something was held
  const Duration window = Duration::from_ms(10);
  const uint64_t paced = Rate::from_mbps(250).bytes_in(window).count();
  EXPECT_LE(most_in(report, window, 1000), paced + (64 << 10) + 2000);
  EXPECT_GT(most_in(report, window, 1000), paced * 9 / 10);  // and it was a backlog
}

TEST(GatewayMemory, nothing_is_allocated_in_a_turn_after_the_start) {
  std::optional<HeapWatch> watch;
  bool is_watching = false;
  TwoSitesOptions options{.seed = 71, .wan = {.loss = 0.02, .delay = one_way}};
  options.around_turn = [&](int, bool is_before) {
    if (!is_watching) return;
    if (is_before) {
      watch.emplace();
    } else {
      watch.reset();
    }
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  is_watching = true;
  const uint64_t before = HeapWatch::allocation_count();
  for (int site : {1, 2}) {
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp, PacketKind::RoceRc}) {
      sites.host(site).add_flow({.kind = kind,
                                 .number = static_cast<uint16_t>(kind),
                                 .bytes = 1400,
                                 .packets = 1500,
                                 .begin = sites.now(),
                                 .from = static_cast<uint8_t>(site),
                                 .to = static_cast<uint8_t>(3 - site)});
    }
    // And what must be refused, with an answer.
    sites.host(site).add_flow({.number = 99,
                               .bytes = 1501,
                               .packets = 100,
                               .begin = sites.now(),
                               .from = static_cast<uint8_t>(site),
                               .to = static_cast<uint8_t>(3 - site)});
  }
  sites.run_for(Duration::from_s(3));
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
  EXPECT_EQ(sites.host(2).received_count(), 4500u);
  EXPECT_GT(sites.gateway(1).counters().read_any_thread(Counter::resends_sent), 50u);
  EXPECT_EQ(sites.host(1).foreign_count(), 100u);
}

TEST(GatewayMemory, runs_short_and_gives_up_the_oldest_holes) {
  // The first packet of a flow in order is missing for good, and 70,000 small ones follow.
  bool loses = false;
  TwoSitesOptions options{
      .seed = 73, .wan = {.delay = Duration::from_ms(100)}, .messages = 64, .message_slots = 2048};
  options.classes = {{.name = "all", .hold = Duration::from_s(2), .queue = Duration::from_s(1)}};
  struct Loser final : PortAround {
    Loser(Port& inner, bool& armed) : PortAround(inner), armed_(armed) {}
    size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
      size_t sent = 0;
      for (Packet* packet : packets) {
        if (armed_ && packet->bytes > 0 && packet->data[0] != 0x64) {
          armed_ = false;
          give_back({&packet, 1});
          ++sent;
          continue;
        }
        if (PortAround::tx_burst({&packet, 1}, now) == 0) break;
        ++sent;
      }
      return sent;
    }
    bool& armed_;
  };
  options.wan_around = [&](int site, Port& inner) -> std::unique_ptr<Port> {
    if (site == 2) return nullptr;
    return std::make_unique<Loser>(inner, loses);
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(500));
  loses = true;
  sites.host(1).add_flow({.kind = PacketKind::Tcp,
                          .bytes = 84,
                          .rate = Rate::from_mbps(400),
                          .packets = 100'000,
                          .begin = sites.now()});
  sites.run_for(Duration::from_s(4));
  EXPECT_FALSE(loses);
  const auto in = sites.gateway(2).gateway().view(0).inbound;
  EXPECT_GT(in.missed_by_need, 0u);
  EXPECT_TRUE(in.is_balanced());
  EXPECT_EQ(in.held + in.queued, 0u);
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.overtaken + report.wrong + report.doubled, 0u);
  EXPECT_GT(report.received, 60'000u);
}
using PacketBytes = std::vector<uint8_t>;

// ---- hostile ----
// Somebody who listens on the WAN and sends what it has heard again: whole, cut, and damaged.

/// What a WAN port has heard, and what is to be heard by it as if it had come from its peer.
struct Ear {
  std::vector<PacketBytes> heard;
  std::vector<PacketBytes> to_say;
  uint16_t peer = 0;
  size_t heard_max = 4000;
  std::function<void(uint8_t* slot, size_t bytes)> lie;  ///< changes what data packets carry
  bool cuts = false;  ///< makes every eighth data packet end early, as if it had been sent so
};

class TappedPort final : public PortAround {
 public:
  TappedPort(Port& inner, Ear& ear) : PortAround(inner), ear_(ear) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    for (Packet* packet : out.first(count)) {
      hear(*packet);
      if (ear_.cuts) cut(*packet);
      const bool is_data =
          packet->bytes > slot_write_header_bytes && packet->data[0] != opcode_ud_send_only;
      if (ear_.lie && is_data) {
        ear_.lie(packet->data + slot_write_header_bytes, packet->bytes - slot_write_header_bytes);
      }
    }
    return count + speak(out.subspan(count), now);
  }

 private:
  void cut(Packet& packet) {
    constexpr size_t pad_at = 1, length_at = 24, left = 64;
    const bool is_data = packet.data[0] != opcode_ud_send_only;
    if (!is_data || packet.bytes <= slot_write_header_bytes + left || ++cuts_ % 8 != 0) return;
    packet.data[pad_at] &= 0xcf;
    const uint8_t length[] = {0, 0, 0, left};
    std::ranges::copy(length, packet.data + length_at);
    packet.bytes = slot_write_header_bytes + left;
  }
  void hear(const Packet& packet) {
    if (ear_.heard.size() >= ear_.heard_max) return;
    PacketBytes& bytes = ear_.heard.emplace_back(packet.data, packet.data + packet.bytes);
    bytes.insert(bytes.end(), packet.payload, packet.payload + packet.payload_bytes);
  }
  size_t speak(std::span<Packet*> out, Instant now) {
    const size_t count = take_burst(out.first(std::min(out.size(), ear_.to_say.size())));
    for (Packet* packet : out.first(count)) {
      const PacketBytes bytes = std::move(ear_.to_say.back());
      ear_.to_say.pop_back();
      std::copy(bytes.begin(), bytes.end(), packet->data);
      packet->bytes = static_cast<uint32_t>(bytes.size());
      packet->payload = nullptr;
      packet->payload_bytes = 0;
      packet->peer = ear_.peer;
      packet->path = 0;
      packet->at = now;
    }
    return count;
  }

  Ear& ear_;
  uint64_t cuts_ = 0;
};

struct Tapped {
  explicit Tapped(uint64_t seed) : prng(seed * 7919), sites(options_of(seed)) {
    for (int site : {1, 2}) ears[site - 1].peer = sites.far_peer(site);
  }
  TwoSitesOptions options_of(uint64_t seed) {
    TwoSitesOptions options{.seed = seed, .wan = {.loss = 0.01, .delay = one_way}};
    options.wan_around = [this](int site, Port& inner) {
      return std::make_unique<TappedPort>(inner, ears[site - 1]);
    };
    return options;
  }
  PacketBytes any_of(const std::vector<PacketBytes>& heard) {
    return heard[prng.next() % heard.size()];
  }
  /// Something heard on either side, as it was, cut, or with bits turned.
  PacketBytes disguised() {
    PacketBytes bytes = any_of(ears[prng.next() % 2].heard);
    switch (prng.next() % 3) {
      case 0:
        break;
      case 1:
        bytes.resize(prng.next() % (bytes.size() + 1));
        break;
      default:
        for (uint64_t flips = 1 + prng.next() % 4; flips > 0 && !bytes.empty(); --flips) {
          bytes[prng.next() % bytes.size()] ^= static_cast<uint8_t>(1u << prng.next() % 8);
        }
    }
    return bytes;
  }
  void send_both_ways(Duration time) {
    for (int site : {1, 2}) {
      for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
        sites.host(site).add_flow({.kind = kind,
                                   .number = static_cast<uint16_t>(kind),
                                   .bytes = 500,
                                   .rate = Rate::from_mbps(8),
                                   .packets = static_cast<uint64_t>(time.ns() / 500'000),
                                   .begin = sites.now(),
                                   .from = static_cast<uint8_t>(site),
                                   .to = static_cast<uint8_t>(3 - site)});
      }
    }
  }
  void attack(Duration time) {
    for (const Instant end = sites.now() + time; sites.now() < end;) {
      for (Ear& ear : ears) {
        for (int i = 0; i < 16; ++i) ear.to_say.push_back(disguised());
      }
      sites.run_for(Duration::from_ms(1));
    }
  }
  uint64_t dropped(DropReason reason) {
    return sites.gateway(1).drops().read_any_thread(reason) +
           sites.gateway(2).drops().read_any_thread(reason);
  }

  Ear ears[2];
  Prng prng;
  TwoSites sites;
};

class GatewayIntruder : public testing::TestWithParam<uint64_t> {};

// Damage to a payload is the ICRC's to find, below the port's door, so it has no place here.
TEST_P(GatewayIntruder, replays_and_cut_packets_change_nothing) {
  Tapped world(GetParam());
  TwoSites& sites = world.sites;
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const uint64_t packets = 6000;
  world.send_both_ways(Duration::from_s(3));
  sites.run_for(Duration::from_ms(500));
  for (const Instant end = sites.now() + Duration::from_s(2); sites.now() < end;) {
    for (Ear& ear : world.ears) {
      for (int i = 0; i < 16; ++i) {
        PacketBytes bytes = world.any_of(world.ears[world.prng.next() % 2].heard);
        if (i % 2 != 0) bytes.resize(world.prng.next() % bytes.size());
        ear.to_say.push_back(bytes);
      }
    }
    sites.run_for(Duration::from_ms(1));
  }
  sites.run_for(Duration::from_s(2));
  for (int site : {1, 2}) {
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
      const FlowReport& report = sites.host(site).report(static_cast<uint16_t>(kind));
      EXPECT_EQ(report.received, packets);
      EXPECT_EQ(report.wrong + report.doubled, 0u);
    }
    EXPECT_EQ(sites.host(site).report(static_cast<uint16_t>(PacketKind::Tcp)).overtaken, 0u);
    EXPECT_EQ(sites.host(site).foreign_count(), 0u);
    EXPECT_TRUE(sites.gateway(site).gateway().view(0).inbound.is_balanced());
  }
  EXPECT_GT(world.dropped(DropReason::packet_duplicate) +
                world.dropped(DropReason::generation_late) +
                world.dropped(DropReason::message_not_open),
            100u);
}

TEST_P(GatewayIntruder, has_nothing_of_use_after_a_restart) {
  Tapped world(GetParam() + 100);
  TwoSites& sites = world.sites;
  ASSERT_TRUE(sites.come_up());
  world.send_both_ways(Duration::from_ms(500));
  sites.run_for(Duration::from_s(1));
  sites.restart(1);
  sites.restart(2);
  ASSERT_TRUE(sites.come_up());
  for (Ear& ear : world.ears) ear.heard_max = 0;  // only what is old is said again
  const uint64_t received[] = {sites.host(1).received_count(), sites.host(2).received_count()};
  world.attack(Duration::from_s(2));
  for (int site : {1, 2}) {
    EXPECT_EQ(sites.host(site).received_count(), received[site - 1]);
    EXPECT_EQ(sites.host(site).foreign_count(), 0u);
    EXPECT_TRUE(sites.gateway(site).link().is_up());
  }
  // QP numbers begin elsewhere in each epoch; where they happen to meet, the key is another.
  EXPECT_GT(world.dropped(DropReason::qpn_unknown) + world.dropped(DropReason::key_stale), 1000u);
}

// Messages' memory is used again: what lies behind a short slot is another frame's.
TEST_P(GatewayIntruder, a_slot_that_ends_early_shows_nothing_of_others) {
  Tapped world(GetParam() + 300);
  TwoSites& sites = world.sites;
  ASSERT_TRUE(sites.come_up());
  world.send_both_ways(Duration::from_s(3));
  sites.run_for(Duration::from_s(1));
  for (Ear& ear : world.ears) ear.cuts = true;
  sites.run_for(Duration::from_s(4));
  for (int site : {1, 2}) {
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
      EXPECT_EQ(sites.host(site).report(static_cast<uint16_t>(kind)).wrong, 0u);
    }
    EXPECT_EQ(sites.host(site).foreign_count(), 0u);
    EXPECT_TRUE(sites.gateway(site).gateway().view(0).inbound.is_balanced());
  }
  EXPECT_GT(world.dropped(DropReason::slot_short), 100u);
}

// A peer that lies in its slots, under the right key: wrong perhaps, never a crash, and every frame
// still has one fate.
TEST_P(GatewayIntruder, a_lying_peer_makes_nothing_fall_over) {
  Tapped world(GetParam() + 200);
  TwoSites& sites = world.sites;
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const Instant sent_all = sites.now() + Duration::from_s(3);
  world.send_both_ways(Duration::from_s(3));
  for (Ear& ear : world.ears)
    ear.lie = [&](uint8_t* slot, size_t bytes) {
      if (world.prng.next() % 8 != 0) return;
      // Mostly the headers, of the slot and of its first frame.
      const size_t reach = world.prng.next() % 4 == 0 ? bytes : std::min<size_t>(bytes, 24);
      for (uint64_t count = 1 + world.prng.next() % 3; count > 0; --count) {
        slot[world.prng.next() % reach] = static_cast<uint8_t>(world.prng.next());
      }
    };
  sites.run_for(Duration::from_ms(2500));
  for (Ear& ear : world.ears) ear.lie = nullptr;
  sites.run_for(Duration::from_s(3));
  for (int site : {1, 2}) {
    SCOPED_TRACE(site);
    const auto in = sites.gateway(site).gateway().view(0).inbound;
    EXPECT_TRUE(in.is_balanced());
    EXPECT_EQ(in.held + in.queued, 0u);
    EXPECT_GT(in.missed_exactly, 0u);
    // Flows go on to the end, those in order too: a number far ahead leaves none behind for good.
    EXPECT_GT(sites.host(site).received_count(), 5000u);
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
      EXPECT_GT(sites.host(site).report(static_cast<uint16_t>(kind)).last, sent_all);
    }
  }
  for (const auto reason :
       {DropReason::slot_header, DropReason::slot_message, DropReason::frame_header,
        DropReason::frame_tail, DropReason::frame_ahead, DropReason::frame_malformed}) {
    EXPECT_GT(world.dropped(reason), 0u) << static_cast<int>(reason);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GatewayIntruder, testing::Values(1, 2, 3));

}  // namespace

}  // namespace cw::sim
