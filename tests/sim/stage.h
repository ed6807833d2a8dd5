// The driver of simulated stories. A story has two acts: faults, during which nothing wrong may
// happen, and calm, after which everything must settle in a bounded time.
//
//     Stage stage(network, seed);
//     stage.add(sender), stage.add(receiver);
//     stage.watch(conservation), stage.watch(converged);
//     stage.run_until([&] { return sender.has_sent_all(); }, deadline);   // act one
//     network.set_all_impairments(calm);
//     converged.calm_begins(network.now());
//     stage.run_until([&] { return sender.is_done(); }, later);           // act two
//     EXPECT_EQ(stage.final_complaint(), std::nullopt);
//
// Virtual time jumps from event to event. The seed is printed first: seed and commit are the run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/port/sim/network.h"
#include "tests/sim/checkers/checker.h"

namespace cw::sim {

/// Whoever acts in a story: an endpoint, a gateway's worker, an application.
class Actor {
 public:
  virtual ~Actor() = default;
  /// Does what can be done at `now`; never waits.
  virtual void turn(Instant now) = 0;
  /// When it wants a turn even if no packet comes; never: only then.
  virtual Instant next_deadline() const = 0;
};

enum class StageEnd {
  Reached,    ///< the predicate holds
  Deadline,   ///< virtual time is up
  Quiet,      ///< nothing is under way and nobody waits for anything
  Complaint,  ///< a checker complained
};

class Stage {
 public:
  /// Prints the seed. Actors take their turns in the order of adding; everything must outlive the
  /// stage.
  Stage(SimNetwork& network, uint64_t seed);
  /// For stories whose course is enumerated: prints nothing.
  explicit Stage(SimNetwork& network) : network_(network) {}

  void add(Actor& actor) { actors_.push_back(&actor); }
  void watch(Checker& checker) { checkers_.push_back(&checker); }

  /// Gives turns until the predicate holds, time is up, or nothing more can happen.
  StageEnd run_until(const std::function<bool()>& is_reached, Instant deadline);

  /// "checker: sentence", or nothing when all are content.
  std::optional<std::string> complaint() const;
  std::optional<std::string> final_complaint() const;
  uint64_t turn_count() const { return turn_count_; }

 private:
  /// Shortest step of the clock: an actor that always wants a turn now cannot stop time.
  static constexpr Duration step_min = Duration::from_ns(100);

  Instant next_event() const;

  SimNetwork& network_;
  std::vector<Actor*> actors_;
  std::vector<Checker*> checkers_;
  uint64_t turn_count_ = 0;
};

}  // namespace cw::sim
