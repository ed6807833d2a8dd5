// Who does the bitmap work of a context, as its attributes ask.
#pragma once

#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/sdr/sdr.h"
#include "offload/stage/stage.h"

namespace cw::sdk {

/// For a device whose port has these facts; null: the device copies, and the turn has the bits.
/// Errors: what a program may not ask for, threads or a DPA that cannot be had.
Result<std::unique_ptr<BitStage>> make_stage(const cw_device_attr& attr, const PortFacts& port);

/// As cw_context_offload_why() says. `stage` may be null.
std::string why_left(const BitStage* stage);

}  // namespace cw::sdk
