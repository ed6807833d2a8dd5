// A site's keyring as its plan says it, and the thread that turns it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/care/care_bell.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/seal/keyring.h"

namespace cw::site {

/// How the sealers of a shard are made; `heard` is rung for what its peers say of keys.
seal::SealerOptions sealer_options(const Plan& plan, size_t shard, size_t links_here,
                                   uint32_t payload_max, int heard);

/// Thread: as said; else one, that of turn() or run().
class SiteKeys {
 public:
  /// Before shards: what they are to ring.
  int heard_fd() const { return bell_.fd(); }
  /// The sealers outlive it, one for each shard. `plan.seal` is there.
  void begin(const Plan& plan, std::vector<seal::Sealer*> sealers, Instant now);
  /// False: the site has no keys, and nothing here is called but turn(), in vain.
  bool has_begun() const { return ring_ != nullptr; }

  /// Returns whether workers have something to do now.
  bool turn(Instant now) { return has_begun() && ring_->turn(now); }
  Instant next_wakeup() const { return ring_->next_wakeup(); }
  /// Until `stop`; `wake` lets workers look.
  void run(const MachineClock& clock, const std::atomic<bool>& stop,
           const std::function<void()>& wake);

  /// Peers are as `next` says from now on. Thread: any, one at a time.
  void take(const Plan& running, const Plan& next);
  /// By place. Thread: any.
  std::vector<seal::KeyringView> views(Instant now) const { return ring_->views(now); }

 private:
  CareBell bell_;
  std::unique_ptr<seal::Keyring> ring_;
};

}  // namespace cw::site
