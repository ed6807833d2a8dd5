// What a link says of what both ends must have alike, and whom it takes for its peer by that.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/sim/sdr/liar.h"
#include "tests/sim/sdr/shapes.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::sim {
namespace {
using namespace literals;

TEST(Shapes, are_said_by_each_hello) {
  PairOptions options = reliable_pair();
  options.a.pair_keys = options.b.pair_keys = first_keys;
  size_t hellos = 0;
  WireScript script;
  script.control = [&](const Packet& packet) {
    const auto hello = peek_of(packet).hello;
    if (!hello) return Fate::Pass;
    EXPECT_EQ(hello->shape(), shape_of(options.a.stream, first_keys));
    EXPECT_EQ(hello->age(), LinkAge::Only);
    ++hellos;
    return Fate::Pass;
  };
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(5, 3_s));
  EXPECT_GT(hellos, 2u);
  EXPECT_NE(shape_of(options.a.stream, first_keys), shape_of(options.a.stream, next_keys));
}

// ---- strangers ----

/// Somebody with the key who says hello to b of a pair that is up.
struct Visitor {
  Visitor() {
    liar.b_script.control = [this](const Packet& packet) {
      if (peek_of(packet).header.receiver_nonce == nonce) ++answers;
      return Fate::Pass;
    };
  }
  bool is_answered(uint32_t shape, bool is_newer) {
    answers = 0;
    const EnvelopeHeader header{.sender_nonce = ++nonce, .sequence = 1};
    Hello hello = hello_of(shape);
    if (is_newer) hello.capabilities |= Hello::newer;
    inject(liar.pair, liar.intruder.control(header, [&](EnvelopeWriter& writer) {
      EXPECT_TRUE(writer.try_add(hello));
    }));
    liar.pair.run_for(30_ms);
    return answers > 0;
  }
  const sdr::Knocks& knocks() const { return liar.pair.b->link().knocks(); }
  Instant now() { return liar.pair.network().now(); }
  uint64_t dropped() const { return liar.pair.dropped_at_b(DropReason::epoch_shape); }

  uint64_t nonce = 0x1234, answers = 0;
  Liar liar;
};

// [C-64] They knock: somebody may want to know that.
TEST(Shapes, of_links_beside_others_are_not_taken_for_the_peers_next_life) {
  Visitor visitor;
  const uint32_t ours = shape_of(reliable_pair().b.stream, {});
  const uint64_t epochs = visitor.liar.count_at_b(Counter::epochs);
  EXPECT_FALSE(visitor.knocks().are_of_another(visitor.now()));
  for (const uint32_t other : {ours ^ 1, ours ^ 0x800000, 0u}) {
    const uint64_t before = visitor.dropped();
    EXPECT_FALSE(visitor.is_answered(other, /*is_newer=*/true));
    EXPECT_EQ(visitor.dropped(), before + 1);
  }
  EXPECT_TRUE(visitor.knocks().are_of_another(visitor.now()));
  EXPECT_FALSE(visitor.knocks().are_of_our_shape(visitor.now()));
  EXPECT_FALSE(visitor.is_answered(ours, /*is_newer=*/true));
  EXPECT_TRUE(visitor.knocks().are_of_our_shape(visitor.now()));
  visitor.liar.pair.run_for(2_s);
  EXPECT_FALSE(visitor.knocks().are_of_our_shape(visitor.now())) << "any more";
  EXPECT_EQ(visitor.liar.count_at_b(Counter::epochs), epochs);
  EXPECT_TRUE(visitor.liar.pair.are_up());
  visitor.liar.send_one_slot();
}

TEST(Shapes, of_strangers_without_another_link_are_heard) {
  Visitor visitor;
  const uint32_t ours = shape_of(reliable_pair().b.stream, {});
  for (const uint32_t each : {ours, ours ^ 1, 0u}) {
    EXPECT_TRUE(visitor.is_answered(each, /*is_newer=*/false));
  }
  EXPECT_EQ(visitor.dropped(), 0u);
  EXPECT_FALSE(visitor.knocks().are_of_our_shape(visitor.now()));
  EXPECT_TRUE(visitor.liar.pair.are_up()) << "nobody has proven anything";
}

