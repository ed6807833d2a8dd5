// The seat of an endpoint without a stream, with a small policy in it: it knows who sends which
// message, waits for half of the time that is left of a step, and asks for what has not come.
#include "dataplane/sdr/seat/endpoint_seat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "policies/policies.h"

namespace {

struct State {
  uint32_t message, peer, slots, in_place, highest;
  uint64_t missing_bytes;
};

}  // namespace

// One instance at a time, whose memory a test may look into.
struct cw_policy {
  cw_env env;
  std::vector<State*> open;
  cw_fact_step step;
  cw_fact_departed departed;
  std::vector<cw_fact_refused> refused;
  std::vector<cw_decision> wanted;
  bool is_insatiable;
};

namespace cw::sdr {
namespace {
using namespace literals;

cw_policy instance;

int create(const cw_env* env, cw_policy** policy, char*, size_t) {
  instance = {};
  instance.env = *env;
  *policy = &instance;
  return 0;
}
void destroy(cw_policy*) {}

void opened(cw_policy* policy, const cw_fact_opened* fact, int64_t, cw_out*) {
  State& state = *static_cast<State*>(fact->state);
  EXPECT_EQ(state.message, 0u) << "zeroed";
  state = {.message = fact->message, .peer = CW_UNKNOWN, .slots = fact->slots};
  policy->open.push_back(&state);
}
void closed(cw_policy*, const cw_fact_closed* fact, int64_t, cw_out*) {
  static_cast<State*>(fact->state)->slots = fact->slots;
}
void arrived(cw_policy*, const cw_fact_arrived* fact, int64_t, cw_out*) {
  State& state = *static_cast<State*>(fact->state);
  state.in_place = fact->first_missing;
  state.highest = fact->highest;
}
void departed(cw_policy* policy, const cw_fact_departed* fact, int64_t, cw_out*) {
  EXPECT_EQ(static_cast<State*>(fact->state)->message, fact->message);
  policy->departed = *fact;
}
/// Of a message: who sends it. Of the step: when to look what is missing.
void step(cw_policy* policy, const cw_fact_step* fact, int64_t now_ns, cw_out* out) {
  policy->step = *fact;
  if (fact->state != nullptr) {
    State& state = *static_cast<State*>(fact->state);
    state.peer = fact->peer;
    state.missing_bytes = fact->expected_bytes - fact->received_bytes;
    return;
  }
  if (fact->sources_done == fact->sources) return;
  const auto to_come_ns = static_cast<int64_t>((fact->expected_bytes - fact->received_bytes) * 8 *
                                               1'000'000'000 / fact->rate_bps);
  const int64_t left_ns = std::min(to_come_ns, fact->deadline_ns - now_ns);
  cw_decide(out, CW_DECIDE_TIMER)->u.timer = {.cookie = fact->step, .at_ns = now_ns + left_ns / 2};
}
void timer(cw_policy* policy, uint64_t, int64_t, cw_out* out) {
  for (const State* state : policy->open) {
    if (state->missing_bytes == 0) continue;
    const bool is_silent = state->highest == 0;
    cw_decide(out, CW_DECIDE_ASK)->u.ask = {
        .message = state->message,
        .peer = state->peer,
        .first = state->in_place,
        .count = is_silent ? CW_UNKNOWN : state->highest - state->in_place};
  }
}
void refused(cw_policy* policy, const cw_fact_refused* fact, int64_t, cw_out*) {
  policy->refused.push_back(*fact);
}
void lost(cw_policy* policy, const cw_fact_lost*, int64_t, cw_out* out) {
  for (const cw_decision& decision : policy->wanted) *cw_decide(out, decision.kind) = decision;
  out->more = policy->is_insatiable;
}
void resume(cw_policy* policy, int64_t, cw_out* out) { out->more = policy->is_insatiable; }
void expired(cw_policy*, const cw_fact_expired* fact, int64_t, cw_out* out) {
  cw_decide(out, CW_DECIDE_FINISH)->u.finish = {.message = fact->message,
                                                .first = fact->first,
                                                .count = CW_UNKNOWN,
                                                .status = CW_FINISH_GIVEN_UP};
}
void ended(cw_policy* policy, uint32_t, void* state, int64_t) {
  std::erase(policy->open, static_cast<State*>(state));
}

constexpr cw_policy_ops asks = {.abi = CW_POLICY_ABI,
                                .size = sizeof(cw_policy_ops),
                                .name = "asks",
                                .message_state_bytes = sizeof(State),
                                .create = create,
                                .destroy = destroy,
                                .opened = opened,
                                .closed = closed,
                                .refused = refused,
                                .arrived = arrived,
                                .lost = lost,
                                .timer = timer,
                                .expired = expired,
                                .step = step,
                                .resume = resume,
                                .ended = ended,
                                .departed = departed};

/// An endpoint of four peers, each with a message of eight slots in the step.
struct Endpoint final : EndpointActions {
  Endpoint() {
    const cw_policy_ops* fallback = policy::all().front();
    EXPECT_STREQ(fallback->name, "passthrough");
    const EndpointSeatOptions options{.policy = {&asks, {}},
                                      .fallback = {fallback, {}},
                                      .peers = peers,
                                      .messages = 8,
                                      .data_slots_max = 64,
                                      .payload_bytes = 1000,
                                      .slot_wire_bytes = 1058,
                                      .paths = 2,
                                      .rate = 1_Gbps};
    seat = std::move(*EndpointSeat::make(options, *this, now));
  }

  void begin_step() {
    for (uint32_t peer = 0; peer < peers; ++peer) {
      seat->opened(first + peer, slots, now);
      tell_step(peer, 0);
    }
    tell_whole_step(0, 0);
  }
  void tell_step(uint32_t peer, uint64_t received) {
    seat->step({.step = 7,
                .message = first + peer,
                .peer = peer,
                .sources = peers,
                .expected_bytes = slots * 1000,
                .received_bytes = received,
                .rate_bps = 1'000'000'000,
                .deadline_ns = deadline.ns()},
               now);
  }
  void tell_whole_step(uint64_t received, uint32_t sources_done) {
    seat->step({.step = 7,
                .message = CW_UNKNOWN,
                .peer = CW_UNKNOWN,
                .sources = peers,
                .sources_done = sources_done,
                .expected_bytes = peers * slots * 1000,
                .received_bytes = received,
                .rate_bps = rate_bps,
                .deadline_ns = deadline.ns(),
                .rtt_ns = 70'000,
                .rtt_var_ns = 4'000},
               now);
  }
  void arrive(uint32_t message, uint32_t first_missing, uint32_t highest) {
    seat->arrived({.message = message, .first_missing = first_missing, .highest = highest}, now);
  }
  void pass(Duration time) {
    now += time;
    seat->on_time(now);
  }
  /// Has the policy decide this, whatever it is.
  void decide(const cw_decision& decision) {
    instance.wanted = {decision};
    seat->lost({.message = CW_UNKNOWN, .count = 1}, now);
    instance.wanted.clear();
  }
  void decide_ask(uint32_t message, uint32_t peer, uint32_t from, uint32_t count) {
    cw_decision decision{.kind = CW_DECIDE_ASK};
    decision.u.ask = {.message = message, .peer = peer, .first = from, .count = count};
    decide(decision);
  }
  uint32_t last_refusal() {
    return instance.refused.empty() ? 0 : uint32_t{instance.refused.back().reason};
  }

  bool try_ask(const cw_ask& ask, Instant) override {
    if (is_full) return false;
    asked.push_back(ask);
    return true;
  }
  void on_finish(const cw_finish& finish, Instant) override { finished.push_back(finish); }
  void on_quarantine(Instant at) override {
    ++quarantines;
    for (uint32_t peer = 0; peer < peers; ++peer) seat->opened(first + peer, slots, at);
  }

  static constexpr uint32_t peers = 4, slots = 8, first = 40;
  Instant now = Instant() + 1_s;
  Instant deadline = now + 100_ms;
  uint64_t rate_bps = 1'000'000'000;
  bool is_full = false;
  int quarantines = 0;
  std::vector<cw_ask> asked;
  std::vector<cw_finish> finished;
  std::unique_ptr<EndpointSeat> seat;
};

TEST(EndpointSeat, tells_an_instance_which_seat_it_serves_and_how_many_peers_it_has) {
  Endpoint endpoint;
  EXPECT_EQ(instance.env.seat, CW_SEAT_ENDPOINT);
  EXPECT_EQ(instance.env.role, CW_SINK);
  EXPECT_EQ(instance.env.peers, Endpoint::peers);
  EXPECT_EQ(instance.env.messages, 8u);
  EXPECT_EQ(instance.env.data_slots_max, 64u);
  EXPECT_EQ(instance.env.paths, 2u);
  EXPECT_EQ(instance.env.rate_bps, 1'000'000'000u);
  EXPECT_EQ(instance.env.abi, CW_POLICY_ABI);
}

TEST(EndpointSeat, asks_the_peer_that_a_step_named_for_what_has_not_come) {
  Endpoint endpoint;
  endpoint.begin_step();
  endpoint.arrive(40, 8, 8), endpoint.tell_step(0, 8000);
  endpoint.arrive(41, 2, 7), endpoint.tell_step(1, 6000);
  endpoint.arrive(42, 8, 8), endpoint.tell_step(2, 8000);
  endpoint.pass(10_ms);
  ASSERT_EQ(endpoint.asked.size(), 2u);
  EXPECT_EQ(endpoint.asked[0].message, 41u);
  EXPECT_EQ(endpoint.asked[0].peer, 1u);
  EXPECT_EQ(endpoint.asked[0].first, 2u);
  EXPECT_EQ(endpoint.asked[0].count, 5u);
  EXPECT_EQ(endpoint.asked[1].message, 43u) << "silent, and asked for all of it";
  EXPECT_EQ(endpoint.asked[1].peer, 3u);
  EXPECT_EQ(endpoint.asked[1].count, CW_UNKNOWN);
}

TEST(EndpointSeat, a_step_says_how_much_is_to_come_how_fast_and_until_when) {
  Endpoint endpoint;
  endpoint.begin_step();
  // 32,000 bytes at 1 Gbit/s are 256 us, of which half is waited.
  const auto is_due_after = [&](Duration time) {
    const Instant due = endpoint.seat->next_due();  // a tick of the wheel later at most
    return due >= endpoint.now + time && due < endpoint.now + time + 10_us;
  };
  EXPECT_TRUE(is_due_after(128_us));
  endpoint.tell_whole_step(24'000, 2);
  EXPECT_TRUE(is_due_after(32_us));
  endpoint.rate_bps = 100'000'000;
  endpoint.tell_whole_step(24'000, 2);
  EXPECT_TRUE(is_due_after(320_us));
  endpoint.deadline = endpoint.now + 200_us;
  endpoint.tell_whole_step(24'000, 2);
  EXPECT_TRUE(is_due_after(100_us));
  EXPECT_EQ(instance.step.step, 7u);
  EXPECT_EQ(instance.step.sources, Endpoint::peers);
  EXPECT_EQ(instance.step.sources_done, 2u);
  EXPECT_EQ(instance.step.peer, CW_UNKNOWN);
  EXPECT_EQ(instance.step.rtt_ns, 70'000);
  EXPECT_EQ(instance.step.rtt_var_ns, 4'000);
}

TEST(EndpointSeat, a_pause_of_the_machine_moves_the_deadline_of_a_step) {
  Endpoint endpoint;
  endpoint.seat->rebase(30_ms);
  endpoint.begin_step();
  EXPECT_EQ(instance.step.deadline_ns, (endpoint.deadline - 30_ms).ns());
}

TEST(EndpointSeat, what_a_source_says_has_left_is_told) {
  Endpoint endpoint;
  endpoint.begin_step();
  endpoint.seat->rebase(30_ms);
  const Instant answered = endpoint.now + 40_ms;
  endpoint.now += 50_ms;
  endpoint.seat->departed({.message = 42, .slots = 5, .answered_ns = answered.ns()}, endpoint.now);
  EXPECT_EQ(instance.departed.message, 42u);
  EXPECT_EQ(instance.departed.slots, 5u);
  EXPECT_EQ(instance.departed.answered_ns, (answered - 30_ms).ns()) << "on the policy's clock";
  endpoint.seat->departed({.message = 42, .slots = 6}, endpoint.now);
  EXPECT_EQ(instance.departed.answered_ns, 0) << "of none";
}

TEST(EndpointSeat, refuses_an_ask_that_names_nothing_there_is) {
  Endpoint endpoint;
  endpoint.begin_step();
  endpoint.decide_ask(39, 0, 0, 1);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_MESSAGE);
  EXPECT_EQ(instance.refused.back().state, nullptr);
  endpoint.decide_ask(40, Endpoint::peers, 0, 1);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_PEER);
  EXPECT_EQ(instance.refused.back().state, instance.open[0]);
  endpoint.decide_ask(40, 0, 5, 0);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_RANGE);
  endpoint.decide_ask(40, 0, 5, 4);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_RANGE) << "beyond its end";
  EXPECT_EQ(instance.refused.back().first, 5u);
  EXPECT_EQ(instance.refused.back().count, 4u);
  EXPECT_EQ(instance.refused.back().decision, CW_DECIDE_ASK);
  EXPECT_TRUE(endpoint.asked.empty());
  endpoint.is_full = true;
  endpoint.decide_ask(40, 0, 5, 3);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_FULL);
}

TEST(EndpointSeat, a_message_ends_where_closed_says) {
  Endpoint endpoint;
  endpoint.seat->opened(12, CW_UNKNOWN, endpoint.now);
  endpoint.decide_ask(12, 2, 60, 4);
  EXPECT_EQ(endpoint.asked.size(), 1u) << "nobody knows its end";
  endpoint.seat->closed(12, 20, endpoint.now);
  EXPECT_EQ(instance.open[0]->slots, 20u);
  endpoint.decide_ask(12, 2, 16, 5);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_RANGE);
}

TEST(EndpointSeat, refuses_what_is_the_endpoints_own_affair) {
  Endpoint endpoint;
  endpoint.begin_step();
  for (const uint32_t kind : {CW_DECIDE_SEND, CW_DECIDE_CODE, CW_DECIDE_NOTE, CW_DECIDE_RELEASE}) {
    instance.refused.clear();
    endpoint.decide({.kind = kind});
    EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_SEAT) << kind;
    EXPECT_EQ(instance.refused.back().decision, kind);
  }
}

TEST(EndpointSeat, gives_a_message_up_as_its_policy_says) {
  Endpoint endpoint;
  endpoint.begin_step();
  endpoint.seat->expired({.message = 42, .first = 0, .count = 8}, endpoint.now);
  ASSERT_EQ(endpoint.finished.size(), 1u);
  EXPECT_EQ(endpoint.finished[0].message, 42u);
  endpoint.seat->ended(42, endpoint.now);
  EXPECT_EQ(instance.open.size(), 3u);
  endpoint.decide_ask(42, 2, 0, 1);
  EXPECT_EQ(endpoint.last_refusal(), CW_REFUSED_MESSAGE);
}

TEST(EndpointSeat, an_instance_that_goes_on_is_quarantined_and_passthrough_takes_its_seat) {
  Endpoint endpoint;
  endpoint.begin_step();
  instance.is_insatiable = true;
  endpoint.seat->lost({.message = CW_UNKNOWN, .count = 1}, endpoint.now);
  EXPECT_TRUE(endpoint.seat->policy().is_quarantined());
  EXPECT_EQ(endpoint.quarantines, 1);
  // It asks for nothing, and still sees when a message is whole.
  endpoint.tell_whole_step(0, 0);
  endpoint.pass(100_ms);
  EXPECT_TRUE(endpoint.asked.empty());
  endpoint.arrive(41, 8, 8);
  ASSERT_EQ(endpoint.finished.size(), 1u);
  EXPECT_EQ(endpoint.finished[0].message, 41u);
  auto next = endpoint.seat->make_instance({&asks, {}});
  ASSERT_TRUE(next);
  EXPECT_NE(endpoint.seat->take_relieved(), nullptr);
  EXPECT_NE(endpoint.seat->restart(std::move(*next), endpoint.now), nullptr);
  EXPECT_FALSE(endpoint.seat->policy().is_quarantined());
  EXPECT_FALSE(endpoint.seat->is_open(41));
}

TEST(EndpointSeat, what_serves_streams_only_says_so) {
  Endpoint endpoint;
  for (const cw_policy_ops* ops : policy::all()) {
    std::vector<double> params;
    for (uint32_t i = 0; i < ops->param_count; ++i) params.push_back(ops->params[i].initial);
    const EndpointSeatOptions options{.policy = {ops, params}, .fallback = {&asks, {}}};
    const auto made = EndpointSeat::make(options, endpoint, endpoint.now);
    const bool serves = std::ranges::count(policy::for_endpoints(), ops) > 0;
    EXPECT_EQ(made.has_value(), serves) << ops->name;
    if (made) continue;
    EXPECT_EQ(made.error().sentence, "policy " + std::string(ops->name) + " refused to start: " +
                                         ops->name + ": serves streams only");
  }
}

}  // namespace
}  // namespace cw::sdr
