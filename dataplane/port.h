// DOOR to the wire. A port moves bursts of packets in and out and states what it can and cannot do;
// it knows nothing of messages, policies or hosts. What stands on the WAN sees descriptors instead
// of bytes: wan.h.
//
// What a packet's bytes are depends on which side of the gateway the port is on:
//   WAN port   from the BTH to the last payload byte (pad included). Everything below the BTH
//              (Ethernet, IP, UDP) and the ICRC behind the payload belong to the port: a kernel
//              socket, a NIC or an RNIC each make them their own way.
//   LAN port   one IP packet, from its IP header on.
//
// Ownership. A packet has one owner. take_burst() and rx_burst() give packets to the caller;
// tx_burst() and give_back() take them. What tx_burst() did not take stays the caller's. Whoever
// wants to keep what a packet says makes it have one owner more, by share(): it is then handed in
// as often as it has owners, sent by one and given back by another, and the port has it back when
// the last has. Memory outside that a packet names is lent from the making of the packet until
// take_done() brings its cookie back, once, whatever becomes of the packet.
// Thread: all calls on the port's one worker. No call waits, allocates or locks. System calls: udp
// one per burst and path that sends, tun one per packet or joined packet, none elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/icrc_mode.h"
#include "dataplane/base/units.h"

namespace cw {

inline constexpr uint16_t group_peer_first = 0xf000;  ///< Packet::peer: of multicast groups

/// One packet and its buffer, one segment, plus an optional external payload behind it. The buffer
/// belongs to the port that made the packet and lives as long as the port. Between `data` and the
/// buffer's edges there is always room for the headers and trailers that the port adds: users write
/// only [data, data + bytes_max).
struct Packet {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;      ///< used, from `data`
  uint32_t bytes_max = 0;  ///< usable, from `data`

  /// Bytes that follow `data` on the wire without being copied; null when there are none. Only for
  /// ports whose facts say external_payload. They stay as they are until take_done() brings back
  /// `cookie`; where that is 0 nobody waits for it.
  const uint8_t* payload = nullptr;
  union {
    uint64_t cookie = 0;  ///< with a payload elsewhere
    uint8_t* slot;        ///< else its owner's: where what is kept begins, as sending moves `data`
  };
  uint32_t payload_bytes = 0;

  uint8_t ecn = 0;            ///< the two ECN bits of the outer IP header, in and out
  uint8_t dscp = 0;           ///< the six DSCP bits, in and out
  uint8_t more_owners = 0;    ///< the port's own: besides the first, where it counts them here
  bool is_icrc_due = false;   ///< received: nobody has looked whether its ICRC is right
  uint16_t peer = 0;          ///< which gateway it goes to or came from
  uint16_t path = 0;          ///< which route of that peer; received: told by the outer addresses
  Instant at;                 ///< received: when it arrived. Sent: when it left the pacer.
  void* port_data = nullptr;  ///< the port's own
};
static_assert(sizeof(void*) != 8 || sizeof(Packet) == 64, "one cache line");

/// Takes one owner off a packet that counts them itself; false, and none, when it is the only one.
inline bool try_leave(Packet& packet) {
  if (packet.more_owners == 0) return false;
  --packet.more_owners;
  return true;
}

/// What a port can do; constant for its life.
struct PortFacts {
  const char* name = "";      ///< as in the config file
  uint32_t payload_max = 0;   ///< WAN: bytes behind BTH, RETH and immediate; LAN: MTU
  uint32_t datagram_max = 0;  ///< WAN: bytes behind BTH and DETH; 0: what makes an equal packet
  uint16_t peers = 1;
  uint16_t paths = 1;  ///< per peer
  size_t packets = 0;  ///< it has to lend, at most; 0: it does not say
  int wait_fd = -1;    ///< readable when rx_burst() would return something; -1: there is none
  IcrcMode icrc = IcrcMode::Exact;  ///< which ICRC it writes and checks
  bool external_payload = false;    ///< tx takes Packet::payload; rx may return it
  bool places_payload = false;      ///< received payload is already at its RETH address
  uint32_t slot_seal_bytes = 0;     ///< a slot is so much longer on the wire: it is sealed there
  bool sees_psns = true;            ///< received packets carry the PSN of the wire, and their path
  bool numbers_by_qp = false;       ///< it draws PSNs itself, of each target QP and path
};

/// Counts since start; each only grows.
struct PortCounters {
  uint64_t rx_packets = 0, rx_bytes = 0;  ///< with those that is_icrc_right() finds wrong
  uint64_t tx_packets = 0, tx_bytes = 0;
  uint64_t rx_dropped = 0;    ///< arrived but thrown away below rx_burst() (ring full, no buffer)
  uint64_t rx_malformed = 0;  ///< failed the port's own checks: outer headers, fragments, ICRC
  uint64_t tx_refused = 0;    ///< not taken by tx_burst()
  uint64_t system_calls = 0;
};

/// What ports say of themselves and lend, whichever way packets cross them.
class PortBase {
 public:
  virtual ~PortBase() = default;

  virtual const PortFacts& facts() const = 0;
  virtual PortCounters counters() const = 0;

  /// Fills `out` with empty packets to be written and sent; returns how many there were. A short
  /// count means that the port's buffers are all in flight.
  virtual size_t take_burst(std::span<Packet*> out) = 0;
  /// Returns packets unsent; of a shared one its owner's part.
  virtual void give_back(std::span<Packet* const> packets) = 0;

  /// Gives each packet one more owner, of those that take_burst() lent. WAN ports only.
  virtual void share(std::span<Packet* const> packets) {
    for (Packet* packet : packets) ++packet->more_owners;
  }
  /// Whether anybody but the caller, who is one, owns the packet: if so, neither it nor its bytes
  /// may change, save that the port itself writes around them, on their way.
  virtual bool is_shared(const Packet& packet) const { return packet.more_owners > 0; }

  /// When a burst is to be received or sent for the sake of packets that the port itself keeps for
  /// a time, though nothing comes that would wake a waiter; past instants mean at once.
  virtual Instant next_due() const { return Instant::never(); }
};

/// Looks at packets in bytes as they cross, and keeps none of them. Thread: the port's.
class PacketTap {
 public:
  virtual ~PacketTap() = default;
  virtual void saw(std::span<Packet* const> packets, bool is_outward, Instant now) = 0;
};

/// Packets in bytes.
class Port : public PortBase {
 public:
  /// Fills `out` from the front with packets that have arrived, the caller's until they go to
  /// tx_burst() or give_back(); returns how many. `now` stamps those of ports without a clock.
  virtual size_t rx_burst(std::span<Packet*> out, Instant now) = 0;

  /// Of a WAN, before the first burst: ICRCs of what comes may be due. A port need not leave any.
  virtual void leave_icrcs() {}
  /// Of a packet whose ICRC is due and that is as it came. False: it is counted as malformed.
  virtual bool is_icrc_right(const Packet&) { return true; }

  /// Sends from the front of `packets`; returns how many. Those are the port's, the rest stay here.
  virtual size_t tx_burst(std::span<Packet* const> packets, Instant now) = 0;

  /// Fills `out` from the front with the cookies of packets that are sent or lost and whose payload
  /// elsewhere is read no more; returns how many. Each comes once.
  virtual size_t take_done(std::span<uint64_t>) { return 0; }
};

}  // namespace cw
