#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"
#include "dataplane/collective/group.h"

namespace cw::group {
namespace {

/// Of a Broadcast, up to which a tree is sooner over than a chain.
constexpr uint64_t tree_bytes_max = 64 << 10;
constexpr uint32_t forwarded_slots = 64, line_slots_min = 256;
constexpr size_t hops_max = 16;
static_assert(limits::group_members_max <= 1u << hops_max);

}  // namespace

bool Group::is_tree(const State& op) const {
  if (op.posting.operation != Operation::Broadcast) return false;
  return options_.algorithm == Algorithm::Tree ||
         (options_.algorithm == Algorithm::Unicast && op.posting.bytes <= tree_bytes_max);
}

/// By how many ranks we come behind.
uint32_t Group::distance_from(uint16_t root) const {
  return (rank() + uint32_t{members()} - root) % members();
}

/// To whom we pass on what is of a source; returns how many.
size_t Group::next_hops(const State& op, uint16_t source, std::span<uint16_t> hops) const {
  const uint32_t distance = distance_from(source);
  const auto rank_at = [&](uint32_t at) {
    return static_cast<uint16_t>((source + at) % members());
  };
  if (!is_tree(op)) {
    if (distance + 1 == members()) return 0;
    hops[0] = rank_at(distance + 1);
    return 1;
  }
  // The largest part of the tree first.
  size_t count = 0;
  for (auto bit = std::bit_floor(uint32_t{members()}); bit > distance; bit /= 2) {
    if (distance + bit < members()) hops[count++] = rank_at(distance + bit);
  }
  return count;
}

bool Group::is_next_hop(const State& op, uint16_t source, uint16_t to) const {
  std::array<uint16_t, hops_max> hops;
  const size_t count = next_hops(op, source, hops);
  const std::span<const uint16_t> all = std::span(hops).first(count);
  return std::ranges::find(all, to) != all.end();
}

std::optional<uint16_t> Group::previous_hop(const State& op, uint16_t source) const {
  const uint32_t distance = distance_from(source);
  if (!is_forwarded(op) || distance == 0) return std::nullopt;
  const uint32_t back = is_tree(op) ? std::bit_floor(distance) : 1;
  return static_cast<uint16_t>((rank() + uint32_t{members()} - back) % members());
}

/// When all of a source has come, if nothing was lost: in a ring its part waits for those of all
/// that lie between, in a tree each level sends everything to several.
Instant Group::forwarded_by(const State& op, uint16_t source) const {
  const uint32_t distance = distance_from(source);
  uint32_t times = 1;
  if (is_tree(op)) {
    times = static_cast<uint32_t>(std::bit_width(members() - 1u));
  } else if (op.posting.operation != Operation::Broadcast) {
    times = std::max(distance, 1u);
  }
  const Duration alone = op.part_time + op.part_time / 8;
  return op.opened + alone * times + rtt() * distance + slack() +
         (has_sites() ? far_slack() * 2 : Duration());  // a ring crosses once each way
}

/// Who sends to us needs our key, which a first word of ours has with it.
void Group::greet_previous(const State& op, Instant now) {
  if (!is_forwarded(op)) return;
  const bool is_broadcast = op.posting.operation == Operation::Broadcast;
  const auto next = static_cast<uint16_t>((rank() + 1) % members());
  const auto before = previous_hop(op, is_broadcast ? op.posting.root : next);
  if (before && !membership().row(*before).has_our_join)
    say(*before, RecordType::Pad, op.step, now);
}

/// Hands what is here and has not been passed on to the line.
void Group::forward(State& op, Instant now) {
  const Landing& landing = landing_of(op);
  const uint32_t count = landing.slots().count();
  while (op.forward_next < count && endpoint_.queued_slots() < line_slots_min) {
    const uint32_t first =
        SlotBits::first_of_first_alone(landing.bits(), op.forwarded, op.forward_next, count);
    op.forward_next = first;
    if (first == count) return;
    const uint32_t part_end = first - landing.slots().nth_of(first) + landing.slots().part_slots();
    const uint32_t end = std::min(first + forwarded_slots, part_end);
    uint32_t last = first;
    while (last < end && landing.has(last) && !op.forwarded.has(last)) ++last;
    if (!try_forward(op, first, last, now)) return;
  }
}

bool Group::try_forward(State& op, uint32_t first, uint32_t end, Instant now) {
  std::array<uint16_t, hops_max> hops;
  const size_t count = next_hops(op, landing_of(op).slots().source_of(first), hops);
  const uint32_t each = std::max<uint32_t>(forwarded_slots / std::max<size_t>(count, 1), 1);
  end = count == 0 ? end : std::min(end, first + each);
  for (const uint16_t to : std::span(hops).first(count)) {
    const SlotRow row{.landing = index_of(op),
                      .kind = Kind::Unicast,
                      .to = to,
                      .first = first,
                      .count = end - first};
    // Of several, those before have it: it comes to them once more, and they drop it.
    if (!endpoint_.try_push(row, now)) return false;
  }
  for (uint32_t slot = first; slot < end; ++slot) (void)op.forwarded.try_set(slot);
  op.forward_next = end;
  return true;
}

Instant Group::forward_due(const State& op) const {
  const bool is_left = op.forward_next < landing_of(op).slots().count();
  // Else the line's own departures bring the next turn.
  return is_left && endpoint_.queued_slots() < line_slots_min ? Instant() : Instant::never();
}

void Group::note_forwarded(State& op, const Placed& placed, Instant now) {
  if (op.stage != Stage::Open) return;
  op.forward_next = std::min(op.forward_next, placed.slot);
  if (placed.kind != Kind::Unicast || !placed.is_last) return;
  const Slots& slots = landing_of(op).slots();
  Instant& ended = op.ended[placed.slot / slots.part_slots()];
  if (ended != Instant()) return;
  ended = now;
  op.fetch_due = std::min(op.fetch_due, now + options_.reorder);
}

}  // namespace cw::group
