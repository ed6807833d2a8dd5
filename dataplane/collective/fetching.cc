#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/collective/group.h"

namespace cw::group {
namespace {

constexpr uint32_t window_slots_min = 64, window_slots_max = 32768;
constexpr Duration ask_time_max = Duration::from_ms(64);
/// One for the slots around by chance, the source, one for us by chance, the source.
constexpr uint32_t candidates = 4;
/// Slots that are asked of the same member by all.
constexpr uint32_t block_slots = 64;
/// Of the members, that have to ask for a slot for it to be multicast: these, or an eighth.
constexpr uint32_t many_min = 2;
constexpr uint32_t many_never = UINT32_MAX;

uint32_t mix(uint32_t step, uint32_t what, uint32_t nth) {
  uint64_t bits = (uint64_t{step} << 32 | what) * 0x9e3779b97f4a7c15 + nth * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 31) * 0x94d049bb133111eb;
  return static_cast<uint32_t>(bits >> 32);
}

}  // namespace

/// W: a quarter of what the line carries in a round trip.
uint32_t Group::window() const {
  const bool asks_far = has_sites() && tree_.leader() == rank();
  const Duration longest = asks_far ? options_.datagrams.rtt_far : rtt();
  const uint64_t bytes = rate().bytes_in(longest).count() / 4;
  const uint64_t slots = bytes / endpoint_.packet_bytes();
  return static_cast<uint32_t>(std::clamp<uint64_t>(slots, window_slots_min, window_slots_max));
}

/// That an envelope has room for, beside JOIN.
size_t Group::runs_max() const {
  constexpr size_t beside = envelope_bytes_min + 36 + record_header_bytes + 12;
  return std::min(Ask::runs_max, (membership().envelope_bytes_max() - beside) / sizeof(Run));
}

Ask* Group::free_ask(State& op) {
  const auto it = std::ranges::find(op.asks, false, &Ask::is_open);
  return it == op.asks.end() ? nullptr : &*it;
}

/// At first one whom all ask for these slots, so that it sees how many lack them; then their owner
/// and those around, one after the other, who may be nearer or alive.
uint16_t Group::candidate(const State& op, const Ask& ask) const {
  const auto near = tree_.neighbours();
  const uint32_t slot = ask.runs[0].first.host();
  const uint16_t source = landing_of(op).slots().source_of(slot);
  if (const auto before = previous_hop(op, source); before && ask.tries == 0) return *before;
  const uint16_t owner = owner_of(op, slot);
  if (ask.tries % 2 == 1 || near.size() == 1) return owner;
  size_t place = mix(op.step.value(), rank(), ask.tries);
  if (ask.tries >= candidates) place = size_t{rank()} + ask.tries / 2;
  const uint16_t who = ask.tries == 0 ? asked_first(op, slot) : near[place % near.size()];
  return who == rank() ? owner : who;
}

/// Who has it for sure or, of what is of another site, is the only one to fetch it from there.
uint16_t Group::owner_of(const State& op, uint32_t slot) const {
  const uint16_t source = landing_of(op).slots().source_of(slot);
  return is_far(source) && tree_.leader() != rank() ? tree_.leader() : source;
}

/// By all of a site, if it has a slot.
uint16_t Group::asked_first(const State& op, uint32_t slot) const {
  const auto near = tree_.neighbours();
  return near[mix(op.step.value(), slot / block_slots, 0) % near.size()];
}

// ---- asking ----

/// Adds what is missing from `from` on to the ask's runs; false: it is full.
bool Group::try_gather(State& op, Ask& ask, uint32_t& from, uint32_t end) const {
  uint32_t most = window();
  for (const Ask& each : op.asks) {
    if (each.is_open && &each != &ask) most -= std::min(most, each.slots);
  }
  const SlotBits& bits = landing_of(op).bits();
  while ((from = SlotBits::first_of_neither(bits, op.asked, from, end)) < end) {
    const bool goes_on =
        ask.run_count > 0 &&
        ask.runs[ask.run_count - 1].first.host() + ask.runs[ask.run_count - 1].count.host() == from;
    if (ask.slots == most || (!goes_on && ask.run_count == runs_max())) return false;
    if (!goes_on) ask.runs[ask.run_count++] = {be32(from), be32(0)};
    Run& run = ask.runs[ask.run_count - 1];
    run.count = be32(run.count.host() + 1);
    (void)op.asked.try_set(from);
    ++ask.slots;
    ++from;
  }
  return true;
}

