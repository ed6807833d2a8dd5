// What every policy must do, a property each.
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "tests/conformance/checks.h"
#include "tests/conformance/meddling.h"
#include "tests/conformance/story.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::conformance {
using namespace literals;

// ---- no loss ----
// A link that loses nothing costs nothing: no slot leaves twice, and every byte is the sender's.

Verdict check_no_loss(const Candidate& candidate, const Scale& run) {
  Story story(candidate, {.seed = 11, .messages = run.messages});
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) {
    return Refusal{Property::NoLossNoResend, *complaint};
  }
  if (story.resends() == 0) return std::nullopt;
  return Refusal{Property::NoLossNoResend,
                 std::to_string(story.resends()) + " slots were resent, and none was lost"};
}

TEST_P(EveryPolicy, resends_nothing_without_loss_and_delivers_equal_bytes) {
  EXPECT_TRUE(accepts(check_no_loss(GetParam(), scale)));
}

namespace {

// ---- Whatever the link does for a while, everything has arrived soon after it stops ----

constexpr Duration delay = 5_ms;

struct Fault {
  const char* name;
  Impairment wire;
};

std::vector<Fault> faults() {
  Impairment disorder{.loss = 0.02, .corrupt = 0.005, .duplicate = 0.05, .delay = delay};
  disorder.jitter_max = 2_ms;
  disorder.jitter_reorders = true;
  return {
      {"a quarter of the packets lost", {.loss = 0.25, .delay = delay}},
      {"losses in bursts",
       {.gilbert_elliott = GilbertElliott::from_burst(20, 0.1), .delay = delay}},
      {"loss, damage, copies and disorder", disorder},
      {"darkness", {.loss = 1, .delay = delay}},
  };
}

std::optional<std::string> complaint_of(const Candidate& candidate, const Fault& fault,
                                        uint64_t seed, uint64_t messages) {
  Story story(candidate, {.seed = seed, .messages = messages});
  story.run_for(15_ms);  // the link is up and traffic flows
  story.network().set_all_impairments(fault.wire);
  story.run_for(300_ms);
  story.network().set_all_impairments({.delay = delay});
  story.run_to_end(20_s);
  const auto complaint = story.complaint_of_delivery();
  if (!complaint) return std::nullopt;
  return "after " + std::string(fault.name) + ", seed " + std::to_string(seed) + ": " + *complaint;
}

}  // namespace

Verdict check_loss_then_calm(const Candidate& candidate, const Scale& run) {
  if (!candidate.traits.repairs) return std::nullopt;
  for (const Fault& fault : faults()) {
    for (uint64_t seed = 1; seed <= run.seeds; ++seed) {
      if (const auto complaint = complaint_of(candidate, fault, seed, run.messages)) {
        return Refusal{Property::LossThenCalm, *complaint};
      }
    }
  }
  return std::nullopt;
}

namespace {

std::vector<Candidate> candidates_that_repair() {
  std::vector<Candidate> all = candidates();
  std::erase_if(all, [](const Candidate& candidate) { return !candidate.traits.repairs; });
  return all;
}

class EveryRepairingPolicy : public EveryPolicy {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryRepairingPolicy,
                         testing::ValuesIn(candidates_that_repair()),
                         [](const auto& candidate) { return candidate.param.name; });

TEST_P(EveryRepairingPolicy, delivers_everything_once_the_faults_are_over) {
  EXPECT_TRUE(accepts(check_loss_then_calm(GetParam(), scale)));
}

// ---- same seed ----
// A seed is a run: the same packets, to the nanosecond, every time. Whatever a policy knows, it was
// told.

uint64_t trace_of(const Candidate& candidate, uint64_t messages) {
  Story story(candidate, {.seed = 31, .messages = messages, .wire = {.loss = 0.05, .delay = 5_ms}});
  story.run_for(500_ms);
  return story.network().trace_hash();
}

}  // namespace

Verdict check_same_seed(const Candidate& candidate, const Scale& run) {
  const uint64_t first = trace_of(candidate, run.messages);
  const uint64_t second = trace_of(candidate, run.messages);
  if (first == second) return std::nullopt;
  return Refusal{Property::SameSeedSameTrace, "two runs of one seed differ"};
}

TEST_P(EveryPolicy, sends_the_same_packets_when_a_seed_is_run_again) {
  EXPECT_TRUE(accepts(check_same_seed(GetParam(), scale)));
}

namespace {

// ---- When nothing is under way nothing runs: no timer of a policy is armed at either end ----

/// Every timer of both policies: of both directions at both sites.
bool has_timer(Story& story) {
  for (sim::Site* site : {&story.source(), &story.sink()}) {
    if (site->send_stream().seat().next_due() != Instant::never()) return true;
    if (site->recv_stream().seat().next_due() != Instant::never()) return true;
  }
  return false;
}

}  // namespace

