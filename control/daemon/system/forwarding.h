// What the kernel does with packets that are not this machine's.
#pragma once

namespace cw::daemon {

/// Whether this machine passes packets of others on: else a gateway carries its own alone. True
/// where the kernel does not say.
bool is_forwarding();

}  // namespace cw::daemon
