#include "dataplane/port/dpdk/eal/device.h"

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/port/dpdk/mbuf_inline.h"

namespace cw {
namespace {

/// The frame as it was on the wire: in one piece, and with the tag that some drivers take out.
bool try_restore(rte_mbuf** mbuf) {
  if ((*mbuf)->nb_segs > 1 && rte_pktmbuf_linearize(*mbuf) != 0) return false;
  return ((*mbuf)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 || rte_vlan_insert(mbuf) == 0;
}

/// The kernel gets all frames besides us, of a packet socket, or all that is not ours, of an
/// isolated NIC.
KernelPart kernel_part_of(const DpdkAttachment& own) {
  if (own.is_isolated()) return KernelPart::Rest;
  const bool is_copied = own.driver() == "net_af_packet" && !own.interface().empty();
  return is_copied ? KernelPart::All : KernelPart::None;
}

FrameDeviceFacts facts_of(const DpdkAttachment& own, uint16_t shard) {
  return {.port = "dpdk",
          .name = own.name(),
          .driver = own.driver(),
          .interface = own.interface(),
          .mac = own.mac(),
          .mtu = own.mtu(),
          .queues = own.queues(),
          .shard = shard,
          .shards = own.shards(),
          .kernel = kernel_part_of(own)};
}

constexpr size_t mbufs_ahead = 8;

/// All that is written when a packet is made of an mbuf. Its lines are elsewhere mostly, and stores
/// wait for each other: one after the other they would take longer than all the rest.
void prefetch_to_make(const rte_mbuf* mbuf) {
  const auto* const at = reinterpret_cast<const uint8_t*>(mbuf);
  for (size_t line = 0; line < sizeof(rte_mbuf) + sizeof(Packet); line += RTE_CACHE_LINE_SIZE) {
    __builtin_prefetch(at + line, /*rw=*/1);
  }
}

}  // namespace

Result<std::unique_ptr<DpdkDevice>> DpdkDevice::make(const FrameDeviceOptions& options) {
  auto own = DpdkAttachment::make(options);
  if (!own) return std::unexpected(std::move(own.error()));
  return std::unique_ptr<DpdkDevice>(new DpdkDevice(std::move(*own), 0));
}

std::unique_ptr<FrameDevice> DpdkDevice::beside(uint16_t shard) const {
  CW_ASSERT(shard < shards());
  return std::unique_ptr<FrameDevice>(new DpdkDevice(own_, shard));
}

DpdkDevice::DpdkDevice(std::shared_ptr<DpdkAttachment> own, uint16_t shard)
    : FrameDevice(facts_of(*own, shard), own->arrivals()),
      own_(std::move(own)),
      id_(own_->id()),
      shard_(shard),
      next_queue_(shard),
      rx_queues_(own_->queues_of(shard)),
      has_tx_queue_(shard < own_->tx_queues()),
      packet_bytes_(own_->packet_bytes()),
      pool_(own_->pool(shard)) {
  if (own_->is_memif()) gate_ = std::make_unique<MemifGate>();
}

bool DpdkDevice::look_after(Instant now) {
  if (shard_ == 0) own_->look_after(now);
  return false;
}

// ---- packets ------------------------------------------------------------------------------------

size_t DpdkDevice::rx_burst(std::span<Packet*> out) {
  if (!has_thread_) {
    // A thread that DPDK knows takes packets from a store of its own, without a lock.
    if (rte_lcore_id() == LCORE_ID_ANY) rte_thread_register();
    has_thread_ = true;
  }
  const MemifGate::Burst burst(gate_.get());
  const bool sends_for_others = own_->departures() != nullptr && has_tx_queue_;
  if (!may_burst()) {
    if (sends_for_others) drop_of_others();
    return 0;
  }
  if (sends_for_others) send_for_others();
  size_t count = 0;
  for (uint16_t i = 0; i < rx_queues_ && count < out.size(); ++i) {
    count += rx_queue(next_queue_, out.subspan(count));
    next_queue_ = static_cast<uint16_t>(next_queue_ + shards());
    if (next_queue_ >= queues()) next_queue_ = shard_;
  }
  return count;
}

size_t DpdkDevice::rx_queue(uint16_t queue, std::span<Packet*> out) {
  std::array<rte_mbuf*, limits::burst_packets_max> mbufs;
  const auto most = static_cast<uint16_t>(std::min(out.size(), mbufs.size()));
  const uint16_t arrived = rte_eth_rx_burst(id_, queue, mbufs.data(), most);
  size_t count = 0;
  for (uint16_t i = 0; i < arrived; ++i) {
    rte_mbuf* mbuf = mbufs[i];
    if (!try_restore(&mbuf)) {
      ++rx_in_pieces_;
      rte_pktmbuf_free(mbuf);
      continue;
    }
    Packet* const packet = packet_of(mbuf);
    *packet = {};
    packet->data = bytes_of(mbuf);
    rte_prefetch0(packet->data);
    packet->bytes = mbuf->data_len;
    packet->bytes_max = mbuf->buf_len - mbuf->data_off - uint32_t{limits::trailer_bytes_max};
    out[count++] = packet;
  }
  return count;
}

size_t DpdkDevice::tx_burst(std::span<Packet* const> packets) {
  std::array<rte_mbuf*, limits::burst_packets_max> mbufs;
  const size_t count = std::min(packets.size(), mbufs.size());
  for (size_t i = 0; i < count; ++i) {
    set_mbuf(*packets[i]);
    mbufs[i] = mbuf_of(packets[i]);
  }
  if (!has_tx_queue_) {
    const auto by = static_cast<uint16_t>(shard_ % own_->tx_queues());
    return own_->departures()->push(shard_, by, packets.first(count));
  }
  const MemifGate::Burst burst(gate_.get());
  return may_burst() ? rte_eth_tx_burst(id_, shard_, mbufs.data(), static_cast<uint16_t>(count))
                     : 0;
}

/// Frames of shards that have no queue, made already. Within a burst.
void DpdkDevice::send_for_others() {
  constexpr int bursts_max = 16;
  has_sent_for_others_ = false;
  std::array<rte_mbuf*, limits::burst_packets_max> mbufs;
  for (int burst = 0; burst < bursts_max; ++burst) {
    if (others_count_ == 0) {
      others_first_ = 0;
      others_count_ = own_->departures()->pop(shard_, others_);
    }
    if (others_count_ == 0) return;
    for (size_t i = 0; i < others_count_; ++i) mbufs[i] = mbuf_of(others_[others_first_ + i]);
    const size_t sent =
        rte_eth_tx_burst(id_, shard_, mbufs.data(), static_cast<uint16_t>(others_count_));
    has_sent_for_others_ |= sent > 0;
    others_first_ += sent;
    others_count_ -= sent;
    if (others_count_ > 0) return;
  }
}

/// Without a link nothing leaves, and what comes with the next one is not for the same ears.
void DpdkDevice::drop_of_others() {
  has_sent_for_others_ = false;
  do {
    others_dropped_ += others_count_;
    give_back({others_.data() + others_first_, others_count_});
    others_first_ = 0;
    others_count_ = own_->departures()->pop(shard_, others_);
  } while (others_count_ > 0);
}

size_t DpdkDevice::take_burst(std::span<Packet*> out) {
  std::array<rte_mbuf*, limits::burst_packets_max> mbufs;
  size_t count = 0, part = mbufs.size();
  while (count < out.size() && part > 0) {
    part = std::min(out.size() - count, part);
    if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(mbufs.data()),
                             static_cast<unsigned>(part)) != 0) {
      part /= 2;  // all or none: ask for less
      continue;
    }
    for (size_t i = 0; i < std::min(part, mbufs_ahead); ++i) prefetch_to_make(mbufs[i]);
    for (size_t i = 0; i < part; ++i) {
      if (i + mbufs_ahead < part) prefetch_to_make(mbufs[i + mbufs_ahead]);
      rte_pktmbuf_reset(mbufs[i]);
      Packet* const packet = packet_of(mbufs[i]);
      *packet = {};
      packet->data = bytes_of(mbufs[i]);
      packet->bytes_max = packet_bytes_;
      out[count++] = packet;
    }
  }
  return count;
}

