// What hosts do to each other: messages by chance, steps in which each has one for all, and a ring
// that adds up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/perf/measure.h"
#include "control/perf/message/load_report.h"
#include "control/perf/message/options.h"
#include "control/perf/message/traffic.h"
#include "dataplane/base/prng.h"

namespace cw::perf {

/// Memory for messages of one size, whose bytes follow from their numbers. Thread: one.
class MessageMemory {
 public:
  MessageMemory(uint64_t bytes, uint64_t seed);

  /// Source and target of the message with this number.
  void lend(uint64_t number, Order& order);
  /// Returns how many bytes are wrong; they are the memory's again.
  uint64_t take_back(const Order& order);

 private:
  uint64_t bytes_;
  std::vector<uint8_t> pattern_;
  std::vector<std::unique_ptr<uint8_t[]>> targets_;
  std::vector<uint8_t*> free_;
};

/// Messages between hosts by chance, as a Poisson process at each of them. Thread: one.
class Chance {
 public:
  /// `load` of the hosts' line, `messages` from each host.
  Chance(group::MessageWorld& world, const MessageOptions& options, double load, uint64_t bytes,
         uint64_t messages);

  Instant next() const { return arrivals_.empty() ? Instant::never() : arrivals_.front().at; }
  /// The next one.
  Order draw();
  /// Of those that were drawn.
  uint64_t take_back(const Order& order) { return memory_.take_back(order); }

 private:
  struct Arrival {
    Instant at;
    uint16_t host = 0;
    uint64_t left = 0;
    bool operator>(const Arrival& other) const { return at > other.at; }
  };
  Duration gap();

  Prng prng_;
  MessageMemory memory_;
  std::vector<Arrival> arrivals_;  // a heap
  uint16_t hosts_;
  uint64_t bytes_, number_ = 0;
  double mean_ns_;
};

LoadTally run_by_chance(group::MessageWorld& world, const MessageOptions& options,
                        const StopFlag& stop);
LoadTally run_in_steps(group::MessageWorld& world, const MessageOptions& options,
                       const StopFlag& stop);
LoadTally run_allreduce(group::MessageWorld& world, const MessageOptions& options,
                        const StopFlag& stop);

}  // namespace cw::perf
