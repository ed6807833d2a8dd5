// What the shards of an interface have in common: the program, the memory and queues of each, and
// what its keeper tells. The first shard hears that; each makes its own queues anew.
//
//   keeper --news--> shard 0 --sockets, generation--> each shard --> its queues
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port/frame/frame_device.h"
#include "dataplane/port/hand_over.h"
#include "dataplane/port/xdp/steering/steering_program.h"
#include "dataplane/port/xdp/xdp_queue.h"

namespace cw {

/// Queue q is polled by shard q modulo the shards. Thread: as each function says.
class XdpAttachment {
 public:
  /// One shard's. Thread: its own, once made.
  struct Shard {
    std::unique_ptr<XdpFrames> frames;
    std::vector<std::unique_ptr<XdpQueue>> queues;  // gone before the frames
    OwnedFd poll;                                   // readable when one of them is
    uint32_t generation = 0;                        // that it has seen
    bool is_whole = true;                           // each queue has been joined
    std::string trouble;                            // why not
    FrameDeviceCounters past;                       // of queues that are gone
  };

  static Result<std::shared_ptr<XdpAttachment>> make(const FrameDeviceOptions& options);
  ~XdpAttachment();
  XdpAttachment(const XdpAttachment&) = delete;
  XdpAttachment& operator=(const XdpAttachment&) = delete;

  /// What the keeper has told since. Thread: shard 0's.
  void hear();
  /// Whether the shard has joined queues: the interface has come anew, or has more. Thread: the
  /// shard's.
  bool renew(uint16_t shard);

  const FrameDeviceFacts& facts() const { return facts_; }
  Shard& shard(uint16_t number) { return *shards_[number]; }
  const std::vector<std::unique_ptr<Shard>>& shards() const { return shards_; }
  const SteeringProgram& program() const { return *program_; }
  SteeringProgram& program() { return *program_; }
  uint32_t packet_bytes() const { return packet_bytes_; }
  const OwnedFd& questions() const { return questions_; }
  HandOver* arrivals() { return arrivals_ ? &*arrivals_ : nullptr; }
  HandOver* returns() { return returns_ ? &*returns_ : nullptr; }

  /// As last heard. Thread: shard 0's.
  uint32_t mtu() const { return mtu_; }
  uint32_t queues() const { return queues_; }
  /// What stands in the way, for people; empty: nothing.
  const std::string& trouble() const { return trouble_; }

 private:
  XdpAttachment() = default;
  Result<void> add_shard(const FrameDeviceOptions& options);
  Result<void> open_queue(uint32_t queue);
  Shard& shard_of(uint32_t queue) { return *shards_[queue % facts_.shards]; }
  Result<void> add_queue(Shard& shard, uint32_t queue, OwnedFd socket) const;
  static void drop_queues(Shard& shard, std::optional<uint32_t> number);
  Result<void> join_soon(Shard& shard, XdpQueue& queue) const;
  Result<void> join(Shard& shard, XdpQueue& queue) const;
  void take_sockets(uint16_t shard);
  void lay_out(const SteeringNews& news);
  std::string trouble_of(const SteeringNews& news) const;

  FrameDeviceFacts facts_;
  std::unique_ptr<SteeringProgram> program_;
  std::vector<std::unique_ptr<Shard>> shards_;
  uint32_t packet_bytes_ = 0, descriptors_ = 0;
  OwnedFd questions_;                           // to the kernel
  std::optional<HandOver> arrivals_, returns_;  // of several shards; packets under way are theirs
  uint32_t mtu_ = 0, queues_ = 0;
  std::string trouble_;

  std::atomic<uint32_t> generation_ = 0;
  std::atomic<bool> is_gone_ = false;
  std::array<std::atomic<int>, STEERING_SOCKETS_MAX> sockets_;  // new ones by queue; negative: none
};

}  // namespace cw
