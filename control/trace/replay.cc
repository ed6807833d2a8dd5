#include "control/trace/replay.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace cw::trace {
namespace {

using sdr::TracedCall;
using sdr::TracedWord;

/// One value for each parameter that it declares.
std::vector<double> params_for(const cw_policy_ops& policy, const sdr::TraceHead& head) {
  std::vector<double> params;
  for (uint32_t i = 0; i < policy.param_count; ++i) {
    const cw_param& declared = policy.params[i];
    const auto its =
        std::ranges::find(head.params, declared.name, [](const auto& p) { return p.first; });
    const bool is_usable =
        its != head.params.end() && its->second >= declared.min && its->second <= declared.max;
    params.push_back(is_usable ? its->second : declared.initial);
  }
  return params;
}

bool is_count(uint32_t slots, uint32_t max) { return slots == CW_UNKNOWN || slots <= max; }
bool is_range(uint64_t first, uint64_t count, uint64_t stride, uint64_t max) {
  return count >= 1 && first < max && count <= max && stride >= 1 && stride <= max &&
         first + (count - 1) * stride < max;
}

/// Whether times, shares and rates are some that a core would tell.
bool are_sound(const auto& fields) {
  bool are_all = true;
  sdr::fields_of(fields, [&](std::string_view name, auto field) {
    if constexpr (std::is_same_v<decltype(field), double>) {
      are_all &= field >= 0 && field <= 1e6;
    } else if (name.ends_with("_ns")) {
      const auto ns = static_cast<int64_t>(field);
      const bool may_be_never = name == "deadline_ns" || name == "by_ns";
      are_all &= (ns >= 0 && ns <= sdr::trace_ns_max) || (may_be_never && ns == CW_NEVER_NS);
    } else if (name == "rate_bps") {
      are_all &= sdr::trace_number(field) <= sdr::trace_bps_max;
    }
  });
  return are_all;
}

/// Whether it lies inside its message, where policies have memory.
bool is_inside(const cw_fact_opened& fact, const cw_env& env) {
  return is_count(fact.slots, env.data_slots_max);
}
bool is_inside(const cw_fact_appended& fact, const cw_env& env) {
  return is_range(fact.first, fact.count, 1, env.data_slots_max);
}
bool is_inside(const cw_fact_block_closed& fact, const cw_env& env) {
  const bool is_shape = fact.rows >= 1 && fact.rows <= env.rows && fact.k >= 1 && fact.k <= env.k;
  const bool has_repair = fact.m == 0 || is_range(fact.repair_first, uint64_t{fact.rows} * fact.m,
                                                  1, env.repair_slots_max);
  return is_shape && has_repair && fact.slots <= uint32_t{fact.rows} * fact.k &&
         is_range(fact.slot_first, fact.slots, 1, env.data_slots_max);
}
bool is_inside(const cw_fact_closed& fact, const cw_env& env) {
  return fact.slots <= env.data_slots_max;
}
bool is_inside(const cw_fact_sent& fact, const cw_env& env) {
  const uint64_t all = uint64_t{env.data_slots_max} + env.repair_slots_max;
  return is_range(fact.first, fact.count, fact.stride, all) && fact.path < env.paths &&
         fact.kind <= CW_SEND_REPAIR;
}
bool is_inside(const cw_fact_arrived& fact, const cw_env& env) {
  return fact.first_missing <= env.data_slots_max && fact.highest <= env.data_slots_max &&
         is_count(fact.slots, env.data_slots_max) && fact.path < env.paths;
}
bool is_inside(const cw_fact_lost& fact, const cw_env& env) {
  const uint64_t all = uint64_t{env.data_slots_max} + env.repair_slots_max;
  if (fact.message == CW_UNKNOWN) return fact.path < env.paths;
  return is_range(fact.first, fact.count, fact.stride, all) && fact.path < env.paths;
}
bool is_inside(const cw_fact_expired& fact, const cw_env& env) {
  return is_range(fact.first, fact.count, 1, env.data_slots_max);
}
bool is_inside(const cw_fact_coded& fact, const cw_env& env) {
  return fact.result <= CW_CODED_NEED_MORE && fact.slot_first < env.data_slots_max &&
         fact.repair_first <= env.repair_slots_max;
}
bool is_inside(const cw_fact_note& fact, const cw_env& env) {
  return fact.count <= env.note_bytes_max;
}
bool is_inside(const cw_fact_link& fact, const cw_env& env) { return fact.paths <= env.paths; }
bool is_inside(const auto&, const cw_env&) { return true; }

/// The function of the table that hears it.
auto function_of(const cw_policy_ops& ops, const cw_fact_opened&) { return ops.opened; }
auto function_of(const cw_policy_ops& ops, const cw_fact_appended&) { return ops.appended; }
auto function_of(const cw_policy_ops& ops, const cw_fact_block_closed&) { return ops.block_closed; }
auto function_of(const cw_policy_ops& ops, const cw_fact_closed&) { return ops.closed; }
auto function_of(const cw_policy_ops& ops, const cw_fact_sent&) { return ops.sent; }
auto function_of(const cw_policy_ops& ops, const cw_fact_refused&) { return ops.refused; }
auto function_of(const cw_policy_ops& ops, const cw_fact_arrived&) { return ops.arrived; }
auto function_of(const cw_policy_ops& ops, const cw_fact_lost&) { return ops.lost; }
auto function_of(const cw_policy_ops& ops, const cw_fact_note&) { return ops.note; }
auto function_of(const cw_policy_ops& ops, const cw_fact_coded&) { return ops.coded; }
auto function_of(const cw_policy_ops& ops, const cw_fact_expired&) { return ops.expired; }
auto function_of(const cw_policy_ops& ops, const cw_fact_link&) { return ops.link; }
auto function_of(const cw_policy_ops& ops, const cw_fact_budget&) { return ops.budget; }
auto function_of(const cw_policy_ops& ops, const cw_fact_step&) { return ops.step; }
auto function_of(const cw_policy_ops& ops, const cw_fact_departed&) { return ops.departed; }

}  // namespace

