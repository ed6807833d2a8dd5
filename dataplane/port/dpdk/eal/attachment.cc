#include "dataplane/port/dpdk/eal/attachment.h"

#include <net/if.h>
#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_flow.h>
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

/// Drivers that want a queue to send by beside each to receive by, though no shard uses it.
bool has_queue_pairs(const std::string& driver) {
  return driver == "net_tap" || driver == "net_af_xdp";
}

/// How many sockets it opens by its text; each must be read. 0: it does not say.
uint32_t queues_in_text(const std::string& device) {
  const std::string driver = device_driver(device);
  const bool is_packet = driver == "net_af_packet";
  if (!is_packet && driver != "net_af_xdp") return 0;
  return device_argument(device, is_packet ? "qpairs" : "queue_count", 0);
}

/// Queues that do not go together with the device's text.
std::string complaint_about_queues(const FrameDeviceOptions& options) {
  const uint32_t said = queues_in_text(options.device);
  const std::string given = "queues: " + std::to_string(options.queues) + " given, and ";
  if (said > 0 && options.queues > 0 && said != options.queues) {
    return given + "the device's text says " + std::to_string(said) + "; leave one of both out";
  }
  // What its client does not have would be taken for its first, and this end is not told.
  if (is_memif_server(options.device) && options.queues > 1) {
    return given + "a memif's server has 1; a client may have as many as its server";
  }
  return {};
}

/// Before the device is asked how many it has.
uint16_t queues_wanted(const FrameDeviceOptions& options) {
  if (options.queues > 0) return options.queues;
  if (const uint32_t said = queues_in_text(options.device)) return static_cast<uint16_t>(said);
  const std::string driver = device_driver(options.device);
  if (driver == "net_memif") return 1;
  if (driver != "net_af_xdp") return options.shards;
  const uint32_t there = kernel_rx_queues(device_argument(options.device, "iface"));
  return static_cast<uint16_t>(std::clamp<uint32_t>(there, 1, options.shards));
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

Result<std::shared_ptr<DpdkAttachment>> DpdkAttachment::make(const FrameDeviceOptions& asked) {
  if (auto mistake = mistake_in_device(asked.device); !mistake.empty()) {
    return failure("device: " + mistake);
  }
  if (auto complaint = complaint_about_queues(asked); !complaint.empty()) return failure(complaint);
  const uint16_t queues = queues_wanted(asked);
  if (auto obstacle = obstacle_to_device(asked.device, queues); !obstacle.empty()) {
    return failure("device: " + obstacle);
  }
  FrameDeviceOptions options = asked;
  options.device = complete_device(asked.device, asked.ip_bytes_max, queues);
  std::shared_ptr<DpdkAttachment> device(new DpdkAttachment);
  eal_log::clear_error();
  device->text_ = options.device;
  device->shards_ = options.shards;
  device->packet_bytes_ = options.packet_bytes;
  if (auto done = device->attach(options); !done) return std::unexpected(done.error());
  if (auto done = device->settle_mtu(options); !done) return std::unexpected(done.error());
  if (auto done = device->configure(options); !done) return std::unexpected(done.error());
  if (auto done = device->tell_mtu(); !done) return std::unexpected(done.error());
  if (auto done = device->make_pools(options); !done) return std::unexpected(done.error());
  if (auto done = device->set_up_queues(); !done) return std::unexpected(done.error());
  if (auto done = device->start(); !done) return std::unexpected(done.error());
  if (auto done = device->create_rules(options); !done) return std::unexpected(done.error());
  rte_eth_allmulticast_enable(device->id_);  // for neighbour solicitations; many hear them anyway
  return device;
}

Result<void> DpdkAttachment::start() {
  const int error = rte_eth_dev_start(id_);
  is_started_ = error == 0;
  if (error == 0 || is_memif_client_) return {};  // whose other end may come later
  return refusal(text_, "does not start", error);
}

/// Finds the device, which the EAL has probed when it is a PCI one, or has it made.
Result<void> DpdkAttachment::attach(const FrameDeviceOptions& options) {
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
  std::array<char, IF_NAMESIZE> interface{};
  // A tap's interface is not this device but the other end of its cable.
  if (info.if_index != 0 && driver_ != "net_tap" &&
      if_indextoname(info.if_index, interface.data()) != nullptr) {
    interface_ = interface.data();
  }
  is_memif_client_ = is_memif_client(options.device);
  rte_ether_addr mac{};
  rte_eth_macaddr_get(id_, &mac);
  std::copy_n(mac.addr_bytes, mac_.size(), mac_.begin());
  // The driver gives the kernel's end of a tap the same: a bridge would keep our frames to itself.
  if (driver_ == "net_tap") mac_[0] |= 2, mac_[5] ^= 1;
  return {};
}

Result<void> DpdkAttachment::settle_mtu(const FrameDeviceOptions& options) {
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
Result<void> DpdkAttachment::tell_mtu() const {
  if (driver_ != "net_tap") return {};
  const int error = rte_eth_dev_set_mtu(id_, static_cast<uint16_t>(mtu_));
  return error == 0 ? Result<void>() : refusal(text_, "does not take the MTU", error);
}

/// Of an interface that stays the kernel's we take what is ours and no more.
void DpdkAttachment::isolate(const FrameDeviceOptions& options) {
  if (options.flows.empty() || driver_ != "mlx5_pci") return;
  is_isolated_ = rte_flow_isolate(id_, 1, nullptr) == 0;
}

/// Without them an isolated device hears nothing; others spread packets as they do.
Result<void> DpdkAttachment::create_rules(const FrameDeviceOptions& options) {
  const bool is_needed = shards_ > 1 && queues_ > 1 && !is_virtual(driver_);
  if (!is_isolated_ && !is_needed) return {};
  for (const PathFlow& flow : options.flows) {
    if (flow.source_udp_port == 0 && !is_isolated_) continue;
    rules_why_ = create_rule(id_, flow, flow.shard % queues_);
    if (rules_why_.empty()) {
      ++rules_;
    } else if (is_isolated_) {
      return failure("device: " + name_ + " takes " + std::to_string(rules_) + " of " +
                     std::to_string(options.flows.size()) +
                     " flow rules, one for each path of each link: " + rules_why_ +
                     "; lower wan.paths or pair.links");
    } else {
      return {};
    }
  }
  return {};
}

Result<void> DpdkAttachment::choose_queues(const FrameDeviceOptions& options) {
  rte_eth_dev_info info;
  rte_eth_dev_info_get(id_, &info);
  queues_max_ = info.max_rx_queues;
  if (options.queues > queues_max_) {
    return failure("queues: " + std::to_string(options.queues) + " given, and " + name_ +
                   " has 1 to " + std::to_string(queues_max_));
  }
  queues_ = std::min(queues_wanted(options), queues_max_);
  // A memif's other end has as many as this has queues of that direction, and no more.
  tx_queues_ = is_memif() ? queues_ : std::min(shards_, info.max_tx_queues);
  if (has_queue_pairs(driver_)) tx_queues_ = queues_;
  return {};
}

Result<void> DpdkAttachment::configure(const FrameDeviceOptions& options) {
  if (auto chosen = choose_queues(options); !chosen) return chosen;
  isolate(options);
  rte_eth_dev_info info;
  rte_eth_dev_info_get(id_, &info);
  rte_eth_conf conf{};
  if (!is_virtual(driver_)) conf.rxmode.mtu = mtu_;
  const uint64_t hashes = info.flow_type_rss_offloads &
                          (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_SCTP);
  has_rss_ = hashes != 0;
  if (queues_ > 1 && has_rss_) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = hashes;  // with the UDP ports: a path keeps to a queue
  }
  // Which takes every packet for the driver's alone, and all of a queue for one pool's.
  if (!options.shares && shards_ == 1) {
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  }
  if (const int error = rte_eth_dev_configure(id_, queues_, tx_queues_, &conf); error != 0) {
    return refusal(text_, "cannot be configured", error);
  }
  rx_descriptors_ = tx_descriptors_ = options.descriptors;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors_, &tx_descriptors_);
      error != 0) {
    return refusal(text_, "has no queues of " + std::to_string(options.descriptors), error);
  }
  return {};
}

