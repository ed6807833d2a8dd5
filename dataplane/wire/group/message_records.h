// What members tell each other of slots and messages (SPEC.md 18.10, 18.11, 18.16); see records.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"
#include "dataplane/wire/group/message_number.h"
#include "dataplane/wire/group/slots.h"

namespace cw::group {

// [C-73]
constexpr bool is_rank(uint16_t rank) { return rank < limits::group_members_max; }

/// Slots one behind the other.
struct Run {
  be32 first, count;
  bool operator==(const Run&) const = default;
};
static_assert(sizeof(Run) == 8 && alignof(Run) == 1);

/// Slots of one message, or of what all come to have; FETCH and MISS.
struct SlotRuns {
  Step step;
  uint16_t source = 0;   ///< whose message it is; 0 with message 0
  uint16_t number = 0;   ///< FETCH: counts those of one message (18.15), from 1 on; else 0
  uint32_t message = 0;  ///< 0: of what all members come to have
  Row<Run> runs;         ///< at least one; they rise, and between two of them lies a slot

  static void fields(auto& asked, auto& wire) {
    wire(asked.step, asked.source, asked.number, asked.message, asked.runs);
  }
  bool is_valid() const {
    const bool has_source = message == 0 ? source == 0 && number == 0 : is_rank(source);
    return has_source && !runs.empty() && runs.size() <= limits::group_runs_max && are_in_order();
  }
  bool operator==(const SlotRuns&) const = default;

 private:
  /// No slot twice: what one record can ask for is bounded by what there is.
  bool are_in_order() const {
    uint64_t free_from = 0;
    for (const Run& run : runs) {
      const uint64_t first = run.first.host(), count = run.count.host();
      if (first < free_from || count == 0) return false;
      if (first + count > limits::slots_per_message_max) return false;
      free_from = first + count + 1;
    }
    return true;
  }
};

/// Send me these.
struct Fetch : SlotRuns {
  static constexpr auto type = RecordType::Fetch;
  static constexpr const char* name = "group_fetch";
};

/// I lack them, too: ask another.
struct Miss : SlotRuns {
  static constexpr auto type = RecordType::Miss;
  static constexpr const char* name = "group_miss";

  bool is_valid() const { return number == 0 && SlotRuns::is_valid(); }
};

/// What has come of a message, to who sends it.
struct Status {
  static constexpr auto type = RecordType::Status;
  static constexpr const char* name = "group_status";
  static constexpr uint32_t held_unknown = UINT32_MAX;

  Step step;
  uint32_t message = 0;
  uint32_t slots = 0;     ///< in place; at most 2^24
  uint32_t clock_us = 0;  ///< of the datagram that came last
  uint32_t held_us = 0;   ///< from its arrival to the departure of this

  static void fields(auto& status, auto& wire) {
    wire(status.step, status.message, status.slots, status.clock_us, status.held_us);
  }
  bool is_valid() const { return slots <= limits::slots_per_message_max; }
  bool operator==(const Status&) const = default;
};

/// I have a message for you: what has come of it?
struct Offer {
  static constexpr auto type = RecordType::Offer;
  static constexpr const char* name = "group_offer";

  Step step;
  uint32_t message = 0;
  uint64_t bytes = 0;       ///< of the message
  uint32_t sent_slots = 0;  ///< of it, that have left once
  uint16_t answered = 0;    ///< the number of the last FETCH whose answers have left; 0: none

  static void fields(auto& offer, auto& wire) {
    wire(offer.step, offer.message, offer.bytes, offer.sent_slots, offer.answered, zeros<2>);
  }
  bool is_valid() const {
    return is_message_number(message) && bytes > 0 && sent_slots <= limits::slots_per_message_max;
  }
  bool operator==(const Offer&) const = default;
};

/// Why a message is over at one end though it is not whole at the other.
enum class Reason : uint8_t {
  Cancelled = 1,   ///< the program there does not want it any more
  Late = 2,        ///< its deadline is over there
  Unknown = 3,     ///< it is not known there any more what has become of it
  UnlikeStep = 4,  ///< its receiver waits for it in another step
  UnlikeSize = 5,  ///< or for another number of bytes
};

struct Ending {
  Step step;
  uint32_t message = 0;
  Reason reason = Reason::Cancelled;

  static void fields(auto& ending, auto& wire) {
    wire(ending.step, ending.message, ending.reason, zeros<3>);
  }
  bool is_valid() const {
    return is_message_number(message) && reason >= Reason::Cancelled &&
           reason <= Reason::UnlikeSize;
  }
  bool operator==(const Ending&) const = default;
};

/// Nothing more comes of a message of mine.
struct Cancel : Ending {
  static constexpr auto type = RecordType::Cancel;
  static constexpr const char* name = "group_cancel";
};

/// Send nothing more of a message of yours.
struct Refuse : Ending {
  static constexpr auto type = RecordType::Refuse;
  static constexpr const char* name = "group_refuse";
};

}  // namespace cw::group