// All are in one piece, and of one pool but for those that were handed over: they go back in rows.
// rte_pktmbuf_free_bulk() asks more of each, and takes twice as long.
void DpdkDevice::give_back(std::span<Packet* const> packets) {
  std::array<void*, limits::burst_packets_max> unused;
  unsigned count = 0;
  rte_mempool* pool = pool_;
  for (const Packet* packet : packets) {
    rte_mbuf* const mbuf = rte_pktmbuf_prefree_seg(mbuf_of(packet));
    if (mbuf == nullptr) continue;
    if (mbuf->pool != pool || count == unused.size()) {
      if (count > 0) rte_mempool_put_bulk(pool, unused.data(), std::exchange(count, 0));
      pool = mbuf->pool;
    }
    unused[count++] = mbuf;
  }
  if (count > 0) rte_mempool_put_bulk(pool, unused.data(), count);
}

void DpdkDevice::share(std::span<Packet* const> packets) {
  for (const Packet* packet : packets) rte_mbuf_refcnt_update(mbuf_of(packet), 1);
}

bool DpdkDevice::is_shared(const Packet& packet) const {
  return rte_mbuf_refcnt_read(mbuf_of(&packet)) > 1;
}

// ---- how it is ----------------------------------------------------------------------------------

FrameDeviceStatus DpdkDevice::status() const {
  FrameDeviceStatus now = own_->status(shard_ == 0);
  now.is_link_up = is_link_up();
  now.counters = counters();
  return now;
}

FrameDeviceCounters DpdkDevice::counters() const {
  FrameDeviceCounters now = shard_ == 0 ? own_->counters() : FrameDeviceCounters();
  now.rx_errors += rx_in_pieces_;
  now.tx_errors += others_dropped_;
  return now;
}

}  // namespace cw