/// Of each shard one, so that none takes from what another gives back to.
Result<void> DpdkAttachment::make_pools(const FrameDeviceOptions& options) {
  for (uint16_t shard = 0; shard < shards_; ++shard) {
    const size_t queues = queues_of(shard);
    size_t packets =
        options.packets + queues * rx_descriptors_ + tx_descriptors_ + size_t{2} * mempool_cache;
    // Other shards give packets back into stores of their own, and let them wait in rings.
    const size_t others = shards_ - 1u;
    packets += others * (mempool_cache * 3 / 2 + (queues > 0 ? HandOver::packets_max : 0));
    if (auto made = make_pool(options, packets); !made) return made;
  }
  if (shards_ == 1) return {};
  arrivals_.emplace(shards_);
  departures_.emplace(shards_);
  return {};
}

Result<void> DpdkAttachment::make_pool(const FrameDeviceOptions& options, size_t packets) {
  const uint32_t slot_bytes = slot_bytes_of(options.device);
  const uint32_t data_bytes = std::max({options.packet_bytes + uint32_t{limits::trailer_bytes_max},
                                        options.ip_bytes_max + link_bytes_max, slot_bytes});
  const auto room = static_cast<uint16_t>((RTE_PKTMBUF_HEADROOM + data_bytes + 63) / 64 * 64);
  const std::string name = "packets_" + std::to_string(id_) + "_" + std::to_string(pools_.size());
  rte_mempool* const pool = make_packet_pool({.name = name,
                                              .packets = static_cast<unsigned>(packets),
                                              .room_bytes = room,
                                              .cache_packets = mempool_cache,
                                              .is_copied = copies_packets(driver_),
                                              .is_umem = driver_ == "net_af_xdp"});
  if (pool != nullptr) return pools_.push_back(pool), Result<void>();
  const uint64_t mebibytes = (packets * (room + packet_room_bytes + sizeof(rte_mbuf)) >> 20) + 1;
  return failure("eal_memory: the packets of " + name_ + " need " +
                 std::to_string(mebibytes * shards_) +
                 " MiB, and DPDK has less left; raise eal_memory");
}

