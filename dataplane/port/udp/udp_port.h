// The WAN port that needs no special rights or hardware: UDP sockets of the kernel.
//
//   socket bound to udp_port                    all that arrives, and what path 0 of link 0 sends
//   socket bound to udp_port + 16 l + p         what path p of link l sends [C-63]
//
// Packets of every path go to the peer's first UDP port; the source port is what routers spread by,
// and what the receiver knows link and path from. So everything arrives at one socket, in one
// system call per burst.
//
// A site of several shards has a port for each, with the links that live there. All of them receive
// at the same UDP port, and the kernel gives each what is its own (socket/udp_steering.h). It may
// have joined what came from one source port, which is another reason why links have their own.
//
// The ICRC is the pseudo one (SPEC 3.3), none, or the exact one, as RNICs want it (udp_icrc.h): for
// that our address must be given, and no socket be connected, or the kernel would number packets as
// it likes. What an RNIC sends from a UD queue pair comes from a port that nobody chose, and is its
// peer's all the same (source_index.h).
//
// Fragments never leave, and packets that are too big for the interface are lost and counted. What
// ICMP packets say is counted and changes nothing, since they can be forged: a path that has become
// too small is found out by probing (SPEC [C-10]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/udp/socket/udp_packets.h"
#include "dataplane/port/udp/socket/udp_receiver.h"
#include "dataplane/port/udp/socket/udp_sender.h"
#include "dataplane/port/udp/socket/udp_socket.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/port/udp/udp_icrc.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw {

/// One link of one peer, which is named once for each.
struct UdpPeerOptions {
  std::string address;  ///< IPv4 or IPv6; Packet::peer is its place in the list; empty: nobody yet
  uint16_t udp_port = roce_udp_port;  ///< the peer's own
  uint16_t link = 0;                  ///< of the pair: the same at both ends, below links_max
  uint16_t source_port = 0;           ///< its paths send from here upwards; 0: from udp_port

  uint16_t first_source() const { return source_port != 0 ? source_port : udp_port; }
};

struct UdpPortOptions {
  std::string address;  ///< ours, when the machine has several; empty: any, save with exact ICRCs
  uint16_t udp_port = roce_udp_port;
  uint16_t paths = 1;  ///< of each link: as many UDP ports from udp_port + 16 link upwards
  std::vector<UdpPeerOptions> peers;
  uint16_t shard = 0, shards = 1;  ///< of the site; `peers` are links that live in this one

  uint32_t payload_bytes_max = limits::payload_bytes_max;  ///< the routes' MTU may allow less
  size_t packets = 4096;                                   ///< lent or free
  uint32_t socket_buffer_bytes = 16 << 20;  ///< each way; sockets behind the first receive nothing

  IcrcMode icrc = IcrcMode::Pseudo;  ///< or Exact, None
  Crc32Function crc32 = nullptr;     ///< required

  DescriptorStore* store = nullptr;  ///< where the socket that receives may be, and goes

  bool gso = true;  ///< several packets in one message where the kernel can
  bool gro = true;
};

class UdpPeerTable;

/// Thread: one.
class UdpPort final : public Port {
 public:
  /// Errors name the key and the value to change.
  static Result<std::unique_ptr<UdpPort>> make(const UdpPortOptions& options);
  ~UdpPort() override;
  UdpPort(const UdpPort&) = delete;
  UdpPort& operator=(const UdpPort&) = delete;

  const PortFacts& facts() const override { return facts_; }
  PortCounters counters() const override { return counters_; }
  /// For exchange(): where its peers are from then on, as many of the same links as it has.
  /// `before` is how it is now. Errors: as make(); an address of an IP version that its sockets do
  /// not have; a route to who was not there before that carries less than the port does. Thread:
  /// any. Cost: slow.
  Result<UdpPeerTable> table_of(const UdpPortOptions& options, const UdpPortOptions& before) const;
  /// `table` is left with what there was, to be freed elsewhere. Allocates nothing.
  void exchange(UdpPeerTable& table);
  UdpPortStatus status() const { return status_; }

