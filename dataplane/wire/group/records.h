// What members of a group tell each other (SPEC.md 18.5 to 18.12, 18.16), in the envelopes of
// links. Every record is absolute and is repeated until it is answered; what is counted is the sum
// over a member and all that lie below it in its tree.
//
// `fields` is the byte layout; the tables of SPEC.md say the same with offsets. Rows and sentences
// point into the packet they were parsed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dataplane/base/limits.h"
#include "dataplane/wire/control/control_link.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"
#include "dataplane/wire/group/message_number.h"
#include "dataplane/wire/group/slots.h"

namespace cw::group {

// [C-73]
constexpr bool is_rank(uint16_t rank) { return rank < limits::group_members_max; }
/// Of some members, or of all.
constexpr bool is_member_count(uint32_t members) {
  return members >= 1 && members <= limits::group_members_max;
}

/// Who am I, and what can I do: to rank 0 before there is an epoch, and in one to each member that
/// is spoken to.
struct Join {
  static constexpr auto type = RecordType::Join;
  static constexpr const char* name = "group_join";

  uint64_t heard_nonce = 0;    ///< the receiver's, as the sender knows it; 0: not yet, so say it
  uint32_t key = 0;            ///< of datagrams to the sender alone
  uint32_t qpn = 0;            ///< where it wants datagrams and control packets; 24 bits
  uint64_t rate_bps = 0;       ///< that it can receive
  uint16_t payload_bytes = 0;  ///< of the largest slot it can send and receive
  uint16_t site = 0;
  uint32_t digest = 0;  ///< of what all members must have alike

  static void fields(auto& join, auto& wire) {
    wire(join.heard_nonce, join.key, join.qpn, join.rate_bps);
    wire(join.payload_bytes, join.site, join.digest);
  }
  bool is_valid() const {
    return qpn < 1u << 24 && rate_bps > 0 && payload_bytes % 4 == 0 &&
           payload_bytes >= limits::group_payload_bytes_min &&
           payload_bytes <= limits::group_payload_bytes_max;
  }
  bool operator==(const Join&) const = default;
};

/// Rank 0 has heard all members: from here on they are a group.
struct Epoch {
  static constexpr auto type = RecordType::Epoch;
  static constexpr const char* name = "group_epoch";

  uint64_t id = 0;             ///< the receiver nonce of its envelopes; never 0
  uint32_t key = 0;            ///< of what is multicast
  uint32_t rate_kbps = 0;      ///< of all sources together
  uint16_t payload_bytes = 0;  ///< of a full slot, the same at all
  uint16_t members = 0;

  static void fields(auto& epoch, auto& wire) {
    wire(epoch.id, epoch.key, epoch.rate_kbps, epoch.payload_bytes, epoch.members);
  }
  bool is_valid() const {
    return id != 0 && rate_kbps > 0 && payload_bytes % 4 == 0 &&
           payload_bytes >= limits::group_payload_bytes_min &&
           payload_bytes <= limits::group_payload_bytes_max && is_member_count(members);
  }
  bool operator==(const Epoch&) const = default;
};

enum class Operation : uint8_t {
  Broadcast = 1,
  Allgather = 2,
  ReduceScatter = 3,
  Pair = 4,  ///< Allgather and Reduce-Scatter at once
  AllToAll = 5,
};
enum class ElementType : uint8_t { Bytes = 0, F32 = 1, Bf16 = 2 };

/// What is posted here and below, and by how many. Members that have posted different things find
/// it out by this.
struct Ready {
  static constexpr auto type = RecordType::Ready;
  static constexpr const char* name = "group_ready";

  Step step;
  Operation operation = Operation::Broadcast;
  ElementType element = ElementType::Bytes;
  uint16_t root = 0;   ///< of a Broadcast; else 0
  uint64_t bytes = 0;  ///< of one source; 0: nothing is sent, and all wait for each other
  uint32_t members = 0;