// It does not matter how long it goes on.
TEST(Shapes, of_links_beside_others_do_not_disturb_what_crosses) {
  Visitor visitor;
  const uint32_t other = shape_of(reliable_pair().b.stream, next_keys);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(visitor.is_answered(other, /*is_newer=*/true));
  EXPECT_EQ(visitor.dropped(), 200u);
  EXPECT_TRUE(visitor.liar.pair.are_up());
  visitor.liar.send_one_slot();
}

// ---- a peer's next life ----

/// A pair that has delivered.
struct Settled {
  Settled() { EXPECT_TRUE(pair.delivers(5, 3_s)); }
  void restart_b(const sdr::PairKeys& keys) {
    SiteOptions options = reliable_pair().b;
    options.pair_keys = keys;
    pair.restart_b(options);
    pair.courier().receiver_was_restarted();
  }

  WireScript script;
  Pair pair{reliable_pair(), script};
};

// [C-64] It has begun anew by another file, and what differs is told.
TEST(Shapes, of_a_next_life_are_heard_at_once) {
  Settled settled;
  Pair& pair = settled.pair;
  settled.restart_b(next_keys);
  ASSERT_TRUE(pair.run_until([&] { return !pair.a->is_up(); }, 300_ms));
  EXPECT_EQ(pair.dropped_at_a(DropReason::epoch_shape), 0u);
  pair.run_for(500_ms);
  EXPECT_EQ(pair.a->link().why(),
            "mtu is not set here and 1200 at the peer: [pair] keys must be equal");
  EXPECT_EQ(pair.b->link().why(),
            "mtu is 1200 here and not set at the peer: [pair] keys must be equal");
  settled.restart_b({});
  EXPECT_TRUE(pair.delivers(5, 2_s)) << pair.a->link().why();
  EXPECT_EQ(pair.courier().complaint(), "");
}

// ---- a link beside one that carries ----

/// Whose ends differ.
struct Unequal {
  explicit Unequal(bool is_a_beside) {
    if (is_a_beside) pair.a->link().set_beside(LinkAge::Newer, true);
    pair.run_for(3_s);
  }
  static PairOptions options() {
    PairOptions options = reliable_pair();
    options.a.pair_keys = first_keys;
    options.b.pair_keys = next_keys;
    return options;
  }
  uint64_t epochs_at_a() { return pair.a->counters().read_any_thread(Counter::epochs); }

  WireScript script;
  Pair pair{options(), script};
};

// [C-64] That is for the one that carries, which is none of its business.
TEST(Shapes, of_others_are_not_for_a_link_beside) {
  Unequal ends(/*is_a_beside=*/true);
  EXPECT_EQ(ends.epochs_at_a(), 0u);
  EXPECT_FALSE(ends.pair.a->link().control().is_in_force());
  EXPECT_GT(ends.pair.dropped_at_a(DropReason::epoch_shape), 0u);
  EXPECT_TRUE(ends.pair.a->link().why().starts_with("no answer from the peer"));
  ends.pair.a->link().set_beside(LinkAge::Only, false);
  ends.pair.run_for(1_s);
  EXPECT_EQ(ends.pair.a->link().why(),
            "mtu is 1000 here and 1200 at the peer: [pair] keys must be equal");
}

TEST(Shapes, of_others_are_told_by_a_link_that_carries_alone) {
  Unequal ends(/*is_a_beside=*/false);
  EXPECT_GT(ends.epochs_at_a(), 0u);
  EXPECT_EQ(ends.pair.dropped_at_a(DropReason::epoch_shape), 0u);
  EXPECT_EQ(ends.pair.a->link().why(),
            "mtu is 1000 here and 1200 at the peer: [pair] keys must be equal");
}

/// A pair that is not up yet, of which a says that it has another link.
struct Beginning {
  Beginning(const sdr::PairKeys& keys_of_a, LinkAge age_of_a) : pair(options(keys_of_a), script) {
    pair.a->link().set_beside(age_of_a, age_of_a == LinkAge::Newer);
    pair.run_for(1_s);
  }
  static PairOptions options(const sdr::PairKeys& keys_of_a) {
    PairOptions options = reliable_pair();
    options.a.pair_keys = keys_of_a;
    options.b.pair_keys = first_keys;
    return options;
  }