  size_t rx_burst(std::span<Packet*> out, Instant now) override;
  /// With one link and path a burst stops where the socket is full. With several it is sent socket
  /// by socket, and what a full one has no room for waits in the port while the others go on; a
  /// burst stops at the first packet for which there is no room there either.
  size_t tx_burst(std::span<Packet* const> packets, Instant now) override;
  size_t take_burst(std::span<Packet*> out) override { return packets_.take_burst(out); }
  size_t take_done(std::span<uint64_t> out) override { return packets_.take_done(out); }
  void give_back(std::span<Packet* const> packets) override { packets_.give_back(packets); }
  Instant next_due() const override;

 private:
  friend class UdpPeerTable;
  struct Peer {
    UdpAddress address;
    uint16_t link;
    uint16_t source_port;      // its paths send from here upwards
    uint16_t own_source_port;  // and ours to it
    uint16_t first_socket;     // of the link's paths
    SocketName name;
    socklen_t name_bytes;  // 0: nobody
  };

  UdpPort(const UdpPortOptions& options, std::vector<UdpSocket> sockets, std::vector<Peer> peers);

  static bool is_nobody(const Peer& peer) { return peer.address.udp_port == 0; }
  static SourceIndex sources_of(std::span<const Peer> peers, uint16_t paths);
  static ControlSources controls_of(std::span<const Peer> peers);
  static Result<std::vector<Peer>> make_peers(const UdpPortOptions& options);
  static Result<std::vector<UdpSocket>> make_sockets(const UdpPortOptions& options, int family);
  void note_facts(const UdpPortOptions& options);

  bool begin_arrival(const UdpArrival& arrival);
  size_t unpack(std::span<Packet*> out, Instant now);
  Packet* accept(std::span<const uint8_t> datagram, Instant now);
  bool find_source(const SocketName& source);
  bool find_control(std::span<const uint8_t> datagram);
  bool has_right_icrc(std::span<const uint8_t> datagram);
  void look_at_other_sockets();

  void send_kept();
  size_t send_some(std::span<Packet* const> packets);
  size_t send_or_keep(std::span<Packet* const> packets);
  size_t room_for(std::span<Packet* const> packets) const;
  size_t take_of_socket(size_t socket, std::span<Packet*> rest, std::span<Packet*> chosen) const;
  void keep(size_t socket, std::span<Packet* const> packets);
  size_t send_from(size_t socket, std::span<Packet* const> packets);
  bool has_route(const Packet& packet) const;
  size_t socket_of(const Packet& packet) const;
  size_t way_number(size_t peer, uint16_t path) const { return peer * facts_.paths + path; }
  void append(Packet& packet, UdpSendBatch& batch, bool may_join);
  UdpDatagram datagram_of(const Packet& packet, std::span<const uint8_t> own,
                          std::span<const uint8_t> payload) const;

  PortFacts facts_;
  PortCounters counters_;
  UdpPortStatus status_;
  UdpIcrc icrc_;
  const uint16_t udp_port_;
  std::vector<UdpSocket> sockets_;  // the first one receives; by link and path
  std::vector<Peer> peers_;
  SourceIndex sources_;      // of what they send
  ControlSources controls_;  // and of control packets from other ports
  const int family_;         // of all sockets

  UdpPackets packets_;
  UdpSender sender_{counters_, status_};
  std::vector<Ring<Packet*>> kept_;  // by socket: taken, and not yet by it
  size_t kept_count_ = 0;            // in all of them
  bool has_one_sender_;              // the last of sockets_
  UdpReceiver receiver_;
  UdpAddress arrival_source_;  // of the message that is being unpacked
  uint16_t arrival_peer_ = 0, arrival_path_ = 0;
  bool is_from_any_port_ = false;  // whose each of its packets is, its control QP says
  uint32_t overflow_drops_ = 0;
  size_t other_socket_ = 0;
};

/// Who a port's peers are, and what they send from.
class UdpPeerTable {
 private:
  friend class UdpPort;
  UdpPeerTable(std::vector<UdpPort::Peer> peers, uint16_t paths)
      : peers_(std::move(peers)),
        sources_(UdpPort::sources_of(peers_, paths)),
        controls_(UdpPort::controls_of(peers_)) {}

  std::vector<UdpPort::Peer> peers_;
  SourceIndex sources_;
  ControlSources controls_;
};

}  // namespace cw
