// Two endpoints on one port: links of another shape, with all behind them, beside those that carry.
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/sdr/beside/endpoint_pair.h"
#include "tests/sim/sdr/shapes.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint16_t older = 0, newer = limits::links_max;

PairOptions neighbours() {
  PairOptions options = reliable_pair();
  options.a.links = options.b.links = {older};
  options.a.link_keys = options.b.link_keys = {first_keys};
  options.wire.loss = 0.01;
  return options;
}

/// A transfer that is done asks for no more turns: its link may be gone.
struct Turns final : Actor {
  explicit Turns(Transfer& which) : transfer(which) {}
  void turn(Instant now) override {
    if (!transfer.is_done()) transfer.turn(now);
  }
  Instant next_deadline() const override {
    return transfer.is_done() ? Instant::never() : transfer.next_deadline();
  }
  Transfer& transfer;
};

/// Two sites whose links are up.
struct Sites {
  Sites() {
    for (Site* site : sites) stage.add(*site);
    EXPECT_TRUE(run_until([&] { return are_up(); }, 1_s));
  }
  static SiteOptions with_seed(SiteOptions site, uint64_t seed) {
    site.seed = seed;
    return site;
  }
  bool run_until(const std::function<bool()>& is_reached, Duration time) {
    return stage.run_until(is_reached, network.now() + time) == StageEnd::Reached;
  }
  void run_for(Duration time) {
    (void)run_until([] { return false; }, time);
  }
  bool are_up() const { return a.is_up() && b.is_up(); }
  /// Keeps a link busy both ways.
  void transfer(size_t link, uint64_t messages) {
    const TransferOptions one_way{.messages = messages, .link = link};
    add(transfers.emplace_back(a, b, one_way));
    add(transfers.emplace_back(b, a, one_way));
  }
  void add(Transfer& transfer) {
    stage.add(turns.emplace_back(transfer));
    stage.watch(transfer.exactly_once());
    stage.watch(transfer.no_wrong_byte());
  }
  bool are_done() const { return std::ranges::all_of(transfers, &Transfer::is_done); }
  void expect_done(Duration within) {
    EXPECT_TRUE(run_until([&] { return are_done(); }, within));
    EXPECT_EQ(stage.final_complaint(), std::nullopt);
  }
  PairOptions options = neighbours();
  SimNetwork network{{.port_packets = 1024, .wire_packets = 2048, .payload_max = 1024}};
  SimPort &a_port = network.add_port(), &b_port = network.add_port();
  SimPeers peers = network.join(a_port, b_port, options.wire);
  Site a{a_port, peers.of_first, with_seed(options.a, 1), network.now()};
  Site b{b_port, peers.of_second, with_seed(options.b, 2), network.now()};
  std::array<Site*, 2> sites{&a, &b};
  std::deque<Transfer> transfers;
  std::deque<Turns> turns;
  Stage stage{network};
};

/// Each of them has a second link in an endpoint of its own, which has come up beside the first.
struct Neighbours : Sites {
  Neighbours() {
    for (Site* site : sites) {
      site->link().set_beside(LinkAge::Older, false);
      site->add_beside(newer, next_keys, network.now()).set_beside(LinkAge::Newer, true);
    }
    EXPECT_TRUE(run_until([&] { return are_up(); }, 2_s)) << a.link(1).why();
  }
  /// The newer ones take the place of the older, who say goodbye.
  void change_places() {
    for (Site* site : sites) {
      site->exchange();
      site->link(0).set_beside(LinkAge::Older, true);
      site->link(1).set_beside(LinkAge::Newer, false);
      site->link(0).leave(network.now());
    }
  }
  bool have_left() const {
    return std::ranges::all_of(sites, [](Site* site) { return site->beside()->has_left(); });
  }
};

// What either has lent to the port comes back to it, or its messages would not settle.
TEST(Beside, both_carry_at_once_what_is_theirs) {
  Neighbours both;
  for (const size_t link : {0, 1}) both.transfer(link, 200);
  both.expect_done(10_s);
  for (const Transfer& each : both.transfers) EXPECT_EQ(each.whole_count(), 200u);
  for (Site* site : both.sites) {
    for (const DropReason reason : {DropReason::epoch_shape, DropReason::key_stale,
                                    DropReason::qpn_unknown, DropReason::link_unknown}) {
      EXPECT_EQ(site->drops().read_any_thread(reason), 0u) << name_of(reason);
    }
  }
}

