// The file read again while traffic flows: what of it can be changed now is, what cannot is told,
// and of a file with a mistake nothing is taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "control/daemon/log.h"
#include "control/gateway/site/site_state.h"

namespace cw::site {
class Site;
struct Plan;
}  // namespace cw::site

namespace cw::daemon {

/// A gateway's file, and what stood in it when the gateway started.
struct Source {
  std::string file, text;
};

/// Thread: the daemon's.
class Reload {
 public:
  /// All of them outlive it.
  Reload(site::Site& site, const Source& source, const Log& log);

  /// Reads the file and begins. Cost: slow; waits for each worker's next turn for `patience`.
  void run(Duration patience);
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
  static FileState state_of(const std::string& file);
  bool try_load(const site::Plan& plan);
  bool may_tell(const site::SwapView& view, Instant now);
  void tell(const site::SwapView& view) const;

  site::Site& site_;
  const Source source_;
  const Log& log_;
  std::map<std::string, FileState> plugins_;  // as they were loaded
  std::vector<site::SwapView> seen_;
  Instant swapping_since_, peers_told_;
};

}  // namespace cw::daemon
