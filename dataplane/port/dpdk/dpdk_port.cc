#include "dataplane/port/dpdk/dpdk_port.h"

#include <algorithm>
#include <utility>

namespace cw {

DpdkPort::DpdkPort(std::unique_ptr<DpdkDevice> device)
    : device_(std::move(device)), mac_(device_->mac()), is_up_(device_->is_link_up()) {
  facts_.name = "dpdk";
}

Result<void> DpdkPort::join_kernel() {
  auto kernel = KernelNet::make(device_->interface());
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  kernel_.emplace(std::move(*kernel));
  return {};
}

PortCounters DpdkPort::counters() const {
  PortCounters sum = counters_;
  const DpdkDeviceCounters device = device_->counters();
  sum.rx_dropped += device.rx_missed + device.rx_no_buffer;
  sum.rx_malformed += device.rx_errors;
  return sum;
}

DpdkDeviceStatus DpdkPort::device_status() const {
  DpdkDeviceStatus now = device_->status();
  now.is_link_up = is_up_;  // what packets go by, not what the device has just learned
  return now;
}

DpdkPort::Look DpdkPort::try_look(Instant now) {
  if (now < look_due_) return Look::NotDue;
  look_due_ = now + look_every;
  told_ = 0;
  device_->look_after(now);
  const bool was_up = std::exchange(is_up_, device_->is_link_up());
  if (!is_up_) return Look::Down;
  return was_up ? Look::Up : Look::CameUp;
}

DpdkPort::Fate DpdkPort::hand_over(Packet& packet, uint16_t shard) {
  if (device_->try_hand_over(&packet, shard)) return Fate::Gone;
  return ++counters_.rx_dropped, Fate::Dropped;  // it stands still, and is not waited for
}

void DpdkPort::tell_others(std::span<const uint8_t> message) {
  if (++told_ <= told_max) device_->tell_others(message);
}

void DpdkPort::send_frame(std::span<const uint8_t> frame) {
  Packet* packet = nullptr;
  if (device_->take_burst({&packet, 1}) == 0) return;
  std::ranges::copy(frame, packet->data);
  packet->bytes = static_cast<uint32_t>(frame.size());
  if (device_->tx_burst({&packet, 1}) == 0) device_->give_back({&packet, 1});
}

}  // namespace cw
