#include "dataplane/collective/group.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/collective/digest.h"
#include "dataplane/collective/sum/elements.h"

namespace cw::group {
namespace {

GroupOptions completed(GroupOptions options) {
  DatagramOptions& datagrams = options.datagrams;
  MembershipOptions& membership = datagrams.membership;
  membership.sites.resize(membership.peers.size());
  membership.digest = digest_of(options);
  const uint64_t slots = options.bytes_max / membership.payload_bytes + membership.peers.size() + 1;
  datagrams.landings = Group::operations_max;
  datagrams.slots_max =
      static_cast<uint32_t>(std::min<uint64_t>(slots, limits::slots_per_message_max));
  datagrams.message_slots_max =
      static_cast<uint32_t>(options.sum_bytes_max / limits::group_payload_bytes_min + 1);
  return options;
}

/// FAIL is said a few times, since nobody answers for the last of them.
constexpr uint32_t fail_tries = 3;
constexpr Duration fail_interval = Duration::from_ms(10);

}  // namespace

Group::Group(WanPort& port, Counters& counters, Drops& drops, const GroupOptions& options)
    : options_(completed(options)),
      tree_(options_.datagrams.membership.rank, options_.datagrams.membership.sites),
      chains_(options_.datagrams.membership.sites),
      endpoint_(port, *this, counters, drops, options_.datagrams),
      reducing_(endpoint_, {.part_bytes_max = options.sum_bytes_max, .reorder = options.reorder}) {
  CW_ASSERT(tree_.children().size() <= State::children_max);
  options_.reorder = std::min(options.reorder, options.datagrams.rtt);
  ops_.reserve(operations_max);
  for (size_t i = 0; i < operations_max; ++i) {
    ops_.emplace_back(options_.datagrams.slots_max, members(), chains_.count_max());
  }
}

Group::State* Group::find(Step step) {
  State& op = ops_[step.value() % operations_max];
  return op.stage != Stage::Free && op.step == step ? &op : nullptr;
}

// ---- posting ----

std::optional<Slots::Shape> Group::shape_of(const Posting& posting) const {
  const bool is_broadcast = posting.operation == Operation::Broadcast;
  const Slots::Shape shape{.part_bytes = posting.bytes,
                           .payload_bytes = membership().epoch().payload_bytes,
                           .sources = is_broadcast ? uint16_t{1} : members(),
                           .first_source = is_broadcast ? posting.root : uint16_t{0}};
  if (!Slots::can_be(shape)) return std::nullopt;
  return Slots(shape).count() <= options_.datagrams.slots_max ? std::optional(shape) : std::nullopt;
}

std::expected<Step, Group::Refusal> Group::post(const Posting& posting, Instant now) {
  const auto refuse = [](bool is_for_now, const std::string& why) {
    return std::unexpected(Refusal{is_for_now, why});
  };
  if (!failure_.empty()) return refuse(false, failure_);
  if (!is_up()) return refuse(true, "not all members have joined yet");
  State& op = ops_[next_step_.value() % operations_max];
  if (op.stage != Stage::Free) return refuse(true, "as many operations as may be are open");
  if (const std::string why = refusal_of(posting); !why.empty()) return refuse(false, why);
  begin(op, posting, now);
  add_up(op, now);
  return op.step;
}

/// Why it can never be; empty: it can.
std::string Group::refusal_of(const Posting& posting) const {
  const std::string bytes = std::to_string(posting.bytes) + " bytes ";
  if (posting.operation == Operation::AllToAll) return "all-to-all is no operation of this group";
  if (posting.operation == Operation::Broadcast && posting.root >= members()) {
    return "root " + std::to_string(posting.root) + " is no rank: there are " +
           std::to_string(members()) + " members";
  }
  if (posting.bytes > 0 && !shape_of(posting)) return bytes + "are more than bytes_max allows";
  if (!posting.is_added_up()) {
    return posting.element == ElementType::Bytes ? "" : "nothing of this operation is added up";
  }
  if (posting.element == ElementType::Bytes) return "what is added up must be f32 or bf16";
  if (posting.bytes % bytes_of(posting.element) != 0) return bytes + "are no whole elements";
  return posting.bytes <= options_.sum_bytes_max ? ""
                                                 : bytes + "are more than sum_bytes_max allows";
}

void Group::begin(State& op, const Posting& posting, Instant now) {
  op.stage = Stage::Posted;
  op.posting = posting;
  op.step = next_step_;
  next_step_ = next_step_ + 1;
  op.posted = now;
  op.failure.clear();
  op.ready = op.done = {};
  op.probes = {};
  op.up = {};
  op.is_here = op.is_heard = op.is_turn = op.is_sent = op.is_line_ours = false;
  op.fetched = op.fetched_all = op.fetched_most = op.next = 0;
  op.fetched_most_rank = rank();
  op.fetch_due = Instant::never();
  for (Ask& ask : op.asks) ask.is_open = false;
  for (Lack& lack : op.lacks) lack.is_open = false;
  for (Watch& watch : op.watches) watch.end();
  op.demand.clear();
  std::ranges::fill(op.ended, Instant());
  for (size_t i = 0; i < tree_.children().size(); ++i) take_early(op, i, now);
  // What a child has posted may be something else.
  if (op.stage != Stage::Posted || posting.bytes == 0) return;
  plan(op);
  if (!posting.has_landing()) return;
  const Slots slots(*shape_of(posting));
  endpoint_.open(index_of(op), op.step, slots, posting.memory);
  op.asked.clear(slots.count());
  op.forwarded.clear(slots.count());
  greet_previous(op, now);
  op.forward_next = 0;
  if (!is_source(op, rank())) return;
  const uint32_t first = op.forward_next = slots.slot_of(rank(), 0);
  for (uint32_t i = 0; i < slots.part_slots(); ++i) landing_of(op).claim(first + i);
}

/// All are ready, or something of the step has come, so they are.
void Group::open(State& op, Instant now) {
  if (op.stage != Stage::Posted) return;
  // None begins before all have all of the one before it.
  if (State* const before = find(op.step - 1)) end(*before, now);
  op.stage = Stage::Open;
  op.opened = now;
  if (op.posting.bytes > 0) plan(op);  // by the pace of now
  op.up = {};
  say_to_children(op, RecordType::Go, now);
  for (size_t i = 0; i < tree_.children().size(); ++i) {
    op.probes[i].begin(probe_interval_min, last_cutoff(op) + slack());
  }
  if (op.posting.has_landing()) {
    op.fetch_due = now;
    take_turn(op, now);
  }
  if (op.posting.is_added_up()) {
    reducing_.begin({.index = index_of(op),
                     .step = op.step,
                     .element = op.posting.element,
                     .shape = *shape_of(op.posting),
                     .input = op.posting.input,
                     .output = op.posting.output,
                     .rate = rate()});
    if (!op.posting.has_landing()) set_line(op);
    reducing_.open(now);
  }
  add_up(op, now);
}

/// All have all: nobody asks for anything of it any more.
void Group::end(State& op, Instant now) {
  if (op.stage == Stage::Done || op.stage == Stage::Failed) return;
  op.stage = Stage::Done;
  op.up.end();
  op.fetch_due = Instant::never();
  for (Repeat& each : op.probes) each.end();
  note_deafness(op);
  close(op);
  say_to_children(op, RecordType::AllDone, now);
}

/// Members that hear unicast alone have all in the end, as they fetch it: late, and at the cost of
/// those who answer.
void Group::note_deafness(const State& op) {
  const bool is_to_be_heard =
      op.posting.has_landing() && !is_forwarded(op) && members() > 1 &&
      (op.posting.operation != Operation::Broadcast || op.posting.root != rank());
  if (!is_to_be_heard) return;
  deaf_operations_ = op.is_heard ? 0 : deaf_operations_ + 1;
}

std::string Group::trouble() const {
  if (deaf_operations_ == 0) return "";
  return "nothing of the last " + std::to_string(deaf_operations_) +
         " operations came by multicast, all was fetched: is the group's address forwarded to "
         "this host (IGMP or MLD at its switch, the interface)?";
}

/// Nothing of it is placed or answered any more.
void Group::close(State& op) {
  if (op.posting.has_landing()) endpoint_.close(index_of(op));
  if (reducing_.is_begun() && reducing_.step() == op.step) {
    op.fetched += reducing_.fetched();
    reducing_.end();
  }
}

OperationView Group::view(Step step) const {
  const State* const op = find(step);
  if (op == nullptr) return {};
  OperationView view{.stage = op->stage,
                     .is_readable = op->is_here,
                     .fetched = op->fetched,
                     .posted = op->posted,
                     .opened = op->opened,
                     .failure = op->failure};
  if (!op->posting.has_landing()) return view;
  view.slots = landing_of(*op).slots().count();
  view.placed = landing_of(*op).placed_count();
  return view;
}

bool Group::try_release(Step step) {
  State* const op = find(step);
  if (op == nullptr) return true;
  const bool is_over = op->stage == Stage::Done || op->stage == Stage::Failed;
  if (!is_over || endpoint_.under_way_count(index_of(*op)) > 0) return false;
  op->stage = Stage::Free;
  while (oldest_ != next_step_ && find(oldest_) == nullptr) oldest_ = oldest_ + 1;
  return true;
}

// ---- what comes ----

void Group::on_begun(Instant) {}

void Group::on_anew(uint16_t who, Instant now) {
  fail(who, "rank " + std::to_string(who) + " has begun anew", now);
}

void Group::on_record(uint16_t from, const RecordView& view, Instant now) {
  const auto take = [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, Ready>) on_ready(from, record, now);
    if constexpr (std::is_same_v<Record, Go>) on_go(from, record, now);
    if constexpr (std::is_same_v<Record, Done>) on_done(from, record, now);
    if constexpr (std::is_same_v<Record, AllDone>) on_all_done(record, now);
    if constexpr (std::is_same_v<Record, Fetch>) on_fetch(from, record, now);
    if constexpr (std::is_same_v<Record, Miss>) on_miss(from, record, now);
    if constexpr (std::is_same_v<Record, Turn>) {
      State* const op = find(record.step);
      if (op != nullptr && op->stage == Stage::Open && record.rank == rank()) op->is_turn = true;
    }
    if constexpr (std::is_same_v<Record, Fail>)
      fail(record.rank, std::string(record.sentence), now);
  };
  (void)Records::visit(view, take);
}