/// Of how many slots of a part, from its first on, those that are missing are lost; and when there
/// will be more of them.
uint32_t Group::settled_of(State& op, uint32_t part, Instant now) {
  const uint32_t slots = landing_of(op).slots().part_slots();
  const uint16_t source = landing_of(op).slots().source_of(part * slots);
  Watch& watch = op.watches[chain_of(op, source)];
  Instant due = op.ended[part] + reorder_of(source);
  uint32_t settled = 0;
  if (op.ended[part] == Instant()) {
    const bool is_heard = watch.is_of(source);
    if (is_heard) settled = watch.settle(reorder_of(source), now);
    due = is_heard ? silent_at(op, watch) : cutoff_of(op, source);
    if (is_heard && due > now) due = watch_due(op, watch);
  }
  if (due <= now) return slots;
  op.fetch_due = std::min(op.fetch_due, due);
  return settled;
}

void Group::look_for_holes(State& op, Instant now) {
  op.fetch_due = Instant::never();
  const Landing& landing = landing_of(op);
  if (landing.missing_count() == 0) return;
  const Slots& slots = landing.slots();
  Ask* open = nullptr;
  for (uint32_t first = 0; first < slots.count(); first += slots.part_slots()) {
    const uint32_t part_end = first + slots.part_slots();
    uint32_t from = SlotBits::first_of_neither(landing.bits(), op.asked, first, part_end);
    if (from == part_end) continue;
    const uint32_t end = first + settled_of(op, first / slots.part_slots(), now);
    while ((from = SlotBits::first_of_neither(landing.bits(), op.asked, from, end)) < end) {
      if (open == nullptr) {
        open = free_ask(op);
        if (open == nullptr) return;  // looked for again when one of them is over
        *open = {.is_open = true, .sent = {}, .due = {}, .runs = open->runs};
      }
      if (!try_gather(op, *open, from, end)) {
        open->is_open = open->run_count > 0;
        if (!open->is_open) return;  // as many as may be are asked for: likewise
        ask(op, *open, now);
        open = nullptr;
      }
    }
  }
  if (open != nullptr) ask(op, *open, now);
}

/// After a round trip, and as long as the answer may take at an eighth of the rate.
void Group::ask(State& op, Ask& ask, Instant now) {
  ask.to = candidate(op, ask);
  const Duration answer =
      rate().time_for(Bytes(uint64_t{ask.slots} * endpoint_.packet_bytes())) * 8;
  Duration time = patience_with(ask.to) + answer;
  const bool fetches = ask.to == tree_.leader() &&
                       is_far(landing_of(op).slots().source_of(ask.runs[0].first.host()));
  if (fetches) time += options_.datagrams.rtt_far;  // which has to ask itself
  // Each second time, as it is another one who is asked.
  for (uint32_t i = 1; i < ask.in_vain && time < ask_time_max; i += 2) time = time * 2;
  if (ask.tries == 0) ask.first = now;
  ask.is_answered = false;
  ask.sent = now;
  ask.due = now + time;
  const auto index = static_cast<uint32_t>(&ask - op.asks.data());
  (void)endpoint_.try_say({RecordType::Fetch, ask.to, index_of(op) * 8u + index}, now);
}

uint32_t Group::missing_in(const State& op, const Ask& ask) const {
  uint32_t missing = 0;
  for (const Run& run : std::span(ask.runs).first(ask.run_count)) {
    missing += landing_of(op).bits().count_unset(run.first.host(), run.count.host());
  }
  return missing;
}

Instant Group::asks_due(const State& op) {
  Instant due = Instant::never();
  for (const Ask& each : op.asks) {
    if (each.is_open) due = std::min(due, each.due);
  }
  return due;
}

