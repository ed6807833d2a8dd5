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

/// What --policy says for a class whose policy follows the line; with --wander and --page only.
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
  Wan wan = Wan::Udp;  ///< the gateways' port to the link
  Lan lan = Lan::Tun;  ///< and to the hosts
  uint16_t cores = 1;  ///< of each gateway, from core 0 on
  /// Of each measurement of TCP and UDP, or of each phase of the line; of the page, 0: for ever.
  uint32_t seconds = 30;
  uint32_t warm_up = 2;  ///< of TCP, not counted
  Rate udp_rate;         ///< zero: see offered_udp()
  Bytes file = Bytes(64 << 20);

  bool is_rdma = false;    ///< real RDMA hosts instead of TCP, UDP, a file and messages
  uint32_t rounds = 3;     ///< of RDMA measurements
  std::string guest;       ///< what RDMA hosts start from; empty: beside the programs
  bool is_wander = false;  ///< a line that changes, and one policy after the other
  bool is_page = false;    ///< nothing is measured; the gateways are there to be looked at
  uint16_t port = 0;       ///< of the page; 0: 8080, or any
  bool is_json = false;
  std::string help;  ///< not empty: print it and do nothing else

  /// Unless it was said: four fifths of what the policy's repair leaves of the link, however much
  /// of it the link's loss calls for.
  Rate offered_udp() const;
  /// The line changes meanwhile, and a policy may follow it.
  bool may_adapt() const { return is_wander || is_page; }
  /// Of causeway-wan: all that holds for the whole run, so nothing of loss.
  std::vector<std::string> line_arguments() const;
};

/// Never throws. The sentence names the option and what it accepts.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace cw::demo