Result<std::unique_ptr<Replay>> Replay::make(const sdr::TraceHead& head,
                                             const cw_policy_ops& policy) {
  const std::vector<double> params = params_for(policy, head);
  auto instance = sdr::PolicyInstance::make({&policy, params}, head.env);
  if (!instance) return std::unexpected(instance.error());
  return std::unique_ptr<Replay>(new Replay(std::move(*instance), head.env));
}

Replay::Replay(std::unique_ptr<sdr::PolicyInstance> instance, const cw_env& env)
    : instance_(std::move(instance)),
      env_(env),
      decisions_(sdr::decisions_per_call),
      note_bytes_(sdr::note_bytes_per_call) {
  for (size_t index = env.messages; index > 0; --index) free_.push_back(index - 1);
  out_.decisions = decisions_.data();
  out_.decision_capacity = sdr::decisions_per_call;
  out_.note_bytes = note_bytes_.data();
  out_.note_capacity = sdr::note_bytes_per_call;
}

Replay::Open* Replay::find(uint32_t message) {
  const auto found = open_.find(message);
  return found == open_.end() ? nullptr : &found->second;
}

Result<void> Replay::open(uint32_t message) {
  if (open_.contains(message) || free_.empty()) {
    return failure("message " + std::to_string(message) +
                   " is opened, and is open or one too many");
  }
  Open& its = open_[message];
  its.index = free_.back();
  free_.pop_back();
  instance_->zero_state(its.index);
  return {};
}

void Replay::end(uint32_t message) {
  const auto found = open_.find(message);
  free_.push_back(found->second.index);
  open_.erase(found);
}

/// Its pointers lead to what is here.
template <class Fact>
Result<void> Replay::place(Fact& fact, const TracedCall& call) {
  if (!is_inside(fact, env_)) return failure("a fact lies outside its message");
  const bool are_paths_sound =
      std::ranges::all_of(call.paths, [](const cw_path_facts& each) { return are_sound(each); });
  if (!are_sound(fact) || !are_paths_sound || call.now_ns < now_ns_ ||
      call.now_ns > sdr::trace_ns_max) {
    return failure("a fact has a time, a share or a rate that cannot be");
  }
  now_ns_ = call.now_ns;
  if constexpr (std::is_same_v<Fact, cw_fact_link>) fact.path = call.paths.data();
  if constexpr (std::is_same_v<Fact, cw_fact_note>) fact.bytes = call.note.data();
  if constexpr (std::is_same_v<Fact, cw_fact_opened>) {
    if (const auto opened = open(fact.message); !opened) return opened;
  }
  if constexpr (sdr::HasState<Fact>) {
    Open* const message = find(fact.message);
    const bool may_be_closed = std::is_same_v<Fact, cw_fact_refused> ||
                               std::is_same_v<Fact, cw_fact_lost> ||
                               std::is_same_v<Fact, cw_fact_step>;
    if (message == nullptr && (call.has_state || !may_be_closed)) {
      return failure("message " + std::to_string(fact.message) + " is told of and not open");
    }
    const bool is_told = call.has_state || !std::is_same_v<Fact, cw_fact_refused>;
    fact.state = message != nullptr && is_told ? instance_->state_of(message->index) : nullptr;
    if constexpr (std::is_same_v<Fact, cw_fact_arrived>) place_bitmaps(fact, call, *message);
  }
  return {};
}

