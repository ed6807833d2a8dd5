// One world of the swarm, lived through: the faults, then calm, in which everything must settle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/gateway/swarm/intruder.h"
#include "tests/sim/gateway/swarm/site_watch.h"
#include "tests/sim/gateway/swarm/talkers.h"
#include "tests/sim/gateway/swarm/wan_watch.h"
#include "tests/sim/gateway/swarm/world.h"

namespace cw::sim {

class Life final : private WanTap {
 public:
  explicit Life(const SwarmWorld& world);

  /// Returns what is wrong with it, "checker: sentence", or nothing.
  std::string live();
  uint64_t packets() { return sites_.network().counters().sent; }
  uint64_t trace_hash() { return sites_.network().trace_hash(); }
  const FrameLedger& ledger() const { return ledger_; }
  const WanWatch& wan() const { return wan_; }

 private:
  void on_sent(const WanEnd& end, const Packet& packet, Instant now) override;
  void on_received(const WanEnd& end, const Packet& packet, Instant now) override {
    wan_.on_received(end, packet, now);
  }
  SitesOptions options();
  void plan_faults();
  void begin(const Fault& fault);
  void swap(const Fault& fault);
  void relink(const Fault& fault);
  void change(const Fault& fault, const std::function<void(Impairment&)>& how);
  bool run_to(Instant end);
  void live_with_faults();
  void calm_down();
  /// Everything flows again: of every class, from everybody to everybody.
  void prove_recovery();
  void prove_liveness();
  uint64_t slots_taken_for_lost();
  void check_resends();
  Talker& talker(int site) { return *talkers_[static_cast<size_t>(site - 1)]; }

  SwarmWorld world_;
  Verdicts verdicts_;
  FrameLedger ledger_;
  SealWatch seals_;
  WanWatch wan_;
  SiteWatch watch_;
  Intruder intruder_;
  Sites sites_;
  std::vector<std::unique_ptr<Talker>> talkers_;
  std::multimap<Instant, std::function<void()>> events_;
  std::map<int, Impairment> routes_;  // as they are now
};

}  // namespace cw::sim
