#include "dataplane/port/frame/frame_port.h"

#include <algorithm>
#include <utility>

namespace cw {

FramePort::FramePort(std::unique_ptr<FrameDevice> device)
    : device_(std::move(device)), mac_(device_->mac()), is_up_(device_->is_link_up()) {
  facts_.name = device_->facts().port;
  facts_.wait_fd = device_->facts().wait_fd;
}

Result<void> FramePort::join_kernel() {
  auto kernel = KernelNet::make(device_->interface());
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  kernel_.emplace(std::move(*kernel));
  return {};
}

PortCounters FramePort::counters() const {
  PortCounters sum = counters_;
  const FrameDeviceCounters device = device_->counters();
  sum.rx_dropped += device.rx_missed + device.rx_no_buffer;
  sum.rx_malformed += device.rx_errors;
  sum.system_calls += device.system_calls;
  return sum;
}

FrameDeviceStatus FramePort::device_status() const {
  FrameDeviceStatus now = device_->status();
  now.is_link_up = is_up_;  // what packets go by, not what the device has just learned
  return now;
}

FramePort::Look FramePort::try_look(Instant now) {
  if (now < look_due_) return Look::NotDue;
  look_due_ = now + look_every;
  told_ = 0;
  const bool is_another = device_->look_after(now);
  const bool was_up = std::exchange(is_up_, device_->is_link_up());
  if (!is_up_) return Look::Down;
  if (was_up && !is_another) return Look::Up;
  // The kernel knows an interface that has come back by another number.
  if (kernel_) (void)join_kernel();
  return Look::CameUp;
}

FramePort::Fate FramePort::hand_over(Packet& packet, uint16_t shard) {
  if (device_->try_hand_over(&packet, shard)) return Fate::Gone;
  return ++counters_.rx_dropped, Fate::Dropped;  // it stands still, and is not waited for
}

void FramePort::tell_others(std::span<const uint8_t> message) {
  if (++told_ <= told_max) device_->tell_others(message);
}

void FramePort::send_frame(std::span<const uint8_t> frame) {
  Packet* packet = nullptr;
  if (device_->take_burst({&packet, 1}) == 0) return;
  std::ranges::copy(frame, packet->data);
  packet->bytes = static_cast<uint32_t>(frame.size());
  if (device_->tx_burst({&packet, 1}) == 0) device_->give_back({&packet, 1});
}

}  // namespace cw
