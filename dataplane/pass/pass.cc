#include "dataplane/pass/pass.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/group/datagram_inline.h"

namespace cw::pass {
namespace {

/// The prefix as well.
uint32_t write_prefixed(const Send& send, const SlotWrite& head, std::span<uint8_t> out) {
  const auto prefix = uint32_t{limits::group_header_bytes};
  const size_t headers = group::encode_datagram({.target_qp = head.target_qp,
                                                 .psn = head.psn,
                                                 .queue_key = head.key,
                                                 .source_qp = send.source_qp,
                                                 .immediate = head.immediate,
                                                 .payload_bytes = prefix + head.payload_bytes,
                                                 .is_solicited = head.is_solicited},
                                                out);
  std::memcpy(out.data() + headers, prefix_of(send), limits::group_header_bytes);
  return static_cast<uint32_t>(headers + limits::group_header_bytes);
}

/// `head`: the send's, as it is to be on the wire. Returns how long they are.
uint32_t write_headers(const Send& send, const SlotWrite& head, std::span<uint8_t> out) {
  if (send.form == Form::Write) return static_cast<uint32_t>(encode_slot_write(head, out));
  if (send.form == Form::DatagramImmediate) return write_prefixed(send, head, out);
  Transport transport;
  transport.opcode = opcode_ud_send_only;
  transport.target_qp = head.target_qp;
  transport.psn = head.psn;
  transport.is_solicited = head.is_solicited;
  transport.datagram = DatagramSource{.queue_key = head.key, .source_qp = send.source_qp};
  transport.payload = {send.payload, head.payload_bytes};
  return static_cast<uint32_t>(encode_transport_headers(transport, out));
}

void put_way(const Send& send, Packet& packet) {
  packet.at = send.at;
  packet.peer = send.peer;
  packet.path = send.path;
  packet.ecn = send.ecn;
  packet.dscp = send.dscp;
}

/// Behind headers and payload.
void append_pad(uint32_t payload_bytes, Packet& packet) {
  const auto pad_bytes = static_cast<uint32_t>(pad_bytes_for(payload_bytes));
  std::memset(packet.data + packet.bytes, 0, pad_bytes);
  packet.bytes += pad_bytes;
}

/// A payload too short for a prefix is one without.
bool try_read_datagram(const Packet& packet, std::span<const uint8_t> head, Arrival& arrival) {
  constexpr uint32_t headers = group::datagram_header_bytes, prefix = limits::group_header_bytes;
  group::Datagram datagram;
  if (!group::try_parse_datagram(head, arrival.bytes, datagram)) return false;
  const bool is_split = packet.payload != nullptr;
  if (is_split && head.size() != headers + prefix) return false;
  const bool has_prefix = datagram.payload_bytes >= prefix;
  arrival.form = Form::DatagramImmediate;
  arrival.head = {};
  arrival.head.target_qp = datagram.target_qp;
  arrival.head.psn = datagram.psn;
  arrival.head.key = datagram.queue_key;
  arrival.head.immediate = datagram.immediate;
  arrival.head.is_solicited = datagram.is_solicited;
  arrival.head.payload_bytes = datagram.payload_bytes - (has_prefix ? prefix : 0);
  arrival.source_qp = datagram.source_qp;
  arrival.prefix = has_prefix ? packet.data + headers : nullptr;
  arrival.payload = is_split ? packet.payload : packet.data + headers + (has_prefix ? prefix : 0);
  return true;
}

/// The general way, for what is no whole and correct write.
void read_other(const Packet& packet, Arrival& arrival) {
  arrival.form = Form::Other;
  const auto transport = parse_transport({packet.data, packet.bytes});
  if (!transport || transport->opcode != opcode_ud_send_only) {
    arrival.error = transport ? WireError::Opcode : transport.error();
    return;
  }
  arrival.form = Form::Datagram;
  arrival.head = {};
  arrival.head.target_qp = transport->target_qp;
  arrival.head.psn = transport->psn;
  arrival.head.is_solicited = transport->is_solicited;
  arrival.head.key = transport->datagram->queue_key;
  arrival.head.payload_bytes = static_cast<uint32_t>(transport->payload.size());
  arrival.source_qp = transport->datagram->source_qp;
  arrival.payload = transport->payload.data();
}

}  // namespace

void write_in_place(const Send& send) {
  CW_DCHECK(send.packet != nullptr && send.has_packet_alone);
  Packet& packet = *send.packet;
  // It may have been sent before, with other things in front.
  packet.data += send.payload - packet.data - ptrdiff_t{header_bytes_of(send.form)};
  packet.bytes = write_headers(send, send.head, {packet.data, header_bytes_of(send.form)});
  packet.bytes += send.head.payload_bytes;
  append_pad(send.head.payload_bytes, packet);
  put_way(send, packet);
}

bool write(const Send& send, Packet& packet, bool port_gathers) {
  packet.bytes = write_headers(send, send.head, {packet.data, packet.bytes_max});
  put_way(send, packet);
  if (may_gather(send, port_gathers)) {
    packet.payload = send.payload;
    packet.payload_bytes = send.head.payload_bytes;
    packet.cookie = send.cookie;
    return false;
  }
  std::memcpy(packet.data + packet.bytes, send.payload, send.head.payload_bytes);
  packet.bytes += send.head.payload_bytes;
  append_pad(send.head.payload_bytes, packet);
  return true;
}

bool try_write_sealed(const Send& send, Packet& packet, seal::Sealer& sealer) {
  SlotWrite head = send.head;
  head.payload_bytes += seal::seal_bytes;
  packet.bytes = write_headers(send, head, {packet.data, packet.bytes_max});
  put_way(send, packet);
  if (!sealer.try_seal(send, packet.data + packet.bytes)) return false;
  packet.bytes += head.payload_bytes;
  append_pad(head.payload_bytes, packet);
  return true;
}

PortFacts sealed_facts(PortFacts facts, const seal::Sealer& sealer) {
  facts.payload_max -= std::min(facts.payload_max, seal::seal_bytes);
  facts.datagram_max -= std::min(facts.datagram_max, seal::seal_bytes);
  if (!sealer.options().seals_data) return facts;
  facts.slot_seal_bytes = seal::seal_bytes;
  facts.external_payload = false;  // what is read there is not sealed
  return facts;
}

void read(const Packet& packet, Arrival& arrival) {
  arrival.bytes = packet.bytes + packet.payload_bytes;
  arrival.at = packet.at;
  arrival.peer = packet.peer;
  arrival.path = packet.path;
  arrival.ecn = packet.ecn;
  arrival.dscp = packet.dscp;
  const std::span<const uint8_t> head(packet.data, packet.bytes);
  if (!try_parse_slot_write(head, arrival.bytes, arrival.head)) {
    if (!try_read_datagram(packet, head, arrival)) read_other(packet, arrival);
    return;
  }
  arrival.form = Form::Write;
  // Carried by reference, or behind the headers.
  arrival.payload =
      packet.payload != nullptr ? packet.payload : packet.data + slot_write_header_bytes;
}

}  // namespace cw::pass
