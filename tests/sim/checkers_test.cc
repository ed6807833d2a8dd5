// Each checker against the component that it exists to catch, and against its healthy twin: a
// two-act story of the toy transfer over a rough network, with one thing broken or none.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sim/checkers/bounded_memory.h"
#include "tests/sim/checkers/clock_monotone.h"
#include "tests/sim/checkers/conservation.h"
#include "tests/sim/checkers/converged.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/mutant_port.h"
#include "tests/sim/stage.h"
#include "tests/sim/toy_transfer.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint64_t seed = 7741;

Impairment rough() {
  return {.rate = 10_Gbps,
          .queue_bytes = 1_MiB,
          .blackout = {Instant::from_ns(5'000'000), 3_ms, 20_ms},
          .loss = 0.02,
          .bursts = {.loss = 0.01, .profile = *find_burst_profile("amazon")},
          .corrupt = 0.005,
          .duplicate = 0.02,
          .delay = 100_us,
          .jitter_max = 30_us,
          .jitter_reorders = true,
          .reorder = 0.02,
          .reorder_delay = 80_us};
}

/// Tells the clock checker when packets say that they arrived.
class ArrivalWatch final : public PortAround {
 public:
  ArrivalWatch(Port& inner, ClockMonotone& clock) : PortAround(inner), clock_(clock) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    for (const Packet* packet : out.first(count)) clock_.observe("the receiver", packet->at);
    return count;
  }

 private:
  ClockMonotone& clock_;
};

/// The whole story with every checker on.
class Story {
 public:
  Story(PortBug bug, const ToyOptions& options)
      : network_({.seed = seed, .paths = 2}),
        source_(network_.add_port()),
        target_(network_.add_port()),
        source_mutant_(source_, bug),
        target_mutant_(target_, bug),
        sent_(source_mutant_),
        received_(target_mutant_),
        arrivals_(received_, clock_),
        sender_(sent_, options, watchers()),
        receiver_(arrivals_, options, watchers()) {
    network_.join(source_, target_, rough());
    network_.set_impairment(source_, {.path = 1}, {.loss = 0.1, .delay = 150_us});
    memory_.add_gauge("packets lent by the target", [this] { return target_.lent_count(); });
    memory_.add_gauge("packets lent by the source", [this] { return source_.lent_count(); });
  }

  /// Plays both acts.
  void play() {
    Stage stage(network_, seed);
    stage.add(sender_);
    stage.add(receiver_);
    for (Checker* checker : all()) stage.watch(*checker);
    stage.run_until([this] { return network_.now() >= Instant::from_ns(2'000'000); }, never);
    memory_.warm_up_ends();
    stage.run_until([this] { return sender_.has_opened_all(); }, never);
    network_.set_all_impairments({.delay = 100_us});
    converged_.calm_begins(network_.now());
    end_ = stage.run_until([this] { return converged_.settled_at().has_value(); },
                           network_.now() + 1_s);
    complaint_ = stage.final_complaint();
  }

  std::vector<Checker*> all() {
    return {&conservation_, &bytes_, &once_, &memory_, &starves_, &converged_, &clock_};
  }
  std::string complaint() const { return complaint_.value_or(""); }
  StageEnd end() const { return end_; }
  uint64_t byte_count() const { return bytes_.byte_count(); }
  uint64_t send_count() const { return sender_.send_count(); }
  uint64_t trace_hash() const { return network_.trace_hash(); }
  SimCounters counters() const { return network_.counters(); }

 private:
  static constexpr Instant never = Instant::from_ns(Duration::from_s(10).ns());

  ToyWatchers watchers() { return {&once_, &bytes_, &starves_}; }
  Ledger ledger() const {
    Ledger ledger = ledger_of(network_);
    ledger.entered = sent_.sent() + received_.sent();
    ledger.delivered = sent_.received() + received_.received();
    return ledger;
  }

  ExactlyOnce once_;
  NoWrongByte bytes_;
  NothingStarves starves_{50_ms};
  BoundedMemory memory_;
  ClockMonotone clock_;
  SimNetwork network_;
  SimPort& source_;
  SimPort& target_;
  MutantPort source_mutant_, target_mutant_;
  TallyPort sent_, received_;
  ArrivalWatch arrivals_;
  ToySender sender_;
  ToyReceiver receiver_;
  Conservation conservation_{[this] { return ledger(); }};
  Converged converged_{20_ms, [this] { return sender_.is_done(); }};
  StageEnd end_ = StageEnd::Quiet;
  std::optional<std::string> complaint_;
};

