// What arrives: completions of all receive queues, which one completion queue holds. A write's says
// which queue, immediate and length; its payload lies where it was to lie. A datagram's payload
// stays in its buffer until the arrivals are over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/port/verbs/device/device.h"
#include "dataplane/port/verbs/groups/group_queue.h"
#include "dataplane/port/verbs/peers.h"
#include "dataplane/port/verbs/queues/control_queue.h"
#include "dataplane/port/verbs/queues/epoch.h"
#include "dataplane/wan.h"

namespace cw::verbs {

struct IncomingCounts {
  uint64_t packets = 0, bytes = 0;
  uint64_t completions = 0;
  uint64_t unknown = 0;    ///< control packets from nobody we know
  uint64_t malformed = 0;  ///< control packets that are none
  uint64_t starved = 0;    ///< as often as a queue may have been without a receive request
  uint64_t broken = 0;     ///< queues
  uint64_t system_calls = 0;
};

/// Thread: the turn's.
class Incoming {
 public:
  /// All of these live longer; `groups` may be null. `channel` is where `completions` tells of what
  /// has come.
  Incoming(ibv_cq& completions, ibv_comp_channel& channel, const Device& device, Peers& peers,
           std::span<Epoch> epochs, std::span<ControlQueue> controls, GroupQueue* groups);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// As WanPort::receive(). Two system calls when nothing has come, one or two when something has
  /// after that, none otherwise.
  size_t receive(std::span<Arrival> out, Instant now);
  void end_arrivals();
  /// A queue was found broken; true once.
  bool take_broken() { return std::exchange(has_broken_, false); }
  const IncomingCounts& counts() const { return counts_; }

 private:
  struct Shown {
    uint16_t queue = 0, buffer = 0;
  };

  size_t poll(std::span<Arrival> out, Instant now);
  bool try_take(const ibv_wc& completion, Arrival& arrival);
  bool try_take_write(const ibv_wc& completion, Epoch& epoch, Arrival& arrival);
  bool try_take_datagram(const ibv_wc& completion, Arrival& arrival);
  bool try_take_of_group(const ibv_wc& completion, Arrival& arrival);
  bool try_tell(const uint8_t* header, uint16_t link, Arrival& arrival);
  bool try_take_event();
  bool try_arm();

  ibv_cq& completions_;
  ibv_comp_channel& channel_;
  bool is_v4_;
  Peers& peers_;
  std::span<Epoch> epochs_;
  std::span<ControlQueue> controls_;
  GroupQueue* groups_;
  ReceiveRow row_;
  bool is_armed_ = false, has_broken_ = false;
  uint32_t events_unacknowledged_ = 0;
  uint32_t lulls_ = 1;                                    // as often as nothing was left to be read
  std::array<Shown, limits::burst_packets_max> shown_{};  // datagrams, as arrivals
  size_t shown_count_ = 0;
  IncomingCounts counts_;
};

}  // namespace cw::verbs
