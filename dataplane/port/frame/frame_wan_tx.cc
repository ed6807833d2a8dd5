// FrameWanPort on the way out: transport packets to frames, a row of one peer and path at a time.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/port/frame/frame_wan_port.h"

namespace cw {
namespace {

/// Packets from the front that go the same way.
std::span<Packet* const> row_at_front(std::span<Packet* const> packets) {
  const Packet& first = *packets.front();
  size_t count = 1;
  while (count < packets.size() && packets[count]->peer == first.peer &&
         packets[count]->path == first.path) {
    ++count;
  }
  return packets.first(count);
}

}  // namespace

/// Says that it leaves its groups, as far as the device still sends.
FrameWanPort::~FrameWanPort() {
  if (!device_) return;
  device_->give_back(made());
  uint8_t report[group_message_bytes_max];
  while (const size_t bytes = is_up_ ? groups_.next_leave(report) : 0) {
    send_frame({report, bytes});
  }
}

size_t FrameWanPort::tx_burst(std::span<Packet* const> packets, Instant) {
  size_t done = 0;
  while (done < packets.size() && try_flush()) done += make_frames(packets.subspan(done));
  try_flush();
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Whether the device has taken all frames.
bool FrameWanPort::try_flush() {
  if (made_count_ == 0) return true;
  const size_t sent = device_->tx_burst(made());
  made_first_ += sent;
  made_count_ -= sent;
  return made_count_ == 0;
}

/// Without a link nothing leaves, and what comes with the next one is not for the same ears.
void FrameWanPort::drop_frames() {
  status_.tx_link_down += made_count_;
  device_->give_back(made());
  made_count_ = 0;
}

/// The count of those that are lost for the same reason; null for a packet that has a way.
uint64_t* FrameWanPort::obstacle_to(const Packet& packet) {
  const bool is_to_group = packet.peer >= group_peer_first;
  const size_t places = is_to_group ? group_peer_first + group_count_ : facts_.peers;
  if (packet.peer >= places || packet.path >= facts_.paths) return &status_.tx_unrouted;
  if (!is_up_) return &status_.tx_link_down;
  if (is_to_group) return nullptr;
  if (neighbours_.hop_of(packet.peer).is_known) return nullptr;
  return &status_.tx_unresolved;
}

/// Of packets from the front, as many as there is room for; what has no way is lost. Returns how
/// many.
size_t FrameWanPort::make_frames(std::span<Packet* const> packets) {
  CW_ASSERT(made_count_ == 0);
  made_first_ = 0;
  const auto burst = packets.first(std::min(packets.size(), made_.size()));
  for (size_t done = 0; done < burst.size();) {
    const auto row = row_at_front(burst.subspan(done));
    if (uint64_t* const lost = obstacle_to(*row.front())) {
      *lost += row.size();
      device_->give_back(row);
    } else {
      make_row(row);
    }
    done += row.size();
  }
  return burst.size();
}

void FrameWanPort::make_row(std::span<Packet* const> row) {
  const Packet& first = *row.front();
  auto& route = first.peer >= group_peer_first
                    ? frames_.route_to_group(first.peer - group_peer_first, first.path)
                    : frames_.route_to(first.peer, first.path, neighbours_.hop_of(first.peer).mac);
  for (Packet* const packet : row) {
    CW_ASSERT(packet->bytes >= sizeof(Bth) && packet->bytes <= packet->bytes_max &&
              packet->payload == nullptr);
    counters_.tx_bytes += packet->bytes;
    const std::span transport(packet->data, packet->bytes);
    const size_t before = frames_.wrap(route, transport, packet->dscp, packet->ecn);
    packet->data -= before;
    packet->bytes += static_cast<uint32_t>(before + icrc_bytes);
    made_[made_count_++] = packet;
  }
  counters_.tx_packets += row.size();
}

}  // namespace cw
