// Two whole sites with a candidate policy at both ends, a network between them, and a transfer from
// the first to the second.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "dataplane/port/sim/network.h"
#include "tests/conformance/candidate.h"
#include "tests/sim/checkers/conservation.h"
#include "tests/sim/sdr/site.h"
#include "tests/sim/sdr/transfer.h"
#include "tests/sim/stage.h"

namespace cw::conformance {

struct StoryOptions {
  uint64_t seed = 1;
  uint64_t messages = 200;
  std::function<uint64_t(uint64_t)> bytes_of = [](uint64_t i) { return i * 7919 % 40'000; };
  Impairment wire = {.delay = Duration::from_ms(5)};
  Rate rate = Rate::from_gbps(1);
  uint16_t paths = 1;
  uint32_t places = 16;  ///< StreamConfig::messages
  MessageSeq first_seq = {};
};

class Story {
 public:
  Story(const Candidate& candidate, const StoryOptions& options);

  SimNetwork& network() { return network_; }
  SimPort& source_port() { return source_port_; }
  uint16_t sink_number() const { return peers_.of_first; }
  sim::Site& source() { return source_; }
  sim::Site& sink() { return sink_; }
  const sim::Transfer& transfer() const { return transfer_; }
  sim::Stage& stage() { return stage_; }

  /// Runs for `time`, or until nothing more can happen.
  void run_for(Duration time);
  /// Runs until every message is settled at both ends, for `time` at most.
  bool run_to_end(Duration time);
  /// What is wrong with a run that should have delivered everything; nothing when it has.
  std::optional<std::string> complaint_of_delivery();
  uint64_t resends() { return source_.counters().read_any_thread(Counter::resends_sent); }
  uint64_t data_slots() { return source_.counters().read_any_thread(Counter::data_sent); }
  uint64_t quarantines();

 private:
  uint64_t messages_;
  SimNetwork network_;
  SimPort& source_port_;
  SimPort& sink_port_;
  SimPeers peers_;
  sim::Site source_, sink_;
  sim::Transfer transfer_;
  sim::Stage stage_;
  sim::Conservation conservation_{[this] { return sim::ledger_of(network_); }};
};

}  // namespace cw::conformance