void Group::on_placed(std::span<const Placed> placed, Instant now) {
  uint32_t touched = 0, asked = 0;
  if (reducing_.on_placed(placed, now)) touched |= 1u << index_of(*find(reducing_.step()));
  for (const Placed& each : placed) {
    if (each.is_message) continue;
    State& op = ops_[each.landing];
    touched |= 1u << each.landing;
    if (op.stage == Stage::Posted) open(op, now);
    op.is_heard |= each.kind == Kind::Multicast;
    if (each.is_first) note_part(op, each, now);
    if (each.is_new && is_forwarded(op)) note_forwarded(op, each, now);
    if (each.is_new && op.asked.has(each.slot)) asked |= 1u << each.landing;
    if (each.is_new && op.demand.has_wanted()) answer_wanted(op, each.slot, now);
    const bool is_asked = each.kind == Kind::Fetched || (!each.is_first && op.asked.has(each.slot));
    if (each.is_new && is_asked) ++op.fetched;
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    if ((asked >> i & 1) != 0) settle_asks(ops_[i], now);
    if ((touched >> i & 1) != 0) add_up(ops_[i], now);
  }
}

// ---- failing ----

/// The first reason counts. Nothing of this group goes on.
void Group::fail(uint16_t whose, const std::string& why, Instant now) {
  if (!failure_.empty()) return;
  failure_ = why.empty() ? "another member gave up" : why;
  failure_rank_ = whose;
  failure_step_ = oldest_;
  for (State& op : ops_) {
    if (op.stage != Stage::Posted && op.stage != Stage::Open) continue;
    op.stage = Stage::Failed;
    op.failure = failure_;
    op.up.end();
    op.fetch_due = Instant::never();
    for (Repeat& each : op.probes) each.end();
    close(op);
  }
  failure_said_.begin(fail_interval, now);
  tell_failure(now);
}

