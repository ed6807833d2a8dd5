// Tells the service manager how far we are, in the protocol of sd_notify(3): a datagram to the
// socket that NOTIFY_SOCKET names.
#pragma once

#include <optional>
#include <string_view>

#include "dataplane/base/units.h"

namespace cw::daemon {

/// "READY=1", "STOPPING=1", "STATUS=..."; nothing when nobody asked to be told. False when it could
/// not be told.
bool notify_manager(std::string_view state);
/// The same with a descriptor, of which the manager gets a duplicate.
bool notify_manager(std::string_view state, int fd);
/// Until the manager has done what it was told, at most five seconds: what it was to close is
/// closed.
void wait_for_manager();

/// How often the manager wants to hear "WATCHDOG=1" of this process, half of what it waits for
/// (sd_watchdog_enabled(3)); nothing: it does not ask.
std::optional<Duration> watchdog_interval();

}  // namespace cw::daemon
