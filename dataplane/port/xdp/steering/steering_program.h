// Our program on an interface (steering.bpf.c): told what is ours, put there, and kept there by a
// process of its own (steering_keeper.h), which takes it off however the gateway ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/frame/frame_device.h"
#include "dataplane/port/xdp/steering/steering.h"
#include "dataplane/port/xdp/steering/steering_keeper.h"
#include "dataplane/port/xdp/steering/steering_place.h"

struct steering;  // the skeleton's
struct xdp_program;

namespace cw {

/// Thread: one. Calls are system calls.
class SteeringProgram {
 public:
  /// On the interface as long as it lives. It takes what comes from any of options.flows' sources
  /// to their one target; without flows, what goes to options.targets by `mac` and in options.vlan.
  /// Until there are sockets, all frames are the kernel's. The interface receives by `queues` then.
  /// Errors: a right, another gateway's, another program where there is no dispatcher.
  static Result<std::unique_ptr<SteeringProgram>> attach(const FrameDeviceOptions& options,
                                                         const MacAddress& mac, uint32_t queues,
                                                         const GiveMemory& give_memory);
  ~SteeringProgram();
  SteeringProgram(const SteeringProgram&) = delete;
  SteeringProgram& operator=(const SteeringProgram&) = delete;

  /// Other targets than the LAN had. Thread: any one; it needs no rights.
  Result<void> want(const std::vector<FrameTarget>& targets);

  /// What has become of the interface, if anything has. One system call, which does not wait.
  std::optional<SteeringNews> hear();
  bool has_keeper() const { return !keeper_->is_gone(); }
  /// What it means to a person that there is no program.
  std::string refusal(int reason) const { return place_.refusal(reason).sentence; }

  int sockets_map() const;
  /// As last heard.
  const SteeringStand& stand() const { return stand_; }
  /// By steering_fate, over all processors.
  std::array<uint64_t, STEERING_FATES> fates() const;

  /// One frame through the program that is there, as the kernel would (BPF_TEST_RUN), by the queue
  /// 0; its verdict (XDP_PASS, ...) and nanoseconds each over `repeat` times. Negative: the kernel
  /// does not.
  struct Trial {
    int verdict = -1;
    uint32_t ns = 0;
  };
  Trial try_frame(std::span<const uint8_t> frame, uint32_t repeat) const;

 private:
  explicit SteeringProgram(const std::string& interface) : place_(interface) {}
  Result<void> load(const FrameDeviceOptions& options, const MacAddress& mac);
  Result<void> put(const FrameDeviceOptions& options, uint32_t queues,
                   const GiveMemory& give_memory);
  Result<void> know(std::span<const PathFlow> flows);

  SteeringPlace place_;
  SteeringStand stand_;
  std::vector<FrameTarget> targets_;
  steering* skeleton_ = nullptr;
  xdp_program* program_ = nullptr;
  std::unique_ptr<SteeringKeeper> keeper_;
};

}  // namespace cw
