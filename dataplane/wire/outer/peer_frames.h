// Whole RoCEv2 frames between a gateway and its peers: whose a frame is and where its transport
// packet lies, and what stands around a transport packet that leaves (SPEC.md sections 2 and 3).
//
// A path is a UDP source port, save of an RNIC's control packets (source_index.h); all goes to the
// peer's own UDP port. Frames of a peer are alike and come in rows, and so do those that leave by a
// path: the ones are told by comparing a few words (frame_form.h), the others begin with headers
// that were made once (outer_headers.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/frame_form.h"
#include "dataplane/wire/outer/outer_headers.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw {

struct FramePeer {
  IpAddress ip{};
  uint16_t udp_port = roce_udp_port;
  uint16_t link = 0;         ///< this one of the links to it, which is a peer of its own here
  uint16_t source_port = 0;  ///< its paths send from here upwards; 0: from udp_port

  uint16_t first_source() const { return source_port != 0 ? source_port : udp_port; }
};

/// As their indices take them.
std::vector<SourceIndex::Source> sources_of(std::span<const FramePeer> peers);
std::vector<std::optional<ControlSources::Link>> links_of(std::span<const FramePeer> peers);

/// A group of multicast, to which ours and the peers' frames go as well.
struct FrameGroup {
  IpAddress ip{};
  MacAddress mac{};  ///< that follows from the address
  uint16_t udp_port = roce_udp_port;
};

struct PeerFramesOptions {
  IpVersion ip_version = IpVersion::V4;  ///< ours and of all peers
  IpAddress ip{};                        ///< ours
  MacAddress mac{};
  uint16_t udp_port = roce_udp_port;
  uint16_t paths = 1;  ///< to each peer
  std::vector<FramePeer> peers;
  std::vector<FrameGroup> groups;
};

/// A frame that has come.
struct PeerFrame {
  uint16_t peer = 0, path = 0;
  uint8_t dscp = 0, ecn = 0;
  uint32_t ip_offset = 0, transport_offset = 0;
  uint32_t transport_bytes = 0;  ///< without the ICRC
  bool is_icrc_due = false;      ///< nobody has looked at it
};

/// Thread: one. Nothing allocates once it is made.
class PeerFrames {
 public:
  enum class Kind : uint8_t {
    Right,      ///< a peer's
    Foreign,    ///< no UDP over IP
    Elsewhere,  ///< UDP, for another address or port
    Unknown,    ///< RoCE for us, from nobody in the list of peers
    Malformed,  ///< not whole, or its ICRC is wrong
  };

  /// What stands before the packets of one path to one peer.
  struct Route {
    OuterHeaders headers;
    MacAddress hop_mac{};  // in them
    bool is_made = false;
    // Of the packet before: most are as long, and their ICRCs begin alike.
    size_t transport_bytes = 0;
    uint32_t icrc_start = 0;
  };

  PeerFrames(const PeerFramesOptions& options, const Icrc& icrc);

  /// `frame` is filled where it is Right. Who leaves ICRCs has those of frames that are formed as
  /// nearly all of them due. Cost: hot.
  Kind read(std::span<const uint8_t> bytes, PeerFrame& frame, bool leaves_icrc = false);
  /// Of such a frame, by its transport packet, around which the rest still lies.
  bool is_icrc_right(std::span<const uint8_t> transport) const;
  /// Of the last frame that was Unknown: where it came from, and the link whose control QP it is
  /// for, where it may come from any port.
  struct Stranger {
    SourceIndex::Source source;
    std::optional<uint16_t> control_link;
  };
  const Stranger& unknown() const { return unknown_; }

  /// By way of `hop`, whose MAC may change. It stays until the next call for the same path.
  Route& route_to(size_t peer, uint16_t path, const MacAddress& hop);
  /// Likewise, to all of a group, by its place among the options'.
  Route& route_to_group(size_t group, uint16_t path);
  /// Puts everything around a transport packet: headers that end where it begins, and the ICRC
  /// behind it. Returns how long the headers are. Cost: hot.
  size_t wrap(Route& route, std::span<uint8_t> transport, uint8_t dscp, uint8_t ecn) const;

 private:
  struct Peer {
    FramePeer address;
    FrameForm form;  // of what it sends us
  };
  bool try_read_formed(std::span<const uint8_t> bytes, PeerFrame& frame);
  bool try_read_of(size_t peer, std::span<const uint8_t> bytes, PeerFrame& frame);
  Kind read_any(std::span<const uint8_t> bytes, PeerFrame& frame);
  bool find_source(const Frame& parsed, std::span<const uint8_t> bytes, PeerFrame& frame);
  bool try_note_source(size_t peer, uint16_t source_port, PeerFrame& frame);
  void note_source(SourceIndex::Found found, PeerFrame& frame);
  std::optional<SourceIndex::Found> source_at(std::span<const uint8_t> bytes) const;
  bool is_for_us(const FrameAddress& address) const;
  FrameAddress headers_to(const FramePeer& to, uint16_t path, const MacAddress& hop) const;

  PeerFramesOptions options_;
  Icrc icrc_;
  std::vector<Peer> peers_;
  SourceIndex sources_;        // of what they send
  ControlSources controls_;    // and of control packets from other ports
  std::vector<Route> routes_;  // by peer * paths + path; of groups behind those of peers
  size_t last_source_ = 0;     // of peers_
  Stranger unknown_;
};

}  // namespace cw