  static void fields(auto& ready, auto& wire) {
    wire(ready.step, ready.operation, ready.element, ready.root, ready.bytes, ready.members);
  }
  bool is_valid() const {
    const bool has_root = operation == Operation::Broadcast ? is_rank(root) : root == 0;
    return operation >= Operation::Broadcast && operation <= Operation::AllToAll &&
           element <= ElementType::Bf16 && has_root && is_member_count(members);
  }
  bool operator==(const Ready&) const = default;
};

/// A step and a rank, which is all that GO, TURN and ALL_DONE say, but for the pace.
struct StepRank {
  Step step;
  uint16_t rank = 0;
  uint16_t pace = 0;  ///< what all use of R from now on, in thousandths; 0: not said

  static void fields(auto& each, auto& wire) { wire(each.step, each.rank, each.pace); }
  bool is_valid() const { return is_rank(rank) && pace <= 1000; }
  bool operator==(const StepRank&) const = default;
};

/// All are ready; `rank` is the first that sends.
struct Go : StepRank {
  static constexpr auto type = RecordType::Go;
  static constexpr const char* name = "group_go";
};

/// The source before `rank` in its chain has sent its last slot.
struct Turn : StepRank {
  static constexpr auto type = RecordType::Turn;
  static constexpr const char* name = "group_turn";
};

/// All have all; `rank` is the member that fetched most, as DONE has it.
struct AllDone : StepRank {
  static constexpr auto type = RecordType::AllDone;
  static constexpr const char* name = "group_all_done";
};

/// The sender and those below it that are counted have all that the step brings them.
struct Done {
  static constexpr auto type = RecordType::Done;
  static constexpr const char* name = "group_done";

  Step step;
  uint16_t rank = 0;   ///< of them, who has fetched most slots; of several the lowest
  uint16_t share = 0;  ///< of the step's slots that this one has fetched, in thousandths
  uint32_t members = 0;
  uint32_t fetched_slots = 0;  ///< of all of them

  static void fields(auto& done, auto& wire) {
    wire(done.step, done.rank, done.share, done.members, done.fetched_slots);
  }
  bool is_valid() const { return is_rank(rank) && share <= 1000 && is_member_count(members); }
  bool operator==(const Done&) const = default;
};

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
  uint32_t message = 0;  ///< 0: of what all members come to have
  Row<Run> runs;         ///< at least one; they rise, and between two of them lies a slot

  static void fields(auto& asked, auto& wire) {
    wire(asked.step, asked.source, zeros<2>, asked.message, asked.runs);
  }
  bool is_valid() const {
    const bool has_source = message == 0 ? source == 0 : is_rank(source);
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

/// The operation of this step is over, and why.
struct Fail {
  static constexpr auto type = RecordType::Fail;
  static constexpr const char* name = "group_fail";

  Step step;
  uint16_t rank = 0;          ///< whose fault it is, as far as that is known; else of who says so
  std::string_view sentence;  ///< hostile: escape before printing

  static void fields(auto& fail, auto& wire) {
    wire(fail.step, fail.rank, zeros<2>, fail.sentence);
  }
  bool is_valid() const {
    return is_rank(rank) && sentence.size() <= limits::group_sentence_bytes_max;
  }
  bool operator==(const Fail&) const = default;
};

/// I have a message for you: what has come of it?
struct Offer {
  static constexpr auto type = RecordType::Offer;
  static constexpr const char* name = "group_offer";

  Step step;
  uint32_t message = 0;
  uint64_t bytes = 0;       ///< of the message
  uint32_t sent_slots = 0;  ///< of it, that have left once

  static void fields(auto& offer, auto& wire) {
    wire(offer.step, offer.message, offer.bytes, offer.sent_slots);
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

/// What envelopes between members hold [C-71].
using Records = RecordList<Pad, Join, Epoch, Ready, Go, Turn, AllDone, Done, Fetch, Miss, Status,
                           Fail, Offer, Cancel, Refuse>;

}  // namespace cw::group
