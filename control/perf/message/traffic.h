// Messages between hosts on a fabric: each is posted at both ends, timed, and compared.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/perf/fabric/message_world.h"

namespace cw::perf {

/// What is to be sent. Its memory is the caller's until it has ended.
struct Order {
  uint16_t from = 0, to = 0;
  uint64_t step_bytes = 0;  ///< to this host in the step; 0: not known
  group::Step step;
  const uint8_t* source = nullptr;
  uint8_t* target = nullptr;
  uint64_t bytes = 0;
  uint64_t tag = 0;  ///< the caller's
};

/// One that has come to its end at both ends.
struct Ended {
  Order order;
  Instant begun, arrived;  ///< all of it
  bool is_whole = false;
  std::string why;  ///< else
};

/// Thread: one.
class Traffic {
 public:
  explicit Traffic(group::MessageWorld& world);

  /// Told of what has come, maybe before its source has heard so.
  void on_arrival(std::function<void(const Order&)> hear) { hear_ = std::move(hear); }
  /// Now, or as soon as both ends have room for it; its time runs from now on.
  void begin(const Order& order);
  /// Takes note of what has ended; `on_ended` may begin more.
  void gather(const std::function<void(const Ended&)>& on_ended);
  size_t open_count() const { return open_; }

 private:
  struct Flow {
    Order order;
    Instant begun, arrived;
    uint8_t ends = 0;  ///< that are over
    bool is_posted_there = false;
    bool is_whole = true;
    std::string why;
  };
  bool try_post(uint64_t number);
  void note(const group::Completion& completion, const std::function<void(const Ended&)>& on_ended);
  void post_waiting();

  group::MessageWorld& world_;
  std::function<void(const Order&)> hear_;
  std::deque<Flow> flows_;        // by number
  std::vector<uint64_t> free_;    // numbers of flows that are over
  std::deque<uint64_t> waiting_;  // for room
  size_t open_ = 0;
};

}  // namespace cw::perf
