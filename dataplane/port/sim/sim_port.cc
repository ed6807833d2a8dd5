#include "dataplane/port/sim/sim_port.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/port/sim/network.h"

namespace cw {
namespace {

SimFrame& frame_of(Packet* packet) { return *static_cast<SimFrame*>(packet->port_data); }

}  // namespace

SimPort::SimPort(SimNetwork& network, const SimOptions& options)
    : network_(network),
      frames_(options.port_packets, size_t{options.headers_bytes} + options.payload_max),
      done_(options.port_packets) {
  facts_.name = "sim";
  facts_.payload_max = options.payload_max;
  facts_.peers = 0;  // join() counts them
  facts_.paths = options.paths;
  facts_.packets = options.port_packets;
  facts_.icrc = options.icrc;
  facts_.external_payload = true;
}

SimLink* SimPort::link_to(const Packet& packet) const {
  if (packet.path >= facts_.paths || packet.peer >= facts_.peers) return nullptr;
  return links_[size_t{packet.peer} * facts_.paths + packet.path];
}

size_t SimPort::rx_burst(std::span<Packet*> out, Instant now) {
  size_t count = 0;
  while (count < out.size() && next_event() <= now) {
    SimFrame* arrived = arrivals_.pop();
    if (SimFrame* accepted = accept(*arrived)) out[count++] = &accepted->packet;
    network_.wire_.give_back(arrived);
  }
  return count;
}

/// The port's own frame with what has arrived, or null when it is lost at the last step.
SimFrame* SimPort::accept(SimFrame& arrived) {
  if (arrived.is_damaged) {
    ++counters_.rx_malformed;
    ++network_.counters_.rx_damaged;
    return nullptr;
  }
  SimFrame* frame = frames_.try_move(arrived);
  if (frame == nullptr) {
    ++counters_.rx_dropped;
    ++network_.counters_.rx_no_packet;
    return nullptr;
  }
  ++counters_.rx_packets;
  counters_.rx_bytes += frame->packet.bytes + frame->packet.payload_bytes;
  ++network_.counters_.delivered;
  network_.trace_.add(arrived.order);
  return frame;
}

size_t SimPort::tx_burst(std::span<Packet* const> packets, Instant now) {
  for (Packet* packet : packets) {
    SimFrame& frame = frame_of(packet);
    ++counters_.tx_packets;
    counters_.tx_bytes += packet->bytes + packet->payload_bytes;
    const uint8_t* const payload = packet->payload;
    const uint64_t cookie = packet->cookie;
    // A packet stamped ahead of the turn travels from the instant the pacer gave it.
    network_.carry(link_to(*packet), frame, std::max(now, packet->at));
    if (payload != nullptr) {  // what the network has made of it is not for who lent that
      packet->payload = payload;
      packet->cookie = cookie;
    }
    release(frame);
  }
  return packets.size();
}

size_t SimPort::take_burst(std::span<Packet*> out) {
  size_t count = 0;
  for (; count < out.size(); ++count) {
    SimFrame* frame = frames_.try_take();
    if (frame == nullptr) break;
    out[count] = &frame->packet;
  }
  return count;
}

void SimPort::give_back(std::span<Packet* const> packets) {
  for (Packet* packet : packets) release(frame_of(packet));
}

/// By one of its owners.
void SimPort::release(SimFrame& frame) {
  if (!try_leave(frame.packet) && !done_.try_keep(frame.packet)) frames_.give_back(&frame);
}

size_t SimPort::take_done(std::span<uint64_t> out) {
  return done_.take(out, [this](Packet* packet) { frames_.give_back(&frame_of(packet)); });
}

}  // namespace cw
