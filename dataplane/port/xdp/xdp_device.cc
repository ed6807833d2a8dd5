#include "dataplane/port/xdp/xdp_device.h"

#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

FrameDeviceFacts facts_of(const XdpAttachment& own, const XdpAttachment::Shard& shard,
                          uint16_t number) {
  FrameDeviceFacts facts = own.facts();
  facts.shard = number;
  facts.wait_fd = shard.poll.get();
  return facts;
}

}  // namespace

Result<std::unique_ptr<FrameDevice>> XdpDevice::make(const FrameDeviceOptions& options) {
  auto own = XdpAttachment::make(options);
  if (!own) return std::unexpected(std::move(own.error()));
  return std::unique_ptr<FrameDevice>(new XdpDevice(std::move(*own), 0));
}

XdpDevice::XdpDevice(std::shared_ptr<XdpAttachment> own, uint16_t shard)
    : FrameDevice(facts_of(*own, own->shard(shard), shard), own->arrivals()),
      own_(std::move(own)),
      shard_(own_->shard(shard)),
      frames_(*shard_.frames) {
  for (const auto& other : own_->shards()) {
    if (other.get() != &shard_) foreign_.reserve(foreign_.capacity() + other->frames->count());
  }
}

std::unique_ptr<FrameDevice> XdpDevice::beside(uint16_t shard) const {
  CW_ASSERT(shard < shards());
  return std::unique_ptr<FrameDevice>(new XdpDevice(own_, shard));
}

// ---- packets ------------------------------------------------------------------------------------

size_t XdpDevice::rx_burst(std::span<Packet*> out) {
  take_returned();
  size_t count = 0;
  for (size_t i = 0; i < shard_.queues.size() && count < out.size(); ++i) {
    next_queue_ = next_queue_ + 1 < shard_.queues.size() ? next_queue_ + 1 : 0;
    XdpQueue& queue = *shard_.queues[next_queue_];
    queue.settle();
    count += queue.rx_burst(out.subspan(count));
  }
  return count;
}

size_t XdpDevice::tx_burst(std::span<Packet* const> packets) {
  return shard_.queues.empty() ? 0 : shard_.queues.front()->tx_burst(packets);
}

size_t XdpDevice::take_burst(std::span<Packet*> out) {
  if (frames_.free_count() < out.size() && !shard_.queues.empty()) shard_.queues.front()->settle();
  const size_t count = std::min(out.size(), frames_.free_count());
  for (size_t i = 0; i < count; ++i) {
    const uint32_t frame = frames_.take();
    Packet& packet = frames_.make_packet(frames_.offset_at(frame) + XdpFrames::headroom);
    packet.bytes_max = std::min(packet.bytes_max, own_->packet_bytes());
    out[i] = &packet;
  }
  return count;
}

void XdpDevice::give_back(std::span<Packet* const> packets) {
  for (Packet* const packet : packets) {
    if (try_leave(*packet)) continue;
    if (frames_.has(*packet)) {
      frames_.put(frames_.frame_of(*packet));
      continue;
    }
    foreign_.push_back(packet);
  }
  return_foreign();
}

/// Packets of other shards, which have handed them over, as far as they take them back.
void XdpDevice::return_foreign() {
  std::erase_if(foreign_, [&](Packet* packet) {
    uint16_t owner = 0;
    while (!own_->shard(owner).frames->has(*packet)) ++owner;
    return own_->returns()->push(shard(), owner, {&packet, 1}) == 1;
  });
}

/// What other shards have had and given back.
void XdpDevice::take_returned() {
  if (own_->returns() == nullptr) return;
  if (!foreign_.empty()) return_foreign();
  std::array<Packet*, limits::burst_packets_max> back;
  while (const size_t count = own_->returns()->pop(shard(), back)) {
    for (const Packet* packet : std::span(back).first(count)) {
      frames_.put(frames_.frame_of(*packet));
    }
  }
}

// ---- how it is ----------------------------------------------------------------------------------

bool XdpDevice::look_after(Instant) {
  if (shard() == 0) own_->hear();
  return own_->renew(shard());
}

bool XdpDevice::is_link_up() const {
  return !shard_.queues.empty() && is_kernel_link_up(interface(), own_->questions());
}

FrameDeviceStatus XdpDevice::status() const {
  FrameDeviceStatus now;
  now.name = name();
  now.driver = facts().driver;
  now.interface = interface();
  now.mac = mac();
  now.is_link_up = is_link_up();
  now.is_isolated = true;
  now.counters = counters();
  for (const auto& queue : shard_.queues) {
    now.rx_of_queue.resize(std::max<size_t>(now.rx_of_queue.size(), queue->number() + 1));
    now.rx_of_queue[queue->number()] = queue->received();
  }
  now.trouble = shard_.trouble;
  if (shard() > 0) return now;
  if (now.trouble.empty()) now.trouble = own_->trouble();
  const SteeringStand& stand = own_->program().stand();
  now.text = name() + (stand.is_native ? ",native" : ",generic") +
             (stand.has_dispatcher ? ",dispatcher" : "");
  now.queues = now.queues_max = static_cast<uint16_t>(own_->queues());
  now.has_rss = own_->queues() > 1;
  constexpr std::pair<const char*, steering_fate> reasons[] = {
      {"stranger", STEERING_STRANGER},
      {"ip_options", STEERING_OPTIONS},
      {"fragment", STEERING_FRAGMENT},
      {"short", STEERING_SHORT},
      {"hello_flood", STEERING_HELLO_FLOOD}};
  const auto fates = own_->program().fates();
  for (const auto& [reason, fate] : reasons) now.refused.emplace_back(reason, fates[fate]);
  return now;
}

FrameDeviceCounters XdpDevice::counters() const {
  FrameDeviceCounters sum = shard_.past;
  for (const auto& queue : shard_.queues) sum += queue->counters();
  return sum;
}

}  // namespace cw
