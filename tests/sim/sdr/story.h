// A whole story in one object: two sites, the network between them, one transfer from the first to
// the second, and every checker that any story should have.
//
//     Story story({.seed = 7, .site = selective_repeat(), .wire = {.loss = 0.01, .delay = 5_ms}});
//     story.run_faults(500_ms);                 // act one: nothing wrong may happen
//     EXPECT_EQ(story.run_calm(), "");      // act two: everything settles
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/checkers/bounded_memory.h"
#include "tests/sim/checkers/clock_monotone.h"
#include "tests/sim/checkers/conservation.h"
#include "tests/sim/checkers/converged.h"
#include "tests/sim/sdr/transfer.h"

namespace cw::sim {

struct StoryOptions {
  uint64_t seed = 1;
  SiteOptions site;  ///< of both; their seeds follow from the story's
  TransferOptions transfer;
  Impairment wire;                            ///< of every path, both ways
  Duration calm_delay;                        ///< one way, in the second act; zero: as in `wire`
  Duration calm_max = Duration::from_s(60);   ///< the second act takes no longer
  Duration age_max = Duration::from_s(3600);  ///< of a message, from opening to completion
  uint32_t payload_max = 4096;
  size_t wire_packets = 16384;
  bool carry_bytes = true;
};

class Story {
 public:
  explicit Story(const StoryOptions& options);
  ~Story();
  Story(const Story&) = delete;
  Story& operator=(const Story&) = delete;

  /// Runs under the faults until the transfer is done, or so much time has passed, or `is_enough`.
  StageEnd run_faults(Duration at_most);
  StageEnd run_faults(Duration at_most, const std::function<bool()>& is_enough) {
    return stage.run_until(is_enough, network.now() + at_most);
  }
  /// Ends the faults and runs until the transfer is done and both sites rest. Returns what is wrong
  /// with the whole story as a sentence, or nothing.
  std::string run_calm();

  /// One direction of one path changes: from the first site to the second.
  void set_forward(uint16_t path, const Impairment& wire) {
    network.set_impairment(a_port, {peers.of_first, path}, wire);
  }
  void set_backward(uint16_t path, const Impairment& wire) {
    network.set_impairment(b_port, {peers.of_second, path}, wire);
  }
  /// Resends of the sender as a share of the data slots that it sent.
  double resend_share();
  uint64_t packets() const { return network.counters().sent; }

  StoryOptions options;
  SimNetwork network;
  SimPort& a_port;
  SimPort& b_port;
  SimPeers peers;
  Site a, b;
  Transfer transfer;
  Stage stage;

 private:
  /// Counted at the sites' side of the ports, so that a port that loses silently is seen.
  Ledger ledger() const;
  bool is_settled() const;

  Conservation conservation_;
  BoundedMemory memory_;
  ClockMonotone clock_;
  NothingStarves ages_;
  Converged converged_;
};

/// A site under one of the policies, with every other option at its default.
SiteOptions site_under(const cw_policy_ops* policy, std::vector<double> params = {});

}  // namespace cw::sim
