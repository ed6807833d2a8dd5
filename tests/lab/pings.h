// ICMP echo requests from one place to an address, one at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tests/lab/space.h"

namespace cw::lab {

/// Thread: one.
class Pings {
 public:
  /// IPv6 when `target` is.
  Pings(const Space& from, const char* target);
  ~Pings();
  Pings(const Pings&) = delete;
  Pings& operator=(const Pings&) = delete;

  /// How many routers may pass on what is sent from now on; the system's choice before.
  void set_hops(int hops);

  /// Sends one and waits for its answer; nothing when none came in time. A packet of `bytes` with
  /// its IP header, 36 (56) at least.
  std::optional<Time::duration> ping(size_t bytes, std::chrono::milliseconds most);

 private:
  bool is_v6_;
  int fd_;
  uint16_t number_ = 0;
};

}  // namespace cw::lab
