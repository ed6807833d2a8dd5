// The WAN port over queues of our own: whole RoCEv2 frames, Ethernet to ICRC, as an RNIC would send
// them. The ICRC is the exact one, computed here.
//
// A path is a UDP source port, and all goes to the peer's own UDP port, as over sockets
// (udp_port.h); control packets of an RNIC may come from any. The next hop of a peer is a MAC
// address from the config, or found out: a router that the kernel's routes name, where it owns the
// interface, or the peer itself; whose MAC the kernel knows where it hears the frames too
// (net_af_packet), and ARP and ND of our own elsewhere. Packets for a peer whose next hop is not
// known yet are lost and counted.
//
// Of several shards each has a port and links of its own. What comes by the queue of another than
// its link's is handed over, and who hears of a neighbour tells the other shards.
//
// Header checksums are not left to the NIC: twenty bytes are summed sooner than that is arranged.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/neighbour/table/wan_neighbours.h"
#include "dataplane/port/frame/frame_port.h"
#include "dataplane/port/frame/groups/port_groups.h"
#include "dataplane/wire/outer/peer_frames.h"

namespace cw {

struct FramePeerOptions {
  std::string address;                ///< Packet::peer is its place in the list
  uint16_t udp_port = roce_udp_port;  ///< the peer's own
  uint16_t link = 0;                  ///< this one of those to it; each is a peer of its own here
  std::string next_hop;  ///< a MAC address, or a router's IP; empty: the route, or the peer itself
  uint16_t source_port = 0;  ///< its paths send from here upwards; 0: from udp_port
};

/// A link of another shard, whose packets may come by a queue of ours.
struct FrameLinkElsewhere {
  std::string address;  ///< of the peer
  uint16_t udp_port = roce_udp_port, link = 0;
  uint16_t shard = 0;
  uint16_t source_port = 0;  ///< as of FramePeerOptions
};

/// A multicast group; Packet::peer is group_peer_first + its place in the list.
struct FrameGroupOptions {
  std::string address;  ///< of the same IP version as ours
  uint16_t udp_port = roce_udp_port;
};

struct FrameWanOptions {
  std::string device;           ///< as its driver's users write it
  uint16_t shards = 1;          ///< that use the device, each by a port of its own
  uint16_t queues = 0;          ///< to receive by; 0: as the driver has it
  uint16_t descriptors = 1024;  ///< of each queue
  std::string address;          ///< ours; required
  uint16_t udp_port = roce_udp_port;
  uint16_t paths = 1;  ///< of each link: as many UDP ports from udp_port + 16 link upwards
  std::vector<FramePeerOptions> peers;
  std::vector<FrameLinkElsewhere> elsewhere;
  std::vector<FrameGroupOptions> groups;  ///< of a port alone: limits::groups_max

  uint32_t payload_bytes_max = limits::payload_bytes_max;  ///< the device's MTU may allow less
  size_t packets = 4096;                                   ///< of a shard, lent or free
  IcrcMode icrc = IcrcMode::Exact;  ///< or Pseudo, None: towards a peer over sockets
  Crc32Function crc32 = nullptr;    ///< required
};

/// What a person should know about the port and PortCounters do not say. Counts only grow.
struct FrameWanStatus {
  FrameDeviceStatus device;
  uint64_t rx_other = 0;       ///< frames that are not ours: other protocols, other targets
  uint64_t rx_unknown = 0;     ///< RoCE from nobody in the list of peers; part of rx_malformed
  uint64_t tx_unrouted = 0;    ///< packets for a peer or path that does not exist
  uint64_t tx_link_down = 0;   ///< packets that had no link to leave by
  uint64_t tx_unresolved = 0;  ///< packets whose next hop was not known
  uint64_t rx_query = 0;       ///< IGMP and MLD: who belongs to a group?
  uint64_t reports = 0;        ///< that we do, or no longer
  std::vector<std::string> unresolved;  ///< the next hops that do not answer
};

/// Thread: one.
class FrameWanPort final : public FramePort {
 public:
  /// Errors name the key and the value to change.
  static Result<std::unique_ptr<FrameWanPort>> make(const FrameDriver& driver,
                                                    const FrameWanOptions& options);
  /// The port of another shard, with peers of its own, which shares the device with `first`.
  static Result<std::unique_ptr<FrameWanPort>> make_beside(const FrameWanPort& first,
                                                           const FrameWanOptions& options,
                                                           uint16_t shard);
  ~FrameWanPort() override;
  /// All links' paths, for the shards that they belong to. Errors: an address.
  static Result<std::vector<PathFlow>> flows_of(const FrameWanOptions& options);
  FrameWanStatus status() const;

  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// A packet without a link or a next hop is lost. Where the queue is full, up to a burst of
  /// frames that are made already stays in the port, and what follows is the caller's.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  void share(std::span<Packet* const> packets) override { device_->share(packets); }
  bool is_shared(const Packet& packet) const override { return device_->is_shared(packet); }
  void leave_icrcs() override { leaves_icrcs_ = true; }
  bool is_icrc_right(const Packet& packet) override;
  Instant next_due() const override { return made_count_ > 0 ? Instant() : FramePort::next_due(); }

 private:
  struct Addresses {
    HostAddress own;
    std::vector<FramePeer> peers;
    std::vector<Neighbour> hops;  // of each peer
    std::vector<FramePeer> elsewhere;
    std::vector<HostAddress> groups;
  };

  FrameWanPort(const FrameWanOptions& options, const Addresses& addresses,
               std::unique_ptr<FrameDevice> device);
  static Result<Addresses> parse_addresses(const FrameWanOptions& options);
  static std::vector<PathFlow> flows_of(const FrameWanOptions& options, const Addresses& addresses);
  static Result<std::unique_ptr<FrameWanPort>> make_over(std::unique_ptr<FrameDevice> device,
                                                         const FrameWanOptions& options,
                                                         const Addresses& addresses);
  Result<void> join(const FrameWanOptions& options, std::span<const Neighbour> hops);
  Result<void> join_groups();
  static std::vector<FrameGroup> frame_groups(const FrameWanOptions& options,
                                              std::span<const HostAddress> groups);

  Fate accept(Packet& packet, From from, Instant now);
  std::optional<uint16_t> link_elsewhere() const;
  Fate on_unknown(Packet& packet, From from);
  void on_other(PeerFrames::Kind kind, std::span<const uint8_t> frame, From from, Instant now);
  void on_foreign(std::span<const uint8_t> frame, From from, Instant now);
  void look_after(Look seen, Instant now);
  void resolve(Neighbour& hop, Instant now);
  void speak_of_groups(bool is_new, Instant now);

  uint64_t* obstacle_to(const Packet& packet);
  bool try_flush();
  void drop_frames();
  size_t make_frames(std::span<Packet* const> packets);
  std::span<Packet* const> made() const { return {made_.data() + made_first_, made_count_}; }
  void make_row(std::span<Packet* const> row);

  FrameWanStatus status_;
  NeighbourSelf self_;
  bool leaves_icrcs_ = false;
  bool kernel_answers_;  // ARP and ND, and it resolves next hops
  WanNeighbours neighbours_;
  PeerFrames frames_;
  PortGroups groups_;
  size_t group_count_;
  SourceIndex elsewhere_;  // of other shards' links
  ControlSources controls_elsewhere_;
  std::vector<uint16_t> shard_of_elsewhere_;  // by number there
  // Frames that the device has not taken yet. None is made twice, and none behind them.
  std::array<Packet*, limits::burst_packets_max> made_{};
  size_t made_first_ = 0, made_count_ = 0;
};

}  // namespace cw