void Group::settle_asks(State& op, Instant now) {
  if (op.stage != Stage::Open) return;
  for (Ask& each : op.asks) {
    if (!each.is_open) continue;
    const uint32_t missing = missing_in(op, each);
    if (missing < each.slots && !each.is_answered) {
      each.is_answered = true;
      if (each.tries == 0) endpoint_.membership().row(each.to).note_rtt(now - each.sent);
    }
    // Answers come in order: what is missing when the last is there will not come, but for what
    // that has overtaken.
    if (missing > 0 && landing_of(op).has(each.last_slot())) {
      each.due = std::min(each.due, now + options_.reorder);
    }
    if (missing == 0) {
      each.is_open = false;
      op.fetch_due = now;
    } else if (now >= each.due) {
      on_timeout(op, each, now);
      if (op.stage != Stage::Open) return;
    }
  }
}

/// What is still missing is asked of another.
void Group::on_timeout(State& op, Ask& each, Instant now) {
  const uint16_t owner = owner_of(op, each.runs[0].first.host());
  Repeat asked;
  asked.first = each.first;
  asked.tries = each.tries + 1;
  if (is_silent(asked, owner, now)) return fail_silent(op, owner, now);
  each.in_vain = missing_in(op, each) < each.slots ? 0 : each.in_vain + 1;
  const auto runs = each.runs;
  const size_t count = each.run_count;
  each.run_count = 0;
  each.slots = 0;
  for (const Run& run : std::span(runs).first(count)) {
    for (uint32_t i = 0; i < run.count.host(); ++i) op.asked.reset(run.first.host() + i);
    uint32_t from = run.first.host();
    (void)try_gather(op, each, from, run.first.host() + run.count.host());
  }
  ++each.tries;
  op.fetch_due = now;  // for what found no room in its runs
  each.is_open = each.run_count > 0;
  if (each.is_open) ask(op, each, now);
}

// ---- answering ----

void Group::on_fetch(uint16_t from, const Fetch& fetch, Instant now) {
  State* const op = find(fetch.step);
  if (op == nullptr || op->posting.bytes == 0) return;
  if (op->stage == Stage::Posted) open(*op, now);
  if (op->stage != Stage::Open || membership().row(from).key == 0) return;
  if (fetch.message != 0) return on_message_fetch(*op, from, fetch, now);
  if (!op->posting.has_landing()) return;
  const auto it = std::ranges::find(op->lacks, false, &Lack::is_open);
  Lack* const lack = it == op->lacks.end() ? nullptr : &*it;
  if (lack != nullptr) {
    lack->to = from;
    lack->run_count = 0;
  }
  bool has_answered = false;
  for (const Run& run : fetch.runs) {
    if (run.first.host() + run.count.host() > landing_of(*op).slots().count()) return;
    has_answered |= answer(*op, from, run, lack, now);
  }
  if (lack == nullptr || lack->run_count == 0) {
    // Who asks takes nobody for dead whose line is full of what others wait for.
    if (!has_answered) say(from, RecordType::Status, op->step, now);
    return;
  }
  lack->is_open = true;
  const auto index = static_cast<uint32_t>(lack - op->lacks.data());
  if (!endpoint_.try_say({RecordType::Miss, from, index_of(*op) * 8u + index}, now)) {
    lack->is_open = false;
  }
}

/// A part of ours is asked for by the member for which it is.
void Group::on_message_fetch(State& op, uint16_t from, const Fetch& fetch, Instant now) {
  const uint32_t message = (from + uint32_t{members()} - rank()) % members();
  const bool is_ours = fetch.source == rank() && fetch.message == message;
  if (is_ours && op.posting.is_added_up()) reducing_.answer(from, fetch, now);
}

/// Slots of our own part that still wait for the line come to all soon, and what is passed on to
/// the next.
bool Group::has_sent(const State& op, uint16_t to, uint32_t slot) const {
  const Slots& slots = landing_of(op).slots();
  const uint16_t source = slots.source_of(slot);
  if (is_forwarded(op)) return op.forwarded.has(slot) || !is_next_hop(op, source, to);
  if (source != rank() || op.is_sent) return true;
  return slots.nth_of(slot) + endpoint_.queued_slots() < op.next;
}

