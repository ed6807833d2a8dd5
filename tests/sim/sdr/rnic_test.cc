// Ends whose hardware posts, numbers and places; that all policies run between them is the
// conformance suite's.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <type_traits>

#include "dataplane/wire/control/control.h"
#include "dataplane/wire/roce_inline.h"
#include "tests/sim/sdr/intruder.h"
#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {
using namespace literals;

PairOptions rnic_pair(uint16_t paths = 1) {
  PairOptions options = reliable_pair();
  for (SiteOptions* site : {&options.a, &options.b}) {
    site->has_rnic = true;
    site->paths = paths;
  }
  return options;
}

TEST(RnicEnds, windows_are_open_for_what_is_posted_and_nothing_else) {
  const WireScript script;
  Pair pair(rnic_pair(), script);
  ASSERT_TRUE(pair.delivers(100, 3_s));
  pair.courier().stop();
  ASSERT_TRUE(pair.run_until([&] { return pair.courier().is_idle(); }, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_LE(pair.b->rnic().window_count(), 8u) << "one for each place of a stream";
  EXPECT_EQ(pair.b->rnic().refused_count(), 0u);
}

TEST(RnicEnds, a_peer_that_restarts_finds_the_old_windows_closed) {
  const WireScript script;
  Pair pair(rnic_pair(), script);
  ASSERT_TRUE(pair.delivers(20, 3_s));
  for (int i = 0; i < 5; ++i) {
    pair.restart_sender();
    ASSERT_TRUE(pair.delivers(20, 5_s));
    EXPECT_LE(pair.b->rnic().window_count(), 8u);
    pair.restart_receiver();
    ASSERT_TRUE(pair.delivers(20, 5_s));
  }
  EXPECT_EQ(pair.courier().complaint(), "");
}

TEST(RnicEnds, hellos_say_what_a_port_can_do) {
  for (const bool has_rnic : {false, true}) {
    PairOptions options = reliable_pair();
    options.a.has_rnic = has_rnic;
    const Recorded nothing;
    const Intruder listener(nothing, options.a.key);
    std::optional<uint32_t> said;
    WireScript script;
    script.control = [&](const Packet& packet) {
      const Envelope envelope = listener.opened({packet.data, packet.bytes});
      RecordReader reader = envelope.reader();
      while (const auto view = reader.next()) {
        ControlRecords::visit(*view, [&]<class Record>(const Record& record) {
          if constexpr (std::is_same_v<Record, Hello>) {
            said = record.capabilities % (1u << Hello::shape_shift);
          }
        });
      }
      return Fate::Pass;
    };
    const WireScript calm;
    Pair pair(options, script, calm);
    ASSERT_TRUE(pair.delivers(1, 3_s));
    const uint32_t of_port =
        has_rnic ? Hello::places_payload | Hello::numbers_by_qp : Hello::sees_psns;
    EXPECT_EQ(said, Hello::swaps | of_port);
  }
}

// [C-2] Its number is in its hello, and nowhere else.
TEST(RnicEnds, are_answered_at_numbers_that_nobody_knew) {
  PairOptions options = reliable_pair();
  options.a.has_rnic = true;
  const WireScript script;
  Pair pair(options, script);
  pair.a->rnic().be_unasked();
  ASSERT_TRUE(pair.delivers(20, 3_s));
  EXPECT_GT(pair.a->rnic().stray_count(), 0u) << "the other's first hellos";
}

// A completion says of a path no more than its QP does: what is learnt of paths needs both ends.
TEST(RnicEnds, numbers_of_qps_tell_paths_apart) {
  WireScript script;
  std::set<uint32_t> numbers;
  script.data = [&](const Packet& packet) {
    SlotWrite slot;
    EXPECT_TRUE(try_parse_slot_write({packet.data, packet.bytes}, slot));
    numbers.insert(slot.target_qp);
    return Fate::Pass;
  };
  PairOptions options = rnic_pair(3);
  options.a.stream.generations = options.b.stream.generations = 2;
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(100, 3_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  EXPECT_EQ(numbers.size(), 6u) << "of three paths and two generations";
}

// Each QP counts its own: who sees numbers must not take the next generation's for losses.
TEST(RnicEnds, a_receiver_that_sees_numbers_counts_them_by_qp) {
  const WireScript script;
  PairOptions options = rnic_pair(2);
  options.b.has_rnic = false;
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(200, 5_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  for (uint16_t path = 0; path < 2; ++path) {
    const PathState state = pair.b->link().path_state(path, pair.network().now());
    EXPECT_GT(state.arrived, 100u);
    EXPECT_EQ(state.lost + state.reordered + state.duplicates, 0u);
  }
}

// A completion shows no number: what a path loses follows from how many have come.
TEST(RnicEnds, a_sender_knows_what_each_path_loses) {
  WireScript script;
  uint32_t seen = 0;
  std::array<uint64_t, 2> lost{}, sent{};
  PairOptions options = rnic_pair(2);
  script.data = [&](const Packet& packet) {
    const bool is_lost = packet.path == 1 && ++seen % 10 == 0;
    ++sent[packet.path];
    lost[packet.path] += is_lost;
    return is_lost ? Fate::Lose : Fate::Pass;
  };
  Pair pair(options, script);
  ASSERT_TRUE(pair.delivers(400, 10_s));
  pair.courier().stop();
  ASSERT_TRUE(pair.run_until([&] { return pair.courier().is_idle(); }, 5_s));
  ASSERT_TRUE(
      pair.run_until([&] { return pair.a->link().path_report_there(1).lost >= lost[1]; }, 5_s))
      << pair.a->link().path_report_there(1).lost << " of " << lost[1];
  pair.run_for(1_s);  // what is still on its way, and reports of it
  for (uint16_t path = 0; path < 2; ++path) {
    const PathReport& told = pair.a->link().path_report_there(path);
    EXPECT_EQ(told.lost, lost[path]) << "of " << sent[path] << " by path " << path;
    EXPECT_EQ(told.received + told.lost, sent[path]);
  }
}

}  // namespace
}  // namespace cw::sim
