#include "control/gateway/site/capture/shard_capture.h"

#include <algorithm>
#include <chrono>

namespace cw::site {

void ShardCapture::Tap::saw(std::span<Packet* const> packets, bool is_outward, Instant now) {
  for (const Packet* packet : packets) capture_.add(*packet, is_lan_, is_outward, now);
}

void ShardCapture::begin(Instant now) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  begun_ = now;
  begun_wall_ns_ = static_cast<uint64_t>(std::chrono::nanoseconds(wall).count());
}

void ShardCapture::add(const Packet& packet, bool is_lan, bool is_outward, Instant now) {
  const auto peer = static_cast<uint16_t>(packet.peer / links_);
  if (!is_lan && filter_.peer && peer != *filter_.peer) return;
  if (++passed_ < filter_.one_in) return;
  passed_ = 0;
  CapturedPacket captured{.at = now,
                          .bytes = packet.bytes + packet.payload_bytes,
                          .peer = peer,
                          .path = packet.path,
                          .is_lan = is_lan,
                          .is_outward = is_outward,
                          .ecn = packet.ecn,
                          .dscp = packet.dscp};
  const size_t own = std::min<size_t>(packet.bytes, CapturedPacket::bytes_max);
  std::copy_n(packet.data, own, captured.data.begin());
  const size_t behind = std::min<size_t>(packet.payload_bytes, CapturedPacket::bytes_max - own);
  if (behind > 0) std::copy_n(packet.payload, behind, captured.data.begin() + own);
  captured.kept = static_cast<uint16_t>(own + behind);
  if (!ring_.try_push(captured)) missed_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace cw::site
