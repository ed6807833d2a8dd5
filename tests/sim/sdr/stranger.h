// Somebody on the wire between two sites who has no key: listens to both directions, sends again
// what went by, however long ago, and makes up packets of his own. What he replays goes the path
// that it went: a stream's key is there to be read, and who uses it for more than that is believed
// (SPEC section 8).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/port/sim/network.h"
#include "tests/sim/stage.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {

struct StrangerOptions {
  uint64_t seed = 1;
  Duration interval = Duration::max();  ///< between two of his deeds, on average; never: he is away
  double forges = 0.3;                  ///< share of deeds that are forgeries; the rest are replays
  uint32_t row_max = 1;                 ///< packets replayed in one deed, at most
};

/// One end of the wire: what its site sends goes by, and packets come in as if that site sent them.
class Wiretap final : public PortAround {
 public:
  using Bytes = std::vector<uint8_t>;
  struct Kept {
    Bytes bytes;
    uint16_t path = 0;
  };

  /// `port` is the same port as the simulator's; `kept_max` 0: nothing is kept.
  Wiretap(SimPort& port, uint64_t seed, size_t kept_max)
      : PortAround(port), port_(port), prng_(seed), kept_max_(kept_max) {}

  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    for (const Packet* packet : out.first(count)) {
      goes_back_ |= packet->at < latest_;
      latest_ = packet->at;
    }
    return count;
  }
  /// Whether a packet has come with an earlier stamp than one before it.
  bool goes_back() const { return goes_back_; }
  /// Any packet of any age, or null.
  const Kept* any() { return kept_.empty() ? nullptr : &kept_[prng_.below(kept_.size())]; }
  /// Puts a packet on the wire; false when there is none to put it in.
  bool try_inject(std::span<const uint8_t> bytes, uint16_t path, Instant now);
  uint64_t injected_count() const { return injected_; }

 private:
  SimPort& port_;
  Prng prng_;
  size_t kept_max_;
  std::vector<Kept> kept_;
  uint64_t seen_ = 0, injected_ = 0;
  Instant latest_;
  bool goes_back_ = false;
};

class Stranger final : public Actor {
 public:
  Stranger(const StrangerOptions& options, Wiretap& a, Wiretap& b)
      : options_(options), prng_(options.seed), a_(a), b_(b) {
    if (options.interval != Duration::max()) due_ = Instant() + options.interval;
  }

  void turn(Instant now) override;
  Instant next_deadline() const override { return due_; }
  void leave() { due_ = Instant::never(); }

 private:
  void act(Wiretap& tap, Instant now);
  Wiretap::Bytes forgery(const Wiretap::Bytes& model);

  StrangerOptions options_;
  Prng prng_;
  Wiretap& a_;
  Wiretap& b_;
  Instant due_ = Instant::never();
};

}  // namespace cw::sim
