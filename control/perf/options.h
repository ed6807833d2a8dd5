// The command line of causeway-perf.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/perf/end/phases.h"
#include "control/perf/parameters.h"
#include "control/perf/shared/subcommand.h"
#include "dataplane/base/result.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::perf {

enum class Mode : uint8_t { Server, Client, Simulation };

enum class LineKind : uint8_t { Udp, Dpdk, Xdp, Verbs };

/// One end of a line over a device's frames or an RNIC. Each end says its own.
struct Line {
  std::string device;         ///< as DPDK writes it, the kernel, or libibverbs
  std::string address, peer;  ///< IP addresses on the line: ours, the other end's
  // Of DPDK and AF_XDP:
  std::string next_hop;  ///< a MAC or a router's IP; empty: found out
  // Of DPDK:
  std::string eal;  ///< further arguments
};

struct Options {
  Mode mode = Mode::Server;
  std::string host;           ///< of the server
  Parameters parameters;      ///< the client's
  uint16_t udp_port = 18515;  ///< of the server; also the TCP port of the rendezvous
  std::string plugin;         ///< a policy's file; empty: none
  std::string key;            ///< of the pair
  LineKind line_kind = LineKind::Udp;
  Line line;              ///< of the others
  Impairment impairment;  ///< of the simulated link, each way
  PhaseOptions phases;    ///< of a client over real packets
  bool is_json = false;
  bool serves_on = false;  ///< after the first client
  std::string help;        ///< not empty: print it and do nothing else
};

/// Never throws. The sentence names the option and what it accepts.
/// `others` are subcommands that others parse; help tells of them, too.
Result<Options> parse_options(std::span<const char* const> arguments,
                              const std::vector<NamedLine>& others = {});

}  // namespace cw::perf