  WireScript script;
  Pair pair;
};

// [C-64] It says hello itself, and is heard where its shape is known.
TEST(Shapes, of_an_only_link_find_the_older_or_the_newer_of_two) {
  for (const LinkAge age : {LinkAge::Older, LinkAge::Newer}) {
    Beginning same(first_keys, age);
    EXPECT_TRUE(same.pair.are_up()) << same.pair.b->link().why();
  }
  Beginning another(next_keys, LinkAge::Newer);
  EXPECT_EQ(another.pair.b->counters().read_any_thread(Counter::epochs), 0u);
  EXPECT_GT(another.pair.dropped_at_b(DropReason::epoch_shape), 0u);
}

// ---- a version that says none ----

/// A pair of which a says hello as versions without shapes did.
struct Elder {
  Elder() {
    a_script.control = [this](const Packet& packet) {
      inject(pair, without_shape({packet.data, packet.data + packet.bytes}), packet.path);
      return Fate::Lose;
    };
  }
  PacketBytes without_shape(PacketBytes bytes) const {
    RecordReader records = intruder.opened(bytes).reader();
    while (const auto view = records.next()) {
      if (view->type != std::to_underlying(Hello::type)) continue;
      // Bits 8 to 31 of the capabilities, which are first in its body.
      std::fill_n(bytes.begin() + (view->body.data() - bytes.data()), 3, uint8_t{0});
    }
    return intruder.resealed(bytes);
  }

  Recorded nothing;
  Intruder intruder{nothing, SiteOptions().key};
  WireScript a_script, b_script;
  Pair pair{reliable_pair(), a_script, b_script};
};

TEST(Shapes, need_not_be_said_by_the_peer_of_a_link_that_carries) {
  Elder elder;
  EXPECT_TRUE(elder.pair.delivers(20, 3_s)) << elder.pair.b->link().why();
  EXPECT_EQ(elder.pair.dropped_at_b(DropReason::epoch_shape), 0u);
  EXPECT_EQ(elder.pair.courier().complaint(), "");
}

TEST(Shapes, need_not_be_said_by_the_next_life_of_a_peer_either) {
  Elder elder;
  ASSERT_TRUE(elder.pair.delivers(5, 3_s));
  elder.pair.restart_sender();
  EXPECT_TRUE(elder.pair.run_until([&] { return elder.pair.a->is_up(); }, 300_ms));
  EXPECT_TRUE(elder.pair.delivers(5, 1_s));
  EXPECT_EQ(elder.pair.courier().complaint(), "");
}

// Nobody knows which of two it is for, so it is for the one that carries.
TEST(Shapes, that_nobody_says_are_not_for_a_link_beside) {
  Elder elder;
  elder.pair.b->link().set_beside(LinkAge::Newer, true);
  elder.pair.run_for(3_s);
  EXPECT_FALSE(elder.pair.b->link().control().is_in_force());
  EXPECT_GT(elder.pair.dropped_at_b(DropReason::epoch_shape), 0u);
}

// ---- two links of one number in one endpoint ----

constexpr uint16_t low = 3, high = low + limits::links_max;

