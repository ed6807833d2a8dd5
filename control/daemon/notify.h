// Tells the service manager how far we are, in the protocol of sd_notify(3): a datagram to the
// socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace cw::daemon {

/// "READY=1", "STOPPING=1", "STATUS=..."; nothing when nobody asked to be told. False when it could
/// not be told.
bool notify_manager(std::string_view state);

}  // namespace cw::daemon
