// Several links between two sites: all of them in one shard, and each in a shard of its own, where
// they share the rate by grants.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include "dataplane/base/shards.h"
#include "dataplane/core/rate/granter.h"
#include "dataplane/port/impair/packet.h"
#include "tests/sim/checkers/promise.h"
#include "tests/sim/sdr/story.h"

namespace cw::sim {
namespace {
using namespace literals;

SiteOptions reliable(Rate rate) {
  SiteOptions site = site_under(cw_policy_selective_repeat());
  site.rate = rate;
  site.stream.messages = 16;
  return site;
}

TEST(Shard, has_each_link_where_its_number_says) {
  EXPECT_EQ(shard_of_link(5, 1), 0u);
  EXPECT_EQ(shard_of_link(5, 3), 2u);
  for (uint16_t link = 0; link < limits::links_max; ++link) {
    const auto successor = static_cast<uint16_t>(limits::links_max + link);
    EXPECT_EQ(shard_of_link(link, 3), shard_of_link(successor, 3));
  }
}

// [C-60]
TEST(Links, of_one_pair_live_beside_each_other_in_one_endpoint) {
  StoryOptions options{.site = reliable(1_Gbps),
                       .transfer = {.messages = 300},
                       .wire = {.loss = 0.01, .delay = 2_ms}};
  options.site.links = {0, 3, limits::link_numbers_max - 1};
  Story story(options);
  std::deque<Transfer> others;
  for (const size_t link : {1, 2}) {
    const TransferOptions transfer{.messages = 300, .seed = link, .link = link};
    story.stage.add(others.emplace_back(story.b, story.a, transfer));
    story.stage.watch(others.back().no_wrong_byte());
    story.stage.watch(others.back().exactly_once());
  }
  story.run_faults(
      10_s, [&] { return story.transfer.is_done() && others[0].is_done() && others[1].is_done(); });
  EXPECT_EQ(story.run_calm(), "");
  for (const Transfer& each : others) EXPECT_EQ(each.whole_count(), 300u);
  EXPECT_EQ(story.b.drops().snapshot_any_thread().sum(), 0u) << "each found its own";
}

TEST(Links, have_a_number_once) {
  StoryOptions options{.site = reliable(1_Gbps)};
  Story story(options);
  sdr::LinkOptions link;
  link.peer = story.peers.of_first;
  const auto again = story.a.endpoint().add_link(link, Instant());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().sentence, "link 0 to peer 0 exists already");
}

TEST(Links, have_no_number_and_no_peer_beyond_the_last) {
  Story story({.site = reliable(1_Gbps)});
  const auto expect_refused = [&](uint16_t number, uint16_t peer) {
    sdr::LinkOptions link;
    link.control.number = number;
    link.peer = peer;
    const auto added = story.a.endpoint().add_link(link, Instant());
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().sentence,
              "link " + std::to_string(number) + " to peer " + std::to_string(peer) +
                  " cannot be: links are numbered from 0 to 31, peers to 2046");
  };
  expect_refused(32, 0);
  expect_refused(31, 2047);
}

// ---- each in a shard of its own ----

constexpr Rate rate = 200_Mbps;
constexpr size_t count = 2;

/// What the shards of one site share.
struct Granting {
  Granting() : granter({.rate = rate, .weights = {1}}, lines) {}
  std::array<GrantLine, count> lines;
  Granter granter;
};

SiteOptions shard_options(Granting& site, size_t link, uint64_t seed) {
  SiteOptions options = reliable(rate);
  options.seed = seed;
  options.links = {static_cast<uint16_t>(link)};
  options.grants = std::span(site.lines).subspan(link, 1);
  return options;
}

/// Counts the bytes that leave, and how long none did.
struct Meter final : PortAround {
  using PortAround::PortAround;
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
    for (const Packet* packet : packets) {
      bytes += wire_bytes(*packet).count();
      silence = std::max(silence, packet->at - last);
      last = packet->at;
    }
    const size_t taken = PortAround::tx_burst(packets, now);
    CW_ASSERT(taken == packets.size());
    return taken;
  }
  uint64_t bytes = 0;
  Duration silence;
  Instant last;
};

