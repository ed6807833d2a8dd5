// Where the slots of an operation lie (SPEC.md 18.3). What all members come to have is cut source
// by source, every source's part alike, and only the last slot of a part is shorter:
//
//   slot:  0 .. n-1 | n .. 2n-1 | ...          n = ceil(bytes of a part / payload bytes)
//          part 0   | part 1    | ...          of the first source, of the next one, ...
//
// A message from one member to another is a part of its own. A step's number is 32 bits long in the
// header; the immediate has its lower eight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/serial.h"

namespace cw::group {

/// Operations of a group are numbered as they are posted, alike at all members.
using Step = Serial<32>;

/// What the immediate has of a step.
constexpr uint8_t mark_of(Step step) { return static_cast<uint8_t>(step.value()); }
/// The step with this mark that lies nearest to `reference`, the lower one when two are equally
/// near: of 256 in a row no two are taken for each other.
constexpr Step step_near(uint8_t mark, Step reference) {
  const int64_t steps = Serial<8>(reference.value()).distance_to(Serial<8>(mark));
  return reference + static_cast<uint64_t>(steps);
}

class Slots {
 public:
  struct Shape {
    uint64_t part_bytes = 0;     ///< of one source
    uint32_t payload_bytes = 0;  ///< of a full slot
    uint16_t sources = 1;
    uint16_t first_source = 0;  ///< rank of the first of them, whose ranks follow each other
  };

  /// Whether slots of that shape can be numbered [C-68]: ask before constructing from what a caller
  /// says.
  static constexpr bool can_be(const Shape& shape) {
    if (shape.part_bytes == 0 || shape.payload_bytes == 0 || shape.sources == 0) return false;
    const uint64_t slots_max = limits::slots_per_message_max / shape.sources;
    return (shape.part_bytes - 1) / shape.payload_bytes < slots_max &&
           size_t{shape.first_source} + shape.sources <= limits::group_members_max;
  }
  explicit constexpr Slots(const Shape& shape)
      : part_bytes_(shape.part_bytes),
        payload_bytes_(shape.payload_bytes),
        first_source_(shape.first_source) {
    CW_ASSERT(can_be(shape));
    const uint64_t slots_before_last = (shape.part_bytes - 1) / shape.payload_bytes;
    part_slots_ = static_cast<uint32_t>(slots_before_last + 1);
    last_bytes_ = static_cast<uint32_t>(part_bytes_ - slots_before_last * payload_bytes_);
    count_ = part_slots_ * shape.sources;
  }

  constexpr uint32_t count() const { return count_; }            ///< of all sources
  constexpr uint32_t part_slots() const { return part_slots_; }  ///< of each source

  /// The slot of a source's `nth` one; both exist.
  constexpr uint32_t slot_of(uint16_t source, uint32_t nth) const {
    return (source - uint32_t{first_source_}) * part_slots_ + nth;
  }
  // Of a slot below count().
  constexpr uint16_t source_of(uint32_t slot) const {
    return static_cast<uint16_t>(first_source_ + slot / part_slots_);
  }
  constexpr uint32_t nth_of(uint32_t slot) const { return slot % part_slots_; }
  constexpr bool is_last(uint32_t slot) const { return nth_of(slot) == part_slots_ - 1; }
  constexpr uint32_t bytes_of(uint32_t slot) const {
    return is_last(slot) ? last_bytes_ : payload_bytes_;
  }
  /// Where it lies when all parts stand behind each other.
  constexpr uint64_t offset_of(uint32_t slot) const {
    return slot / part_slots_ * part_bytes_ + uint64_t{nth_of(slot)} * payload_bytes_;
  }

 private:
  uint64_t part_bytes_;
  uint32_t payload_bytes_;
  uint32_t part_slots_ = 0;
  uint32_t last_bytes_ = 0;
  uint32_t count_ = 0;
  uint16_t first_source_;
};

}  // namespace cw::group
