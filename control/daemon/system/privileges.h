// Rights are for opening ports; carrying packets needs none.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace cw::daemon {

/// Lets this process register as much memory with a device as it likes, where it has the right to
/// say so.
void allow_locked_memory();

/// What keys are in goes into no core file: neither into one of the kernel's nor to a program that
/// it starts for that. Says false where the kernel does not let itself be told.
bool hide_memory();

/// Becomes `user`, if that is not empty, and gives every capability up, for good. Before other
/// threads are made: a thread's capabilities are its own. Errors: no such user; no right to become
/// it.
Result<void> drop_privileges(const std::string& user);

/// The same, save that CAP_NET_ADMIN is kept, where there is one: for the process that sets routes.
Result<void> keep_net_admin_alone(const std::string& user);

/// The second half of it alone, for the thread that calls.
Result<void> give_capabilities_up();

}  // namespace cw::daemon
