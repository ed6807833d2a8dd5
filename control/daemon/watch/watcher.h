// Turns states of a site, seen some times a second, into log lines: one when something has changed,
// a summary every ten seconds in which packets moved, and never one per packet.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/log.h"
#include "control/daemon/watch/device_watch.h"
#include "control/daemon/watch/rnic_watch.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"

namespace cw::site {
struct Plan;
}

namespace cw::daemon {

class Watcher {
 public:
  static constexpr Duration summary_interval = Duration::from_s(10);
  /// A link must have been down for the same reason for this long before the log says why.
  static constexpr Duration why_patience = Duration::from_s(1);

  /// Both outlive the watcher.
  Watcher(const site::Plan& plan, const Log& log);

  void look(const site::SiteState& state);

  /// What is wrong as of the last look and does not mend itself, a sentence each: the log has told
  /// each once, as a warning, and tells once when it is over.
  std::vector<std::string> alarms() const;
  /// What the WAN goes by is lost, and cannot be had again in this process: a lost RNIC.
  bool has_lost_wan() const { return rnic_.is_lost(); }

 private:
  enum class PathTrouble : uint8_t { None, Down, TooSmall };
  struct TroubleWords {
    const char *event, *meaning, *advice;
  };
  struct Peer {  // or one link to it
    bool is_up = false, was_up = false, is_rtt_told = false, is_rtt_max_told = false;
    bool drains = false;
    uint32_t epoch = 0;  // the last that was seen
    std::array<PathTrouble, limits::paths_max> paths{};
    std::string why, told;
    Instant why_since;
  };

  std::string link_name(size_t index) const;
  Fields about(size_t index, const Fields& more) const;
  void look_at(size_t index, const site::PeerView& view, Instant now);
  void tell_down(size_t index, const site::PeerView& view, Instant now);
  void summarize(const site::SiteState& state);
  void tell_joined(const site::SiteState& state);
  void look_at_rtt(size_t index, const site::PeerView& view);
  void look_at_paths(size_t index, const site::PeerView& view);
  static TroubleWords words_of(PathTrouble trouble);
  static PathTrouble trouble_of(const site::PeerView& view, size_t path);
  void tell_path(PathTrouble before, PathTrouble after, size_t path, size_t index);
  void look_at_interface(const site::SiteState& state);

  const site::Plan& plan_;
  const Log& log_;
  RnicWatch rnic_;
  DeviceWatch wan_device_, lan_device_;
  std::vector<Peer> peers_;     // by peer, then link
  uint64_t too_big_count_ = 0;  // as of the last look
  Instant too_big_at_;          // when it last grew
  bool is_too_big_ = false;
  site::SiteState last_;
  bool has_last_ = false;
};

}  // namespace cw::daemon
