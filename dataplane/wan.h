// DOOR to the WAN: descriptors of packets instead of their bytes, as an RNIC takes work requests. A
// raw port writes the headers that they say (pass/raw_port.h), an RNIC posts them.
//
//   Send      one packet that leaves: what its headers say, where its payload lies, which way
//   Arrival   one that has come, read
//   window    memory of ours that a peer may write to, where a port places payload itself
//   queues    QPs of one epoch of a link, which an RNIC numbers and connects by itself
//
// Ownership. A Send holds its payload from its making on, wherever it waits, until the port has
// read that: as one more owner of the packet in which the payload lies, or, where it lies in memory
// outside, until take_done() brings back the cookie; once, whatever becomes of the packet. What an
// Arrival points at is the port's and stays until end_arrivals().
// Thread: all calls on the port's one worker. No call waits, allocates or locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/wire/error.h"
#include "dataplane/wire/roce_inline.h"

namespace cw {

/// How a packet says what it is.
enum class Form : uint8_t {
  Write,     ///< UC RDMA WRITE ONLY WITH IMMEDIATE: SlotWrite, all of it
  Datagram,  ///< UD SEND ONLY; `key` is the queue key, address and immediate mean nothing
  /// UD SEND ONLY WITH IMMEDIATE; `key` is the queue key, the address is the prefix's here.
  DatagramImmediate,
  Other,  ///< come, and none of these
};

struct Send {
  SlotWrite head;
  const uint8_t* payload = nullptr;  ///< head.payload_bytes of them; never null
  Packet* packet = nullptr;          ///< that they lie in; null: in memory outside
  uint64_t cookie = 0;               ///< of memory outside; not 0
  Instant at;                        ///< when it left the pacer
  uint32_t source_qp = 0;            ///< of a datagram
  uint16_t peer = 0, path = 0;
  Form form = Form::Write;
  uint8_t ecn = 0, dscp = 0;  ///< of the outer IP header
  /// Nobody else sends the packet that the payload lies in: what stands around that may be written.
  bool has_packet_alone = false;
};

/// Of a DatagramImmediate: where the group_header_bytes lie that stand before its payload, their
/// owner's again when the port has taken the send. In place of an address, which it has none of:
/// links keep many sends.
inline const uint8_t* prefix_of(const Send& send) {
  return reinterpret_cast<const uint8_t*>(send.head.address);
}
inline void set_prefix(Send& send, const uint8_t* prefix) {
  send.head.address = reinterpret_cast<uintptr_t>(prefix);
}

struct Arrival {
  /// Of a port that places payload: QP, immediate and length, and nothing else.
  SlotWrite head;
  const uint8_t* payload = nullptr;  ///< null: it lies where its packet said
  /// Of a DatagramImmediate: what stood before the payload; null: there is none, the payload is too
  /// short.
  const uint8_t* prefix = nullptr;
  Instant at;
  uint32_t bytes = 0;  ///< headers, payload and pad
  uint32_t source_qp = 0;
  uint32_t session = 0;  ///< that it was sealed by: later ones are higher; 0: by none
  uint16_t peer = 0, path = 0;
  Form form = Form::Other;
  WireError error{};  ///< why it is none of the forms
  uint8_t ecn = 0, dscp = 0;
};

/// Memory as a peer's packets name it.
struct Window {
  uint64_t address = 0;  ///< of the first byte; what the port likes to have it called
  uint32_t key = 0;      ///< 0: there is none
};

constexpr uint8_t opcode_of(Form form) {
  if (form == Form::Write) return opcode_uc_write_only_immediate;
  return form == Form::Datagram ? opcode_ud_send_only : opcode_ud_send_only_immediate;
}
/// Bytes of headers in front of prefix and payload.
constexpr uint32_t header_bytes_of(Form form) { return opcode_table[opcode_of(form)].header_bytes; }
/// What the transport carries.
inline uint32_t payload_bytes_of(const Send& send) {
  const size_t prefix = send.form == Form::DatagramImmediate ? limits::group_header_bytes : 0;
  return static_cast<uint32_t>(prefix) + send.head.payload_bytes;
}
/// Headers, prefix, payload and pad.
inline uint32_t transport_bytes(const Send& send) {
  const uint32_t payload_bytes = payload_bytes_of(send);
  return header_bytes_of(send.form) + payload_bytes +
         static_cast<uint32_t>(pad_bytes_for(payload_bytes));
}

/// Where memory lies in a device's buffer that others can name. The descriptor is the caller's.
struct Dmabuf {
  int fd = -1;
  uint64_t offset = 0;
};

/// By which writes to one QP of a peer leave on one path.
struct SendQueue {
  uint32_t target_qp = 0;
  uint16_t path = 0;
};

class WanPort : public PortBase {
 public:
  /// Fills `out` from the front with what has arrived; returns how many. What was received before
  /// has been ended. `now` as rx_burst()'s.
  virtual size_t receive(std::span<Arrival> out, Instant now) = 0;
  /// What the last receive() gave has been read. Where it gave none, there is nothing to end.
  virtual void end_arrivals() = 0;

