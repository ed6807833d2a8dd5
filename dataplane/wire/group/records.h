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
#include "dataplane/wire/group/message_records.h"
#include "dataplane/wire/group/slots.h"

namespace cw::group {

/// Of some members, or of all [C-73].
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
  uint32_t digest = 0;    ///< of what all members must have alike
  uint32_t clock_us = 0;  ///< of the sender, now
  uint32_t echo_us = 0;   ///< of the receiver, by its last JOIN and the time since; 0: not known

  static void fields(auto& join, auto& wire) {
    wire(join.heard_nonce, join.key, join.qpn, join.rate_bps);
    wire(join.payload_bytes, join.site, join.digest, join.clock_us, join.echo_us);
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

/// What envelopes between members hold [C-71].
using Records = RecordList<Pad, Join, Epoch, Ready, Go, Turn, AllDone, Done, Fetch, Miss, Status,
                           Fail, Offer, Cancel, Refuse>;

}  // namespace cw::group