TEST(Beside, the_newer_goes_on_when_the_older_has_left_and_is_taken_out) {
  Neighbours both;
  both.transfer(0, 50);
  both.expect_done(10_s);
  both.transfer(1, 1500);
  both.run_for(100_ms);
  both.change_places();
  for (Site* site : both.sites) EXPECT_FALSE(site->endpoint().has_left());
  ASSERT_TRUE(both.run_until([&] { return both.have_left(); }, 2_s));
  for (Site* site : both.sites) site->end_beside();
  ASSERT_FALSE(both.are_done()) << "or nothing goes on";
  EXPECT_TRUE(both.are_up());
  both.expect_done(20_s);
  for (Site* site : both.sites) {
    EXPECT_EQ(site->counters().read_any_thread(Counter::epochs), 2u) << "one of each";
  }
}

// And a third one may come, of a number that is free again.
TEST(Beside, comes_another_where_one_has_left) {
  Neighbours both;
  both.change_places();
  ASSERT_TRUE(both.run_until([&] { return both.have_left(); }, 2_s));
  for (Site* site : both.sites) {
    site->end_beside();
    site->link(1).set_beside(LinkAge::Older, false);
    site->add_beside(older, first_keys, both.network.now()).set_beside(LinkAge::Newer, true);
  }
  ASSERT_TRUE(both.run_until([&] { return both.are_up(); }, 2_s));
  for (const size_t link : {1, 2}) both.transfer(link, 50);
  both.expect_done(10_s);
}

// The first end has it long before the second.
TEST(Beside, one_waits_for_its_counterpart_and_harms_nobody) {
  Sites both;
  sdr::Link& waiting = both.a.add_beside(newer, next_keys, both.network.now());
  waiting.set_beside(LinkAge::Newer, true);
  both.transfer(0, 1000);
  both.run_for(2_s);
  EXPECT_FALSE(waiting.is_up());
  EXPECT_TRUE(both.b.link().knocks().are_of_another(both.network.now()));
  EXPECT_FALSE(both.b.link().knocks().are_of_our_shape(both.network.now()));
  EXPECT_GT(both.b.drops().read_any_thread(DropReason::epoch_shape), 0u);
  both.b.add_beside(newer, next_keys, both.network.now()).set_beside(LinkAge::Newer, true);
  EXPECT_TRUE(both.run_until([&] { return both.are_up(); }, 1_s)) << waiting.why();
  both.expect_done(20_s);
  for (Site* site : both.sites) {
    EXPECT_EQ(site->counters().read_any_thread(Counter::epochs), 2u) << "one of each";
  }
}

// [C-64] A version without shapes would take its hello for that of the peer's next life.
TEST(Beside, one_that_is_mute_comes_up_when_it_is_spoken_to) {
  Sites both;
  sdr::Link& mute = both.a.add_beside(newer, next_keys, both.network.now());
  mute.set_beside(LinkAge::Newer, true), mute.set_mute(true);
  both.run_for(2_s);
  EXPECT_EQ(both.b.drops().read_any_thread(DropReason::epoch_shape), 0u) << "it says nothing";
  sdr::Link& other = both.b.add_beside(newer, next_keys, both.network.now());
  other.set_beside(LinkAge::Newer, true), other.set_mute(true);
  both.run_for(2_s);
  EXPECT_FALSE(mute.is_up() || other.is_up()) << "nor do both to each other";
  other.set_mute(false);
  EXPECT_TRUE(both.run_until([&] { return both.are_up(); }, 1_s)) << mute.why();
}

// ---- a burst for both ----

