// Records that replace a policy while traffic flows (SPEC.md 5.13 to 5.17).
#pragma once

#include <cstdint>
#include <string_view>

#include "dataplane/base/serial.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"

namespace cw {

/// Why an end cannot have a policy. Later versions may know more: kept as numbers.
enum class SwapStatus : uint16_t {
  Ready = 0,
  Unknown = 1,        ///< there is no policy of that name
  WireVersion = 2,    ///< there is, and its notes are of another version
  Parameters = 3,     ///< it does not take them
  BeyondReserve = 4,  ///< its blocks need more room than the stream has
  Busy = 5,           ///< another swap of this direction is under way
  NotAllowed = 6,
  Barred = 7,  ///< it was put in quarantine before
};

/// Who chose a swap_id: its highest bit says so, and ids of either rise by themselves.
inline constexpr uint32_t swap_id_of_sink = 0x8000'0000;
constexpr bool is_of_sink(uint32_t swap_id) { return (swap_id & swap_id_of_sink) != 0; }

/// For which direction of the QP a swap record is, as flags: data from who sends the record, or
/// from who receives it.
enum class SwapDirection : uint16_t { SourceIsSender = 0, SourceIsReceiver = 1 };

/// Load and create this policy, but do not use it yet.
struct SwapPrepare {
  static constexpr auto type = RecordType::SwapPrepare;
  static constexpr const char* name = "swap_prepare";

  uint16_t qp = 0;
  SwapDirection direction = SwapDirection::SourceIsSender;
  uint32_t swap_id = 0;
  NamedText policy;  ///< name and parameters

  static void fields(auto& prepare, auto& wire) {
    wire(prepare.qp, prepare.direction, prepare.swap_id, prepare.policy);
  }
  /// Who prepares has chosen the id.
  bool is_valid() const {
    const bool is_sinks = direction == SwapDirection::SourceIsReceiver;
    return direction <= SwapDirection::SourceIsReceiver && is_sinks == is_of_sink(swap_id) &&
           policy.is_valid();
  }
  bool operator==(const SwapPrepare&) const = default;
};

/// The answer to a prepare: ready (status 0) or the reason why not.
struct SwapReady {
  static constexpr auto type = RecordType::SwapReady;
  static constexpr const char* name = "swap_ready";

  uint16_t qp = 0;
  SwapStatus status = SwapStatus::Ready;
  uint32_t swap_id = 0;       ///< chosen by who receives this record
  std::string_view sentence;  ///< hostile: escape before printing

  static void fields(auto& ready, auto& wire) {
    wire(ready.qp, ready.status, ready.swap_id, ready.sentence);
  }
  bool is_valid() const { return true; }
  bool operator==(const SwapReady&) const = default;
};

/// The source of data proposes: messages from boundary_seq on belong to the new policy.
struct SwapBoundary {
  static constexpr auto type = RecordType::SwapBoundary;
  static constexpr const char* name = "swap_boundary";

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;  ///< of the new policy
  uint32_t swap_id = 0;
  MessageSeq boundary_seq;

  static void fields(auto& swap, auto& wire) {
    wire(swap.qp, swap.policy_epoch, swap.swap_id, swap.boundary_seq);
  }
  bool is_valid() const { return true; }
  bool operator==(const SwapBoundary&) const = default;
};

/// The sink takes messages from that boundary on for the new policy's.
struct SwapAcknowledge {
  static constexpr auto type = RecordType::SwapAcknowledge;
  static constexpr const char* name = "swap_acknowledge";

  uint16_t qp = 0;
  uint16_t policy_epoch = 0;
  uint32_t swap_id = 0;
  MessageSeq boundary_seq;

  static void fields(auto& swap, auto& wire) {
    wire(swap.qp, swap.policy_epoch, swap.swap_id, swap.boundary_seq);
  }
  bool is_valid() const { return true; }
  bool operator==(const SwapAcknowledge&) const = default;
};

/// The swap is off; what ran goes on running.
struct SwapCancel {
  static constexpr auto type = RecordType::SwapCancel;
  static constexpr const char* name = "swap_cancel";

  uint16_t qp = 0;
  SwapDirection direction = SwapDirection::SourceIsSender;
  uint32_t swap_id = 0;
  std::string_view sentence;  ///< why; hostile: escape before printing

  static void fields(auto& cancel, auto& wire) {
    wire(cancel.qp, cancel.direction, cancel.swap_id, cancel.sentence);
  }
  bool is_valid() const { return direction <= SwapDirection::SourceIsReceiver; }
  bool operator==(const SwapCancel&) const = default;
};

}  // namespace cw
