// A pair of gateways that is measured: how it is made, over which ports, and what it has taken.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/e2e/xdp/system_calls.h"
#include "tests/lab/gateway.h"
#include "tests/lab/sites.h"

namespace cw::bench {

enum class Ports { Sockets, Xdp, Dpdk };
const char* name_of(Ports ports);

struct PairSetup {
  Ports ports = Ports::Xdp;
  std::string rate = "1 Gbit/s", rtt = "2 ms";
  std::string class_lines = lab::patient_class;  ///< of the one class, which only carries
  std::optional<std::array<unsigned, 2>> cores;  ///< of the gateways' threads
};

/// The sites' gateways, without anybody between them: one cable of one queue.
void join_by_cable(const lab::Sites& sites);

/// What both gateways have done since they began.
struct Taken {
  double processor_seconds = 0;
  double system_calls = 0;
  double packets = 0, turns = 0, waits = 0;  ///< in by the ports; of the workers

  Taken operator-(const Taken& before) const;
};

/// Thread: one. The sites outlive it.
class MeasuredPair {
 public:
  /// Both are up then; throws what keeps them from it.
  MeasuredPair(const lab::Sites& sites, const PairSetup& setup);

  lab::Gateway& a() { return a_; }
  lab::Gateway& b() { return b_; }
  Taken taken();
  /// Of both; false: what the ports count, where they do.
  bool counts_all_calls() const { return calls_a_.is_counting() && calls_b_.is_counting(); }

 private:
  lab::Folder folder_;
  lab::Gateway a_, b_;
  SystemCalls calls_a_, calls_b_;
};

/// Seconds that the thread has run which moves a gateway's packets.
double worker_seconds(lab::Gateway& gateway);

}  // namespace cw::bench
