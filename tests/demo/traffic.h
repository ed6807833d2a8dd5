// What the hosts send to each other: TCP and UDP by iperf3, a file, and messages by causeway-perf.
// From site A to site B. Everything throws when a tool fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/demo/options.h"
#include "tests/lab/sites.h"

namespace cw::demo {

/// Told now and then how a measurement goes on, as a few words.
using OnProgress = std::function<void(const std::string&)>;

struct TcpResult {
  double mbps = 0;  ///< what the receiving program got
  uint64_t retransmits = 0;
};
TcpResult measure_tcp(const lab::Sites& sites, const Options& options, const OnProgress& progress);

/// Where datagrams were lost, as far as the hosts can see.
struct UdpResult {
  double mbps = 0;
  uint64_t sent = 0, lost = 0;     ///< never came to host B, or found no room in its socket
  uint64_t lost_at_socket = 0;     ///< of `lost`: the receiving program's socket was full
  uint64_t lost_at_interface = 0;  ///< of `lost`: interfaces of hosts and gateways
  uint64_t too_late = 0;           ///< came when the program had closed its socket; not in `lost`
  double loss() const {
    return sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent);
  }
};
UdpResult measure_udp(const lab::Sites& sites, const Options& options, const OnProgress& progress);

/// Packets that host B's sockets had no room for, and those that interfaces of hosts and gateways
/// have dropped, as kernels count them: whoever asks twice knows what happened in between.
uint64_t socket_drops(const lab::Sites& sites);
uint64_t interface_drops(const lab::Sites& sites);

struct FileResult {
  double seconds = 0;
  uint64_t bytes = 0;        ///< that arrived in time
  bool is_whole = false;     ///< all of them
  uint64_t bytes_wrong = 0;  ///< of those that arrived
  std::string checksum;      ///< SHA-256 of what arrived, as sha256sum prints it
};
/// Sends a file over TCP, for at most so long.
FileResult send_file(const lab::Sites& sites, Bytes size, std::chrono::seconds most);

struct MessageResult {
  uint64_t posted = 0, whole = 0, bytes_wrong = 0;
};
/// Messages that nobody resends, in a quarter of the link's rate.
MessageResult send_messages(const lab::Sites& sites, const Options& options,
                            const std::string& program);

}  // namespace cw::demo
