// Where DPDK's log goes: line by line to whoever asked, and the last error into the sentences of
// our own. DPDK writes to a stdio stream and nowhere else.
#pragma once

#include <string>

#include "dataplane/port/dpdk/eal.h"

namespace cw::eal_log {

/// Takes the log over, from before rte_eal_init() to the process's end. False: there is no memory.
bool open(EalLog log);
/// The last line of level error or worse; empty: none yet. Thread: any.
std::string last_error();
/// Forgets it.
void clear_error();

}  // namespace cw::eal_log
