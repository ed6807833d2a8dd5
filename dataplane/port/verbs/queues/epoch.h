// The queues of one epoch of a link, and who has them: turn and keeper hand them to each other by
// the stage, and neither touches what is the other's.
//
//   Free -> Opening -> Open -> Connecting -> Connected -> Closing -> Closed -> Free
//            keeper    turn    senders are   turn         keeper     turn
//                              the keeper's
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/port/verbs/queues/receiver.h"
#include "dataplane/port/verbs/queues/sender.h"
#include "dataplane/wan.h"

namespace cw::verbs {

enum class Stage : uint8_t { Free, Opening, Open, Connecting, Connected, Closing, Closed };

struct Epoch {
  std::atomic<Stage> stage{Stage::Free};
  uint16_t peer = 0;
  uint32_t first = 0;           ///< of our numbers
  size_t receiver_count = 0;    ///< wanted
  std::vector<SendQueue> ways;  ///< wanted: by place, as senders
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::vector<std::unique_ptr<Sender>> senders;
  std::atomic<bool> is_left{false};  ///< the turn's: nobody has a use for it any more
  uint32_t broken_count = 0;         ///< the turn's: of its queues

  Stage at() const { return stage.load(std::memory_order_acquire); }
  void go_to(Stage next) { stage.store(next, std::memory_order_release); }
  /// The turn may use what has been received.
  bool receives() const {
    const Stage now = at();
    return now == Stage::Open || now == Stage::Connecting || now == Stage::Connected;
  }
};

}  // namespace cw::verbs
