// Others that bring a file from one host to many by multicast, as Debian has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/lab/program.h"

namespace cw::bench {

struct Stranger {
  const char* name;
  lab::Arguments sender, receiver;  ///< FILE, TARGET (a file), RECEIVERS, MBIT, HOSTS in them
};
/// Those that are installed: udpcast and uftp.
std::vector<Stranger> strangers_here();

struct StrangerRun {
  double ms = 0;       ///< of the sender's whole life, its start included
  uint32_t right = 0;  ///< receivers that have every byte
  std::string why;     ///< it failed; empty: it did not
};
using StartMember =
    std::function<std::unique_ptr<lab::Program>(uint32_t rank, const lab::Arguments&)>;

/// Rank 0 sends, all others receive, in this process's mount namespace.
StrangerRun run_stranger(const Stranger& stranger, uint32_t members, uint64_t bytes, uint32_t mbit,
                         const StartMember& start);

}  // namespace cw::bench
