// Classes that adapt, at all peers: what their lines are like, what that calls for, and the swaps
// that are ordered for it.
//
//   SiteState --questions()--> AdaptQuestion --AdaptMind--> AdaptAnswer --carry_out()--> SwapOrder
//   (control thread)           (may take long, so on a thread of its own)       (control thread)
//
// One change at a time: a class is not asked about while one of its swaps is under way, or what it
// replaces has messages left.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/adapt/line_watch.h"
#include "control/gateway/site/swaps/shard_swaps.h"

namespace cw::site {

/// One class at one peer.
struct AdaptPlace {
  uint16_t peer = 0, class_index = 0;
  auto operator<=>(const AdaptPlace&) const = default;
};

struct AdaptQuestion {
  AdaptPlace place;
  adapt::AdaptPlan plan;
  Bytes slot;
  double overhead_max = 1;  ///< bytes on the wire per byte of data
  adapt::LineFacts facts;
  sdr::SwapPolicy present;
  bool is_peers = false;                   ///< which the peer has ordered
  std::optional<sdr::SwapPolicy> refused;  ///< what was ordered last, and did not come to be
  Instant at;
};

struct AdaptAnswer {
  AdaptPlace place;
  adapt::Decision decision;
  sdr::SwapPolicy policy;  ///< that is to send
};

/// What has been decided so far, and how. Thread: one, which may be another than SiteAdapt's.
class AdaptMind {
 public:
  /// Cost: up to a second, where lines have changed.
  std::vector<AdaptAnswer> think(const std::vector<AdaptQuestion>& questions);

 private:
  struct Known {
    adapt::AdaptPlan plan;
    Bytes slot;
    double overhead_max;
    adapt::Adapter adapter;
    std::vector<sdr::SwapPolicy> names;  // by candidate
    std::optional<size_t> decided;       // that sends, or would, were this not a dry run
    Instant begins_at;                   // not before: what it begins with was refused
  };
  Known& known_of(const AdaptQuestion& question);
  static void note_refusal(Known& known, const AdaptQuestion& question);
  static std::optional<adapt::Decision> decide(Known& known, const AdaptQuestion& question);

  std::map<AdaptPlace, Known> known_;
};

/// For people, and for programs.
struct AdaptView {
  enum class State : uint8_t {
    Watching,  ///< what sends is what should
    Changing,  ///< a swap is under way
    DryRun,
    Held,  ///< somebody has ordered a policy, which stands until the file or an order says adaptive
    Down,  ///< no link is up
  };
  AdaptPlace place;
  State state = State::Watching;
  std::string present;  ///< "erasure/1 k=32 m=4 ..."
  adapt::LineFacts facts;
  uint64_t raised = 0, lowered = 0, refused = 0;  ///< decisions; of a dry run, what they would be
  std::string last;                               ///< the latest decision's sentence
  Instant last_at;
};
std::string_view name_of(AdaptView::State state);

/// Thread: the control thread, but for what AdaptMind says.
class SiteAdapt {
 public:
  using Order = std::function<uint32_t(const SwapOrder&)>;

  /// Looks at a state of the site that runs by `plan`. Empty: there is nothing to be asked.
  std::vector<AdaptQuestion> questions(const SiteState& state, const Plan& plan);
  enum class Carried : uint8_t {
    Ordered,
    Dry,       ///< it would have been
    Outdated,  ///< the file says otherwise by now, or somebody else has ordered
  };
  /// `order` gives the swap its number.
  Carried carry_out(const AdaptAnswer& answer, const Plan& plan, Instant now, const Order& order);
  /// Somebody has ordered a policy, at one peer or all: it stands until resume().
  void hold(uint16_t class_index, std::optional<uint16_t> peer);
  void resume(uint16_t class_index, std::optional<uint16_t> peer);
  void resume_all();
  std::vector<AdaptView> views() const;

 private:
  struct Row {
    AdaptView view;
    uint32_t order = 0;  // the latest of ours; 0: none, or it is over
    sdr::SwapPolicy ordered;
    bool is_held = false;
  };
  void set_held(uint16_t class_index, std::optional<uint16_t> peer, bool is_held);
  void settle_rows(const Plan& plan);
  static bool is_busy(const SiteState& state, Row& row, bool& is_refused);
  std::optional<AdaptQuestion> question(const SiteState& state, const Plan& plan, Row& row);

  std::map<uint16_t, LineWatch> lines_;  // by peer
  std::map<AdaptPlace, Row> rows_;
};

}  // namespace cw::site
