// A whole drawn world: two sites that come and go, the wire between them, a stranger on it, a
// courier over both, and every checker that any of it should have.
//
//     World world(draw);              // swarm.h draws
//     world.run_faults();             // act one: nothing wrong may happen
//     world.run_calm();               // act two: everything settles; what went wrong, or nothing
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/checkers/bounded_memory.h"
#include "tests/sim/checkers/clock_monotone.h"
#include "tests/sim/checkers/conservation.h"
#include "tests/sim/checkers/converged.h"
#include "tests/sim/checkers/few_turns.h"
#include "tests/sim/checkers/promise.h"
#include "tests/sim/sdr/courier.h"
#include "tests/sim/sdr/stranger.h"

namespace cw::sim {

/// What befalls a site at a time after the one before.
struct Blow {
  enum class What : uint8_t { Restart, Pause, Swap };

  Duration after;
  What what = What::Restart;
  bool hits_sender = false, hits_receiver = false;
  Duration pause;  ///< it stands still for so long
  // It orders this for the stream, if nothing is under way; there may be no room for it.
  const cw_policy_ops* policy = nullptr;
  std::vector<double> params;
};

struct WorldOptions {
  uint64_t seed = 1;
  SiteOptions site;  ///< of both; their seeds follow from the world's
  bool sender_has_rnic = false, receiver_has_rnic = false;
  bool is_sealed = false;
  uint32_t offload = 0;  ///< of those: partitions that turn what they place into bits
  CourierOptions courier;
  std::vector<Impairment> wires;  ///< there, by path
  Impairment back;                ///< of every path
  std::vector<Blow> blows;
  StrangerOptions stranger;
  uint64_t calm_from = 0;  ///< messages, sent or lost: then the faults end
  Duration calm_max;
  size_t wire_packets = 16384;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Until all blows have fallen and enough messages were sent.
  void run_faults();
  /// "checker: sentence", or nothing.
  std::string run_calm();

  uint64_t packets() const { return network_.counters().sent; }
  uint64_t trace_hash() const { return network_.trace_hash(); }
  uint64_t turn_count() const { return turns_.turn_count(); }
  uint64_t restart_count() const { return restarts_; }
  uint64_t injected_count() const { return a_.tap.injected_count() + b_.tap.injected_count(); }
  /// Of both ends, over all their lives.
  uint64_t dropped(DropReason reason) const;
  uint64_t count(Counter counter) const;

 private:
  /// One end, whatever site is there now.
  struct End final : Actor {
    End(SimPort& sim_port, uint16_t peer_number, uint64_t seed, size_t kept)
        : port(sim_port), tap(sim_port, seed, kept), peer(peer_number) {}

    void turn(Instant now) override;
    Instant next_deadline() const override {
      return resumes_at ? *resumes_at : site->next_deadline();
    }
    uint64_t sent() const { return sent_before + site->port().sent(); }
    uint64_t received() const { return received_before + site->port().received(); }

    SimPort& port;
    Wiretap tap;
    uint16_t peer;
    std::unique_ptr<Site> site;
    std::optional<Instant> resumes_at;
    uint64_t sent_before = 0, received_before = 0;  // of sites that are gone
    std::array<uint64_t, drop_reason_count> dropped_before{};
    std::array<uint64_t, counter_count> counts_before{};
  };

  void start(End& end);
  void stop(End& end);
  void strike(const Blow& blow);
  void order(const Blow& blow, End& end);
  bool has_swapped();
  void check_policies();
  void run_for(Duration time, const std::function<bool()>& is_enough);
  Ledger ledger() const;
  bool is_settled();
  std::string state() const;

  WorldOptions options_;
  SimNetwork network_;
  SimPort &a_port_, &b_port_;
  SimPeers peers_;
  End a_, b_;
  uint64_t lives_ = 0, restarts_ = 0;
  Courier courier_;
  Stranger stranger_;
  Stage stage_;
  Conservation conservation_;
  BoundedMemory memory_;
  Promise at_rest_{"nothing kept"};
  Promise arrivals_{"order of time"};
  ClockMonotone clock_;
  FewTurns turns_;
  Promise epochs_{"epochs last"};
  Promise policies_{"one policy at both ends"};
  Converged converged_;
};

}  // namespace cw::sim
