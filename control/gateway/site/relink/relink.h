// When links take the place of others: who has both goes from the ones to the others as soon as
// nobody loses by it, and parts with the first when nobody needs them.
//
//                      .----------------<--turn, and peers are told--------------.
//                      v                                                           |
//   None --begin--> Waiting --every peer that carries has the next--------------> Moved
//     ^                |                                                           |
//     |    cancel, those beside are empty          the first are empty, and all peers have moved
//     |                v                                                           |
//     '--goodbyes-- Ending <-------------------------------------------------------'
//
// Peers may have gone over to what is to be no more: they are told by DRAINING, as they are when
// the next take the place of the first, and what they have sent is heard.
//
// A peer that answers by one set and not by the other is sent what there is by the one, whatever is
// in force: it has begun anew with this file or with that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/units.h"

namespace cw::site {

class Relink {
 public:
  enum class Phase : uint8_t { None, Waiting, Moved, Ending };
  /// What is to be done now.
  enum class Step : uint8_t { None, Move, Leave, Part, Tell };

  /// A second set is there. `empty_for`: so long must nothing cross the first for it to be empty.
  void begin(Duration empty_for, Instant now);
  /// The step that look() has asked for is done.
  void on_done(Step step);
  /// The next are to go, which wait beside the first.
  void cancel();
  /// Moved, and whoever answers by what carries does so by those beside as well.
  bool may_turn() const { return phase_ == Phase::Moved && are_all_beside_; }
  /// Those beside are to carry again.
  void turn() { is_turning_ |= may_turn(); }

  /// `state` of a site with both, `plan` the one by which it takes what hosts send.
  Step look(const SiteState& state, const Plan& plan);

  Phase phase() const { return phase_; }
  /// Of the peers: who has no second link yet, or still goes by the first.
  const std::vector<std::string>& missing() const { return missing_; }
  bool is_turning() const { return is_turning_; }
  /// Peers have been told that the next are to go, and not that they are not.
  bool has_given_up() const { return has_given_up_; }
  /// By place: who goes by those beside. Empty: nobody.
  const std::vector<bool>& others() const { return others_; }
  /// What a peer told of its second link that is not up; of the first of them.
  const std::string& why() const { return why_; }
  Instant since() const { return since_; }

 private:
  Step tell(const SiteState& state);
  Step wait(const SiteState& state, const Plan& plan);
  Step follow(const SiteState& state, const Plan& plan);
  Step leave(const SiteState& state, bool is_quiet);
  void add_other(size_t place, const Plan& plan);

  Phase phase_ = Phase::None;
  Duration empty_for_;
  std::vector<std::string> missing_;
  std::vector<bool> others_;
  std::string why_;
  Instant since_, empty_since_ = Instant::never();
  uint64_t crossed_ = 0;
  bool is_cancelled_ = false, is_turning_ = false, are_all_beside_ = false;
  bool has_given_up_ = false;  // the next, and has said so
  Instant told_at_;
};

}  // namespace cw::site