Verdict check_idle(const Candidate& candidate, const Scale& run) {
  const double loss = candidate.traits.repairs ? 0.02 : 0;
  Story story(candidate,
              {.seed = 41, .messages = run.messages, .wire = {.loss = loss, .delay = 5_ms}});
  story.run_to_end(60_s);
  story.network().set_all_impairments({.delay = 5_ms});
  // Long enough for whatever still wanted to be said.
  story.run_for(5_s);
  if (!has_timer(story)) return std::nullopt;
  return Refusal{Property::IdleHasNoTimer,
                 "a timer was armed five seconds after the last message was settled"};
}

TEST_P(EveryPolicy, leaves_no_timer_behind_when_all_is_settled) {
  EXPECT_TRUE(accepts(check_idle(GetParam(), scale)));
}

namespace {

// ---- hostile notes ----
// Notes are bytes from somebody else. Whatever they say, nothing crashes, no byte is wrong, and
// what they can make a policy do is bounded by what it has declared.

std::optional<std::string> complaint_of(const Candidate& candidate, uint64_t seed,
                                        uint64_t messages) {
  Meddling meddling(*candidate.ops, seed);
  Candidate lied_to = candidate;
  lied_to.ops = &meddling.table();
  Story story(lied_to, {.seed = seed, .messages = messages, .wire = {.loss = 0.05, .delay = 5_ms}});
  story.run_for(1_s);
  if (const auto complaint = story.stage().complaint()) return complaint;
  if (story.quarantines() > 0) return "lies have led to quarantine";
  if (meddling.notes_forged() < 100) return "too few notes were forged to tell anything";
  // A fact and the note slipped in behind it are two calls.
  const uint64_t bound = 2 * candidate.traits.decisions_per_note_max;
  if (meddling.decisions_max() <= bound) return std::nullopt;
  return "a note caused " + std::to_string(meddling.decisions_max()) + " decisions; " +
         std::to_string(bound / 2) + " are the most";
}

}  // namespace

