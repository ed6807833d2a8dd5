// A shard's end of an Ethernet device of DPDK: its queues, and the buffers of its packets.
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
#include "dataplane/port/frame/frame_device.h"

namespace cw {

/// Thread: one. Packets that come from it must not outlive it.
class DpdkDevice final : public FrameDevice {
 public:
  /// Attaches the device; this end is shard 0's. Errors: those of DpdkAttachment.
  static Result<std::unique_ptr<DpdkDevice>> make(const FrameDeviceOptions& options);
  std::unique_ptr<FrameDevice> beside(uint16_t shard) const override;

  /// A frame in several pieces is made one, or counted as an error.
  size_t rx_burst(std::span<Packet*> out) override;
  size_t tx_burst(std::span<Packet* const> packets) override;
  size_t take_burst(std::span<Packet*> out) override;
  void give_back(std::span<Packet* const> packets) override;
  void share(std::span<Packet* const> packets) override;
  bool is_shared(const Packet& packet) const override;

  bool has_sent_for_others() const override { return has_sent_for_others_; }

  const std::string& driver() const { return own_->driver(); }
  /// A memif's client without a link calls its server again, every other second.
  bool look_after(Instant now) override;
  bool is_link_up() const override { return own_->is_link_up(shard_); }
  FrameDeviceStatus status() const override;
  FrameDeviceCounters counters() const override;

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
