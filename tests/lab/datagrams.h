// A stream of UDP datagrams from a host to another, of which each is accounted for: it came as it
// was sent, it came twice, it came wrong, or it did not come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/lab/sites.h"

namespace cw::lab {

struct DatagramsOptions {
  At from = At::HostA, to = At::HostB;
  const char* source = site_a.host;
  const char* target = site_b.host;
  uint16_t udp_port = 7000;
  size_t bytes = 1000;         ///< of payload, 24 at least
  uint32_t per_second = 2000;  ///< evenly, as far as the machine lets us
};

struct DatagramCounts {
  uint64_t sent = 0;     ///< the kernel took them
  uint64_t refused = 0;  ///< the kernel did not
  uint64_t arrived = 0;  ///< each counted once, and as it was sent
  uint64_t doubled = 0, wrong = 0;
  /// Those sent in the time that was asked about.
  uint64_t lost() const { return sent - arrived; }
};

/// Thread: one, besides its own two.
class Datagrams {
 public:
  Datagrams(const Sites& sites, const DatagramsOptions& options)
      : Datagrams(sites.space(options.from), sites.space(options.to), options) {}
  /// Between hosts of another lab; `options` need not say where they are.
  Datagrams(const Space& from, const Space& to, const DatagramsOptions& options);
  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  /// Sends from now on.
  void start();
  /// Ends sending; what is under way may still arrive.
  void stop();
  /// Waits until all that was sent has arrived, or nothing has for `quiet`.
  void settle(std::chrono::milliseconds quiet = std::chrono::seconds(4)) const;
  /// Waits until all that was sent in this time has arrived, ten seconds at most.
  void wait_for_all(Time::time_point from, Time::time_point to) const;

  /// All, or what was sent from one moment on and the kernel had before another.
  DatagramCounts counts() const;
  DatagramCounts counts(Time::time_point from, Time::time_point to) const;
  /// The first arrival after a moment.
  std::optional<Time::time_point> first_arrival_after(Time::time_point moment) const;
  /// Waits for an arrival after `moment`; nothing when none came in time.
  std::optional<Time::time_point> wait_for_arrival(Time::time_point moment,
                                                   std::chrono::milliseconds most) const;
  /// The longest time in which none arrived, from one moment to another.
  Time::duration longest_silence(Time::time_point from, Time::time_point to) const;
  /// Since `moment`: until when datagrams were sent of which not all have arrived.
  Time::duration unsafe_since(Time::time_point moment) const;
  /// Of those that arrived: how long they took, in the order in which they were sent.
  std::vector<Time::duration> delays() const;

 private:
  struct One {
    Time::time_point sent, taken;  // before and after the kernel was asked to take it
    Time::time_point arrived;      // of the first; none: zero
    bool was_taken = false;
  };

  void send_all();
  void receive_all();
  void note(const std::vector<uint8_t>& bytes, size_t size, Time::time_point now);

  DatagramsOptions options_;
  int from_, to_;
  uint64_t run_;  // so that a datagram of another run is wrong
  std::atomic<bool> stops_sending_ = false, stops_receiving_ = false;
  mutable std::mutex mutex_;
  std::vector<One> all_;
  uint64_t doubled_ = 0, wrong_ = 0, distinct_ = 0, taken_ = 0;
  Time::time_point last_arrival_;
  std::thread sender_, receiver_;
};

/// The longest time in which nothing came, of a stretch of time.
Time::duration longest_between(std::vector<Time::time_point> arrivals, Time::time_point from,
                               Time::time_point to);

/// The line that a person reads, and tests print when they fail.
std::string text_of(const DatagramCounts& counts);

}  // namespace cw::lab
