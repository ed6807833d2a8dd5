// The LAN port over queues of our own: frames of hosts on an Ethernet, of which a gateway sees the
// IP packets.
//
//   hosts -> [Ethernet (802.1Q) IP ..]  -> for our MAC? ARP, ND, ping? -> IP packet -> gateway
//   hosts <- [Ethernet (802.1Q) IP ..]  <- MAC of the next hop         <- IP packet <- gateway
//
// Whose MAC a packet leaves for is learned and asked for (lan_neighbours.h): by ARP and ND, or
// where a kernel sees the same frames (net_af_packet), of its routes and neighbours. A packet whose
// next hop is not known yet is lost and counted.
//
// Frames to the groups of multicast that it belongs to are taken as those to its MAC, and leave for
// the group's; of others nothing is known here. It says that it belongs to them, by IGMP and MLD
// (membership.h), or has the kernel say so.
//
// Where a kernel sees them, it answers ARP, ND and pings for our addresses, which it must have, and
// is kept from forwarding the rest (kernel_ingress.h). Elsewhere the port answers.
//
// Of several shards each has a port, and takes the flows that come by its queues. Where the device
// has fewer queues than there are shards, flows are spread by their addresses and ports (flow.h).
// Who hears of a neighbour tells the other shards.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/memo.h"
#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/neighbour/table/lan_neighbours.h"
#include "dataplane/port/frame/frame_port.h"
#include "dataplane/port/frame/groups/port_groups.h"

namespace cw {

struct FrameLanOptions {
  std::string device;                 ///< as its driver's users write it
  uint16_t shards = 1;                ///< that use the device, each by a port of its own
  uint16_t queues = 0;                ///< to receive by; 0: as the driver has it
  uint16_t descriptors = 1024;        ///< of each queue
  std::vector<LanAddress> addresses;  ///< one at least
  std::vector<HostAddress> groups;    ///< of multicast, to belong to; limits::groups_max
  /// Where packets for the gateway are going; for devices that leave the others to the kernel.
  std::vector<FrameTarget> targets;
  uint32_t mtu = 1500;  ///< the device's must not be less
  uint16_t vlan = 0;    ///< of the hosts' frames; 0: they have no tag
  /// Where a kernel sees the frames: keep it from forwarding them. False: the user has.
  bool silences_kernel = true;
  size_t packets = 4096;  ///< of a shard, lent or free
};

/// What a person should know about the port and PortCounters do not say. Counts only grow, and are
/// of frames.
struct FrameLanStatus {
  FrameDeviceStatus device;
  size_t neighbours = 0;         ///< whose MAC is known now
  uint64_t rx_not_ours = 0;      ///< for another machine, or sent from here
  uint64_t rx_vlan = 0;          ///< with another tag, or without ours
  uint64_t rx_group = 0;         ///< IP to a broadcast address, or to a group that is not ours
  uint64_t rx_other = 0;         ///< neither IP nor ARP
  uint64_t rx_neighbour = 0;     ///< ARP and ND
  uint64_t rx_query = 0;         ///< IGMP and MLD: who belongs to a group?
  uint64_t rx_local = 0;         ///< for an address of ours, or of the kernel's at start
  uint64_t rx_joined = 0;        ///< of several segments: offloads at the host or here are on
  uint64_t rx_finished = 0;      ///< whose open checksum was finished; they went on
  uint64_t echoes_answered = 0;  ///< of rx_local
  uint64_t questions = 0;        ///< for a MAC
  uint64_t reports = 0;          ///< that we do, or no longer
  uint64_t tx_link_down = 0;     ///< packets that had no link to leave by
  uint64_t tx_unresolved = 0;    ///< packets whose next hop was not known
  uint64_t tx_unrouted = 0;      ///< packets for nobody who was heard of or could be asked for
};

/// Thread: one.
class FrameLanPort final : public FramePort {
 public:
  /// Errors name the key and the value to change.
  static Result<std::unique_ptr<FrameLanPort>> make(const FrameDriver& driver,
                                                    const FrameLanOptions& options);
  /// The port of another shard of the same options, which shares the device with `first`.
  static Result<std::unique_ptr<FrameLanPort>> make_beside(const FrameLanPort& first,
                                                           const FrameLanOptions& options,
                                                           uint16_t shard);
  /// Says that it leaves its groups, as far as the device still sends.
  ~FrameLanPort() override;
  FrameLanStatus status() const;
  /// As the device's.
  Result<void> want(const std::vector<FrameTarget>& targets) const {
    return device_->want(targets);
  }

  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// A packet without a link or a next hop is lost; with all others the burst stops where the queue
  /// is full. A question for a next hop is a few system calls where the kernel is asked, some
  /// hundred times a second at most.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;

 private:
  struct Row {
    size_t count = 0;          // of packets that are frames now
    uint64_t* lost = nullptr;  // where the packet that follows is counted, which has no way
  };

  static constexpr size_t pairs_max = 4096;

  FrameLanPort(const FrameLanOptions& options, std::unique_ptr<FrameDevice> device);
  static Result<std::unique_ptr<FrameLanPort>> make_over(std::unique_ptr<FrameDevice> device,
                                                         const FrameLanOptions& options);
  Result<void> leave_to_kernel(const FrameLanOptions& options);

  Fate accept(Packet& packet, From from, Instant now);
  Fate accept_new(Packet& packet, From from, Instant now);
  std::optional<uint16_t> other_shard_of(const Packet& packet) const;
  bool try_untag(Packet& packet);
  bool try_accept_known(Packet& packet, Instant now);
  Fate accept_ip(Packet& packet, Instant now);
  void deliver(Packet& packet, uint32_t bytes, Instant now);
  Fate on_local(Packet& packet);
  void on_neighbour(std::span<const uint8_t> frame, const NeighbourMessage& message, Instant now);

  void join(const FrameLanOptions& options);
  Fate accept_to_group(Packet& packet, From from, Instant now);
  void speak_of_groups(Look seen, Instant now);

  void tell_of(const Neighbour& it);
  void ask_others(const HostAddress& host);
  void on_word_of_shard(const NeighbourMessage& word, Instant now);

  Row wrap_row(std::span<Packet* const> packets, Instant now);
  /// How packets for a host go.
  struct Hop {
    bool is_known = false;
    HostAddress target;
    // What stands before the IP packet, up to its end: tagged or not, it is written in one go.
    std::array<uint8_t, 24> header{};
  };
  uint64_t* wrap(Packet& packet, Hop& hop, Instant now);
  uint64_t* find_way(const HostAddress& target, Hop& hop, Instant now);
  uint64_t* find_way_to_group(const HostAddress& group, Hop& hop);
  void set_hop(const HostAddress& target, const MacAddress& mac, Hop& hop);
  void resolve(Neighbour& hop, Instant now);
  void send_message(std::span<const uint8_t> message);
  uint8_t* put_link_header(uint8_t* ip, const MacAddress& target, uint16_t type) const;
  uint32_t link_bytes() const { return vlan_ == 0 ? 14 : 18; }

  FrameLanStatus status_;
  uint16_t vlan_;
  bool has_open_checksums_;
  LanNeighbours neighbours_;
  PortGroups groups_;
  /// Of pairs of hosts whose frames were taken: where the sender is learned, if it is. It is asked
  /// whose place that is now; all else follows from what never changes.
  Memo<3, Neighbour*> ipv4_pairs_{pairs_max};
  Memo<6, Neighbour*> ipv6_pairs_{pairs_max};
  bool is_full_ = false;  // the queue took nothing of the last burst
};

}  // namespace cw