void Group::tell_failure(Instant now) {
  failure_said_.again(fail_interval, now);
  if (failure_said_.tries > fail_tries) return failure_said_.end();
  const auto say = [&](uint16_t to) { (void)endpoint_.try_say({RecordType::Fail, to, 0}, now); };
  if (tree_.parent()) say(*tree_.parent());
  for (const uint16_t child : tree_.children()) say(child);
}

Instant Group::deadline_of(const State& op) const {
  if (op.stage == Stage::Posted) return op.posted + options_.deadline;
  if (op.stage != Stage::Open) return Instant::never();
  // Four times what it takes, and a pause that people notice.
  return op.opened + op.part_time * (4 * longest_chain(op)) + Duration::from_s(10) +
         (has_sites() ? Duration::from_s(40) : Duration());
}

// ---- what leaves ----

bool Group::write(const Word& word, EnvelopeWriter& writer, Instant) {
  if (word.type == RecordType::Fail) {
    const std::string_view all = failure_;
    return writer.try_add(Fail{.step = failure_step_,
                               .rank = failure_rank_,
                               .sentence = all.substr(0, limits::group_sentence_bytes_max)});
  }
  const Step step(word.about);
  if (word.type == RecordType::AllDone) {
    AllDone done;
    done.step = step;
    if (const State* const op = find(step)) done.rank = op->fetched_most_rank;
    done.pace = pace_.value();
    return writer.try_add(done);
  }
  const bool is_of_ask = word.type == RecordType::Fetch || word.type == RecordType::Miss;
  if (is_of_ask && (word.about & Reducing::about_bit) != 0) {
    return reducing_.write(word.about, writer);
  }
  State& op = ops_[is_of_ask ? word.about / 8 % operations_max : step.value() % operations_max];
  if (op.stage == Stage::Free || (!is_of_ask && op.step != step)) return false;
  switch (word.type) {
    case RecordType::Ready:
      return op.stage == Stage::Posted && writer.try_add(ready_of(op));
    case RecordType::Done:
      return writer.try_add(done_of(op));
    case RecordType::Go: {
      Go go;
      go.step = step;
      go.pace = pace_.value();
      return writer.try_add(go);
    }
    case RecordType::Turn: {
      Turn turn;
      turn.step = step;
      turn.rank = word.to;
      return writer.try_add(turn);
    }
    case RecordType::Status: {
      const uint32_t slots = op.posting.has_landing() ? landing_of(op).placed_count() : 0;
      return writer.try_add(Status{.step = step, .slots = slots, .held_us = Status::held_unknown});
    }
    case RecordType::Fetch: {
      const Ask& ask = op.asks[word.about % 8];
      if (!ask.is_open || ask.to != word.to) return false;
      Fetch fetch;
      fetch.step = op.step;
      fetch.runs = Row<Run>(ask.runs.data(), ask.run_count);
      return writer.try_add(fetch);
    }
    case RecordType::Miss: {
      Lack& lack = op.lacks[word.about % 8];
      lack.is_open = false;
      if (lack.to != word.to) return false;
      Miss miss;
      miss.step = op.step;
      miss.runs = Row<Run>(lack.runs.data(), lack.run_count);
      return writer.try_add(miss);
    }
    default:
      return false;
  }
}

