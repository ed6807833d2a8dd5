#include "dataplane/port/frame/frame_device.h"

#include <algorithm>

namespace cw {

void FrameDevice::tell_others(std::span<const uint8_t> frame) {
  if (arrivals_ == nullptr) return;
  for (uint16_t other = 0; other < shards(); ++other) {
    Packet* copy = nullptr;
    if (other == shard() || take_burst({&copy, 1}) == 0) continue;
    const bool has_room = frame.size() <= copy->bytes_max;
    if (has_room) {
      std::ranges::copy(frame, copy->data);
      copy->bytes = static_cast<uint32_t>(frame.size());
    }
    if (!has_room || !try_hand_over(copy, other)) give_back({&copy, 1});
  }
}

}  // namespace cw
