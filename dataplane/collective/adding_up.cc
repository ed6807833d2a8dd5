#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/collective/group.h"

namespace cw::group {
namespace {

constexpr Duration repeat_max = Duration::from_ms(64);
/// Below it, what a member measures is the time between its own turns.
constexpr Duration patience_min = Duration::from_us(20);
constexpr Duration probe_interval_max = Duration::from_ms(500);
/// When a member that is asked and does not answer is taken for dead.
constexpr uint32_t silent_tries = 8;
constexpr Duration silent_time = Duration::from_s(3);

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::Broadcast:
      return "broadcast";
    case Operation::Allgather:
      return "allgather";
    case Operation::ReduceScatter:
      return "reduce-scatter";
    case Operation::Pair:
      return "allgather and reduce-scatter";
    case Operation::AllToAll:
      break;
  }
  return "all-to-all";
}

const char* name_of(ElementType element) {
  return element == ElementType::F32 ? " in f32" : element == ElementType::Bf16 ? " in bf16" : "";
}

std::string text_of(const Ready& ready) {
  return std::string(name_of(ready.operation)) + " of " + std::to_string(ready.bytes) + " bytes" +
         (ready.operation == Operation::Broadcast ? " from " + std::to_string(ready.root) : "") +
         name_of(ready.element);
}

}  // namespace

std::optional<size_t> Group::child_of(uint16_t who) const {
  const auto children = tree_.children();
  const auto it = std::ranges::find(children, who);
  if (it == children.end()) return std::nullopt;
  return static_cast<size_t>(it - children.begin());
}

/// How long an answer to a record is waited for.
Duration Group::patience_with(uint16_t who) const {
  return std::max(patience_min, endpoint_.rtt(who) + endpoint_.deviation(who) * 4);
}

/// What is added up goes all the way up, and comes back, before there is an answer.
Duration Group::repeat_first(uint16_t to) const {
  return patience_with(to) * static_cast<int64_t>(tree_.levels());
}

// ---- what is said ----

Ready Group::ready_of(const State& op) const {
  Ready ready{.step = op.step,
              .operation = op.posting.operation,
              .element = op.posting.element,
              .root = op.posting.root,
              .bytes = op.posting.bytes,
              .members = 1};
  for (const uint32_t below : op.ready) ready.members += below;
  return ready;
}

Done Group::done_of(const State& op) const {
  Done done{.step = op.step,
            .rank = op.fetched_most > share_fetched(op) ? op.fetched_most_rank : rank(),
            .share = std::max(op.fetched_most, share_fetched(op)),
            .members = 1,
            .fetched_slots = op.fetched_all + op.fetched};
  for (const uint32_t below : op.done) done.members += below;
  return done;
}

/// By us, in thousandths of what is to come.
uint16_t Group::share_fetched(const State& op) const {
  if (!op.posting.has_landing() || is_forwarded(op)) return 0;
  const uint32_t slots = landing_of(op).slots().count();
  return static_cast<uint16_t>(std::min<uint64_t>(uint64_t{op.fetched} * 1000 / slots, 1000));
}

/// Of rank 0, once all have told what they fetched.
void Group::choose_pace(State& op) {
  const Done all = done_of(op);
  op.fetched_most_rank = all.rank;
  if (!op.posting.has_landing() || is_forwarded(op)) return;
  const uint64_t slots = landing_of(op).slots().count();
  pace_.note(
      {.most = all.share,
       .mean = static_cast<uint32_t>(uint64_t{all.fetched_slots} * 1000 / (slots * members())),
       .slots = slots * all.share / 1000});
}

void Group::say_to_children(const State& op, RecordType type, Instant now) {
  for (const uint16_t child : tree_.children()) say(child, type, op.step, now);
}

// ---- up and down ----

/// Rank 0 lets steps begin one after the other: what all are ready for waits for what is under way.
bool Group::may_go(const State& op) const {
  const State* const before = find(op.step - 1);
  return before == nullptr || before->stage == Stage::Done;
}

/// Whether it is time to say READY or DONE, or, where nobody is above, to begin or to end.
void Group::add_up(State& op, Instant now) {
  const size_t children = tree_.children().size();
  const auto all_of = [&](const auto& row) {
    return std::all_of(row.begin(), row.begin() + children, [](uint32_t each) { return each > 0; });
  };
  op.is_here = op.stage == Stage::Open &&
               (!op.posting.has_landing() || landing_of(op).missing_count() == 0) &&
               (!op.posting.is_added_up() || reducing_.is_complete());
  const bool is_ready = op.stage == Stage::Posted && all_of(op.ready);
  const bool is_done = op.is_here && all_of(op.done);
  if (!is_ready && !is_done) return;
  if (tree_.parent()) {
    if (!op.up.has_begun()) op.up.begin(repeat_first(*tree_.parent()), now);
    return;
  }
  if (is_ready && may_go(op)) return open(op, now);
  if (!is_done) return;
  const Step next = op.step + 1;
  choose_pace(op);
  end(op, now);
  if (State* const after = find(next)) add_up(*after, now);
}

