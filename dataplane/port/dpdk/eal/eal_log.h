// Where DPDK's log goes: line by line to whoever asked, and the last error into the sentences of
// our own. DPDK writes to a stdio stream and nowhere else.
#pragma once

#include <string>

#include "dataplane/port/dpdk/eal/eal.h"

namespace cw::eal_log {

/// Takes the log over, from before rte_eal_init() to the process's end. False: there is no memory.
bool open(EalLog log);
/// The first line of level error or worse, whose consequences the others tell; empty: none yet.
/// Thread: any.
std::string first_error();
/// Forgets it: what follows is about something else.
void clear_error();

}  // namespace cw::eal_log
