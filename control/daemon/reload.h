// The file read again while traffic flows: what of it can be changed now is, what cannot is told,
// and of a file with a mistake nothing is taken.
//
//   wanted    what the file says
//   in force  what the gateway runs by: the file it was started with, and what was taken since
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/config/text/tree.h"
#include "control/daemon/live/live.h"
#include "control/daemon/live/relinking.h"
#include "control/daemon/log.h"
#include "control/gateway/changes.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"

namespace cw::site {
class Site;
}  // namespace cw::site

namespace cw::daemon {

/// A gateway's file, and what stood in it when the gateway started.
struct Source {
  std::string file, text;
};

/// One key whose wanted value is not in force, or was not before this reload.
struct Step {
  enum class Fate : uint8_t {
    Applied,       ///< between two turns: it is in force, or would be
    Waits,         ///< ordered: for the peer's part of it, as SiteState::swaps tells, or `why`
    NeedsRestart,  ///< of the gateway; `why` says more, where it is not the key's kind alone
    NotDone,       ///< it could have been, and was not, since something else could not
  };
  std::string key;
  site::KeyKind kind = site::KeyKind::Restart;
  std::string before, after;  ///< as files have it; empty: not written
  Fate fate = Fate::NeedsRestart;
  std::string why;
  bool operator==(const Step&) const = default;
};
std::string_view name_of(Step::Fate fate);

/// What a file comes to at a gateway that runs.
struct ReloadReport {
  bool is_done = false;  ///< the file is right, and all that could be taken of it was
  /// Of the file, each a sentence with its place, or what could not be done: then nothing was.
  std::vector<std::string> mistakes;
  std::vector<std::string> warnings;  ///< of the file, and of what its next start will bring
  std::vector<Step> steps;            ///< by key; none: nothing differs from what is in force
};

/// Thread: the daemon's.
class Reload {
 public:
  /// All of them outlive it.
  Reload(site::Site& site, const Source& source, const Log& log, Surroundings around = {});

  /// Reads the file and begins. Cost: slow; waits for each worker's next turn for `patience`.
  ReloadReport run(Duration patience);
  /// What run() would do: nothing is changed, and no plugin loaded that the site would find. Cost:
  /// slow, asks nobody.
  ReloadReport plan();
  /// Wanted by the file, as it was last read without a mistake, and not in force. Cost: as long as
  /// the file.
  std::vector<Step> open() const;
  /// What a policy's swap still waits for counts as taken.
  const config::Node& in_force() const { return in_force_; }
  const std::string& file() const { return source_.file; }

  /// Links that take the place of others go on as of `state`, before anything else looks at it.
  /// True: others are in force now, and it is a state of those before.
  bool look_at_links(const site::SiteState& state, Duration patience);
  const Relinking& relinking() const { return relinking_; }
  /// The gateway ends: nothing is begun any more.
  void stop() { relinking_.stop(); }
  /// Tells what has become of swaps since the last state, whoever wanted them, and orders those
  /// that could not be ordered before. Returns whether any is under way that may soon be over.
  bool look(const site::SiteState& state, Duration patience);

 private:
  static constexpr Duration haste = Duration::from_s(10);
  /// Which file it is, of those that have had the name.
  struct FileState {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t changed_ns = 0;
    bool operator==(const FileState&) const = default;
  };
  /// A file that was read, and what would be in force with it.
  struct Draft {
    ReloadReport report;
    config::Node file, next;
    std::optional<site::Plan> plan;        // of next; none: there are mistakes
    std::optional<config::Node> relinked;  // with what takes other links, too; none: nothing does
  };
  using Reasons = std::map<std::string, std::string>;  // by key
  static FileState state_of(const std::string& file);
  /// What was read at start, with rights that are gone.
  site::Known known() const;
  Draft draft() const;
  void draw(Draft& draft) const;
  Step step_of(const site::Change& change) const;
  bool is_all_within(Draft& draft, Reasons& refused, Reasons& relinked) const;
  void draw_relink(Draft& draft) const;
  bool is_all_fit(site::Plan& plan, std::vector<Step>& steps) const;
  void warn_of_relink(Draft& draft, const site::Plan& plan) const;
  void warn_of_next_start(Draft& draft) const;
  bool try_apply(Draft& draft, Duration patience);
  void add_open_swaps(std::vector<Step>& steps) const;
  /// Plugins of one reload, the latest last.
  struct LoadedPlugin {
    std::string file;
    FileState state;
    std::string policy;
  };
  using Loaded = std::vector<LoadedPlugin>;
  bool try_load(const site::Plan& plan, ReloadReport& report, Loaded& loaded);
  void keep(const Loaded& loaded);
  void unload(Loaded& loaded);
  void tell(const ReloadReport& report) const;
  bool may_tell(const site::SwapView& view, Instant now);
  void tell(const site::SwapView& view) const;
  void tell_verdict(const site::SwapView& view, Fields& fields) const;

  site::Site& site_;
  const Source source_;
  const Log& log_;
  const Surroundings around_;
  config::Node wanted_, in_force_;
  std::vector<Step> not_taken_;  // of what is wanted, as of then
  Relinking relinking_;
  std::vector<site::Change> swapping_;        // taken as far as that is this gateway's to do
  std::map<std::string, FileState> plugins_;  // as they were loaded
  std::vector<site::SwapView> seen_;
  Instant swapping_since_, peers_told_;
};

}  // namespace cw::daemon