TEST(Checkers, are_content_with_a_healthy_story_of_faults_and_calm) {
  Story story(PortBug::None, {.messages_per_stream = 20'000});
  story.play();
  EXPECT_EQ(story.complaint(), "");
  EXPECT_EQ(story.end(), StageEnd::Reached);
  EXPECT_GE(story.byte_count(), 40'000u * 256);
  // given: faults that mattered
  EXPECT_GT(story.send_count(), 42'000u);
  EXPECT_GT(story.counters().rx_damaged, 50u);
  EXPECT_GT(story.counters().extra_copies, 200u);
}

TEST(Checkers, story_has_the_same_trace_hash_each_time) {
  uint64_t hashes[2];
  for (uint64_t& hash : hashes) {
    Story story(PortBug::None, {});
    story.play();
    hash = story.trace_hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

struct Mutant {
  const char* what;
  PortBug bug;
  ToyOptions options;
  const char* checker;  // must complain

  friend std::ostream& operator<<(std::ostream& out, const Mutant& mutant) {
    return out << mutant.what;
  }
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, is_caught_by_its_checker) {
  const Mutant& mutant = GetParam();
  Story story(mutant.bug, mutant.options);
  story.play();
  EXPECT_TRUE(story.complaint().starts_with(std::string(mutant.checker) + ": "))
      << "complaint: " << story.complaint();
}

const ToyOptions healthy = {.messages_per_stream = 5000};
ToyOptions broken(const std::function<void(ToyOptions&)>& break_it) {
  ToyOptions options = healthy;
  break_it(options);
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    All, Mutants,
    testing::Values(Mutant{"loses_silently", PortBug::LosesSilently, healthy, "conservation"},
                    Mutant{"flips_a_byte", PortBug::FlipsByte, healthy, "no wrong byte"},
                    Mutant{"leaks_packets", PortBug::Leaks, healthy, "bounded memory"},
                    Mutant{"stamps_back", PortBug::StampsBack, healthy, "clock monotone"},
                    Mutant{"finishes_duplicates", PortBug::None,
                           broken([](ToyOptions& o) { o.forgets_finished = true; }),
                           "exactly once"},
                    Mutant{"starves_one_of_two", PortBug::None,
                           broken([](ToyOptions& o) { o.starves_last_stream = true; }),
                           "nothing starves"},
                    Mutant{"stalls_after_faults", PortBug::None,
                           broken([](ToyOptions& o) { o.stalls_at_the_end = true; }), "converged"}),
    [](const auto& mutant) { return mutant.param.what; });

TEST(ExactlyOnce, complains_at_the_end_of_what_was_never_finished) {
  ExactlyOnce once;
  once.opened(1);
  EXPECT_FALSE(once.verdict());
  EXPECT_TRUE(once.final_verdict());
  once.finished(1);
  EXPECT_FALSE(once.final_verdict());
}

TEST(ExactlyOnce, complains_of_a_message_that_nobody_opened) {
  ExactlyOnce once;
  once.finished(1);
  EXPECT_TRUE(once.verdict());
}

TEST(NoWrongByte, knows_a_right_byte_in_a_wrong_place) {
  std::vector<uint8_t> bytes(1000);
  fill_pattern(bytes, 1, 2, 13);
  NoWrongByte right, wrong_offset, wrong_message, wrong_stream;
  right.on_bytes(bytes, 1, 2, 13);
  EXPECT_FALSE(right.verdict());
  wrong_offset.on_bytes(bytes, 1, 2, 14);
  wrong_message.on_bytes(bytes, 1, 3, 13);
  wrong_stream.on_bytes(bytes, 2, 2, 13);
  EXPECT_TRUE(wrong_offset.verdict() && wrong_message.verdict() && wrong_stream.verdict());
}

TEST(NoWrongByte, names_the_offset) {
  std::vector<uint8_t> bytes(1000);
  fill_pattern(bytes, 1, 2, 100);
  bytes[777] ^= 1;
  NoWrongByte checker;
  checker.on_bytes(bytes, 1, 2, 100);
  EXPECT_EQ(checker.verdict(), "stream 1 message 2: wrong byte at offset 877");
}

TEST(NoWrongByte, pattern_is_the_same_in_pieces) {
  std::vector<uint8_t> whole(100), pieces(100);
  fill_pattern(whole, 5, 6, 3);
  for (size_t i = 0; i < 100; i += 7) {
    fill_pattern(std::span(pieces).subspan(i, std::min<size_t>(7, 100 - i)), 5, 6, 3 + i);
  }
  EXPECT_EQ(whole, pieces);
}

TEST(BoundedMemory, allows_what_the_warm_up_needed_and_no_more) {
  uint64_t gauge = 10;
  BoundedMemory memory;
  memory.add_gauge(
      "gauge", [&] { return gauge; }, 2);
  memory.on_turn({});
  EXPECT_TRUE(memory.final_verdict());  // never warm
  memory.warm_up_ends();
  gauge = 12;
  memory.on_turn({});
  EXPECT_FALSE(memory.final_verdict());
  gauge = 13;
  memory.on_turn({});
  EXPECT_TRUE(memory.verdict());
}

TEST(NothingStarves, complains_above_its_age_and_not_at_it) {
  NothingStarves starves(10_ns);
  starves.opened(1, Instant::from_ns(0));
  starves.opened(2, Instant::from_ns(5));
  starves.closed(1);
  starves.on_turn(Instant::from_ns(15));
  EXPECT_FALSE(starves.verdict());
  starves.on_turn(Instant::from_ns(16));
  EXPECT_TRUE(starves.verdict());
}

TEST(Converged, counts_from_the_calm_and_not_before) {
  bool is_settled = false;
  Converged converged(10_ns, [&] { return is_settled; });
  converged.on_turn(Instant::from_ns(1000));
  EXPECT_FALSE(converged.verdict());
  converged.calm_begins(Instant::from_ns(1000));
  converged.on_turn(Instant::from_ns(1010));
  EXPECT_FALSE(converged.verdict());
  EXPECT_TRUE(converged.final_verdict());
  converged.on_turn(Instant::from_ns(1011));
  EXPECT_TRUE(converged.verdict());
}

TEST(Stage, ends_quiet_when_nothing_can_happen_any_more) {
  SimNetwork network({});
  Stage stage(network, 1);
  EXPECT_EQ(stage.run_until([] { return false; }, Instant::from_ns(100)), StageEnd::Quiet);
}

TEST(Stage, ends_at_the_deadline_when_an_actor_always_wants_a_turn) {
  class Eager final : public Actor {
    void turn(Instant) override {}
    Instant next_deadline() const override { return {}; }
  } eager;
  SimNetwork network({});
  Stage stage(network, 1);
  stage.add(eager);
  EXPECT_EQ(stage.run_until([] { return false; }, Instant::from_ns(10'050)), StageEnd::Deadline);
  EXPECT_EQ(network.now(), Instant::from_ns(10'050));
}

TEST(HeapWatch, counts_only_what_it_watches) {
  const uint64_t before = HeapWatch::allocation_count();
  auto unwatched = std::make_unique<int>(1);
  EXPECT_EQ(HeapWatch::allocation_count(), before);
  {
    HeapWatch watch;
    int* volatile watched = new int(2);  // volatile: compilers may leave a pair out
    delete watched;
  }
  EXPECT_EQ(HeapWatch::allocation_count(), before + 1);
}

TEST(SimNetwork, allocates_nothing_once_it_is_put_together) {
  SimNetwork network({.seed = seed, .wire_packets = 100});
  SimPort& source = network.add_port();
  SimPort& target = network.add_port();
  network.join(source, target, rough());
  const uint64_t before = HeapWatch::allocation_count();
  for (int i = 0; i < 10'000; ++i) {
    HeapWatch watch;
    network.advance_to(Instant::from_ns(i * 1000));
    Packet* burst[4];
    source.take_burst(burst);
    for (Packet* packet : burst) packet->bytes = 100;
    source.tx_burst(burst, network.now());
    target.give_back({burst, target.rx_burst(burst, network.now())});
  }
  EXPECT_GT(network.counters().wire_full, 0u);
  EXPECT_EQ(HeapWatch::allocation_count(), before);
}

}  // namespace
}  // namespace cw::sim
