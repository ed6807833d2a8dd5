#include "dataplane/port/dpdk/eal/device.h"

#include <net/if.h>
#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <semaphore>
#include <thread>
#include <utility>

#include "dataplane/base/limits.h"
#include "dataplane/device/device_obstacle.h"
#include "dataplane/device/device_text.h"
#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/port/dpdk/eal/eal.h"
#include "dataplane/port/dpdk/eal/eal_log.h"
#include "dataplane/port/dpdk/mbuf_inline.h"
#include "dataplane/port/dpdk/packet_pool.h"

namespace cw {
namespace {

static_assert(RTE_PKTMBUF_HEADROOM >= outer_headers_bytes_max);

constexpr unsigned mempool_cache = 256;  // packets that the worker takes without a lock
constexpr uint64_t alarm_soon_us = 1;    // the least that there is

/// Wires in software. The longest frame that they state is not the longest that they carry.
bool is_virtual(const std::string& device) {
  return copies_packets(device) || device_driver(device) == "net_af_xdp";
}

/// Drivers that want a queue to send by beside each to receive by. We send by the first.
bool has_queue_pairs(const std::string& driver) {
  return driver == "net_tap" || driver == "net_af_xdp";
}

/// The frame as it was on the wire: in one piece, and with the tag that some drivers take out.
bool try_restore(rte_mbuf** mbuf) {
  if ((*mbuf)->nb_segs > 1 && rte_pktmbuf_linearize(*mbuf) != 0) return false;
  return ((*mbuf)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 || rte_vlan_insert(mbuf) == 0;
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

/// Waits for `work` to be done where drivers have their events handled: a memif that is closed
/// elsewhere while its other end hangs up is freed twice.
///
/// The thread there handles events in batches. A descriptor that is closed within a batch may have
/// an event left in it, and whoever opens the next one gets its number and that event: a memif's
/// driver then waits for ever for a message that nobody sends. Alarms that are due together share
/// a batch; one that is set after rte_eal_alarm_cancel() has waited for the last has another.
void call_on_interrupt_thread(const std::function<void()>& work) {
  struct Call {
    const std::function<void()>& work;
    std::binary_semaphore is_done{0};
  } call{work};
  const auto run = [](void* it) {
    static_cast<Call*>(it)->work();
    static_cast<Call*>(it)->is_done.release();
  };
  if (rte_eal_alarm_set(alarm_soon_us, run, &call) != 0) return work();
  call.is_done.acquire();
  // Cancelling spins on a lock that the thread there needs to come to an end.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  rte_eal_alarm_cancel(run, &call);
}

/// What DPDK says of its failure; its log knows more than its error numbers.
std::unexpected<Error> refusal(const std::string& device, const std::string& what, int error) {
  const std::string logged = eal_log::first_error();
  const char* const text = std::strerror(error < 0 ? -error : rte_errno);
  return failure("device: " + device_name(device) + " " + what + ": " +
                 (logged.empty() ? text : logged) + advice_for_device(device));
}

}  // namespace

Result<std::unique_ptr<DpdkDevice>> DpdkDevice::make(const DpdkDeviceOptions& asked) {
  if (auto mistake = mistake_in_device(asked.device); !mistake.empty()) {
    return failure("device: " + mistake);
  }
  if (auto obstacle = obstacle_to_device(asked.device, asked.queues); !obstacle.empty()) {
    return failure("device: " + obstacle);
  }
  DpdkDeviceOptions options = asked;
  options.device = complete_device(asked.device, asked.ip_bytes_max, asked.queues);
  std::unique_ptr<DpdkDevice> device(new DpdkDevice);
  eal_log::clear_error();
  device->text_ = options.device;
  device->queues_ = options.queues;
  device->packet_bytes_ = options.packet_bytes;
  if (auto done = device->attach(options); !done) return std::unexpected(done.error());
  if (auto done = device->settle_mtu(options); !done) return std::unexpected(done.error());
  if (auto done = device->configure(options); !done) return std::unexpected(done.error());
  if (auto done = device->tell_mtu(); !done) return std::unexpected(done.error());
  if (auto done = device->set_up_queues(options); !done) return std::unexpected(done.error());
  if (auto done = device->start(); !done) return std::unexpected(done.error());
  rte_eth_allmulticast_enable(device->id_);  // for neighbour solicitations; many hear them anyway
  return device;
}

Result<void> DpdkDevice::start() {
  const int error = rte_eth_dev_start(id_);
  is_started_ = error == 0;
  if (error == 0 || is_memif_client_) return {};  // whose other end may come later
  return refusal(text_, "does not start", error);
}

/// Finds the device, which the EAL has probed when it is a PCI one, or has it made.
Result<void> DpdkDevice::attach(const DpdkDeviceOptions& options) {
  name_ = device_name(options.device);
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) {
    if (is_pci_device(options.device)) {
      return failure("device: " + name_ +
                     " is not there for DPDK; `dpdk-devbind.py --status` shows which driver it is "
                     "bound to (mlx5: the kernel's own, others: vfio-pci)");
    }
    if (is_memif_server(options.device)) remove_stale_socket(options.device);
    const int error = rte_dev_probe(options.device.c_str());
    if (error != 0 || rte_eth_dev_get_port_by_name(name_.c_str(), &id_) != 0) {
      return refusal(text_, "cannot be had", error);
    }
    is_ours_ = true;
  }
  is_attached_ = true;
  eal_log::clear_error();  // a tap is had after a few
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    return refusal(text_, "says nothing of itself", error);
  }
  driver_ = info.driver_name;
  std::array<char, IF_NAMESIZE> interface {};
  // A tap's interface is not this device but the other end of its cable.
  if (info.if_index != 0 && driver_ != "net_tap" &&
      if_indextoname(info.if_index, interface.data()) != nullptr) {
    interface_ = interface.data();
  }
  if (driver_ == "net_memif") gate_ = std::make_unique<MemifGate>();
  is_memif_client_ = is_memif_client(options.device);
  rte_ether_addr mac{};
  rte_eth_macaddr_get(id_, &mac);
  std::copy_n(mac.addr_bytes, mac_.size(), mac_.begin());
  // The driver gives the kernel's end of a tap the same: a bridge would keep our frames to itself.
  if (driver_ == "net_tap") mac_[0] |= 2, mac_[5] ^= 1;
  return {};
}

Result<void> DpdkDevice::settle_mtu(const DpdkDeviceOptions& options) {
  rte_eth_dev_info info;
  rte_eth_dev_info_get(id_, &info);
  mtu_ = options.ip_bytes_max;
  if (const uint32_t mtu = interface_.empty() ? 0 : kernel_mtu(interface_); mtu != 0) {
    mtu_ = std::min(mtu_, mtu);
  }
  if (!is_virtual(driver_)) {
    mtu_ = std::min({mtu_, uint32_t{info.max_mtu}, info.max_rx_pktlen - link_bytes_max + 4});
  }
  const uint32_t slot_mtu = slot_mtu_of(options.device);
  if (driver_ == "net_af_packet" && mtu_ > slot_mtu) {
    return failure("device: " + name_ +
                   " has framesz=" + std::to_string(slot_bytes_of(options.device)) +
                   ", too small for the MTU of " + interface_ + ", " + std::to_string(mtu_) +
                   "; framesz=16384,blocksz=65536 carries every MTU");
  }
  mtu_ = std::min(mtu_, slot_mtu);
  return {};
}

/// A tap's other end is the kernel's, which sends what its MTU lets it.
Result<void> DpdkDevice::tell_mtu() const {
  if (driver_ != "net_tap") return {};
  const int error = rte_eth_dev_set_mtu(id_, static_cast<uint16_t>(mtu_));
  return error == 0 ? Result<void>() : refusal(text_, "does not take the MTU", error);
}

Result<void> DpdkDevice::configure(const DpdkDeviceOptions& options) {
  rte_eth_dev_info info;
  rte_eth_dev_info_get(id_, &info);
  if (options.queues == 0 || options.queues > info.max_rx_queues) {
    return failure("queues: " + std::to_string(options.queues) + " given, and " + name_ +
                   " has 1 to " + std::to_string(info.max_rx_queues));
  }
  queues_max_ = info.max_rx_queues;
  rte_eth_conf conf{};
  if (!is_virtual(driver_)) conf.rxmode.mtu = mtu_;
  const uint64_t hashes = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
  has_rss_ = hashes != 0;
  if (options.queues > 1 && has_rss_) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = hashes;  // with the UDP ports: a path keeps to a queue
  }
  // Which takes every packet for the driver's alone.
  if (!options.shares) {
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  }
  tx_queues_ = has_queue_pairs(driver_) ? options.queues : 1;
  if (const int error = rte_eth_dev_configure(id_, options.queues, tx_queues_, &conf); error != 0) {
    return refusal(text_, "cannot be configured", error);
  }
  rx_descriptors_ = tx_descriptors_ = options.descriptors;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors_, &tx_descriptors_);
      error != 0) {
    return refusal(text_, "has no queues of " + std::to_string(options.descriptors), error);
  }
  return make_pool(options, options.packets + size_t{options.queues} * rx_descriptors_ +
                                tx_descriptors_ + 2 * mempool_cache);
}