Demand::Answer Group::answer_to(State& op, uint16_t to, uint32_t slot, Instant now) {
  using enum Demand::Answer;
  const uint16_t source = landing_of(op).slots().source_of(slot);
  if (!landing_of(op).has(slot)) {
    if (!is_far(source) || tree_.leader() != rank() || is_forwarded(op)) return Lacking;
    op.demand.want(slot, to);
    return OnItsWay;
  }
  if (!has_sent(op, to, slot)) return OnItsWay;
  if (is_forwarded(op) || is_far(to)) {
    return op.demand.note(slot, to, {many_never, Duration(), endpoint_.answers_time()}, now);
  }
  // The source learns from whom all others ask that these will have to come here too.
  const bool is_told = source == rank() && asked_first(op, slot) == to;
  const auto near = static_cast<uint32_t>(tree_.neighbours().size());
  const uint32_t many = is_told ? 1 : std::max(many_min, near / 8);
  return op.demand.note(slot, to, {many, rtt() + options_.reorder, endpoint_.answers_time()}, now);
}

/// To a member, or to all of the site.
bool Group::try_answer(State& op, std::optional<uint16_t> to, uint32_t first, uint32_t count,
                       Instant now) {
  SlotRow row{.landing = index_of(op), .first = first, .count = count};
  row.is_again = row.is_for_site = !to;
  row.kind = to ? Kind::Fetched : Kind::Multicast;
  row.to = to.value_or(0);
  return endpoint_.try_push(row, now);
}

/// Others of the site wait for what a leader has fetched.
void Group::answer_wanted(State& op, uint32_t slot, Instant now) {
  const Demand::Wanted wanted = op.demand.take(slot);
  if (wanted.askers == 0) return;
  const bool is_alone = wanted.askers < many_min;
  (void)try_answer(op, is_alone ? std::optional(wanted.last) : std::nullopt, slot, 1, now);
}

/// What is here leaves in rows; what is not is told. False: neither.
bool Group::answer(State& op, uint16_t to, const Run& run, Lack* lack, Instant now) {
  using enum Demand::Answer;
  const uint32_t end = run.first.host() + run.count.host();
  uint32_t at = run.first.host();
  auto next = answer_to(op, to, at, now);
  bool has_answered = false;
  while (at < end) {
    const uint32_t first = at;
    const auto how = next;
    do {
      if (++at < end) next = answer_to(op, to, at, now);
    } while (at < end && next == how);
    if (how == Alone || how == Again) {
      if (!try_answer(op, how == Again ? std::nullopt : std::optional(to), first, at - first,
                      now)) {
        return has_answered;
      }
      has_answered = true;
    } else if (how == Lacking && lack != nullptr && lack->run_count < runs_max()) {
      lack->runs[lack->run_count++] = {be32(first), be32(at - first)};
    }
  }
  return has_answered;
}

/// Asked of the next one at once, as long as there are some that have not been.
void Group::on_miss(uint16_t from, const Miss& miss, Instant now) {
  State* const op = find(miss.step);
  if (op == nullptr || op->stage != Stage::Open || miss.message != 0) return;
  const auto it = std::ranges::find_if(op->asks, [&](const Ask& each) {
    return each.is_open && each.to == from && each.has(miss.runs[0].first.host());
  });
  if (it == op->asks.end()) return;
  if (!it->is_answered) endpoint_.membership().row(from).note_rtt(now - it->sent);
  it->is_answered = true;
  if (it->tries + 1 >= candidates) return;
  uint32_t missed = 0;
  for (const Run& run : miss.runs) missed += run.count.host();
  if (missed < missing_in(*op, *it)) return split(*op, *it, miss, now);
  ++it->tries;
  ask(*op, *it, now);
}

/// What is missed is an ask of its own, the rest is still to come.
void Group::split(State& op, const Ask& asked, const Miss& miss, Instant now) {
  Ask* const next = free_ask(op);
  if (next == nullptr) return;
  *next = {.is_open = true, .tries = asked.tries + 1, .first = asked.first, .runs = next->runs};
  for (const Run& run : miss.runs) {
    for (const Run& of : std::span(asked.runs).first(asked.run_count)) {
      const uint32_t first = std::max(run.first.host(), of.first.host());
      const uint32_t end =
          std::min(run.first.host() + run.count.host(), of.first.host() + of.count.host());
      for (uint32_t slot = first; slot < end; ++slot) op.asked.reset(slot);
      uint32_t from = first;
      if (from < end) (void)try_gather(op, *next, from, end);
    }
  }
  next->is_open = next->run_count > 0;
  if (next->is_open) ask(op, *next, now);
}

}  // namespace cw::group
