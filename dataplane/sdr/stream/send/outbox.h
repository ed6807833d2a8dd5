// What a stream's policy has decided to send and the pacer has not asked for yet: ranges of slots,
// in the order decided, one row per priority. A range of 300,000 slots is one entry; the pacer is
// given rows of it, and packets come into being one by one, as it lets them go.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/policy.h"

namespace cw::sdr {

/// Slots first, first + stride, ... of one message.
struct SendRange {
  uint32_t place = 0;  ///< of the message
  uint16_t life = 0;   ///< which message was in that place when this was decided
  uint16_t kind = CW_SEND_DATA;
  uint16_t path_choice = CW_CHOOSE_ANY;
  uint16_t path = 0;
  uint32_t first = 0, count = 0, stride = 1;
  Instant not_before;
  Instant drop_after = Instant::never();
};

/// One packet to be, packed into the pacer's cookie.
struct SendTicket {
  uint32_t slot = 0;         // 24 bits, the lowest: packed, slots are as far apart as they are
  uint32_t place = 0;        // 10
  uint16_t qp = 0;           // 6
  uint16_t life = 0;         // 12 bits of it
  uint16_t kind = 0;         // 2; 3 is a control packet, and then nothing else counts
  uint16_t path_choice = 0;  // 2
  uint16_t path = 0;         // 4

  constexpr bool is_repair() const { return kind == CW_SEND_REPAIR; }

  static constexpr uint16_t kind_control = 3;
  static constexpr uint16_t life_mask = 0xfff;

  constexpr uint64_t packed() const {
    return uint64_t{slot} | uint64_t{place} << 24 | uint64_t{qp} << 34 |
           uint64_t{static_cast<uint16_t>(life & life_mask)} << 40 | uint64_t{kind} << 52 |
           uint64_t{path_choice} << 54 | uint64_t{path} << 56;
  }
  static constexpr SendTicket unpacked(uint64_t cookie) {
    return {.slot = static_cast<uint32_t>(cookie & 0xffffff),
            .place = static_cast<uint32_t>(cookie >> 24 & 0x3ff),
            .qp = static_cast<uint16_t>(cookie >> 34 & 0x3f),
            .life = static_cast<uint16_t>(cookie >> 40 & life_mask),
            .kind = static_cast<uint16_t>(cookie >> 52 & 3),
            .path_choice = static_cast<uint16_t>(cookie >> 54 & 3),
            .path = static_cast<uint16_t>(cookie >> 56 & 0xf)};
  }
};
static_assert(limits::slot_bits_max <= 24 && limits::message_id_bits_max <= 10);
static_assert(limits::qps_max <= 64 && limits::paths_max <= 16);

/// What a stream may have of the pacer at once: so many packets, of which the last may exceed the
/// bytes.
struct RowLimit {
  uint32_t packets = 1;
  int64_t bytes = INT64_MAX;

  /// How many packets of so many bytes these are; `bytes` is above 0.
  uint32_t packets_of(uint32_t packet_bytes) const {
    if (bytes >= int64_t{packets} * packet_bytes) return packets;
    return static_cast<uint32_t>((bytes + packet_bytes - 1) / packet_bytes);
  }
};

/// Thread: one. Nothing allocates after construction.
class Outbox {
 public:
  /// In `memory`, of which an empty one needs nothing.
  Outbox(size_t ranges_per_class, bool has_repair, TableMemory& memory)
      : rows_{Ring<SendRange>(1), Ring<SendRange>(ranges_per_class, &memory),
              Ring<SendRange>(ranges_per_class, &memory),
              Ring<SendRange>(has_repair ? ranges_per_class : 1, &memory)} {}

  static Priority priority_of(uint16_t kind) {
    return kind == CW_SEND_DATA     ? Priority::Data
           : kind == CW_SEND_RESEND ? Priority::Resend
                                    : Priority::Repair;
  }

  /// False when the row is full. The range must not be empty.
  bool try_push(const SendRange& range) { return row(priority_of(range.kind)).try_push(range); }
  bool is_empty(Priority priority) const { return rows_[static_cast<size_t>(priority)].is_empty(); }
  bool is_empty() const {
    return std::ranges::all_of(rows_, [](const auto& row) { return row.is_empty(); });
  }
  /// The range whose first slot goes next; the row must not be empty.
  const SendRange& front(Priority priority) { return row(priority).front(); }
  /// Takes `count` slots off the front range, which has as many.
  void advance(Priority priority, uint32_t count) {
    SendRange& range = row(priority).front();
    range.first += range.stride * count;
    range.count -= count;
    if (range.count == 0) row(priority).drop_front();
  }
  void drop_front(Priority priority) { row(priority).drop_front(); }
  void clear() {
    for (auto& ranges : rows_) ranges.clear();
  }
  /// All ranges of which this is true; the others keep their order.
  template <class Is>
  void drop_if(const Is& is_unwanted) {
    for (auto& ranges : rows_) {
      for (size_t left = ranges.count(); left > 0; --left) {
        const SendRange range = ranges.pop();
        if (!is_unwanted(range)) CW_ASSERT(ranges.try_push(range));
      }
    }
  }

 private:
  Ring<SendRange>& row(Priority priority) { return rows_[static_cast<size_t>(priority)]; }

  std::array<Ring<SendRange>, priority_count> rows_;
};

}  // namespace cw::sdr