/// Gives a shard turns, unless it stands still.
struct Turner final : Actor {
  Turner(Site& site_given, SimPort& port_given) : site(site_given), port(port_given) {}
  void turn(Instant now) override {
    if (now < still_until) return;
    due_turns += std::min(site.next_deadline(), port.next_event()) <= now ? 1 : 0;
    std::exchange(stood_still, false) ? site.turn_after_pause(now) : site.turn(now);
  }
  Instant next_deadline() const override { return std::max(site.next_deadline(), still_until); }
  void stand_still(Instant until) {
    port.stand_still_until(until);
    still_until = until;
    stood_still = true;
  }
  Site& site;
  SimPort& port;
  uint64_t due_turns = 0;  ///< that there was a reason for
  Instant still_until;
  bool stood_still = false;
};

/// Both ends of one link, with the wire between their queues.
struct Rail {
  Rail(SimNetwork& network, Granting& at_a, Granting& at_b, size_t link, const Impairment& wire)
      : a_port(network.add_port()),
        b_port(network.add_port()),
        peers(network.join(a_port, b_port, wire)),
        a(a_meter, peers.of_first, shard_options(at_a, link, 10 + link), network.now()),
        b(b_meter, peers.of_second, shard_options(at_b, link, 20 + link), network.now()) {}

  SimPort &a_port, &b_port;
  SimPeers peers;
  Meter a_meter{a_port}, b_meter{b_port};
  Site a, b;
  Turner a_turns{a, a_port}, b_turns{b, b_port};
};

