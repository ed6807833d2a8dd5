#include <algorithm>

#include "dataplane/collective/group.h"

namespace cw::group {
namespace {

constexpr uint32_t row_slots = 64, queued_slots_min = 256;
constexpr uint32_t answers_beside_ppm = 125'000;
constexpr uint32_t answers_as_all = DatagramEndpoint::answers_as_all;
constexpr Duration slack_min = Duration::from_us(200);

/// What a source is given: an eighth more than it takes.
Duration with_margin(Duration time) { return time + time / 8; }

}  // namespace

bool Group::is_source(const State& op, uint16_t who) const {
  return op.posting.operation != Operation::Broadcast || op.posting.root == who;
}

uint32_t Group::chain_of(const State& op, uint16_t who) const {
  return op.posting.operation == Operation::Broadcast ? 0 : chains_.chain_of(who, op.wanted);
}

uint32_t Group::place_of(const State& op, uint16_t who) const {
  return op.posting.operation == Operation::Broadcast ? 0 : chains_.place_of(who, op.wanted);
}

std::optional<uint16_t> Group::successor_of(const State& op, uint16_t who) const {
  if (op.posting.operation == Operation::Broadcast) return std::nullopt;
  return chains_.successor_of(who, op.wanted);
}

uint32_t Group::longest_chain(const State& op) const {
  return op.posting.operation == Operation::Broadcast ? 1 : chains_.longest(op.wanted);
}

Duration Group::slack() const { return std::max({rtt() * 2, options_.reorder * 4, slack_min}); }

/// Another site begins when GO has come there, and what it sends has to come here.
Duration Group::far_slack() const { return options_.datagrams.rtt_far + options_.recovery_worst; }

/// How much later than others of its source a slot may come.
Duration Group::reorder_of(uint16_t source) const {
  return options_.reorder + (is_far(source) ? options_.recovery_worst : Duration());
}

/// How long a source takes, and how many send at a time: as many as send while a turn is passed on.
/// A pair has half the line for what is multicast.
void Group::plan(State& op) {
  const uint32_t part_slots = Slots(*shape_of(op.posting)).part_slots();
  const uint64_t part_bytes = uint64_t{part_slots} * endpoint_.packet_bytes();
  const bool is_pair = op.posting.operation == Operation::Pair;
  const auto time_at = [&](Rate of) {
    return (is_pair ? of.scaled(0.5) : of).time_for(Bytes(part_bytes));
  };
  // As many chains at all members, whatever each has heard of the pace.
  const Duration alone = time_at(whole_rate());
  const uint32_t sources = op.posting.operation == Operation::Broadcast ? 1 : members();
  const auto hiding = static_cast<uint32_t>(1 + (rtt().ns() + alone.ns() - 1) / alone.ns());
  const bool is_multicast = !is_forwarded(op) && op.posting.has_landing();
  op.wanted =
      std::min({options_.chains > 0 ? options_.chains : hiding, Chains::wanted_max, sources});
  if (!is_multicast) op.wanted = 1;
  op.chains = sources == 1 || !is_multicast ? 1 : chains_.count(op.wanted);
  op.part_time = time_at(rate()) * op.chains;
  op.slot_time = op.part_time / part_slots + Duration::from_ns(1);
}

/// When it sends, at the latest: a dead one before it stalls nobody.
Instant Group::start_of(const State& op, uint16_t source) const {
  const uint32_t place = place_of(op, source);
  if (place == 0) return op.opened;
  return op.opened + with_margin(op.part_time) * place + slack();
}

Instant Group::cutoff_of(const State& op, uint16_t source) const {
  if (is_forwarded(op)) return forwarded_by(op, source);
  return op.opened + with_margin(op.part_time) * (place_of(op, source) + 1) + slack() +
         (is_far(source) ? far_slack() : Duration());
}

Instant Group::last_cutoff(const State& op) const {
  if (op.posting.bytes == 0) return op.opened;
  return op.opened + with_margin(op.part_time) * longest_chain(op) + slack() +
         (has_sites() ? far_slack() : Duration());
}

void Group::take_turn(State& op, Instant now) {
  set_line(op);
  if (is_forwarded(op)) return forward(op, now);
  if (!is_source(op, rank())) return;
  op.is_turn |= place_of(op, rank()) == 0;
  send(op, now);
}

Instant Group::send_due(const State& op) const {
  if (is_forwarded(op)) return forward_due(op);
  if (op.is_sent) return Instant::never();
  if (!op.is_turn) return start_of(op, rank());
  const size_t queued = endpoint_.queued_slots();
  const bool is_left = op.next < landing_of(op).slots().part_slots();
  // Else the line's own departures bring the next turn.
  return queued == 0 || (is_left && queued < queued_slots_min) ? Instant() : Instant::never();
}

/// What the line is for now. Beside what is multicast a pair answers at half the rate, else an
/// eighth is for answers.
void Group::set_line(const State& op) {
  const uint64_t all = rate().bps(), half = all / 2;
  const bool is_pair = op.posting.operation == Operation::Pair && !op.is_line_ours;
  if (is_forwarded(op)) return endpoint_.set_line(rate(), answers_beside_ppm);
  if (op.is_sent || !op.posting.has_landing() || op.is_line_ours) {
    return endpoint_.set_line(Rate::from_bps(is_pair ? half : all), answers_as_all);
  }
  if (!is_pair) return endpoint_.set_line(Rate::from_bps(all / op.chains), answers_beside_ppm);
  endpoint_.set_line(Rate::from_bps(half + half / op.chains), answers_as_all);
}

/// Hands rows of our part to the line, which lets them go at our share of the rate.
void Group::send(State& op, Instant now) {
  if (op.is_sent || !is_source(op, rank())) return;
  if (now >= start_of(op, rank())) op.is_turn = true;
  if (!op.is_turn) return;
  const Slots& slots = landing_of(op).slots();
  if (op.next == 0) set_line(op);
  while (op.next < slots.part_slots() && endpoint_.queued_slots() < queued_slots_min) {
    const uint32_t count = std::min(row_slots, slots.part_slots() - op.next);
    const SlotRow row{
        .landing = index_of(op), .first = slots.slot_of(rank(), op.next), .count = count};
    if (!endpoint_.try_push(row, now)) break;
    op.next += count;
  }
  if (op.next < slots.part_slots() || endpoint_.queued_slots() > 0) return;
  op.is_sent = true;
  set_line(op);
  if (const auto next = successor_of(op, rank())) say(*next, RecordType::Turn, op.step, now);
}

/// When the rest of what a source sends should have come, had it gone on as it does.
Instant Group::silent_at(const State& op, const Watch& watch) const {
  const uint32_t left = landing_of(op).slots().part_slots() - watch.next();
  return watch.heard() + with_margin(op.slot_time * left) + reorder_of(watch.source());
}

Instant Group::watch_due(const State& op, const Watch& watch) const {
  return std::min(silent_at(op, watch), watch.due(reorder_of(watch.source())));
}

/// What a source's own packets tell of it, of those before it and of whose turn it is.
void Group::note_part(State& op, const Placed& placed, Instant now) {
  if (op.stage != Stage::Open) return;
  const uint16_t first_source = op.posting.operation == Operation::Broadcast ? op.posting.root : 0;
  const auto end_part = [&](uint16_t source) {
    op.ended[source - first_source] = now;
    op.fetch_due = std::min(op.fetch_due, now + reorder_of(source));
  };
  if (placed.is_last && op.ended[placed.source - first_source] == Instant()) {
    end_part(placed.source);
    if (successor_of(op, placed.source) == rank()) op.is_turn = true;
  }
  uint32_t place = place_of(op, placed.source);
  for (uint16_t before = placed.source; place > 0; --place) {
    before = chains_.predecessor_of(before);
    if (op.ended[before - first_source] != Instant()) break;
    end_part(before);
  }
  Watch& watch = op.watches[chain_of(op, placed.source)];
  if (!watch.is_of(placed.source)) {
    // A late one of a source that others have followed.
    if (op.ended[placed.source - first_source] != Instant() && !placed.is_last) return;
    watch.begin(placed.source);
  }
  watch.note(landing_of(op).slots().nth_of(placed.slot), now);
  op.fetch_due = std::min(op.fetch_due, watch_due(op, watch));
}

}  // namespace cw::group
