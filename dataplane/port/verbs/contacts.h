// First contact: the way to each peer, and the number that its device has given to its control
// queue, which no packet can be sent to before. RNICs ask each other by rdma_cm (its UDP port
// space, the standard's SIDR); a peer that is none does not answer, and hears the number of SPEC
// [C-2].
//
// What is answered is not proven: whoever lies sends our hellos elsewhere until we ask again.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/verbs/device/device.h"
#include "dataplane/port/verbs/peers.h"

namespace cw::verbs {

/// Thread: one, the keeper's, which looks in when fd() is readable, and every 100 ms.
class Contacts {
 public:
  using Clock = std::chrono::steady_clock;

  /// `numbers`: of our control queues, by link, limits::links_max of them, and of that of groups.
  /// The others live longer.
  /// Errors: rdma_cm cannot be had, or another program is asked at this address already.
  static Result<std::unique_ptr<Contacts>> make(const Device& device, Peers& peers,
                                                std::span<const uint32_t> numbers,
                                                uint16_t source_port, uint16_t paths);
  ~Contacts();
  Contacts(const Contacts&) = delete;
  Contacts& operator=(const Contacts&) = delete;

  int fd() const { return channel_->fd; }
  /// Answers, hears answers, and asks whom the turn wants.
  void act(Clock::time_point now);
  /// Addresses have changed: ways are looked for again.
  void forget_ways(Clock::time_point now);
  uint64_t asked_count() const { return asked_; }
  uint64_t answered_count() const { return answered_; }

 private:
  struct Ends {
    void operator()(rdma_cm_id* id) const { (void)rdma_destroy_id(id); }
    void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
  };
  using Id = std::unique_ptr<rdma_cm_id, Ends>;
  /// With one peer.
  struct Call {
    Id id;  // while it lasts
    Clock::time_point began, next;
    Clock::duration pause{};
  };
  /// What an event says, which has been acknowledged: before, no id may be destroyed.
  struct Heard {
    rdma_cm_event_type type{};
    rdma_cm_id* id = nullptr;
    std::array<uint8_t, 256> bytes{};
    size_t byte_count = 0;
  };

  Contacts(const Device& device, Peers& peers, std::span<const uint32_t> numbers,
           uint16_t source_port, uint16_t paths);
  Result<void> listen();
  bool try_hear(Heard& heard);
  void act_on(const Heard& heard, Clock::time_point now);
  void answer(rdma_cm_id& id);
  void ask(size_t peer, Clock::time_point now);
  void learn_ways(size_t peer);
  bool learn_numbers(size_t peer, std::span<const uint8_t> said);
  void hang_up(size_t peer, bool was_answered, Clock::time_point now);

  const Device& device_;
  Peers& peers_;
  std::vector<uint32_t> numbers_;
  uint16_t source_port_, paths_;
  std::unique_ptr<rdma_event_channel, Ends> channel_;
  Id listener_;
  std::vector<Call> calls_;          // by peer
  std::vector<AddressHandle> ways_;  // all that there were: the turn may still send by one
  uint64_t asked_ = 0, answered_ = 0;
};

}  // namespace cw::verbs