Result<void> DpdkAttachment::set_up_queues() {
  const int found = rte_eth_dev_socket_id(id_);
  const auto node = static_cast<unsigned>(found < 0 ? SOCKET_ID_ANY : found);
  for (uint16_t queue = 0; queue < queues_; ++queue) {
    rte_mempool* const pool = pools_[queue % shards_];
    const int error = rte_eth_rx_queue_setup(id_, queue, rx_descriptors_, node, nullptr, pool);
    if (error != 0) return refusal(text_, "has no queue to receive by", error);
  }
  for (uint16_t queue = 0; queue < tx_queues_; ++queue) {
    const int error = rte_eth_tx_queue_setup(id_, queue, tx_descriptors_, node, nullptr);
    if (error != 0) return refusal(text_, "has no queue to send by", error);
  }
  return {};
}

DpdkAttachment::~DpdkAttachment() {
  if (is_attached_) {
    rte_eal_alarm_cancel(reopen, this);
    call_on_interrupt_thread([this] { detach(); });
    call_on_interrupt_thread([] {});  // what is opened next shares no batch of events with this
  }
  for (rte_mempool* const pool : pools_) rte_mempool_free(pool);
}

void DpdkAttachment::detach() {
  rte_eth_dev_stop(id_);
  rte_eth_dev_info info{};
  const bool is_known = rte_eth_dev_info_get(id_, &info) == 0;
  rte_eth_dev_close(id_);
  if (is_ours_ && is_known && info.device != nullptr) rte_dev_remove(info.device);
}

// A server listens by itself. A client calls once, when it is started, and is turned away for good
// by a server that listens already and has not been started yet.
void DpdkAttachment::look_after(Instant now) {
  constexpr Duration patience = Duration::from_s(1);
  if (!is_memif_client_) return;
  if (reopen_due_ == Instant{} || has_link()) reopen_due_ = now + patience;
  if (now < reopen_due_) return;
  reopen_due_ = now + patience;
  rte_eal_alarm_cancel(reopen, this);
  rte_eal_alarm_set(alarm_soon_us, reopen, this);
}

/// On the interrupt thread, which alone brings links up. What closes and what opens are calls of
/// their own: see call_on_interrupt_thread().
void DpdkAttachment::reopen(void* device) {
  auto& self = *static_cast<DpdkAttachment*>(device);
  if (self.has_link()) return;
  if (self.is_started_) rte_eth_dev_stop(self.id_);
  self.is_started_ = !self.is_started_ && rte_eth_dev_start(self.id_) == 0;
}

// ---- how it is ----------------------------------------------------------------------------------

bool DpdkAttachment::is_link_up(uint16_t shard) {
  if (shard > 0 && !is_memif()) return is_link_up_.load(std::memory_order_relaxed);
  const bool is_up = has_link();
  if (shard == 0 && is_up != is_link_up_.load(std::memory_order_relaxed)) {
    is_link_up_.store(is_up, std::memory_order_relaxed);
  }
  return is_up;
}

bool DpdkAttachment::has_link() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

FrameDeviceStatus DpdkAttachment::status(bool has_counts) const {
  return {.name = name_,
          .text = text_,
          .driver = driver_,
          .interface = interface_,
          .mac = mac_,
          .queues = queues_,
          .queues_max = queues_max_,
          .has_rss = has_rss_,
          .is_isolated = is_isolated_,
          .rules = rules_,
          .rules_why = rules_why_,
          .rx_of_queue = has_counts ? rx_of_queue() : std::vector<uint64_t>(),
          .counters = {}};
}

std::vector<uint64_t> DpdkAttachment::rx_of_queue() const {
  rte_eth_stats stats{};
  if (queues_ > RTE_ETHDEV_QUEUE_STAT_CNTRS || rte_eth_stats_get(id_, &stats) != 0) return {};
  return {stats.q_ipackets, stats.q_ipackets + queues_};
}

FrameDeviceCounters DpdkAttachment::counters() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return {};
  return {.rx_missed = stats.imissed,
          .rx_no_buffer = stats.rx_nombuf,
          .rx_errors = stats.ierrors,
          .tx_errors = stats.oerrors};
}

}  // namespace cw
