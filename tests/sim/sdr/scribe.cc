#include "tests/sim/sdr/scribe.h"

#include <algorithm>
#include <utility>

// An instance is its role.
struct cw_policy {
  uint32_t role;
};

namespace cw::sim {
namespace {

struct State {
  uint64_t zeroed;
};

Heard& heard_by(const cw_policy* policy) { return scribe().heard[policy->role]; }

void decide(cw_policy* policy, int64_t, cw_out* out) {
  std::vector<cw_decision>& wanted = scribe().wanted[policy->role];
  if (wanted.empty()) return;
  const std::vector<uint8_t>& bytes = scribe().note_bytes;
  std::copy(bytes.begin(), bytes.end(), out->note_bytes);
  out->note_count = static_cast<uint32_t>(bytes.size());
  size_t decided = 0;
  for (; decided < wanted.size(); ++decided) {
    cw_decision* decision = cw_decide(out, wanted[decided].kind);
    if (decision == nullptr) break;
    decision->u = wanted[decided].u;
  }
  wanted.erase(wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(decided));
}

template <auto list, class Fact>
void hear(cw_policy* policy, const Fact* fact, int64_t now_ns, cw_out* out) {
  (heard_by(policy).*list).push_back(*fact);
  decide(policy, now_ns, out);
}

int create(const cw_env* env, cw_policy** policy, char*, size_t) {
  static std::array<cw_policy, 2> instances{{{CW_SOURCE}, {CW_SINK}}};
  *policy = &instances[env->role];
  heard_by(*policy).env = *env;
  return 0;
}
void destroy(cw_policy*) {}
void limits(const cw_env*, const cw_fact_link*, cw_policy_limits* out) { *out = scribe().needs; }

void opened(cw_policy* policy, const cw_fact_opened* fact, int64_t now_ns, cw_out* out) {
  State& state = *static_cast<State*>(fact->state);
  // A test sees the state that was not zeroed as a message that was not told.
  if (std::exchange(state.zeroed, 1) != 0) return;
  hear<&Heard::opened>(policy, fact, now_ns, out);
}
void appended(cw_policy* policy, const cw_fact_appended* fact, int64_t now_ns, cw_out* out) {
  if (scribe().sends) {
    cw_decide(out, CW_DECIDE_SEND)->u.send = {.message = fact->message,
                                              .first = fact->first,
                                              .count = fact->count,
                                              .stride = 1,
                                              .kind = CW_SEND_DATA,
                                              .path_choice = CW_CHOOSE_ANY};
  }
  hear<&Heard::appended>(policy, fact, now_ns, out);
}
void arrived(cw_policy* policy, const cw_fact_arrived* fact, int64_t now_ns, cw_out* out) {
  heard_by(policy).words.push_back(cw_word(fact->data + fact->word_first));
  hear<&Heard::arrived>(policy, fact, now_ns, out);
}
void note(cw_policy* policy, const cw_fact_note* fact, int64_t now_ns, cw_out* out) {
  heard_by(policy).notes.emplace_back(fact->bytes, fact->bytes + fact->count);
  decide(policy, now_ns, out);
}
void timer(cw_policy* policy, uint64_t cookie, int64_t now_ns, cw_out* out) {
  heard_by(policy).timers.push_back(cookie);
  decide(policy, now_ns, out);
}
void link(cw_policy* policy, const cw_fact_link* fact, int64_t now_ns, cw_out* out) {
  heard_by(policy).paths.emplace_back(fact->path, fact->path + fact->paths);
  hear<&Heard::links>(policy, fact, now_ns, out);
}
void drain(cw_policy* policy, int64_t by_ns, int64_t now_ns, cw_out* out) {
  heard_by(policy).drains.push_back(by_ns);
  decide(policy, now_ns, out);
}
void resume(cw_policy* policy, int64_t now_ns, cw_out* out) {
  ++heard_by(policy).resumes;
  decide(policy, now_ns, out);
}
void ended(cw_policy* policy, uint32_t message, void*, int64_t) {
  heard_by(policy).ended.push_back(message);
}

constexpr cw_policy_ops ops = {.abi = CW_POLICY_ABI,
                               .size = sizeof(cw_policy_ops),
                               .name = "scribe",
                               .version = "1",
                               .summary = "Writes down what it is told.",
                               .wire_version = 1,
                               .message_state_bytes = sizeof(State),
                               .limits = limits,
                               .create = create,
                               .destroy = destroy,
                               .opened = opened,
                               .appended = appended,
                               .block_closed = hear<&Heard::block_closed, cw_fact_block_closed>,
                               .closed = hear<&Heard::closed, cw_fact_closed>,
                               .sent = hear<&Heard::sent, cw_fact_sent>,
                               .refused = hear<&Heard::refused, cw_fact_refused>,
                               .arrived = arrived,
                               .lost = hear<&Heard::lost, cw_fact_lost>,
                               .note = note,
                               .coded = hear<&Heard::coded, cw_fact_coded>,
                               .timer = timer,
                               .expired = hear<&Heard::expired, cw_fact_expired>,
                               .link = link,
                               .budget = hear<&Heard::budgets, cw_fact_budget>,
                               .drain = drain,
                               .resume = resume,
                               .ended = ended};

}  // namespace

Scribe& scribe() {
  static Scribe scribe;
  return scribe;
}

const cw_policy_ops* scribe_policy() { return &ops; }

const cw_policy_ops* thrifty_scribe_policy() {
  static const cw_policy_ops thrifty = [] {
    cw_policy_ops it = ops;
    it.budget = nullptr;
    return it;
  }();
  return &thrifty;
}

}  // namespace cw::sim
