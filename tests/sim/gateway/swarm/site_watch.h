// Looks into each gateway: that its accounts add up and agree with its neighbours', that no turn
// allocates, and that it lends no more packets than its plan has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/gateway/sites.h"
#include "tests/sim/gateway/swarm/verdicts.h"
#include "tests/sim/gateway/swarm/wan_watch.h"

namespace cw::sim {

class SiteWatch final : public Checker, public TurnWatch {
 public:
  SiteWatch(WanWatch& tap, Verdicts& verdicts) : tap_(tap), verdicts_(verdicts) {}
  /// `sites` are those whose turns it watches; before their first.
  void begin(Sites& sites);

  void before_turn(int site) override;
  void after_turn(int site) override;
  /// Allocations of a test's own within a turn.
  void forgive(uint64_t allocations) { forgiven_ += allocations; }
  const char* name() const override { return "sites"; }
  void on_turn(Instant now) override;
  /// When everything is quiet: what one site sent has come out at another, or was given up there
  /// for a counted reason. Only where no epoch has ended and nobody lied.
  void check_between_sites();
  /// Where nobody lied no policy has gone beyond what it was granted.
  void check_policies();
  /// Whether everybody has settled what he took; else, who has not.
  bool is_settled() { return unsettled().empty(); }
  std::string unsettled();
  /// How far one set of links has come to take the place of another, for a person.
  std::string links(int site);
  /// What it sends its peers at most, for a person.
  std::string rates(int site);
  /// Whether no epoch has ended at any site.
  bool has_first_epochs();

 private:
  struct Seen {
    uint64_t life = 0;
    uint64_t allocations = 0, allocations_told = 0, epochs = 0, quarantined = 0, swaps = 0;
    size_t ups = 0;
    bool is_swapping = false;
  };
  uint64_t allocation_count() const {
    return HeapWatch::allocation_count() - tap_.allocation_count() - forgiven_;
  }
  void check_accounts(int site, const site::SiteState& state);
  void check_memory(int site, const site::SiteState& state);
  void note_life(int site);
  void complain(const char* checker, int site, const std::string& what);

  Sites* sites_ = nullptr;
  WanWatch& tap_;
  Verdicts& verdicts_;
  std::optional<HeapWatch> heap_;
  uint64_t allocations_before_ = 0, forgiven_ = 0;
  std::vector<Seen> seen_;
  Instant due_;
};

}  // namespace cw::sim
