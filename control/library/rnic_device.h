// "verbs:rxe0,address=10.9.0.1,peer=10.9.0.2": an RNIC as one end of a link.
#pragma once

#include <memory>
#include <string_view>

#include "dataplane/sdr/sdk/platform.h"

namespace cw::sdk {

/// `rest` is a device of libibverbs, ours and the peer's address, and, where it is not to be
/// 10 Gbit/s, `rate=` in bits per second. Errors: one sentence.
Result<std::unique_ptr<Device>> open_rnic(std::string_view rest);

}  // namespace cw::sdk