  /// Posts from the front of `sends`; returns how many. With those the port holds what they hold;
  /// the rest stays the caller's.
  virtual size_t send(std::span<const Send> sends, Instant now) = 0;
  /// Fills `out` with cookies of memory that is read no more; returns how many. Each comes once. A
  /// row of a burst takes all that one send() has made.
  virtual size_t take_done(std::span<uint64_t> out) = 0;

  /// Lets peers write to `memory` until close_window(). Of ports only whose facts say
  /// places_payload.
  virtual Window open_window(std::span<uint8_t> /*memory*/) { return {}; }
  /// Nothing is written by this key any more when the call returns.
  virtual void close_window(uint32_t /*key*/) {}
  /// What has landed in a window and is sealed (`slot_seal_bytes`): the head says what its packet
  /// must have said, its length is that of the seal too, `payload` where it lies. True: payload and
  /// length are what was sealed, until the next call. False: it is no more, and `error` says why.
  virtual bool try_open_landed(Arrival& /*arrival*/) { return false; }

  /// Payload outside packets may lie in `memory` until it is forgotten, as often as it was
  /// registered. Errors: the device's. Cost: slow.
  virtual Result<void> register_memory(std::span<uint8_t> /*memory*/) { return {}; }
  /// The same of memory that is a device's and mapped there, whose pages the kernel does not count
  /// as memory. Of ports that move bytes: no other than any.
  virtual Result<void> register_dmabuf(std::span<uint8_t> memory, const Dmabuf& /*where*/) {
    return register_memory(memory);
  }
  /// Nothing that was sent lies there any more.
  virtual void forget_memory(std::span<uint8_t> /*memory*/) {}

  // Queues have our numbers here and in every Arrival, and the port's on the wire. Those of an
  // epoch are numbered in a row, and named by `peer` and the first of them.

  /// Has queues at which writes of `peer` arrive: fills `numbers` with what it is to call `first`,
  /// first + 1 and so on. False: not yet; to be asked again.
  virtual bool try_open_queues(uint16_t /*peer*/, uint32_t first, std::span<uint32_t> numbers) {
    std::iota(numbers.begin(), numbers.end(), first);
    return true;
  }
  /// Has queues by which writes to the peer leave, besides those of its epoch that are open. False:
  /// not yet; to be asked again, with the same. What is sent by others is lost.
  virtual bool try_connect_queues(uint16_t /*peer*/, uint32_t /*first*/,
                                  std::span<const SendQueue> /*queues*/) {
    return true;
  }
  /// What was opened and connected under this name is no more, and need not have been.
  virtual void close_queues(uint16_t /*peer*/, uint32_t /*first*/) {}
  /// What peers are to call a control QP of ours.
  virtual uint32_t control_queue(uint32_t ours) const { return ours; }
};

/// A port towards the WAN of either kind: one that posts, or one that moves bytes, which whoever
/// turns it stands a RawPort before (pass/raw_port.h). It outlives this.
class AnyWanPort {
 public:
  AnyWanPort(WanPort& port) : posts_(&port) {}  // NOLINT(google-explicit-constructor)
  AnyWanPort(Port& wire) : bytes_(&wire) {}     // NOLINT(google-explicit-constructor)

  WanPort* posts() const { return posts_; }  ///< null: it moves bytes
  Port* bytes() const { return bytes_; }     ///< null: it posts
  PortBase& base() const { return posts_ != nullptr ? static_cast<PortBase&>(*posts_) : *bytes_; }
  const PortFacts& facts() const { return base().facts(); }

 private:
  WanPort* posts_ = nullptr;
  Port* bytes_ = nullptr;
};

}  // namespace cw
