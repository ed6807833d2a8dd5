#include "dataplane/port/sim/fabric/port.h"

#include <algorithm>

#include "dataplane/port/sim/fabric/network.h"

namespace cw {
namespace {

SimFrame& frame_of(Packet* packet) { return *static_cast<SimFrame*>(packet->port_data); }

}  // namespace

FabricPort::FabricPort(FabricNetwork& network, const FabricOptions& options, uint16_t host,
                       uint16_t hosts)
    : network_(network),
      frames_(options.port_packets, size_t{options.headers_bytes} + options.payload_max),
      done_(options.port_packets),
      waiting_max_(options.rx_packets),
      host_(host) {
  facts_.name = "fabric";
  facts_.payload_max = options.payload_max;
  facts_.peers = hosts;
  facts_.paths = options.paths;
  facts_.packets = options.port_packets;
  facts_.icrc = options.icrc;
  facts_.external_payload = true;
}

bool FabricPort::join(uint16_t group) { return network_.join(host_, group); }

/// False: there is no room for it to wait.
bool FabricPort::try_arrive(FabricFrames& frames, uint32_t frame) {
  if (waiting_count_ == waiting_max_) {
    ++counters_.rx_dropped;
    return false;
  }
  waiting_.push(frames, frame);
  ++waiting_count_;
  return true;
}

size_t FabricPort::rx_burst(std::span<Packet*> out, Instant) {
  size_t count = 0;
  while (count < out.size() && !waiting_.is_empty()) {
    SimFrame* const own = frames_.try_take();
    if (own == nullptr) break;
    const uint32_t frame = waiting_.pop(network_.frames_);
    --waiting_count_;
    network_.hand_over(frame, own->packet);
    ++counters_.rx_packets;
    counters_.rx_bytes += own->packet.bytes + own->packet.payload_bytes;
    out[count++] = &own->packet;
  }
  return count;
}

size_t FabricPort::tx_burst(std::span<Packet* const> packets, Instant now) {
  size_t count = 0;
  room_at_ = Instant::never();
  for (; count < packets.size(); ++count) {
    const Packet& packet = *packets[count];
    room_at_ = network_.try_send(host_, packet, now);
    if (room_at_ != Instant::never()) break;
    ++counters_.tx_packets;
    counters_.tx_bytes += packet.bytes + packet.payload_bytes;
    release(frame_of(packets[count]));
  }
  counters_.tx_refused += packets.size() - count;
  return count;
}

size_t FabricPort::take_burst(std::span<Packet*> out) {
  size_t count = 0;
  for (; count < out.size(); ++count) {
    SimFrame* const frame = frames_.try_take();
    if (frame == nullptr) break;
    out[count] = &frame->packet;
  }
  return count;
}

void FabricPort::give_back(std::span<Packet* const> packets) {
  for (Packet* packet : packets) release(frame_of(packet));
}

/// By one of its owners.
void FabricPort::release(SimFrame& frame) {
  if (!try_leave(frame.packet) && !done_.try_keep(frame.packet)) frames_.give_back(&frame);
}

size_t FabricPort::take_done(std::span<uint64_t> out) {
  return done_.take(out, [this](Packet* packet) { frames_.give_back(&frame_of(packet)); });
}

}  // namespace cw
