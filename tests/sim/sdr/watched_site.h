// A site of which each allocation in a turn is counted.
#pragma once

#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/sdr/site.h"

namespace cw::sim {

/// Counts what the site allocates while it turns, not what the program above it does.
class WatchedSite final : public Actor {
 public:
  explicit WatchedSite(Site& site) : site_(site) {}
  void turn(Instant now) override {
    HeapWatch watch;
    site_.turn(now);
  }
  Instant next_deadline() const override { return site_.next_deadline(); }

 private:
  Site& site_;
};

}  // namespace cw::sim