/// Two sites of two shards each, in one thread.
struct Shards {
  explicit Shards(const Impairment& wire) {
    for (size_t link = 0; link < count; ++link) rails.emplace_back(network, a, b, link, wire);
    for (Rail& rail : rails) {
      stage.add(rail.a_turns);
      stage.add(rail.b_turns);
    }
    stage.add(granting);
    stage.watch(sum);
  }
  /// Keeps a direction of a link busy; whoever is not asked for more rests.
  Transfer& keep_busy(size_t link, bool is_backward = false) {
    Rail& rail = rails[link];
    const TransferOptions options{.messages = 1'000'000,
                                  .bytes_of = [](uint64_t) { return uint64_t{65'536}; },
                                  .in_flight = 16,
                                  .posted = 16};
    Transfer& transfer = is_backward ? transfers.emplace_back(rail.b, rail.a, options)
                                     : transfers.emplace_back(rail.a, rail.b, options);
    stage.add(transfer);
    stage.watch(transfer.no_wrong_byte());
    stage.watch(transfer.exactly_once());
    return transfer;
  }
  void run(Duration time) {
    (void)stage.run_until([] { return false; }, network.now() + time);
    EXPECT_EQ(stage.complaint(), std::nullopt);
  }
  /// The share of its rate that each site puts on the wire meanwhile.
  struct Loads {
    double a = 0, b = 0;
  };
  Loads loads(Duration time) {
    const uint64_t a_before = a_bytes(), b_before = b_bytes();
    run(time);
    const auto most = static_cast<double>(rate.bytes_in(time).count());
    return {static_cast<double>(a_bytes() - a_before) / most,
            static_cast<double>(b_bytes() - b_before) / most};
  }
  uint64_t a_bytes() const { return rails[0].a_meter.bytes + rails[1].a_meter.bytes; }
  uint64_t b_bytes() const { return rails[0].b_meter.bytes + rails[1].b_meter.bytes; }

  struct GrantingActor final : Actor {
    explicit GrantingActor(Shards& all) : world(all) {}
    void turn(Instant now) override {
      if (now >= due) {
        world.a.granter.turn(now);
        world.b.granter.turn(now);
        due = now + grant_interval;
      }
      world.hold_sums(now);
    }
    Instant next_deadline() const override { return due; }
    Shards& world;
    Instant due;
  };
  void hold_sums(Instant now) {
    uint64_t of_a = 0, of_b = 0;
    for (Rail& rail : rails) {
      of_a += rail.a.link().rate_in_force(now).bps();
      of_b += rail.b.link().rate_in_force(now).bps();
    }
    if (std::max(of_a, of_b) > rate.bps()) sum.broken("it is above the rate");
  }

  SimNetwork network{{.seed = 7, .port_packets = 4096}};
  Granting a, b;
  std::deque<Rail> rails;
  std::deque<Transfer> transfers;
  GrantingActor granting{*this};
  Promise sum{"sum of grants"};
  Stage stage{network};
};

void expect_full(double load) {
  EXPECT_GE(load, 0.98);
  EXPECT_LE(load, 1.005) << "but for what was due when the time began";
}

TEST(Shards, with_one_of_them_busy_reach_the_rate) {
  Shards shards({.delay = 2_ms});
  shards.keep_busy(1);
  shards.run(300_ms);
  expect_full(shards.loads(500_ms).a);
}

TEST(Shards, with_all_of_them_busy_both_ways_reach_the_rate_and_no_more) {
  Shards shards({.loss = 0.005, .delay = 2_ms});
  for (size_t link = 0; link < count; ++link) {
    shards.keep_busy(link);
    shards.keep_busy(link, true);
  }
  shards.run(300_ms);
  const Shards::Loads loads = shards.loads(500_ms);
  expect_full(loads.a);
  expect_full(loads.b);
}

TEST(Shards, that_stand_still_hold_up_nobody) {
  Shards shards({.delay = 2_ms});
  const Transfer& still = shards.keep_busy(0);
  shards.keep_busy(1);
  shards.run(300_ms);
  Rail& rail = shards.rails[0];
  rail.a_turns.stand_still(shards.network.now() + 200_ms);
  EXPECT_GT(shards.loads(grant_lease + grant_margin + grant_interval * 3).a, 0.4);
  const uint64_t before = still.received_count();
  expect_full(shards.loads(150_ms).a);  // the other has all of it
  EXPECT_LE(still.received_count(), before + 16);
  shards.run(100_ms);
  expect_full(shards.loads(200_ms).a);
  EXPECT_GT(still.received_count(), before + 16);
}

/// The longest time for which a site told nothing to who sends to it all along.
Duration silence_of_receiver(Shards& shards) {
  const Transfer& transfer = shards.keep_busy(0);
  shards.run(300_ms);
  Rail& rail = shards.rails[0];
  rail.b_meter.silence = {};
  shards.run(1500_ms);
  EXPECT_GT(transfer.received_count(), 100u);
  EXPECT_EQ(rail.a.counters().snapshot_any_thread()[Counter::resends_sent], 0u);
  return rail.b_meter.silence;
}

// At 1 ms and 200 Mbit/s notes take three times what a link has that wants nothing.
TEST(Shards, that_only_receive_tell_so_in_time_while_others_send_all_they_can) {
  Shards shards({.delay = 500_us});
  shards.keep_busy(1, true);
  EXPECT_LT(silence_of_receiver(shards), 700_us);
}

TEST(Shards, that_only_receive_have_a_grant_for_as_long_as_they_do) {
  Shards shards({.delay = 500_us});
  EXPECT_LT(silence_of_receiver(shards), 700_us);
}

// Nobody is asked for a grant that nobody uses, or idle links would cost turns.
TEST(Shards, at_rest_wake_for_keepalives_alone_and_begin_at_once) {
  Shards shards({.delay = 2_ms});
  shards.run(1500_ms);
  const auto turns = [&] {
    uint64_t sum = 0;
    for (const Rail& rail : shards.rails) sum += rail.a_turns.due_turns + rail.b_turns.due_turns;
    return sum;
  };
  const uint64_t before = turns();
  shards.run(2_s);
  EXPECT_LE(turns() - before, 4u * 2 * 60) << "of four links in two seconds";
  const Transfer& late = shards.keep_busy(0);
  shards.run(20_ms);
  EXPECT_GT(late.received_count(), 0u);
  expect_full(shards.loads(300_ms).a);
}

// Each thread turns both ends of its link, on a wire of its own; what the shards of a site share is
// what their granter, a third thread, tells them.
TEST(Shards, turn_in_threads_that_share_only_grants) {
  Granting at_a, at_b;
  std::atomic<size_t> done = 0;
  std::array<uint64_t, count> whole{};
  const auto live = [&](size_t link) {
    MonotonicClock clock;
    SimNetwork network({.seed = 7 + link, .port_packets = 1024});
    network.advance_to(clock.read());
    Rail rail(network, at_a, at_b, link, {.loss = 0.01, .delay = 1_ms});
    Transfer there(rail.a, rail.b, {.messages = 100}), back(rail.b, rail.a, {.messages = 100});
    while (!there.is_done() || !back.is_done()) {
      network.advance_to(clock.read());
      for (Site* site : {&rail.a, &rail.b}) site->turn_after_pause(network.now());
      for (Transfer* transfer : {&there, &back}) transfer->turn(network.now());
    }
    whole[link] = there.whole_count() + back.whole_count();
    ++done;
  };
  std::thread first(live, 0), second(live, 1);
  MonotonicClock clock;
  while (done < count) {
    for (Granting* site : {&at_a, &at_b}) site->granter.turn(clock.read());
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  first.join();
  second.join();
  for (const uint64_t each : whole) EXPECT_EQ(each, 200u);
}

}  // namespace
}  // namespace cw::sim