void Group::take_early(State& op, size_t child, Instant now) {
  const State::Early& early = op.early[child];
  if (!early.is_there || early.ready.step != op.step) return;
  if (is_alike(op, early.ready, tree_.children()[child], now)) {
    op.ready[child] = early.ready.members;
  }
}

bool Group::is_alike(const State& op, const Ready& ready, uint16_t child, Instant now) {
  const Ready own = ready_of(op);
  const bool is_same = ready.operation == own.operation && ready.root == own.root &&
                       ready.bytes == own.bytes && ready.element == own.element;
  if (!is_same) {
    fail(child,
         "step " + std::to_string(op.step.value()) + " is " + text_of(own) + " at rank " +
             std::to_string(rank()) + " and " + text_of(ready) + " at rank " +
             std::to_string(child) + " or below it",
         now);
  }
  return is_same;
}

void Group::on_ready(uint16_t from, const Ready& ready, Instant now) {
  const auto child = child_of(from);
  if (!child) return;
  State* const op = find(ready.step);
  if (op == nullptr) {
    if (ready.step.is_before(next_step_)) return answer_of_old(from, ready.step, now);
    ops_[ready.step.value() % operations_max].early[*child] = {ready, true};
    return;
  }
  if (op->stage == Stage::Open) return say(from, RecordType::Go, op->step, now);
  if (op->stage != Stage::Posted || !is_alike(*op, ready, from, now)) return;
  // Who says it again is told that somebody is here.
  if (op->ready[*child] > 0) say(from, RecordType::Status, op->step, now);
  op->ready[*child] = ready.members;
  add_up(*op, now);
}

/// Once more, it asks whether we are there.
void Group::on_go(uint16_t from, const Go& go, Instant now) {
  State* const op = find(go.step);
  if (op == nullptr || tree_.parent() != from) return;
  if (op->stage == Stage::Posted) {
    if (go.pace > 0) pace_.set(go.pace);
    return open(*op, now);
  }
  if (op->stage != Stage::Open) return;
  if (op->up.has_begun()) {
    op->up.due = now;
  } else {
    say(from, RecordType::Status, op->step, now);
  }
}

/// Of a step that is over here. All of those before the failure were done.
void Group::answer_of_old(uint16_t from, Step step, Instant now) {
  const State* const op = find(step);
  const bool is_done = op != nullptr || failure_.empty() || step.is_before(failure_step_);
  say(from, is_done ? RecordType::AllDone : RecordType::Fail, step, now);
}

void Group::on_done(uint16_t from, const Done& done, Instant now) {
  const auto child = child_of(from);
  if (!child) return;
  State* const op = find(done.step);
  const bool is_over = op == nullptr ? done.step.is_before(next_step_) : op->stage == Stage::Done;
  if (is_over) return answer_of_old(from, done.step, now);
  if (op == nullptr || op->stage != Stage::Open) return;
  if (op->done[*child] > 0) return say(from, RecordType::Status, op->step, now);
  op->done[*child] = done.members;
  op->probes[*child].end();
  op->fetched_all += done.fetched_slots;
  if (done.share > op->fetched_most) {
    op->fetched_most = done.share;
    op->fetched_most_rank = done.rank;
  }
  add_up(*op, now);
}

void Group::on_all_done(const AllDone& done, Instant now) {
  State* const op = find(done.step);
  if (op == nullptr || op->stage != Stage::Open || !op->is_here) return;
  op->fetched_most_rank = done.rank;
  if (done.pace > 0) pace_.set(done.pace);
  end(*op, now);
}

// ---- again, and no longer ----

bool Group::is_silent(const Repeat& repeat, uint16_t who, Instant now) const {
  const Instant heard = std::max(membership().row(who).heard, repeat.first);
  return repeat.tries >= silent_tries && now - heard >= silent_time;
}

void Group::say_again(State& op, Instant now) {
  if (now >= op.up.due) {
    const uint16_t parent = *tree_.parent();
    if (is_silent(op.up, parent, now)) return fail_silent(op, parent, now);
    const bool is_ready = op.stage == Stage::Posted;
    say(parent, is_ready ? RecordType::Ready : RecordType::Done, op.step, now);
    op.up.again(repeat_max, now);
  }
  for (size_t i = 0; i < tree_.children().size() && op.stage == Stage::Open; ++i) {
    if (now >= op.probes[i].due) probe(op, i, now);
  }
}

/// Of a child that has not said DONE: GO once more, to be answered by whatever it can say.
void Group::probe(State& op, size_t child, Instant now) {
  const uint16_t who = tree_.children()[child];
  if (is_silent(op.probes[child], who, now)) return fail_silent(op, who, now);
  say(who, RecordType::Go, op.step, now);
  op.probes[child].again(probe_interval_max, now);
}

void Group::fail_silent(const State& op, uint16_t who, Instant now) {
  const int64_t tenths = (now - membership().row(who).heard) / Duration::from_ms(100);
  fail(who,
       "rank " + std::to_string(who) + " silent for " + std::to_string(tenths / 10) + "." +
           std::to_string(tenths % 10) + " s in " + name_of(op.posting.operation) + " " +
           std::to_string(op.step.value()),
       now);
}

}  // namespace cw::group
