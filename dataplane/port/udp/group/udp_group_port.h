// The WAN port of a group's members that needs no special rights or hardware: UDP sockets of the
// kernel, and multicast.
//
//   socket bound to our address, udp_port     all that leaves, and what comes to us alone
//   a socket bound to each group's address    what comes to the group, our own copies included
//
// Peers are members by rank; from group_peer_first on they are groups, to which members send.
// Several members may be on one machine, each with an address or a UDP port of its own: a group's
// sockets there share its address, and each has its copy. The kernel speaks IGMP and MLD. Our own
// copies, where the machine makes some for others, come as from us: who reads them drops them by
// rank.
//
// What is said of ICRCs, joined messages, fragments and ICMP in udp_port.h holds here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/udp/group/udp_sources.h"
#include "dataplane/port/udp/socket/udp_packets.h"
#include "dataplane/port/udp/socket/udp_receiver.h"
#include "dataplane/port/udp/socket/udp_sender.h"
#include "dataplane/port/udp/socket/udp_socket.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/port/udp/udp_icrc.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/roce.h"

namespace cw {

struct UdpGroupPortOptions {
  uint16_t rank = 0;
  /// By rank: an IP address, and a UDP port where it is not udp_port: "192.0.2.1",
  /// "192.0.2.1:5000", "2001:db8::1", "[2001:db8::1]:5000". All of one IP version.
  std::vector<std::string> members;
  std::vector<std::string> groups;  ///< multicast addresses of that version
  std::string interface;            ///< by its name; empty: the one that has our address
  uint16_t udp_port = roce_udp_port;
  uint8_t hops = 1;  ///< that multicast may go, at most hops_max

  uint32_t payload_bytes_max = limits::payload_bytes_max;  ///< the routes' MTU may allow less
  size_t packets = 4096;                                   ///< lent or free
  uint32_t socket_buffer_bytes = 16 << 20;                 ///< of each socket, each way

  IcrcMode icrc = IcrcMode::Exact;  ///< as RNICs want it; or Pseudo, None
  Crc32Function crc32 = nullptr;    ///< required

  bool gso = true;
  bool gro = true;
};

/// Thread: one.
class UdpGroupPort final : public Port {
 public:
  static constexpr size_t groups_max = 16;
  static constexpr uint8_t hops_max = 4;

  /// Errors name the key and the value to change.
  static Result<std::unique_ptr<UdpGroupPort>> make(const UdpGroupPortOptions& options);
  ~UdpGroupPort() override;
  UdpGroupPort(const UdpGroupPort&) = delete;
  UdpGroupPort& operator=(const UdpGroupPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  UdpPortStatus status() const { return status_; }

  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// A burst stops where the socket is full.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override { return packets_.take_burst(out); }
  size_t take_done(std::span<uint64_t> out) override { return packets_.take_done(out); }
  void give_back(std::span<Packet* const> packets) override { packets_.give_back(packets); }

 private:
  /// Who can be sent to: members by rank, then groups.
  struct Target {
    UdpAddress address;
    SocketName name{};
    socklen_t name_bytes = 0;
  };
  /// What is received at.
  struct Inlet {
    UdpSocket socket;
    UdpIcrc icrc;
    UdpAddress own;
    uint32_t overflow_drops;
  };
  struct Plan;

  UdpGroupPort(const UdpGroupPortOptions& options, const Plan& plan,
               std::vector<UdpSocket> sockets);
  static Result<Plan> make_plan(const UdpGroupPortOptions& options);
  static Result<std::vector<UdpSocket>> make_sockets(const UdpGroupPortOptions& options,
                                                     const Plan& plan);
  void note_facts(const UdpGroupPortOptions& options, uint32_t interface_index);

  bool begin_arrival(Inlet& inlet, const UdpArrival& arrival);
  size_t unpack(std::span<Packet*> out, Instant now);
  Packet* accept(Inlet& inlet, std::span<const uint8_t> datagram, Instant now);
  const Target* target_of(const Packet& packet) const;
  void append(Packet& packet, UdpSendBatch& batch, bool may_join);

  PortFacts facts_;
  PortCounters counters_;
  UdpPortStatus status_;
  size_t members_;
  std::vector<Target> targets_;
  std::vector<Inlet> inlets_;  // the first is our own, and sends
  UdpSources sources_;

  UdpPackets packets_;
  UdpSender sender_{counters_, status_};
  UdpReceiver receiver_;
  size_t inlet_ = 0;           // where the messages came in that it has
  UdpAddress arrival_source_;  // of the one that is being unpacked
  uint16_t arrival_rank_ = 0;
};

}  // namespace cw
