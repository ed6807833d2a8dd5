// What a site takes, counted byte by byte as it is made from a plan, over real sockets: 500 Mbit/s,
// an RTT of 25 ms, one class.
#pragma once

#include <unistd.h>

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/base/prng.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/port/udp/udp_port.h"
#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/gateway/idle_links.h"
#include "tests/sim/gateway/site_seat.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

inline std::string file_of_peers(int peers) {
  std::string file =
      "[site]\nname = 'centre'\nmemory = '64 GiB'\n[wan]\nrate = '500 Mbit/s'\n"
      "address = '127.0.0.1'\n[pair]\nkey_file = 'key'\nrtt = '25 ms'\n";
  for (int i = 1; i <= peers; ++i) {
    const std::string n = std::to_string(i), high = std::to_string(i / 200);
    const std::string low = std::to_string(i % 200);
    file += "[[peer]]\nname = 'site " + n + "'\naddress = '127.1." + high + "." + low +
            "'\nroutes = ['10." + high + "." + low + ".0/24']\n";
  }
  return file;
}

/// Of an aligned mapping it depends on where it happens to be how many bytes count: who compares
/// `bytes` has malloc make none, by this.
inline void count_exactly() { mallopt(M_MMAP_MAX, 0); }

struct SiteMemory {
  uint64_t bytes = 0;      ///< truly taken, without the LAN port, which is no peer's
  uint64_t said = 0;       ///< what the plan says, less what it says of that port
  uint64_t resident = 0;   ///< in pages that were written
  uint64_t said_idle = 0;  ///< what the plan says of its links at rest

  static SiteMemory of(int peers) {
    SimNetwork network({.port_packets = 64, .payload_max = limits::frame_bytes_max});
    SimPort& lan = network.add_port();
    Prng prng(1);
    const int64_t before = taken();
    const uint64_t resident = resident_bytes();
    site::Plan plan = plan_of(file_of_peers(peers));
    const uint64_t lan_bytes = plan.lan.packets * limits::frame_bytes_max;
    const uint64_t said_idle = plan.idle_links_memory.count();
    const uint64_t said = plan.memory.count() - lan_bytes;
    // Of each process its own: tests of this and a bench may run at once.
    plan.wan.udp_port = static_cast<uint16_t>(14'791 + getpid() % 10'000);
    const UdpPortOptions wan = plan.wan;
    const auto site = must(site::Site::make(
        std::move(plan), {.ports =
                              [&](size_t) {
                                return site::ShardPorts{std::make_unique<PortAround>(lan),
                                                        must(UdpPort::make(wan))};
                              },
                          .now = network.now(),
                          .random = sdr::RandomSource::of(prng),
                          .clock = {}}));
    return {static_cast<uint64_t>(taken() - before), said, resident_bytes() - resident, said_idle};
  }

 private:
  static int64_t taken() {
    return HeapWatch::live_bytes() + static_cast<int64_t>(LazyMemory::all_bytes());
  }
  template <class T>
  static T must(Result<T> result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "%s\n", result.error().sentence.c_str());
    std::abort();
  }
};

}  // namespace cw::sim
