// Files of frames, for net_pcap to hand out.
#pragma once

#include <string>

namespace cw::bench {

/// UDP over IPv4 from a host of one site (1 or 2) to the other's, a frame of each flow.
struct Capture {
  char from = 1;
  unsigned flows = 1;
  unsigned bytes = 60;  ///< of a frame, Ethernet header included
  char target = 0;      ///< net_pcap's how many-th of its process: it gives them addresses in a row
};

void write_capture(const std::string& path, const Capture& capture);

}  // namespace cw::bench
