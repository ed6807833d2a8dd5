// A shard's end of an Ethernet device of DPDK: its queues, and the buffers of its packets. The
// ports over it know frames, not drivers.
//
// A Packet lies in the private area of its mbuf, so that neither needs a table to find the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/port.h"
#include "dataplane/port/dpdk/eal/attachment.h"
#include "dataplane/port/dpdk/eal/memif_gate.h"

namespace cw {

/// Thread: one. Packets that come from it must not outlive it.
class DpdkDevice {
 public:
  /// Attaches the device; this end is shard 0's. Errors: those of DpdkAttachment.
  static Result<std::unique_ptr<DpdkDevice>> make(const DpdkDeviceOptions& options);
  /// Another shard's end of the same device, which goes with the last of them.
  std::unique_ptr<DpdkDevice> beside(uint16_t shard) const;
  DpdkDevice(const DpdkDevice&) = delete;
  DpdkDevice& operator=(const DpdkDevice&) = delete;

  /// Whole frames, from the Ethernet header on. A frame in several pieces is made one, or counted
  /// as an error.
  size_t rx_burst(std::span<Packet*> out);
  /// Takes whole frames from the front; the rest found no room in the queue.
  size_t tx_burst(std::span<Packet* const> packets);
  /// Empty packets: `data` has limits::headers_bytes_max free before it and packet_bytes from it.
  size_t take_burst(std::span<Packet*> out);
  void give_back(std::span<Packet* const> packets);
  /// As Port's.
  void share(std::span<Packet* const> packets);
  bool is_shared(const Packet& packet) const;

  // ---- other shards; see port/hand_over.h
  uint16_t shard() const { return shard_; }
  uint16_t shards() const { return own_->shards(); }
  /// Whether some shards receive only what others hand over to them.
  bool spreads() const { return own_->queues() < own_->shards(); }
  /// False: the other stands still, and the packet is still the caller's.
  bool try_hand_over(Packet* packet, uint16_t shard);
  /// A copy for each of the others, as far as there is room.
  void tell_others(std::span<const uint8_t> frame);
  /// What others have handed over.
  size_t rx_handed(std::span<Packet*> out);
  /// Whether the last rx_burst() has sent what shards without a queue have made; more may follow.
  bool has_sent_for_others() const { return has_sent_for_others_; }

  const std::string& name() const { return own_->name(); }      ///< "net_memif0"
  const std::string& driver() const { return own_->driver(); }  ///< "net_memif"
  MacAddress mac() const { return own_->mac(); }
  /// The kernel's interface that this device shares; empty: the kernel does not know of it.
  const std::string& interface() const { return own_->interface(); }
  /// Whether the kernel answers ARP, ND and pings with what it learns of them: it gets all frames
  /// besides us, of a packet socket, or all that is not ours, of an isolated NIC.
  bool is_heard_by_kernel() const {
    return own_->is_isolated() || (driver() == "net_af_packet" && !interface().empty());
  }
  /// The longest IP packet, as far as the device says.
  uint32_t mtu() const { return own_->mtu(); }
  uint16_t queues() const { return own_->queues(); }

  /// To be called now and then: a memif's client without a link calls its server again, every other
  /// second.
  void look_after(Instant now);

  /// May be a system call; for now and then.
  bool is_link_up() const { return own_->is_link_up(shard_); }
  DpdkDeviceStatus status() const;
  /// The device's are told by shard 0.
  DpdkDeviceCounters counters() const;

 private:
  DpdkDevice(std::shared_ptr<DpdkAttachment> own, uint16_t shard);
  bool may_burst() const { return gate_ == nullptr || is_link_up(); }
  size_t rx_queue(uint16_t queue, std::span<Packet*> out);
  void send_for_others();
  void drop_of_others();

  std::shared_ptr<DpdkAttachment> own_;
  uint16_t id_, shard_;
  uint16_t next_queue_;  // of those to receive by: our own number, and that plus the shards, ...
  uint16_t rx_queues_;
  bool has_tx_queue_, has_thread_ = false;
  uint32_t packet_bytes_;
  rte_mempool* pool_;
  std::unique_ptr<MemifGate> gate_;  // null: no memif
  uint64_t rx_in_pieces_ = 0;
  // Others' frames that the device has not taken yet.
  std::array<Packet*, limits::burst_packets_max> others_{};
  size_t others_first_ = 0, others_count_ = 0;
  uint64_t others_dropped_ = 0;
  bool has_sent_for_others_ = false;
};

}  // namespace cw
