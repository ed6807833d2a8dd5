// Every packet has one fate: what went in came out, was dropped for a counted reason, or is still
// under way.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "dataplane/port/sim/network.h"
#include "tests/sim/checkers/checker.h"

namespace cw::sim {

struct Ledger {
  uint64_t entered = 0;    ///< handed to the component under test
  uint64_t created = 0;    ///< copies that it made on purpose
  uint64_t delivered = 0;  ///< handed out by it
  uint64_t dropped = 0;    ///< for all counted reasons
  uint64_t held = 0;       ///< in it now
};

/// What a network says became of its packets. `entered` and `delivered` should rather be counted
/// outside of what is tested (tests/sim/tally_port.h): a component that loses silently also
/// miscounts.
inline Ledger ledger_of(const SimNetwork& network) {
  const SimCounters c = network.counters();
  return {.entered = c.sent,
          .created = c.extra_copies,
          .delivered = c.delivered,
          .dropped = c.lost + c.unrouted + c.wire_full + c.rx_no_packet + c.rx_damaged,
          .held = c.in_flight};
}

class Conservation final : public Checker {
 public:
  explicit Conservation(std::function<Ledger()> read) : read_(std::move(read)) {}

  const char* name() const override { return "conservation"; }
  void on_turn(Instant now) override {
    const Ledger ledger = read_();
    const uint64_t in = ledger.entered + ledger.created;
    const uint64_t out = ledger.delivered + ledger.dropped + ledger.held;
    if (in == out) return;
    complain("at " + std::to_string(now.ns()) + " ns " + std::to_string(in) +
             " packets had gone in and " + std::to_string(out) + " were accounted for");
  }

 private:
  std::function<Ledger()> read_;
};

}  // namespace cw::sim
