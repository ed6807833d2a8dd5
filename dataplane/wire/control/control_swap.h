// Records that replace a policy while traffic flows (SPEC.md 5.13 to 5.17).
#pragma once

#include <cstdint>
#include <string_view>

#include "dataplane/base/serial.h"
#include "dataplane/wire/control/record_type.h"
#include "dataplane/wire/fields.h"

namespace cw {

/// Load and create this policy, but do not use it yet.
struct SwapPrepare {
  static constexpr auto type = RecordType::SwapPrepare;
  static constexpr const char* name = "swap_prepare";
  static constexpr uint16_t source_is_sender = 0;    ///< for data from who sends this record
  static constexpr uint16_t source_is_receiver = 1;  ///< for data from who receives it

  uint16_t qp = 0;
  uint16_t flags = 0;
  uint32_t swap_id = 0;
  NamedText policy;  ///< name and parameters

  static void fields(auto& prepare, auto& wire) {
    wire(prepare.qp, prepare.flags, prepare.swap_id, prepare.policy);
  }
  bool is_valid() const { return flags <= source_is_receiver && policy.is_valid(); }
  bool operator==(const SwapPrepare&) const = default;
};

/// The answer to a prepare: ready (status 0) or the reason why not.
struct SwapReady {
  static constexpr auto type = RecordType::SwapReady;
  static constexpr const char* name = "swap_ready";

  uint16_t qp = 0;
  uint16_t status = 0;
  uint32_t swap_id = 0;
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

/// The sink has laid its credit anew from that boundary on.
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
  uint32_t swap_id = 0;
  std::string_view sentence;  ///< why; hostile: escape before printing

  static void fields(auto& cancel, auto& wire) {
    wire(cancel.qp, zeros<2>, cancel.swap_id, cancel.sentence);
  }
  bool is_valid() const { return true; }
  bool operator==(const SwapCancel&) const = default;
};

}  // namespace cw
