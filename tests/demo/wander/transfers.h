// Transfers of 64 KiB from host A to host B, one after another, each a row of UDP datagrams that
// are sent once and never again: how long each took, and whether it came whole and as it was sent.
//
// Both hosts share this machine's clock. A transfer begins when its first datagram is handed to the
// sending kernel and ends when the receiving kernel has its last one.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/demo/options.h"
#include "tests/lab/one_way.h"
#include "tests/lab/sites.h"

namespace cw::demo {

/// Of some transfers: how long each took, sorted; one that never came whole took for ever.
struct TransferTimes {
  std::vector<double> ms;

  uint64_t sent() const { return ms.size(); }
  uint64_t whole() const;
  /// By nearest rank; 0 of none, infinite where too many never came whole.
  double quantile_ms(double share) const;
};

/// Thread: one.
class Transfers {
 public:
  static constexpr size_t bytes = 64 << 10;

  /// Datagrams fill the LAN's MTU. Throws where there are no such sockets.
  Transfers(const lab::Sites& sites, const Options& options);

  /// Begins one every interval() for so long, and takes what has arrived. What the machine was too
  /// busy for is never sent. `stretch` is the number under which they are asked for.
  void send_for(std::chrono::nanoseconds time, uint32_t stretch);
  /// Waits until all have arrived, or nothing has for so long.
  void settle(std::chrono::milliseconds quiet);

  /// Those begun so far are not asked for any more: whoever sends for hours keeps none of them.
  void forget();

  /// 10 ms, and as long as the line takes for two of them, lest they alone fill it.
  std::chrono::nanoseconds interval() const { return interval_; }
  TransferTimes times(uint32_t stretch) const;
  /// Came otherwise than they were sent.
  uint64_t datagrams_wrong() const { return wrong_; }

 private:
  struct One {
    uint32_t stretch = 0;
    int64_t began_ns = 0, ended_ns = 0;  // on the realtime clock; the latest arrival so far
    size_t missing = 0;
    std::vector<bool> has;  // by datagram
  };

  size_t bytes_of(size_t index) const;
  std::vector<uint8_t> datagram(uint32_t transfer, uint32_t index) const;
  void send_one(uint32_t stretch);
  void receive();
  void note(std::span<const uint8_t> datagram, int64_t arrived_ns);

  const size_t payload_bytes_, pieces_;
  const Rate rate_;
  const std::chrono::nanoseconds interval_;
  lab::StampedSockets sockets_;
  std::vector<One> all_;
  uint32_t forgotten_ = 0;  // as many were before these
  uint64_t whole_ = 0, wrong_ = 0;
  lab::Time::time_point next_, last_arrival_;
};

}  // namespace cw::demo