void Replay::place_bitmaps(cw_fact_arrived& fact, const TracedCall& call, Open& message) {
  const auto take = [](std::vector<uint64_t>& bitmap, uint32_t slots, uint32_t first,
                       const std::vector<uint64_t>& words) {
    if (bitmap.empty()) bitmap.resize((size_t{slots} + 63) / 64);
    std::ranges::copy(words, bitmap.begin() + first);
  };
  take(message.data, env_.data_slots_max, fact.word_first, call.data_words);
  fact.data = message.data.data();
  if (env_.repair_slots_max == 0) return;
  take(message.repair, env_.repair_slots_max, fact.repair_word_first, call.repair_words);
  fact.repair = message.repair.data();
}

template <class Fact>
void Replay::call_with(const Fact& fact, int64_t now_ns) {
  const cw_policy_ops& ops = instance_->table();
  cw_policy* const its = instance_->get();
  if constexpr (std::is_same_v<Fact, sdr::TimerFact>) {
    ops.timer(its, fact.cookie, now_ns, &out_);
  } else if constexpr (std::is_same_v<Fact, sdr::DrainFact>) {
    ops.drain(its, fact.by_ns, now_ns, &out_);
  } else if constexpr (std::is_same_v<Fact, sdr::ResumeFact>) {
    ops.resume(its, now_ns, &out_);
  } else if constexpr (std::is_same_v<Fact, sdr::EndedFact>) {
    ops.ended(its, fact.message, fact.state, now_ns);
  } else {
    // A policy that did not hear of budgets has no function for them.
    const auto function = function_of(ops, fact);
    if (function != nullptr) function(its, &fact, now_ns, &out_);
  }
}

Result<std::vector<TracedWord>> Replay::tell(const TracedCall& call) {
  return std::visit(
      [&]<class Fact>(Fact fact) -> Result<std::vector<TracedWord>> {
        if (const auto placed = place(fact, call); !placed) return std::unexpected(placed.error());
        call_with(fact, call.now_ns);
        if constexpr (std::is_same_v<Fact, sdr::EndedFact>) end(fact.message);
        return take();
      },
      call.fact);
}

std::vector<TracedWord> Replay::take() {
  std::vector<TracedWord> words;
  const uint32_t count = std::min(out_.decision_count, sdr::decisions_per_call);
  for (uint32_t i = 0; i < count; ++i) {
    TracedWord& word = words.emplace_back();
    sdr::with_decision(decisions_[i], [&](const auto& decision) { word.decision = decision; });
    const auto* const note = std::get_if<cw_note>(&word.decision);
    if (note == nullptr) continue;
    const auto bytes = sdr::note_bytes_of(*note, note_bytes_.data());
    if (bytes) word.note.emplace(bytes->begin(), bytes->end());
  }
  out_.decision_count = out_.note_count = out_.more = 0;
  return words;
}

bool are_same(const TracedWord& a, const TracedWord& b) {
  if (a.decision.index() != b.decision.index() || a.note != b.note) return false;
  const auto numbers = [](const TracedWord& word) {
    std::vector<uint64_t> all;
    std::visit(
        [&](const auto& decision) {
          sdr::fields_of(decision,
                         [&](const char*, auto field) { all.push_back(sdr::trace_number(field)); });
        },
        word.decision);
    return all;
  };
  return numbers(a) == numbers(b);
}

bool are_same(const std::vector<TracedWord>& a, const std::vector<TracedWord>& b) {
  return std::ranges::equal(
      a, b, [](const TracedWord& x, const TracedWord& y) { return are_same(x, y); });
}

}  // namespace cw::trace