/// Each end has two, the second of which is beside the first, and `low` at b where they are
/// crossed.
struct Twofold {
  explicit Twofold(bool is_crossed) : options(options_of(is_crossed)) {
    script.control = [this](const Packet& packet) {
      return late != 0 && shape_in(peek_of(packet)) == late ? Fate::Lose : Fate::Pass;
    };
    for (Site* site : {pair.a.get(), pair.b.get()}) {
      site->link(0).set_beside(LinkAge::Older, false);
      site->link(1).set_beside(LinkAge::Newer, true);
    }
    pair.courier().stop();
    pair.courier().post_nothing();
  }
  static PairOptions options_of(bool is_crossed) {
    PairOptions options = reliable_pair();
    options.a.links = {low, high};
    options.a.link_keys = {first_keys, next_keys};
    options.b = options.a;
    if (is_crossed) options.b.links = {high, low};
    return options;
  }
  bool is_up(size_t link) const { return pair.a->link(link).is_up() && pair.b->link(link).is_up(); }
  /// Messages of a length of its own over each of them, either way.
  void expect_transfers() {
    for (const size_t link : {0, 1}) {
      const TransferOptions one_way{
          .messages = 60, .bytes_of = [=](uint64_t) { return 3000 + link * 777; }, .link = link};
      transfers.emplace_back(*pair.a, *pair.b, one_way);
      transfers.emplace_back(*pair.b, *pair.a, one_way);
    }
    for (Transfer& each : transfers) watch(each);
    const auto are_done = [&] { return std::ranges::all_of(transfers, &Transfer::is_done); };
    EXPECT_TRUE(pair.run_until(are_done, 5_s));
    EXPECT_EQ(pair.stage().final_complaint(), std::nullopt);
    for (const Transfer& each : transfers) EXPECT_EQ(each.whole_count(), 60u);
  }
  void watch(Transfer& transfer) {
    pair.stage().add(transfer);
    pair.stage().watch(transfer.exactly_once());
    pair.stage().watch(transfer.no_wrong_byte());
  }

  PairOptions options;
  uint32_t late = 0;  ///< nothing of this shape gets through
  WireScript script;
  Pair pair{options, script};
  std::deque<Transfer> transfers;
};

// [C-60] [C-64]
TEST(TwoLinks, of_one_number_find_each_its_own_by_their_shapes) {
  for (const bool is_crossed : {false, true}) {
    SCOPED_TRACE(is_crossed ? "crossed" : "alike");
    Twofold links(is_crossed);
    ASSERT_TRUE(links.pair.run_until([&] { return links.pair.are_up(); }, 1_s))
        << links.pair.a->link(0).why() << ", " << links.pair.a->link(1).why();
    links.expect_transfers();
    for (Site* site : {links.pair.a.get(), links.pair.b.get()}) {
      EXPECT_EQ(site->counters().read_any_thread(Counter::epochs), 2u);
      EXPECT_EQ(site->drops().snapshot_any_thread().sum(), 0u) << "each found its own";
    }
  }
}

TEST(TwoLinks, of_one_number_come_up_in_either_order) {
  for (const bool is_crossed : {false, true}) {
    for (const size_t later : {0, 1}) {
      SCOPED_TRACE("later " + std::to_string(later) + (is_crossed ? ", crossed" : ""));
      Twofold links(is_crossed);
      links.late = shape_of(links.options.a.stream, later == 0 ? first_keys : next_keys);
      ASSERT_TRUE(links.pair.run_until([&] { return links.is_up(1 - later); }, 1_s));
      links.pair.run_for(2_s);
      EXPECT_FALSE(links.pair.a->link(later).is_up() || links.pair.b->link(later).is_up());
      links.late = 0;
      ASSERT_TRUE(links.pair.run_until([&] { return links.is_up(later); }, 1_s));
      EXPECT_TRUE(links.is_up(1 - later));
      links.expect_transfers();
    }
  }
}

// [C-64] Who restarts finds the one of his, and the other is left alone.
TEST(TwoLinks, of_one_number_are_found_by_a_peer_that_begins_anew_with_one) {
  for (const size_t one : {0, 1}) {
    SCOPED_TRACE(one);
    Twofold links(/*is_crossed=*/false);
    ASSERT_TRUE(links.pair.run_until([&] { return links.pair.are_up(); }, 1_s));
    SiteOptions options = reliable_pair().b;
    options.links = {low};
    options.pair_keys = one == 0 ? first_keys : next_keys;
    links.pair.restart_b(options);
    EXPECT_TRUE(links.pair.run_until([&] { return links.pair.b->is_up(); }, 300_ms))
        << links.pair.b->link().why();
    EXPECT_EQ(links.pair.a->counters().read_any_thread(Counter::epochs), 3u);
    EXPECT_TRUE(links.pair.a->link(1 - one).is_up()) << "nobody has said that it is over";
  }
}

}  // namespace
}  // namespace cw::sim
