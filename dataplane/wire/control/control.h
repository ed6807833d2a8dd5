// The records of control packets (SPEC.md 5): what two gateways tell each other about the link
// between them. Every record is complete by itself and absolute: a later one of the same subject
// replaces an earlier one, and a repeated one changes nothing.
//
// `fields` is the byte layout; the tables of SPEC.md say the same with offsets. Spans and texts
// point into the packet they were parsed from.
#pragma once

#include "dataplane/wire/control/control_link.h"
#include "dataplane/wire/control/control_message.h"
#include "dataplane/wire/control/control_swap.h"
#include "dataplane/wire/control/record.h"

namespace cw {

using ControlRecords = RecordList<Hello, Pad, Description, ClearToSend, Probe, Opened, BlockClosed,
                                  Closed, Abandoned, Note, Echo, PathReport, SwapPrepare, SwapReady,
                                  SwapBoundary, SwapAcknowledge, SwapCancel, Outcome, Draining>;
inline constexpr RecordTypes control_record_types = ControlRecords::types;

}  // namespace cw
