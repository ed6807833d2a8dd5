// An interface of the kernel's, of whose frames only ours come to us, by sockets of AF_XDP. The
// kernel keeps the interface: its address, ARP, ND, pings, ssh, routes.
//
//   frames --> [program: ours?] --> socket of the queue --> shard of the queue
//                     \--> kernel
//
// Queue q is polled by shard q modulo the shards. What takes rights is done at start, or later by a
// process that keeps them (steering/steering_keeper.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/frame/frame_device.h"
#include "dataplane/port/xdp/steering/steering_program.h"
#include "dataplane/port/xdp/xdp_attachment.h"

namespace cw {

/// Thread: one. Packets that come from it must not outlive it.
class XdpDevice final : public FrameDevice {
 public:
  /// Of an interface by its name; this end is shard 0's. Errors: no such interface, an MTU or a
  /// number of queues that sockets cannot do with, a right.
  static Result<std::unique_ptr<FrameDevice>> make(const FrameDeviceOptions& options);
  std::unique_ptr<FrameDevice> beside(uint16_t shard) const override;

  size_t rx_burst(std::span<Packet*> out) override;
  size_t tx_burst(std::span<Packet* const> packets) override;
  size_t take_burst(std::span<Packet*> out) override;
  void give_back(std::span<Packet* const> packets) override;
  void share(std::span<Packet* const> packets) override {
    for (Packet* packet : packets) ++packet->more_owners;
  }
  bool is_shared(const Packet& packet) const override { return packet.more_owners > 0; }

  Result<void> want(const std::vector<FrameTarget>& targets) override {
    return own_->program().want(targets);
  }

  bool look_after(Instant now) override;
  bool is_link_up() const override;
  FrameDeviceStatus status() const override;
  FrameDeviceCounters counters() const override;
  const SteeringProgram& program() const { return own_->program(); }

 private:
  XdpDevice(std::shared_ptr<XdpAttachment> own, uint16_t shard);
  void take_returned();
  void return_foreign();

  std::shared_ptr<XdpAttachment> own_;
  XdpAttachment::Shard& shard_;
  XdpFrames& frames_;
  size_t next_queue_ = 0;
  std::vector<Packet*> foreign_;  // that have not been taken back yet
};

}  // namespace cw
