// One-way times between the two hosts of a lab.
//
// Both hosts share this machine's clock. A datagram bears the time at which it was handed to the
// kernel, and the receiving kernel's time of arrival is compared with it, so that nobody's waking
// up is measured but that of what lies between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/lab/sites.h"

namespace cw::lab {

/// The value of a sorted row below which a share of it lies, by nearest rank; 0 of none.
double nearest_rank(std::span<const double> sorted, double share);

/// In microseconds, sorted; lost ones are missing.
struct Latencies {
  std::vector<double> us;
  /// By nearest rank; 0 of none.
  double quantile(double q) const;
};

/// Sockets for UDP from host A to host B; the receiving kernel says when each datagram has come.
/// Thread: one.
class StampedSockets {
 public:
  struct Options {
    const char *source, *target;  ///< addresses of the hosts
    uint16_t port;
    int send_room, receive_room = 0;  ///< bytes; 0: as much as any socket has
  };
  /// Throws where there are no such sockets.
  StampedSockets(const Sites& sites, const Options& options);
  ~StampedSockets();
  StampedSockets(const StampedSockets&) = delete;
  StampedSockets& operator=(const StampedSockets&) = delete;

  /// False: the kernel takes none now.
  bool send(std::span<const uint8_t> bytes) const;
  struct Stamped {
    size_t bytes = 0;                   ///< of the datagram; what `room` has not is lost
    std::optional<int64_t> arrived_ns;  ///< nothing: the kernel does not say
  };
  /// The next one, at the front of `room`; nothing: none has come.
  std::optional<Stamped> receive(std::span<uint8_t> room) const;
  /// The clock by which the kernel notes arrivals.
  static int64_t now_ns();

 private:
  int from_ = -1, to_ = -1;
};

/// UDP from host A to host B. Thread: one.
class OneWay {
 public:
  /// By two addresses of the hosts. Throws where there are no such sockets.
  OneWay(const Sites& sites, const char* source, const char* target);

  /// A datagram of 100 bytes that bears the time. One that cannot be sent is one that is lost.
  void send_probe() const;
  /// Any other datagram; false: the kernel takes none now.
  bool send(std::span<const uint8_t> bytes) const;
  /// Takes all that has arrived; other datagrams than probes are thrown away.
  void receive();
  /// What has been received so far.
  Latencies latencies() const;

 private:
  StampedSockets sockets_;
  std::vector<double> times_us_;
};

}  // namespace cw::lab