// ---- time ----

Duration Group::rtt() const { return options_.datagrams.rtt; }

bool Group::on_time(Instant now) {
  bool has_worked = false;
  if (now >= failure_said_.due) {
    tell_failure(now);
    has_worked = true;
  }
  for (State& op : ops_) {
    if (op.stage != Stage::Posted && op.stage != Stage::Open) continue;
    if (now >= deadline_of(op)) {
      fail(rank(),
           "step " + std::to_string(op.step.value()) +
               (op.stage == Stage::Posted ? " was not posted everywhere by its deadline"
                                          : " was not over by its deadline"),
           now);
      return true;
    }
    say_again(op, now);
    if (op.stage == Stage::Open && op.posting.is_added_up()) sum(op, now);
    if (op.stage != Stage::Open || !op.posting.has_landing()) continue;
    is_forwarded(op) ? forward(op, now) : send(op, now);
    if (now >= op.fetch_due) look_for_holes(op, now);
    if (now >= asks_due(op)) settle_asks(op, now);
  }
  return has_worked;
}

/// Goes on with what is added up.
void Group::sum(State& op, Instant now) {
  const bool is_in_vain = reducing_.on_time(now);
  if (const auto asked = is_in_vain ? reducing_.longest_unanswered() : std::nullopt) {
    Repeat repeat;
    repeat.first = asked->since;
    repeat.tries = asked->tries;
    if (is_silent(repeat, asked->rank, now)) return fail_silent(op, asked->rank, now);
  }
  if (op.is_line_ours || !op.posting.has_landing()) return;
  if (landing_of(op).missing_count() > 0 || !op.is_sent) return;
  op.is_line_ours = true;
  set_line(op);
}

Instant Group::next_wakeup() const {
  Instant due = failure_said_.due;
  for (const State& op : ops_) {
    if (op.stage != Stage::Posted && op.stage != Stage::Open) continue;
    due = earliest(due, deadline_of(op), op.up.due, op.fetch_due);
    for (const Repeat& each : op.probes) due = std::min(due, each.due);
    if (op.stage != Stage::Open) continue;
    if (op.posting.is_added_up()) due = std::min(due, reducing_.due());
    if (!op.posting.has_landing()) continue;
    due = std::min(due, asks_due(op));
    if (is_source(op, rank()) || is_forwarded(op)) due = std::min(due, send_due(op));
  }
  return due;
}

void Group::on_gap(Duration gap) {
  const auto move = [gap](Instant& at) {
    if (at != Instant::never() && at != Instant()) at += gap;
  };
  reducing_.on_gap(gap);
  for (State& op : ops_) {
    move(op.posted);
    move(op.opened);
    move(op.up.due);
    move(op.up.first);
    move(op.fetch_due);
    for (Repeat& each : op.probes) {
      move(each.due);
      move(each.first);
    }
    for (Ask& ask : op.asks) {
      move(ask.sent);
      move(ask.due);
    }
    for (Instant& each : op.ended) move(each);
    for (Watch& each : op.watches) each.on_gap(gap);
  }
}

}  // namespace cw::group
