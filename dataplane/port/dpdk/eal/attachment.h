// One Ethernet device of DPDK, attached to this process: what a NIC, a memif and an af_packet
// socket have in common. Shards use it by a DpdkDevice each (device.h).
//
// A device is written as in device_text.h, "net_memif0,role=client,socket=/run/x.sock", or is a PCI
// address that start_eal() was told of. Unless told, it has a queue for each shard, as far as it
// can; a memif one, since its other end must have as many.
//
// Queue q is polled by shard q modulo the shards, and packets lie in a pool of the shard that
// receives or sends them. A shard without a queue to send by sends by another's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/port/dpdk/eal/flow_rules.h"
#include "dataplane/port/frame/frame_device.h"
#include "dataplane/port/hand_over.h"
#include "dataplane/wire/outer/frame.h"

struct rte_mempool;

namespace cw {

/// Thread: made and ended on one at a time. The device is stopped, closed and detached with the
/// object; packets that come from it must not outlive it.
class DpdkAttachment {
 public:
  /// Errors: no such device or driver, arguments it refuses, queues or MTU it does not have.
  static Result<std::shared_ptr<DpdkAttachment>> make(const FrameDeviceOptions& options);
  ~DpdkAttachment();
  DpdkAttachment(const DpdkAttachment&) = delete;
  DpdkAttachment& operator=(const DpdkAttachment&) = delete;

  // What never changes.
  uint16_t id() const { return id_; }  ///< DPDK's
  const std::string& name() const { return name_; }
  const std::string& driver() const { return driver_; }
  const std::string& interface() const { return interface_; }
  MacAddress mac() const { return mac_; }
  uint32_t mtu() const { return mtu_; }
  uint32_t packet_bytes() const { return packet_bytes_; }
  uint16_t shards() const { return shards_; }
  uint16_t queues() const { return queues_; }  ///< to receive by
  /// Of those, a shard's: its number, and that plus the shards, ...
  uint16_t queues_of(uint16_t shard) const {
    return static_cast<uint16_t>((queues_ + shards_ - 1 - shard) / shards_);
  }
  uint16_t tx_queues() const { return tx_queues_; }  ///< no more than shards use
  bool is_memif() const { return driver_ == "net_memif"; }
  bool is_isolated() const { return is_isolated_; }
  rte_mempool* pool(uint16_t shard) const { return pools_[shard]; }
  /// Null where there is one shard: what one has received for another, and what one sends for
  /// another.
  HandOver* arrivals() { return arrivals_ ? &*arrivals_ : nullptr; }
  HandOver* departures() { return departures_ ? &*departures_ : nullptr; }

  /// As DpdkDevice's. Thread: one of the shards'.
  void look_after(Instant now);
  /// Shard 0 asks the device, others take its word; a memif's says so at no cost. Thread: the
  /// shard's.
  bool is_link_up(uint16_t shard);
  /// With counts of its queues or without: one shard asks for them.
  FrameDeviceStatus status(bool has_counts) const;
  FrameDeviceCounters counters() const;

 private:
  DpdkAttachment() = default;
  Result<void> attach(const FrameDeviceOptions& options);
  void isolate(const FrameDeviceOptions& options);
  Result<void> create_rules(const FrameDeviceOptions& options);
  Result<void> choose_queues(const FrameDeviceOptions& options);
  Result<void> configure(const FrameDeviceOptions& options);
  Result<void> set_up_queues();
  Result<void> make_pools(const FrameDeviceOptions& options);
  Result<void> make_pool(const FrameDeviceOptions& options, size_t packets);
  Result<void> settle_mtu(const FrameDeviceOptions& options);
  Result<void> tell_mtu() const;
  Result<void> start();
  void detach();
  static void reopen(void* device);
  bool has_link() const;
  std::vector<uint64_t> rx_of_queue() const;

  std::string name_, text_, driver_, interface_;
  uint16_t id_ = 0, shards_ = 1, queues_ = 1, tx_queues_ = 1, queues_max_ = 1, rx_descriptors_ = 0,
           tx_descriptors_ = 0;
  bool has_rss_ = false, is_isolated_ = false;
  size_t rules_ = 0;
  std::string rules_why_;
  bool is_attached_ = false, is_ours_ = false;
  bool is_memif_client_ = false;
  bool is_started_ = false;  // the interrupt thread's, once make() is over
  std::atomic<bool> is_link_up_ = false;
  uint32_t mtu_ = 0, packet_bytes_ = 0;
  Instant reopen_due_;
  MacAddress mac_{};
  std::vector<rte_mempool*> pools_;  // by shard
  std::optional<HandOver> arrivals_, departures_;
};

}  // namespace cw
