#include "dataplane/sdr/endpoint.h"

#include <algorithm>

#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

constexpr size_t packets_ahead = 6;

DropReason reason_of(WireError error) {
  switch (error) {
#define CW_WIRE_ERROR(name, reason, sentence) \
  case WireError::name:                       \
    return DropReason::reason;
#include "dataplane/wire/errors.def"
#undef CW_WIRE_ERROR
  }
  return DropReason::wire_opcode;
}

}  // namespace

Endpoint::Endpoint(Port& port, Counters& counters, Drops& drops, const CodingOptions& coding)
    : port_(port), counters_(counters), drops_(drops), desk_(coding), stock_(port) {}

Result<Link*> Endpoint::add_link(const LinkOptions& options, Instant now) {
  auto link = Link::make(options, port_, stock_, desk_, counters_, drops_, now);
  if (!link) return std::unexpected(link.error());
  if (by_number_.size() <= options.peer) by_number_.resize(options.peer + size_t{1});
  by_number_[options.peer] = link->get();
  links_.push_back(std::move(*link));
  return links_.back().get();
}

void Endpoint::on_gap(Duration gap, Instant now) {
  for (const auto& link : links_) link->rebase(gap, now);
}

Link* Endpoint::link_of(const Packet& packet) const {
  return packet.peer < by_number_.size() ? by_number_[packet.peer] : nullptr;
}

void Endpoint::on_rx(std::span<Packet* const> packets, Instant now) {
  // Headers lie where a NIC has put them, in a cold line or two: asked for a few packets ahead,
  // their way from memory overlaps with work.
  for (size_t i = 0; i < packets.size(); ++i) {
    if (i + 2 * packets_ahead < packets.size()) __builtin_prefetch(packets[i + 2 * packets_ahead]);
    if (i + packets_ahead < packets.size()) {
      const uint8_t* const headers = packets[i + packets_ahead]->data;
      __builtin_prefetch(headers);
      __builtin_prefetch(headers + slot_write_header_bytes);
    }
    on_packet(*packets[i], now);
  }
  for (const auto& link : links_) link->flush_arrivals(now);
  port_.give_back(packets);
}

void Endpoint::on_packet(const Packet& packet, Instant now) {
  Link* link = link_of(packet);
  if (link == nullptr) return drops_.add(DropReason::peer_unknown);
  SlotWrite slot;
  const std::span<const uint8_t> head(packet.data, packet.bytes);
  if (!try_parse_slot_write(head, size_t{packet.bytes} + packet.payload_bytes, slot)) {
    return on_other(*link, packet, now);
  }
  // Carried by reference, or behind the headers.
  const uint8_t* payload =
      packet.payload != nullptr ? packet.payload : packet.data + slot_write_header_bytes;
  link->on_data(slot, payload, packet, now);
}

void Endpoint::on_other(Link& link, const Packet& packet, Instant now) {
  const auto transport = parse_transport({packet.data, packet.bytes});
  if (!transport) return drops_.add(reason_of(transport.error()));
  const bool is_control = transport->opcode == opcode_ud_send_only &&
                          transport->target_qp == control_qpn_default &&
                          transport->datagram->queue_key == control_qkey;
  if (!is_control) return drops_.add(DropReason::wire_opcode);
  link.on_control(transport->payload, packet.path, now);
}

bool Endpoint::on_time(Instant now) {
  desk_.begin_turn();
  bool has_worked = desk_.poll();
  for (const auto& link : links_) has_worked |= link->on_time(now);
  return has_worked;
}

size_t Endpoint::collect(std::span<Packet*> out, Instant now) {
  size_t filled = 0;
  const auto next = [this](size_t place) { return place + 1 < links_.size() ? place + 1 : 0; };
  size_t place = first_;
  for (size_t i = 0; i < links_.size() && filled < out.size(); ++i, place = next(place)) {
    filled += links_[place]->collect(out.subspan(filled), now);
  }
  first_ = next(first_);
  if (filled == 0) {
    stock_.rest();
  } else {
    stock_.flush();
  }
  return filled;
}

Instant Endpoint::next_wakeup() const {
  if (desk_.is_busy()) return Instant();
  Instant due = Instant::never();
  for (const auto& link : links_) due = std::min(due, link->next_wakeup());
  return due;
}

}  // namespace cw::sdr