Result<void> DpdkDevice::make_pool(const DpdkDeviceOptions& options, size_t packets) {
  const uint32_t slot_bytes = slot_bytes_of(options.device);
  const uint32_t data_bytes = std::max({options.packet_bytes + uint32_t{limits::trailer_bytes_max},
                                        options.ip_bytes_max + link_bytes_max, slot_bytes});
  const auto room = static_cast<uint16_t>((RTE_PKTMBUF_HEADROOM + data_bytes + 63) / 64 * 64);
  const std::string name = "packets_" + std::to_string(id_);
  pool_ = make_packet_pool({.name = name,
                            .packets = static_cast<unsigned>(packets),
                            .room_bytes = room,
                            .cache_packets = mempool_cache,
                            .is_copied = copies_packets(driver_)});
  if (pool_ != nullptr) return {};
  const uint64_t mebibytes = (packets * (room + packet_room_bytes + sizeof(rte_mbuf)) >> 20) + 1;
  return failure("eal_memory: the packets of " + name_ + " need " + std::to_string(mebibytes) +
                 " MiB, and DPDK has less left; raise eal_memory");
}

Result<void> DpdkDevice::set_up_queues(const DpdkDeviceOptions& options) {
  const int found = rte_eth_dev_socket_id(id_);
  const auto node = static_cast<unsigned>(found < 0 ? SOCKET_ID_ANY : found);
  for (uint16_t queue = 0; queue < options.queues; ++queue) {
    const int error = rte_eth_rx_queue_setup(id_, queue, rx_descriptors_, node, nullptr, pool_);
    if (error != 0) return refusal(text_, "has no queue to receive by", error);
  }
  for (uint16_t queue = 0; queue < tx_queues_; ++queue) {
    const int error = rte_eth_tx_queue_setup(id_, queue, tx_descriptors_, node, nullptr);
    if (error != 0) return refusal(text_, "has no queue to send by", error);
  }
  return {};
}