Verdict check_hostile_notes(const Candidate& candidate, const Scale& run) {
  for (uint64_t seed = 51; seed < 51 + run.seeds; ++seed) {
    if (const auto complaint = complaint_of(candidate, seed, run.messages)) {
      return Refusal{Property::HostileNotesBounded, *complaint};
    }
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, is_not_harmed_by_hostile_notes) {
  EXPECT_TRUE(accepts(check_hostile_notes(GetParam(), scale)));
}

namespace {

// ---- A stream may end at any moment, and then nothing of its policy is left in memory ----

void run_and_destroy(const Candidate& candidate, uint64_t seed, uint64_t turns) {
  Story story(candidate, {.seed = seed, .messages = 40, .wire = {.loss = 0.1, .delay = 1_ms}});
  story.stage().run_until([&] { return story.stage().turn_count() >= turns; },
                          story.network().now() + 10_s);
}

}  // namespace

Verdict check_destroyed(const Candidate& candidate, const Scale& run) {
  Prng prng(61);
  for (uint32_t moment = 0; moment < run.moments; ++moment) {
    const uint64_t turns = prng.below(1500);
    const int64_t before = sim::HeapWatch::live_count();
    run_and_destroy(candidate, moment + 1, turns);
    const int64_t left = sim::HeapWatch::live_count() - before;
    if (left == 0) continue;
    return Refusal{Property::NothingLeaks,
                   std::to_string(left) +
                       " pieces of memory were left when the run was ended at turn " +
                       std::to_string(turns)};
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, leaks_nothing_when_it_is_destroyed_in_any_state) {
  EXPECT_TRUE(accepts(check_destroyed(GetParam(), scale)));
}

namespace {

// ---- drain ----
// A drain ends: by its deadline a policy that repairs has settled every message, repaired or given
// up; what one that does not repair leaves open the core gives up. Then nothing moves any more.

constexpr uint32_t messages = 3, slots = 100, hopeless_slot = 50;

/// Slot 50 never arrives, so no message can be settled by repair.
policy_test::Line line() {
  return {.is_lost = [](const policy_test::Transmission& t) { return t.slot == hopeless_slot; }};
}

std::string open_messages(const policy_test::Host& host) {
  return std::to_string(host.open_count(CW_SOURCE)) + " messages at the source and " +
         std::to_string(host.open_count(CW_SINK)) + " at the sink";
}

void give_up_at_sink(policy_test::Host& host) {
  for (uint32_t message = 0; message < messages; ++message) {
    if (!host.finished_at_sink.contains(message)) host.expire(CW_SINK, message, hopeless_slot, 1);
  }
  host.run(host.now());
}

std::optional<std::string> complaint_of(const Candidate& candidate, Duration drain_time) {
  policy_test::Host host(*candidate.ops, candidate.traits.params, line());
  for (uint32_t message = 0; message < messages; ++message) host.send(message, slots);
  host.run(host.now() + 30_ms);
  host.drain(drain_time);
  host.run(host.now() + drain_time);
  if (!candidate.traits.repairs) give_up_at_sink(host);
  if (host.open_count(CW_SOURCE) + host.open_count(CW_SINK) > 0) {
    return open_messages(host) + " were open when the time to drain was over";
  }
  const size_t sent = host.sent.size();
  host.run(host.now() + 30_s);
  if (host.sent.size() != sent) return "slots were sent after the drain";
  if (host.has_timer()) return "a timer was armed after the drain";
  return std::nullopt;
}

}  // namespace

Verdict check_drain(const Candidate& candidate, const Scale&) {
  for (const Duration drain_time : {1_ms, 40_ms, 200_ms, 2_s}) {
    if (const auto complaint = complaint_of(candidate, drain_time)) {
      return Refusal{Property::DrainEnds,
                     *complaint + " (" + std::to_string(drain_time.ns()) + " ns)"};
    }
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, ends_a_drain_by_its_deadline) {
  EXPECT_TRUE(accepts(check_drain(GetParam(), scale)));
}

// ---- wrap ----
// A stream outlives its numbers: small messages in a row, through few places, across the wrap of
// their sequence.

Verdict check_wrap(const Candidate& candidate, const Scale& run) {
  const double loss = candidate.traits.repairs ? 0.0005 : 0;
  Story story(candidate, {.seed = 71,
                          .messages = run.wrap_messages,
                          .bytes_of = [](uint64_t) { return uint64_t{64}; },
                          .wire = {.loss = loss, .delay = 100_us},
                          // So fast that many packets share a turn.
                          .rate = Rate::from_gbps(1000),
                          .places = 256,
                          .first_seq = MessageSeq() - run.wrap_messages / 2});
  story.run_to_end(5_s);
  const auto complaint = story.complaint_of_delivery();
  if (!complaint) return std::nullopt;
  return Refusal{Property::SequencesWrap, "across the wrap: " + *complaint};
}

TEST_P(EveryPolicy, carries_messages_across_the_wrap_of_their_sequence) {
  EXPECT_TRUE(accepts(check_wrap(GetParam(), scale)));
}

namespace {

// ---- skew ----
// Paths of different lengths bring slots out of order. That is not loss, and what is resent for it
// stays below the share that the policy's row states.

constexpr uint16_t paths = 3;

void spread(Story& story) {
  for (uint16_t path = 0; path < paths; ++path) {
    const Impairment wire{.delay = 5_ms + 1_ms * path};
    story.network().set_impairment(story.source_port(), {story.sink_number(), path}, wire);
  }
}

}  // namespace

Verdict check_skew(const Candidate& candidate, const Scale& run) {
  Story story(candidate, {.seed = 81, .messages = run.messages, .paths = paths});
  spread(story);
  story.run_to_end(60_s);
  if (const auto complaint = story.complaint_of_delivery()) {
    return Refusal{Property::SkewIsNotLoss, *complaint};
  }
  const double share =
      static_cast<double>(story.resends()) / static_cast<double>(story.data_slots());
  if (share <= candidate.traits.spurious_share_max) return std::nullopt;
  return Refusal{Property::SkewIsNotLoss, std::to_string(share) +
                                              " resends per slot, and none was lost; stated are " +
                                              std::to_string(candidate.traits.spurious_share_max)};
}

TEST_P(EveryPolicy, does_not_take_skew_between_paths_for_loss) {
  EXPECT_TRUE(accepts(check_skew(GetParam(), scale)));
}

namespace {

// ---- What is decided about a range is one decision, however long the range is ----

constexpr uint32_t many = 300'000;
constexpr uint32_t slots_max = 1u << 19;

/// Decisions of both ends for one message that leaves and arrives as one burst.
uint64_t decisions_for(const Candidate& candidate, uint32_t count, bool is_lost) {
  policy_test::Line line{.slot_time = 1_ns, .burst = many};
  line.is_coded = false;  // a block is a thing of its own, and costs by itself
  line.is_lost = [=](const policy_test::Transmission&) { return is_lost; };
  policy_test::Host host(*candidate.ops, candidate.traits.params, line, 16, slots_max);
  host.send(7, count);
  // Two RTTs and a little: before anybody could ask about a slot that never arrived.
  host.run(host.now() + 60_ms);
  return host.decisions;
}

}  // namespace

Verdict check_range_cost(const Candidate& candidate, const Scale&) {
  for (const bool is_lost : {false, true}) {
    const uint64_t one = decisions_for(candidate, 1, is_lost);
    const uint64_t all = decisions_for(candidate, many, is_lost);
    if (one == all) continue;
    return Refusal{Property::RangeCostsAsOne, std::to_string(all) + " decisions for " +
                                                  std::to_string(many) + " slots and " +
                                                  std::to_string(one) + " for one"};
  }
  return std::nullopt;
}

TEST_P(EveryPolicy, decides_about_300000_slots_as_about_one) {
  EXPECT_TRUE(accepts(check_range_cost(GetParam(), scale)));
}

}  // namespace cw::conformance
