// One end of a measurement: a worker and the SDR room over a port, with one QP. The port may be the
// simulated one or a real one; the end does not know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/perf/parameters.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/sdr/shard.h"
#include "plugins/registry.h"

namespace cw::perf {

enum class Role : uint8_t { Sender, Receiver };

/// Everything an end is made from besides its port.
struct EndOptions {
  Role role = Role::Sender;
  uint16_t peer = 0;  ///< the port's number for the other end
  Parameters parameters;
  std::string key;  ///< shared by both ends
  sdr::RandomSource random;
  uint32_t packet_overhead_bytes = 0;  ///< what the layers below add to a packet
};

/// Thread: one. The port and the policies outlive it.
class End {
 public:
  /// Errors: an unknown policy, a parameter it refuses, a stream that contradicts itself.
  static Result<std::unique_ptr<End>> make(AnyWanPort port, plugins::Registry& policies,
                                           const EndOptions& options, Instant now);

  bool turn(Instant now) { return sdr_.turn(now); }
  Instant next_wakeup() const { return sdr_.worker().next_wakeup(); }
  void sleeps_until(Instant wake) { sdr_.worker().sleeps_until(wake); }

  sdr::Link& link() { return *link_; }
  const sdr::Link& link() const { return *link_; }
  PortBase& port() { return port_.base(); }
  /// What is sent from memory of the program's lies there.
  Result<void> register_memory(std::span<uint8_t> memory) {
    return sdr_.port().register_memory(memory);
  }
  uint64_t count_of(Counter counter) const { return sdr_.counters().read_any_thread(counter); }
  const Drops& drops() const { return sdr_.drops(); }
  /// Packets and bytes at the port are counted by the worker.
  uint64_t worker_count_of(Counter counter) {
    return sdr_.worker().counters().read_any_thread(counter);
  }

 private:
  End(AnyWanPort port, plugins::PolicyRef policy, std::vector<double> params,
      const sdr::RandomSource& random);
  Result<void> join(const EndOptions& options, Instant now);

  AnyWanPort port_;
  plugins::PolicyRef policy_;
  std::vector<double> params_;
  sdr::Shard sdr_;
  sdr::Link* link_ = nullptr;
};

}  // namespace cw::perf
