// The kernel's side of the policy door, against policies that misbehave.
#include "dataplane/sdr/seat/policy_host.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

// What a policy of these tests is: whatever its functions say. One instance at a time.
struct cw_policy {};

namespace cw::sdr {
namespace {

/// A note of these tests: which timer to arm, and when; 0: never.
struct Order {
  uint64_t cookie;
  int64_t at_ns;
};
uint32_t message_of(const cw_fact_note& note) {
  Order order;
  std::memcpy(&order, note.bytes, sizeof order);
  return static_cast<uint32_t>(order.cookie);
}

cw_policy instance;
int depth = 0, resumed = 0, refused = 0, creations = 0, destructions = 0;
std::vector<uint64_t> fired;

int create(const cw_env*, cw_policy** policy, char*, size_t) {
  *policy = &instance;
  ++creations;
  return 0;
}
int refuse_to_start(const cw_env*, cw_policy**, char* why, size_t capacity) {
  std::snprintf(why, capacity, "k must not be zero");
  return -22;
}
void destroy(cw_policy*) { ++destructions; }

void send_forever(cw_policy*, const cw_fact_note*, int64_t, cw_out* out) {
  EXPECT_EQ(depth++, 0) << "facts nest";
  while (cw_decision* decision = cw_decide(out, CW_DECIDE_SEND)) decision->u.send = {};
  out->more = 0;
  --depth;
}
void count_refusal(cw_policy*, const cw_fact_refused* fact, int64_t, cw_out*) {
  EXPECT_EQ(depth++, 0) << "facts nest";
  EXPECT_EQ(fact->reason, CW_REFUSED_QUOTA);
  ++refused;
  --depth;
}
void ask_for_more(cw_policy*, const cw_fact_note*, int64_t, cw_out* out) { out->more = 1; }
void ask_again(cw_policy*, int64_t, cw_out* out) {
  ++resumed;
  out->more = 1;
}
void arm(cw_policy*, const cw_fact_note* fact, int64_t, cw_out* out) {
  Order order;
  std::memcpy(&order, fact->bytes, sizeof order);
  if (order.at_ns == 0) order.at_ns = CW_NEVER_NS;
  cw_decide(out, CW_DECIDE_TIMER)->u.timer = {.cookie = order.cookie, .at_ns = order.at_ns};
}
void fire(cw_policy*, uint64_t cookie, int64_t, cw_out*) { fired.push_back(cookie); }

/// What the timer with cookie 1 does to that with cookie 2, at each firing.
int64_t second_at = CW_NEVER_NS;
void fire_and_move(cw_policy*, uint64_t cookie, int64_t, cw_out* out) {
  fired.push_back(cookie);
  if (cookie != 1) return;
  cw_decide(out, CW_DECIDE_TIMER)->u.timer = {.cookie = 2, .at_ns = second_at};
}
void fire_and_arm_again(cw_policy*, uint64_t cookie, int64_t now_ns, cw_out* out) {
  fired.push_back(cookie);
  cw_decide(out, CW_DECIDE_TIMER)->u.timer = {.cookie = cookie, .at_ns = now_ns};
}
void fire_without_end(cw_policy*, uint64_t, int64_t, cw_out* out) { out->more = 1; }

/// A decision of each kind that names a message: that of the note.
void decide_all_for(cw_policy*, const cw_fact_note* fact, int64_t, cw_out* out) {
  cw_decide(out, CW_DECIDE_SEND)->u.send = {.message = message_of(*fact), .count = 1, .stride = 1};
  cw_decide(out, CW_DECIDE_CODE)->u.code = {.message = message_of(*fact)};
  cw_decide(out, CW_DECIDE_RELEASE)->u.release = {.message = message_of(*fact)};
  cw_decide(out, CW_DECIDE_FINISH)->u.finish = {.message = message_of(*fact)};
}
std::vector<uint16_t> refusals;
void note_refusal(cw_policy*, const cw_fact_refused* fact, int64_t, cw_out*) {
  refusals.push_back(fact->reason);
}

/// With the times of the note: the second of its numbers, and the first.
void send_between(cw_policy*, const cw_fact_note* fact, int64_t, cw_out* out) {
  Order order;
  std::memcpy(&order, fact->bytes, sizeof order);
  cw_decide(out, CW_DECIDE_SEND)->u.send = {.count = 1,
                                            .stride = 1,
                                            .not_before_ns = order.at_ns,
                                            .drop_after_ns = static_cast<int64_t>(order.cookie)};
}
/// Of a codec that is none, and without rows.
void decide_misfits(cw_policy*, const cw_fact_note*, int64_t, cw_out* out) {
  cw_decide(out, CW_DECIDE_LAYOUT)->u.layout = {.codec = 1, .rows = 1, .k = 1, .m = 1};
  cw_decide(out, CW_DECIDE_LAYOUT)->u.layout = {.codec = 0, .rows = 0, .k = 1, .m = 1};
}
std::vector<cw_fact_refused> refused_layouts;
void note_refused_layout(cw_policy*, const cw_fact_refused* fact, int64_t, cw_out*) {
  refused_layouts.push_back(*fact);
}

cw_policy_ops table() {
  cw_policy_ops ops{};
  ops.abi = CW_POLICY_ABI_MAJOR << 16;
  ops.size = sizeof(ops);
  ops.name = "of_a_test";
  ops.create = create;
  ops.destroy = destroy;
  return ops;
}

struct Actions final : PolicyActions {
  void on_send(const cw_send& send, Instant) override {
    ++sends;
    last_send = send;
  }
  void on_code(const cw_code&, Instant) override { ++others; }
  void on_note(const cw_note&, std::span<const uint8_t> bytes, uint16_t) override {
    notes.emplace_back(bytes.begin(), bytes.end());
  }
  void on_release(const cw_release&, Instant) override { ++others; }
  void on_finish(const cw_finish&, Instant) override { ++others; }
  void on_quarantine(PolicyHost&, Instant) override { ++quarantines; }
  int sends = 0, others = 0, quarantines = 0;
  cw_send last_send{};
  std::vector<std::vector<uint8_t>> notes;
};

struct Hosted {
  explicit Hosted(const cw_policy_ops& wanted, const PolicyQuota& quota = {})
      : ops(wanted), fallback(table()) {
    refused = resumed = creations = destructions = 0;
    fired.clear();
    host = std::make_unique<PolicyHost>(instance_of(ops), quota, Instant());
    host->set_relief(instance_of(fallback));
    host->set_actions(&actions);
  }
  static std::unique_ptr<PolicyInstance> instance_of(const cw_policy_ops& of) {
    cw_env env{};
    env.messages = 4;
    env.codecs = 1;
    return std::move(*PolicyInstance::make({&of, {}}, env));
  }
  void note_at(int64_t ns, uint64_t cookie = 0, int64_t at_ns = 0) {
    const Order order{cookie, at_ns};
    const auto* bytes = reinterpret_cast<const uint8_t*>(&order);
    host->note({.count = sizeof order, .reserved = 0, .bytes = bytes}, Instant::from_ns(ns));
  }
  cw_policy_ops ops, fallback;
  Actions actions;
  std::unique_ptr<PolicyHost> host;
};

std::string why_not(const cw_policy_ops& ops) {
  const auto made = PolicyInstance::make({&ops, {}}, {.messages = 1});
  return made ? "" : made.error().sentence;
}

TEST(PolicyHost, a_policy_that_does_not_start_says_why) {
  cw_policy_ops ops = table();
  ops.create = refuse_to_start;
  EXPECT_EQ(why_not(ops), "policy of_a_test refused to start: k must not be zero");
}

TEST(PolicyHost, an_instance_has_memory_that_costs_nothing_until_it_is_written) {
  cw_policy_ops ops = table();
  static uint8_t* memory = nullptr;
  ops.create = [](const cw_env* env, cw_policy** policy, char*, size_t) {
    memory = static_cast<uint8_t*>(env->take(env->memory, 1 << 20));
    *policy = &instance;
    return 0;
  };
  const auto made = PolicyInstance::make({&ops, {}}, {.messages = 1});
  ASSERT_TRUE(made);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  for (const size_t at : {0, 4096, (1 << 20) - 1}) EXPECT_EQ(memory[at], 0);
  (*made)->rest();  // which is of what the core keeps alone
  memory[4096] = 1;
  (*made)->rest();
  EXPECT_EQ(memory[4096], 1);
}

TEST(PolicyHost, another_major_version_of_the_table_is_refused) {
  cw_policy_ops ops = table();
  ops.abi = (CW_POLICY_ABI_MAJOR + 1) << 16;
  EXPECT_NE(why_not(ops).find("speaks ABI"), std::string::npos);
}

TEST(PolicyHost, a_table_of_an_older_minor_version_gets_functions_that_do_nothing) {
  cw_policy_ops ops = table();
  ops.timer = fire;
  ops.size = offsetof(cw_policy_ops, timer);
  const auto completed = complete_policy_table(ops);
  ASSERT_TRUE(completed);
  EXPECT_NE(completed->timer, fire) << "beyond what it says to have";
  EXPECT_NE(completed->ended, nullptr);
  Hosted hosted(ops);
  hosted.note_at(1);
  hosted.host->drain(Instant::from_ns(10), Instant::from_ns(2));
}

TEST(PolicyHost, what_exceeds_the_quota_is_refused_first_and_quarantined_if_it_goes_on) {
  cw_policy_ops ops = table();
  ops.note = send_forever;
  ops.refused = count_refusal;
  Hosted hosted(ops, {.decisions_per_rtt = 100, .strikes_max = 3});
  hosted.note_at(0);
  EXPECT_EQ(hosted.actions.sends, 100);
  EXPECT_EQ(refused, 28);
  for (int64_t ms = 1; ms < 10; ++ms) hosted.note_at(ms * 1'000'000);
  EXPECT_TRUE(hosted.host->is_quarantined());
  EXPECT_EQ(hosted.actions.quarantines, 1);
}

void write_notes(cw_policy*, const cw_fact_note*, int64_t, cw_out* out) {
  for (int i = 0; i < 40; ++i) cw_decide(out, CW_DECIDE_NOTE)->u.note = {.count = 1};
}
void wants_twenty_notes(const cw_env*, const cw_fact_link*, cw_policy_limits* limits) {
  limits->notes_per_rtt = 20;
}

TEST(PolicyHost, notes_beyond_what_was_asked_for_are_refused) {
  cw_policy_ops ops = table();
  ops.limits = wants_twenty_notes;
  ops.note = write_notes;
  ops.refused = count_refusal;
  Hosted hosted(ops);
  hosted.host->link({.rtt_ns = 1'000'000}, Instant());
  hosted.note_at(1);
  EXPECT_EQ(hosted.actions.notes.size(), 20u);
  EXPECT_EQ(refused, 20);
}

void write_where_there_is_nothing(cw_policy*, const cw_fact_note*, int64_t, cw_out* out) {
  std::memcpy(out->note_bytes, "note", 4);
  std::memcpy(out->note_bytes + out->note_capacity - 4, "last", 4);
  out->note_count = out->note_capacity;
  for (const uint32_t offset : {out->note_capacity - 3, out->note_capacity + 1, UINT32_MAX, 0u}) {
    cw_decide(out, CW_DECIDE_NOTE)->u.note = {.offset = offset, .count = 4};
  }
  cw_decide(out, CW_DECIDE_NOTE)->u.note = {.offset = out->note_capacity - 4, .count = 4};
}

TEST(PolicyHost, a_note_must_lie_in_the_bytes_that_there_are) {
  cw_policy_ops ops = table();
  ops.note = write_where_there_is_nothing;
  Hosted hosted(ops);
  hosted.note_at(0);
  const std::vector<std::vector<uint8_t>> notes{{'n', 'o', 't', 'e'}, {'l', 'a', 's', 't'}};
  EXPECT_EQ(hosted.actions.notes, notes);
}

TEST(PolicyHost, every_instance_is_destroyed_once) {
  {
    Hosted hosted(table());
    EXPECT_EQ(creations, 2) << "one relieves the other";
    const auto before = hosted.host->begin(Hosted::instance_of(hosted.ops), Instant::from_ns(1));
    EXPECT_EQ(creations, 3);
    EXPECT_EQ(destructions, 0) << "not within the turn";
  }
  EXPECT_EQ(destructions, 3);
}

TEST(PolicyHost, a_policy_that_asks_for_more_without_end_is_quarantined) {
  cw_policy_ops ops = table();
  ops.note = ask_for_more;
  ops.resume = ask_again;
  Hosted hosted(ops);
  hosted.note_at(0);
  EXPECT_TRUE(hosted.host->is_quarantined());
  EXPECT_LE(resumed, 1024);
  EXPECT_NE(hosted.host->take_relieved(), nullptr) << "to be destroyed outside the turn";
  const auto relief = hosted.host->begin(Hosted::instance_of(hosted.ops), Instant::from_ns(1));
  EXPECT_NE(relief, nullptr);
  EXPECT_FALSE(hosted.host->is_quarantined()) << "a new epoch is a new start";
}

TEST(PolicyHost, timers_fire_move_and_are_disarmed) {
  cw_policy_ops ops = table();
  ops.note = arm;
  ops.timer = fire;
  Hosted hosted(ops);
  hosted.note_at(0, 1, 1'000'000);
  hosted.note_at(0, 2, 2'000'000);
  hosted.note_at(0, 3, 3'000'000);
  hosted.note_at(0, 1, 5'000'000);
  hosted.note_at(0, 2, 0);
  hosted.host->on_time(Instant::from_ns(4'500'000));
  EXPECT_EQ(fired, (std::vector<uint64_t>{3}));
  hosted.host->on_time(Instant::from_ns(9'000'000));
  EXPECT_EQ(fired, (std::vector<uint64_t>{3, 1}));
  EXPECT_EQ(hosted.host->next_due(), Instant::never());
}

TEST(PolicyHost, of_two_timers_that_are_due_the_first_may_move_the_second) {
  constexpr int64_t due = 1'000'000, later = 5'000'000;
  cw_policy_ops ops = table();
  ops.note = arm;
  ops.timer = fire_and_move;
  Hosted hosted(ops);
  hosted.note_at(0, 1, due);
  hosted.note_at(0, 2, due);
  second_at = later;
  hosted.host->on_time(Instant::from_ns(due + 1'000'000));
  EXPECT_EQ(fired, (std::vector<uint64_t>{1})) << "the second is not due any more";
  hosted.note_at(due + 1'000'000, 2, 0);
  EXPECT_EQ(hosted.host->next_due(), Instant::never()) << "and can be disarmed";
  hosted.host->on_time(Instant::from_ns(later + 1'000'000));
  EXPECT_EQ(fired, (std::vector<uint64_t>{1}));
}

TEST(PolicyHost, of_two_timers_that_are_due_the_first_may_disarm_the_second) {
  cw_policy_ops ops = table();
  ops.note = arm;
  ops.timer = fire_and_move;
  Hosted hosted(ops);
  hosted.note_at(0, 1, 1'000'000);
  hosted.note_at(0, 2, 1'000'000);
  second_at = CW_NEVER_NS;
  hosted.host->on_time(Instant::from_ns(2'000'000));
  EXPECT_EQ(fired, (std::vector<uint64_t>{1}));
  EXPECT_EQ(hosted.host->next_due(), Instant::never());
}

TEST(PolicyHost, what_took_over_hears_nothing_of_timers_that_are_not_its_own) {
  cw_policy_ops ops = table();
  ops.note = arm;
  ops.timer = fire_without_end;
  ops.resume = ask_again;
  Hosted hosted(ops);
  hosted.note_at(0, 1, 1'000'000);
  hosted.note_at(0, 2, 1'000'000);
  hosted.fallback.timer = fire;
  hosted.host->set_relief(Hosted::instance_of(hosted.fallback));
  hosted.host->on_time(Instant::from_ns(2'000'000));
  EXPECT_TRUE(hosted.host->is_quarantined());
  EXPECT_EQ(fired, std::vector<uint64_t>{});
}

TEST(PolicyHost, decides_for_its_own_messages_only) {
  cw_policy_ops ops = table();
  ops.note = decide_all_for;
  ops.refused = note_refusal;
  Hosted hosted(ops);
  hosted.host->set_range(
      {.has_first = true, .has_end = true, .first = MessageSeq(-2), .end = MessageSeq(3)});
  for (const uint32_t message : {0xfffffffdu, 3u, 1u << 31}) {
    refusals.clear();
    hosted.note_at(1, message);
    EXPECT_EQ(hosted.actions.sends + hosted.actions.others, 0) << message;
    EXPECT_EQ(refusals, (std::vector<uint16_t>{CW_REFUSED_MESSAGE, CW_REFUSED_MESSAGE}))
        << "of a send and a code; release and finish ask for nothing";
  }
  refusals.clear();
  for (const uint32_t message : {0xfffffffeu, 0u, 2u}) hosted.note_at(1, message);
  EXPECT_EQ(hosted.actions.sends, 3);
  EXPECT_EQ(hosted.actions.others, 9);
  EXPECT_TRUE(refusals.empty());
}

// Neither a timer of the past nor one of this very instant, be it the first of a tick.
TEST(PolicyHost, a_timer_that_its_own_firing_arms_is_for_a_later_turn) {
  cw_policy_ops ops = table();
  ops.note = arm;
  ops.timer = fire_and_arm_again;
  Hosted hosted(ops);
  const int64_t tick = int64_t{1} << 20;  // a whole number of the wheel's
  hosted.note_at(0, 1, tick);
  for (int64_t turn = 0; turn < 4; ++turn) {
    hosted.host->on_time(Instant::from_ns(tick * (turn + 1)));
    EXPECT_EQ(fired.size(), static_cast<size_t>(turn + 1));
  }
}

TEST(PolicyHost, the_times_of_a_send_are_moved_by_what_its_thread_has_slept) {
  cw_policy_ops ops = table();
  ops.note = send_between;
  Hosted hosted(ops);
  hosted.host->rebase(Duration::from_ns(500));
  for (const int64_t not_before : {0, 7000}) {
    for (const int64_t drop_after : {0, 8000}) {
      hosted.note_at(1000, static_cast<uint64_t>(drop_after), not_before);
      const cw_send& send = hosted.actions.last_send;
      EXPECT_EQ(send.not_before_ns, not_before == 0 ? 0 : 7500) << "zero says none";
      EXPECT_EQ(send.drop_after_ns, drop_after == 0 ? 0 : 8500) << "zero says none";
    }
  }
}

TEST(PolicyHost, a_layout_that_does_not_hold_is_refused_and_concerns_no_message) {
  cw_policy_ops ops = table();
  ops.note = decide_misfits;
  ops.refused = note_refused_layout;
  refused_layouts.clear();
  Hosted hosted(ops);
  hosted.note_at(0);
  ASSERT_EQ(refused_layouts.size(), 2u);
  EXPECT_EQ(refused_layouts[0].reason, CW_REFUSED_CODEC);
  EXPECT_EQ(refused_layouts[1].reason, CW_REFUSED_RANGE);
  for (const cw_fact_refused& refusal : refused_layouts) {
    EXPECT_EQ(refusal.decision, CW_DECIDE_LAYOUT);
    EXPECT_EQ(refusal.message, CW_UNKNOWN);
    EXPECT_EQ(refusal.state, nullptr);
  }
}

}  // namespace
}  // namespace cw::sdr
