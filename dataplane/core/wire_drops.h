// Why bytes of the wire are dropped: what its decoders refuse, as a drop reason of the same table.
#pragma once

#include "dataplane/core/counters.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/error.h"

namespace cw {

/// Thread: any.
inline DropReason reason_of(WireError error) {
  switch (error) {
#define CW_WIRE_ERROR(name, reason, sentence) \
  case WireError::name:                       \
    return DropReason::reason;
#include "dataplane/wire/errors.def"
#undef CW_WIRE_ERROR
  }
  return DropReason::wire_opcode;
}

inline DropReason reason_of(ControlError error) {
  switch (error) {
#define CW_CONTROL_ERROR(reason, name, sentence) \
  case ControlError::name:                       \
    return DropReason::reason;
#include "dataplane/wire/control_errors.def"
#undef CW_CONTROL_ERROR
  }
  return DropReason::control_magic;
}

}  // namespace cw