DpdkDevice::~DpdkDevice() {
  if (is_attached_) {
    rte_eal_alarm_cancel(reopen, this);
    call_on_interrupt_thread([this] { detach(); });
    call_on_interrupt_thread([] {});  // what is opened next shares no batch of events with this
  }
  rte_mempool_free(pool_);
}

void DpdkDevice::detach() {
  rte_eth_dev_stop(id_);
  rte_eth_dev_info info{};
  const bool is_known = rte_eth_dev_info_get(id_, &info) == 0;
  rte_eth_dev_close(id_);
  if (is_ours_ && is_known && info.device != nullptr) rte_dev_remove(info.device);
}

// A server listens by itself. A client calls once, when it is started, and is turned away for good
// by a server that listens already and has not been started yet.
void DpdkDevice::look_after(Instant now) {
  constexpr Duration patience = Duration::from_s(1);
  if (!is_memif_client_) return;
  if (reopen_due_ == Instant{} || is_link_up()) reopen_due_ = now + patience;
  if (now < reopen_due_) return;
  reopen_due_ = now + patience;
  rte_eal_alarm_cancel(reopen, this);
  rte_eal_alarm_set(alarm_soon_us, reopen, this);
}

/// On the interrupt thread, which alone brings links up. What closes and what opens are calls of
/// their own: see call_on_interrupt_thread().
void DpdkDevice::reopen(void* device) {
  auto& self = *static_cast<DpdkDevice*>(device);
  if (self.is_link_up()) return;
  if (self.is_started_) rte_eth_dev_stop(self.id_);
  self.is_started_ = !self.is_started_ && rte_eth_dev_start(self.id_) == 0;
}

