// Two sites behind a scripted wire, either of which may be stopped and started at any turn.
#pragma once

#include <memory>

#include "tests/sim/sdr/courier.h"
#include "tests/sim/sdr/scripted_wire.h"

namespace cw::sim {

struct PairOptions {
  uint64_t seed = 1;
  SiteOptions a, b;
  Impairment wire{.delay = Duration::from_ms(10)};
  CourierOptions courier;
  size_t packets = 0;  ///< of each port; 0: 512, and all that streams may keep
};

/// Two alike, small, under a policy that resends.
PairOptions reliable_pair(uint64_t seed = 1);

/// Messages go from a to b. Small, so that thousands of them can be lived through in a test.
class Pair {
 public:
  Pair(const PairOptions& options, const WireScript& script) : Pair(options, script, script) {}
  Pair(const PairOptions& options, const WireScript& a_script, const WireScript& b_script);
  ~Pair();

  void restart_a() { restart(a, a_port_, peers_.of_first, options_.a, 1); }
  void restart_b() { restart(b, b_port_, peers_.of_second, options_.b, 2); }
  /// Made of something else than before, for this life.
  void restart_b(const SiteOptions& options) { restart(b, b_port_, peers_.of_second, options, 2); }
  void restart_sender();
  void restart_receiver();

  /// Whether it came to hold within `time`.
  bool run_until(const std::function<bool()>& is_reached, Duration time);
  void run_for(Duration time);
  bool are_up() const { return a->is_up() && b->is_up(); }
  /// Whether `count` more messages get through.
  bool delivers(uint64_t count, Duration time);
  uint64_t turn_count() const { return stage_.turn_count(); }
  Courier& courier() { return courier_; }
  SimNetwork& network() { return network_; }
  Stage& stage() { return stage_; }
  SimPort& a_sim() { return a_sim_; }
  const ScriptedPort& a_port() const { return a_port_; }
  SimPort& b_sim() { return b_sim_; }
  SimPeers peers() const { return peers_; }
  /// Drops of one end, over all its lives.
  uint64_t dropped_at_a(DropReason reason) const { return dropped(a_dropped_, *a, reason); }
  uint64_t dropped_at_b(DropReason reason) const { return dropped(b_dropped_, *b, reason); }

 private:
  /// Gives turns to whatever site is behind the pointer now.
  struct Turns final : Actor {
    explicit Turns(std::unique_ptr<Site>& which) : site(which) {}
    void turn(Instant now) override { site->turn(now); }
    Instant next_deadline() const override { return site->next_deadline(); }
    std::unique_ptr<Site>& site;
  };
  using Dropped = std::array<uint64_t, drop_reason_count>;

  void restart(std::unique_ptr<Site>& site, Port& port, uint16_t peer, SiteOptions options,
               uint64_t which);
  static uint64_t dropped(const Dropped& before, Site& site, DropReason reason);

  PairOptions options_;
  SimNetwork network_;
  SimPort &a_sim_, &b_sim_;
  SimPeers peers_;
  ScriptedPort a_port_, b_port_;

 public:
  std::unique_ptr<Site> a, b;  // their packets are the ports'

 private:
  uint64_t lives_ = 0;
  Dropped a_dropped_{}, b_dropped_{};
  Turns a_turns_{a}, b_turns_{b};
  Courier courier_{a, b, options_.courier};
  Stage stage_;
};

}  // namespace cw::sim
