// What partitions tell: taken, added up, believed as far as it can be true, and what is done when
// it cannot.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"
#include "offload/ones.h"
#include "offload/stage/stage.h"

namespace cw {
namespace {

/// Copied from shared memory at once: what has been looked at is not looked at again.
constexpr uint32_t events_max = 64;

bool is_of_packet(const cw_bits_event& event) {
  const uint8_t kind = event.about.kind;
  return kind == CW_BITS_PLACED || kind == CW_BITS_DUPLICATE || kind == CW_BITS_LATE ||
         kind == CW_BITS_OUT_OF_RANGE;
}

/// How many records an event answers.
uint32_t answered_by(const cw_bits_event& event) {
  const bool is_one = event.about.kind != CW_BITS_PLACED || (event.bits & (event.bits - 1)) == 0;
  return is_one ? 1 : ones(event.bits);
}

/// Which id of which stream a control record is about.
uint64_t life_of(const cw_bits_record& record) {
  return uint64_t{record.stream} << 32 | record.immediate;
}

constexpr const char* more_than_given = "it has told more or less than it was given";

/// From one count to another, of which neither stops.
int32_t distance(uint32_t from, uint32_t to) { return static_cast<int32_t>(to - from); }

}  // namespace

bool BitStage::poll(Instant now) {
  now_ = now;
  bool has_news = false;
  for (size_t i = 0; i < partitions_.size(); ++i) has_news |= poll(i, now);
  return has_news;
}

bool BitStage::poll(size_t partition, Instant now) {
  Partition& p = partitions_[partition];
  if (p.head == p.published && p.controls.empty()) return false;
  // In this order: what answers the records before `head` is before `tail`.
  const uint32_t head = __atomic_load_n(&p.row->records_head, __ATOMIC_ACQUIRE);
  const uint32_t tail = __atomic_load_n(&p.row->events_tail, __ATOMIC_ACQUIRE);
  const uint32_t told_before = p.told, left_before = left_count_;
  if (distance(p.head, head) < 0 || distance(head, p.published) < 0) {
    leave(partition, "it says it has taken records that it was not given");
  } else if (const char* const why = take_events(partition, tail)) {
    leave(partition, why);
  } else if (distance(head, p.told) < 0 || distance(p.told, p.published) < 0) {
    leave(partition, more_than_given);
  } else if (head != p.head || p.moved_at == Instant::never()) {
    p.head = head;
    p.moved_at = now;
  } else if (now - p.moved_at > options_.stall_max && !p.is_inline) {
    leave(partition,
          "it took no record for " + std::to_string((now - p.moved_at).ns() / 1'000'000) + " ms");
  }
  if (!p.controls.empty()) publish(partition);  // there may be room now
  return p.told != told_before || left_count_ != left_before;
}

/// Null, or why what was told cannot be.
const char* BitStage::take_events(size_t partition, uint32_t tail) {
  Partition& p = partitions_[partition];
  if (tail - p.events_head > p.events_mask + 1) return "it has told more than there is room for";
  while (p.events_head != tail) {
    std::array<cw_bits_event, events_max> taken;
    const uint32_t count = std::min(tail - p.events_head, events_max);
    for (uint32_t i = 0; i < count; ++i) taken[i] = p.events[(p.events_head + i) & p.events_mask];
    p.events_head += count;
    p.events_count += count;
    __atomic_store_n(&p.row->events_head, p.events_head, __ATOMIC_RELEASE);
    if (const char* const why = tell(partition, std::span(taken).first(count))) return why;
  }
  return nullptr;
}

/// Null, or why one of them cannot be. Of the turn itself all that can be counts: there is nobody
/// to leave.
const char* BitStage::tell(size_t partition, std::span<const cw_bits_event> events) {
  Partition& p = partitions_[partition];
  for (const cw_bits_event& each : events) p.told += answered_by(each);
  if (distance(p.told, p.published) < 0 && !p.is_inline) return more_than_given;
  while (!events.empty()) {
    size_t count = 1;
    while (count < events.size() && is_of_packet(events[0]) && is_of_packet(events[count]) &&
           events[count].about.stream == events[0].about.stream) {
      ++count;
    }
    const char* const why = why_not(partition, events.first(count));
    if (why != nullptr && !p.is_inline) return why;
    events = events.subspan(count);
  }
  return nullptr;
}

/// Of packets of one stream, or of one life.
const char* BitStage::why_not(size_t partition, std::span<const cw_bits_event> events) {
  const cw_bits_event& first = events.front();
  if (first.about.stream >= streams_.size()) return "it speaks of a stream that there is not";
  if (!is_of_packet(first)) {
    return on_life(partition, first) ? nullptr : "it speaks of a life that cannot be over";
  }
  const Stream& stream = streams_[first.about.stream];
  const bool can_be = stream.client == nullptr || stream.client->on_bits(stream.cookie, events);
  return can_be ? nullptr : "it speaks of a packet that cannot be";
}

/// A begin or an end; false: nobody waits for it.
bool BitStage::on_life(size_t partition, const cw_bits_event& event) {
  Stream& stream = streams_[event.about.stream];
  const uint32_t id = event.about.immediate >> stream.id_shift;
  if (id >= stream.lives.size()) return false;
  Life& life = stream.lives[id];
  const bool is_begin = event.about.kind == CW_BITS_ARMED;
  if (!is_begin && event.about.kind != CW_BITS_CLOSED) return false;
  uint16_t& awaited = is_begin ? life.arming : life.closing;
  const auto bit = static_cast<uint16_t>(1u << partition);
  if ((awaited & bit) == 0 || life.generation != event.about.generation) return is_rerunning_;
  awaited = static_cast<uint16_t>(awaited & ~bit);
  if (is_begin || awaited != 0) return true;
  life.is_armed = false;
  if (stream.client != nullptr) stream.client->on_quiet(stream.cookie);
  return true;
}

// ---- a partition that is left ----

void BitStage::leave(size_t partition, std::string why) {
  Partition& p = partitions_[partition];
  if (p.is_inline) return;  // the turn itself: there is nobody else to believe
  const cw_bits_record* const records = p.kept;
  const uint32_t mask = p.records_mask, head = p.head, tail = p.tail;
  __atomic_store_n(&p.row->is_ended, 1, __ATOMIC_RELEASE);
  enter(p, std::exchange(p.spare, nullptr));
  p.is_inline = true;
  ++left_count_;
  p.why_left = std::move(why);
  is_rerunning_ = true;
  std::vector<uint64_t> arms;
  for (uint32_t at = head; at != tail; ++at) {
    if (records[at & mask].kind == CW_BITS_ARM) arms.push_back(life_of(records[at & mask]));
  }
  for (const cw_bits_record& each : p.controls) {
    if (each.kind == CW_BITS_ARM) arms.push_back(life_of(each));
  }
  std::ranges::sort(arms);
  arm_again(partition, arms);
  for (uint32_t at = head; at != tail; ++at) run_inline(partition, records[at & mask]);
  is_rerunning_ = false;
}

/// Lives whose end it has not told, but for those whose begin comes among what is run again: before
/// that there may be packets of the life before, which may have the same generation.
void BitStage::arm_again(size_t partition, std::span<const uint64_t> arms) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const auto number = static_cast<uint16_t>(i);
    const std::vector<Life>& lives = streams_[i].lives;
    for (uint32_t id = 0; id < lives.size(); ++id) {
      const bool is_over = lives[id].closing != 0 && (lives[id].closing >> partition & 1) == 0;
      if (!lives[id].is_armed || is_over) continue;
      const cw_bits_record arm = record_of(CW_BITS_ARM, number, id);
      if (!std::ranges::binary_search(arms, life_of(arm))) run_inline(partition, arm);
    }
  }
}

void BitStage::run_inline(size_t partition, const cw_bits_record& record) {
  Partition& p = partitions_[partition];
  append(p, packed(record));
  p.published = p.tail;
  __atomic_store_n(&p.row->records_tail, p.tail, __ATOMIC_RELEASE);
  (void)cw_bits_serve(p.row);
  (void)take_events(partition, p.row->events_tail);
  p.head = p.published;
}

}  // namespace cw
