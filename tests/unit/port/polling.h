// Ports that are polled by a test itself.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "dataplane/port.h"

namespace cw::test {

Instant clock_now();

/// Polls until `count` packets have come; twenty seconds at most.
std::vector<Packet*> receive(Port& port, size_t count);
/// The same, until `is_over`: for what leaves a count behind and no packet.
std::vector<Packet*> receive_until(Port& port, const std::function<bool()>& is_over);

}  // namespace cw::test
