// How a site is, at one moment: plain values, for the log and the status file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/adapt/line_history.h"
#include "control/gateway/site/swaps/shard_swaps.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/gateway/gateway.h"
#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/impair/model.h"
#include "dataplane/port/tun/tun_port.h"
#include "dataplane/port/udp/udp_port.h"
#include "dataplane/port/verbs/verbs_options.h"
#include "dataplane/sdr/link/stream_view.h"
#include "dataplane/seal/keyring.h"

namespace cw::site {

/// One link to a peer.
struct PeerView {
  uint16_t peer = 0;  ///< in the order of the file
  uint16_t link = 0;
  bool is_up = false;
  uint32_t epoch = 0;                    ///< how many it has begun: one more, and the peer was new
  bool answers = false;                  ///< it is up, and has just done so
  bool is_drain_wanted = false;          ///< by the peer: another one, where there is one
  bool has_gone_over = false;            ///< the peer, to the one beside it
  bool is_second_wanted = false;         ///< by the peer: a link beside this one, of the same keys
  bool has_other_keys = false;           ///< the peer, loaded, and waits for this site to have them
  Duration silence;                      ///< since it last answered a question
  bool is_quiet = true;                  ///< of one beside another: nothing of it is on its way
  std::string why;                       ///< what is missing until it is up
  std::vector<std::string> differences;  ///< between both ends' files, while it is up; sentences
  std::vector<PathState> paths;
  std::vector<double> path_losses;  ///< of what leaves here, by path, as the peer says
  /// Likewise, all paths together, since the epoch began: as the wire had it, not after repair.
  adapt::LineCounts there;
  // One bit for each path, while the link is up.
  uint32_t down_paths = 0, probing_paths = 0;
  uint32_t too_small_paths = 0;  ///< packets of full size are lost, short ones are not
  Rate rate;                     ///< what it is sent at most, as of now
  Duration backlog;

  /// It answers, or may yet: what does not for longer than this carries nothing.
  bool may_carry() const;
  /// The shortest of its paths, smoothed; zero before the first echo.
  Duration rtt() const;
  /// The shortest of the last 10 to 20 seconds: what queues and a busy machine add is not in it.
  Duration rtt_min() const;
};

/// One end of one stream: a class at a link, one direction.
struct StreamRow {
  uint16_t peer = 0, link = 0, class_index = 0;
  bool is_outward = true;
  sdr::StreamView view;
};

/// By which a class that adapts sends over one link.
struct SentBy {
  uint16_t peer = 0, link = 0, class_index = 0;
  sdr::SwapPolicy policy;
};

/// What went through one shard: packets, and turns.
struct ShardView {
  std::optional<uint32_t> core;
  uint64_t from_lan = 0, to_lan = 0, from_wan = 0, to_wan = 0;
  uint64_t turns = 0;
  OctaveTimes turn_times;
};

/// Of the links beside those that take what hosts send (relink/relink.h).
struct BesideState {
  std::vector<PeerView> peers;  ///< in the order of the file, then of links
  uint64_t crossed = 0;         ///< frames, both ways
  uint64_t waiting = 0;         ///< frames from the hosts that no stream has yet
  uint64_t out = 0;             ///< frames that the LAN has been given
  bool is_quiet = true;         ///< nothing that they have taken is on its way
  bool has_left = true;         ///< and they are over
  bool is_swapping = false;     ///< a policy of theirs is being replaced

  void add(const BesideState& other);
};

/// Packets of links, since the start.
struct SealTotals {
  uint64_t sealed = 0, opened = 0;
  uint64_t unsent = 0;  ///< for want of keys
  /// Of handshakes: handed on, for which there was no room, and not for us.
  uint64_t handshakes = 0, handshakes_full = 0, handshakes_wrong = 0;

  void add(const seal::SealerCounts& counts);
  void add(const SealTotals& other);
};

/// Of a shard, or of all of a site's together.
struct SiteState {
  Instant at;
  Drops::Snapshot drops;
  Counters::Snapshot worker, rooms;  ///< of the loop, and of what it turns
  PortCounters lan_port, wan_port;
  uint32_t wan_payload_max = 0;  ///< that the WAN port's packets have room for, for its life
  TunPortStatus lan;
  std::optional<FrameLanStatus> lan_over_frames;  ///< then `lan` is empty
  UdpPortStatus wan;
  std::optional<FrameWanStatus> wan_over_frames;  ///< then `wan` is empty
  std::optional<VerbsPortStatus> wan_by_rnic;     ///< likewise
  std::vector<ImpairmentCounters> impaired;       ///< by shard and path; empty without [wan.impair]
  std::vector<PeerView> peers;                    ///< in the order of the file, then of links
  std::vector<seal::KeyringView> keys;            ///< by place; empty: nothing is sealed
  SealTotals seals;                               ///< of all shards
  std::vector<gateway::LaneView> lanes;           ///< of each class and link, by peer, then class
  std::vector<gateway::Groups::Group> groups;     ///< by address
  std::vector<SentBy> sent_by;                    ///< of classes that adapt, of links that are up
  std::vector<SwapView> swaps;  ///< by peer, link and class; none was ever wanted: empty
  bool has_open_swaps = false;  ///< wanted, and to be pursued: pursue_swaps()
  bool wants_policies = false;  ///< made or destroyed: care_for_policies()
  bool is_quiet = false;        ///< nothing that hosts sent is on its way
  bool is_drained = false;      ///< so it is, and the hosts are shut off
  std::vector<ShardView> shards;
  std::optional<BesideState> beside;
  uint64_t out_before = 0;  ///< frames that the LAN has been given by links that are gone

  /// Of another shard of the same site, a moment earlier or later.
  void add(const SiteState& other);
  /// Peers and lanes into their orders.
  void sort();
  /// What the site's keyring says; of a peer without keys that is why its links are down.
  void take(std::vector<seal::KeyringView> views);
};

}  // namespace cw::site