/// Whose peer says nothing, so that links answer strangers: of those that one has heard in a row,
/// and never answered, the last.
struct Desk {
  Desk() {
    deaf.control = [](const Packet&) { return Fate::Lose; };
    said.control = [this](const Packet& packet) {
      const uint64_t receiver = peek_of(packet).header.receiver_nonce;
      if (receiver != 0) answered.insert(receiver);
      return Fate::Pass;
    };
    pair.a->add_beside(newer, next_keys, Instant()).set_beside(LinkAge::Newer, true);
    station.set(pair.a->endpoint(), pair.a->beside());
    cw_mac_init(&mac, SiteOptions().key.data(), SiteOptions().key.size());
  }
  /// Says hello, by its place in the burst.
  void add(uint32_t shape) {
    auto& bytes = packets.emplace_back(1024);
    const EnvelopeHeader header{.sender_nonce = packets.size(), .sequence = 1, .link = older};
    EnvelopeWriter writer(bytes, header);
    EXPECT_TRUE(writer.try_add(hello_of(shape)));
    bytes.resize(writer.seal({&mac, cw_mac_compute}));
    Arrival arrival;
    arrival.form = Form::Datagram;
    arrival.head.key = control_qkey;
    arrival.head.target_qp = control_qpn_of(older);
    arrival.head.payload_bytes = static_cast<uint32_t>(bytes.size());
    arrival.payload = bytes.data();
    arrival.peer = pair.peers().of_first;
    burst.push_back(arrival);
  }
  void arrive() {
    station.on_arrivals(burst, pair.network().now());
    pair.run_for(5_ms);
  }
  /// Of the hellos that either gives away at the start.
  std::multiset<uint32_t> shapes_collected(WanStation& from) {
    std::array<Send, 8> sends;
    std::multiset<uint32_t> shapes;
    from.on_time(Instant());
    for (Send& send : std::span(sends).first(from.collect(sends, Instant()))) {
      shapes.insert(shape_in(peek_envelope({send.payload, send.head.payload_bytes})));
      pair.a_sim().give_back({&send.packet, 1});
    }
    return shapes;
  }

  WireScript said, deaf;
  std::set<uint64_t> answered;  ///< by their places, from 1
  std::deque<std::vector<uint8_t>> packets;
  std::vector<Arrival> burst;
  cw_mac mac;
  Pair pair{neighbours(), said, deaf};
  sdr::EndpointPair station{pair.a->endpoint()};
};

const uint32_t firsts = shape_of(neighbours().a.stream, first_keys);
const uint32_t nexts = shape_of(neighbours().a.stream, next_keys);

TEST(Beside, a_burst_for_both_is_sorted_and_each_hears_the_last_of_its_own_last) {
  Prng prng(1);
  for (int round = 0; round < 60; ++round) {
    Desk desk;
    uint64_t first_last = 0, next_last = 0;
    const size_t count = 1 + prng.below(limits::burst_packets_max);
    for (size_t place = 1; place <= count; ++place) {
      const uint32_t shape = std::array{firsts, nexts, nexts ^ 1}[prng.below(3)];
      desk.add(shape);
      // What neither expects is for who carries.
      (shape == nexts ? next_last : first_last) = place;
    }
    std::set<uint64_t> expected{first_last, next_last};
    expected.erase(0);
    desk.arrive();
    ASSERT_EQ(desk.answered, expected) << "round " << round << " of " << count;
  }
}

TEST(Beside, a_burst_takes_what_either_has) {
  Desk desk;
  EXPECT_EQ(desk.shapes_collected(desk.station), (std::multiset{firsts, nexts}));
}

TEST(Beside, whoever_is_due_first_wakes_the_worker) {
  Desk desk;
  sdr::Endpoint &first = desk.pair.a->endpoint(), &second = *desk.pair.a->beside();
  EXPECT_EQ(desk.shapes_collected(first), std::multiset{firsts});
  EXPECT_GT(first.next_wakeup(), Instant());
  EXPECT_LE(desk.station.next_wakeup(), Instant()) << "the second has its hello";
  Desk other;
  EXPECT_EQ(other.shapes_collected(*other.pair.a->beside()), std::multiset{nexts});
  EXPECT_LE(other.station.next_wakeup(), Instant()) << "and here the first";
  EXPECT_EQ(desk.shapes_collected(second), std::multiset{nexts});
  EXPECT_EQ(desk.station.next_wakeup(), std::min(first.next_wakeup(), second.next_wakeup()));
}

}  // namespace
}  // namespace cw::sim
