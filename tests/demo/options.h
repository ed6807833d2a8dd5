// The command line of causeway-demo.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw::demo {

enum class Wan { Udp, Dpdk, Verbs, Xdp };
enum class Lan { Tun, Xdp };
/// As it is written.
const char* name_of(Wan wan);
const char* name_of(Lan lan);

/// What --policy says for a class whose policy follows the line; with --wander only.
inline constexpr const char* adaptive_policy = "adaptive";

struct Options {
  // The link, each way alike.
  Duration rtt = Duration::from_ms(25);
  double loss = 0.01;
  double burst = 1;  ///< packets lost in a row, on average
  Rate rate = Rate::from_mbps(500);
  uint32_t mtu = 1500;
  uint64_t seed = 1;

  std::string policy = "selective_repeat";
  Wan wan = Wan::Udp;     ///< the gateways' port to the link
  Lan lan = Lan::Tun;     ///< and to the hosts
  uint16_t cores = 1;     ///< of each gateway, from core 0 on
  uint32_t seconds = 30;  ///< of each measurement of TCP and UDP, or of each phase of the line
  uint32_t warm_up = 2;   ///< of TCP, not counted
  Rate udp_rate;          ///< zero: see offered_udp()
  Bytes file = Bytes(64 << 20);

  bool is_rdma = false;    ///< real RDMA hosts instead of TCP, UDP, a file and messages
  uint32_t rounds = 3;     ///< of RDMA measurements
  std::string guest;       ///< what RDMA hosts start from; empty: beside the programs
  bool is_wander = false;  ///< a line that changes, and one policy after the other
  bool is_json = false;
  std::string help;  ///< not empty: print it and do nothing else

  /// Unless it was said: four fifths of what the policy's repair leaves of the link, however much
  /// of it the link's loss calls for.
  Rate offered_udp() const;
  /// Of causeway-wan: all that holds for the whole run, so nothing of loss.
  std::vector<std::string> line_arguments() const;
};

/// Never throws. The sentence names the option and what it accepts.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace cw::demo