// ---- packets ------------------------------------------------------------------------------------

size_t DpdkDevice::rx_burst(std::span<Packet*> out) {
  if (!has_thread_) {
    // A thread that DPDK knows takes packets from a store of its own, without a lock.
    if (rte_lcore_id() == LCORE_ID_ANY) rte_thread_register();
    has_thread_ = true;
  }
  const MemifGate::Burst burst(gate_.get());
  if (!may_burst()) return 0;
  size_t count = 0;
  for (uint16_t i = 0; i < queues_ && count < out.size(); ++i) {
    count += rx_queue(next_queue_, out.subspan(count));
    if (++next_queue_ == queues_) next_queue_ = 0;
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
  const MemifGate::Burst burst(gate_.get());
  return may_burst() ? rte_eth_tx_burst(id_, 0, mbufs.data(), static_cast<uint16_t>(count)) : 0;
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

// All are of this pool and in one piece, so that they go back in rows. rte_pktmbuf_free_bulk() asks
// each for both, and takes twice as long.
void DpdkDevice::give_back(std::span<Packet* const> packets) {
  std::array<void*, limits::burst_packets_max> unused;
  unsigned count = 0;
  for (const Packet* packet : packets) {
    rte_mbuf* const mbuf = rte_pktmbuf_prefree_seg(mbuf_of(packet));
    if (mbuf != nullptr) unused[count++] = mbuf;
    if (count == unused.size()) rte_mempool_put_bulk(pool_, unused.data(), std::exchange(count, 0));
  }
  if (count > 0) rte_mempool_put_bulk(pool_, unused.data(), count);
}

void DpdkDevice::share(std::span<Packet* const> packets) {
  for (const Packet* packet : packets) rte_mbuf_refcnt_update(mbuf_of(packet), 1);
}

bool DpdkDevice::is_shared(const Packet& packet) const {
  return rte_mbuf_refcnt_read(mbuf_of(&packet)) > 1;
}

// ---- how it is ----------------------------------------------------------------------------------

bool DpdkDevice::is_link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

DpdkDeviceStatus DpdkDevice::status() const {
  return {.name = name_,
          .text = text_,
          .driver = driver_,
          .interface = interface_,
          .mac = mac_,
          .is_link_up = is_link_up(),
          .queues = queues_,
          .queues_max = queues_max_,
          .has_rss = has_rss_,
          .rx_of_queue = rx_of_queue(),
          .counters = counters()};
}

std::vector<uint64_t> DpdkDevice::rx_of_queue() const {
  rte_eth_stats stats{};
  if (queues_ > RTE_ETHDEV_QUEUE_STAT_CNTRS || rte_eth_stats_get(id_, &stats) != 0) return {};
  return {stats.q_ipackets, stats.q_ipackets + queues_};
}

DpdkDeviceCounters DpdkDevice::counters() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return {};
  return {.rx_missed = stats.imissed,
          .rx_no_buffer = stats.rx_nombuf,
          .rx_errors = stats.ierrors + rx_in_pieces_,
          .tx_errors = stats.oerrors};
}

}  // namespace cw
