// What only mlx5 devices can: the one file that names their library. Compiled, and never run.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace cw::verbs {

/// Has a connected queue pair send from this UDP port, where the device is one that lets it be
/// said; others have it from the flow label. No error: the path is another one then.
void choose_source_port(ibv_qp& pair, uint16_t source_port);

}  // namespace cw::verbs
