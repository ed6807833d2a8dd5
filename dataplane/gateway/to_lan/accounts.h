// What became of the frames of one stream that came from the WAN. Counts since start, all of them;
// a frame is seen when its last byte has been read.
#pragma once

#include <cstdint>

#include "dataplane/core/counters.h"

namespace cw::gateway {

struct InboundAccounts {
  uint64_t seen = 0;
  uint64_t out = 0;             ///< written into a packet of the LAN port
  uint64_t held = 0;            ///< now, for their order
  uint64_t queued = 0;          ///< now, released but not out
  Drops::Snapshot dropped;      ///< by why, the late and the doubled among them
  uint64_t missed_exactly = 0;  ///< numbers of buckets passed over: what bore them will never come
  uint64_t missed_by_time = 0;  ///< frames behind them had been held for too long
  uint64_t missed_by_need = 0;  ///< frames behind them were holding memory
  uint64_t given_up = 0;        ///< never seen: their slots were too old, or their message was cut
  uint64_t unheard_messages = 0;  ///< over before it was heard how many frames they held
  uint64_t stalled_slots = 0;     ///< given up so that the sender could go on

  /// Of another stream.
  void add(const InboundAccounts& other) {
    for (uint64_t InboundAccounts::*count :
         {&InboundAccounts::seen, &InboundAccounts::out, &InboundAccounts::held,
          &InboundAccounts::queued, &InboundAccounts::missed_exactly,
          &InboundAccounts::missed_by_time, &InboundAccounts::missed_by_need,
          &InboundAccounts::given_up, &InboundAccounts::unheard_messages,
          &InboundAccounts::stalled_slots}) {
      this->*count += other.*count;
    }
    dropped.add(other.dropped);
  }
  uint64_t late() const { return dropped[DropReason::frame_late]; }
  uint64_t duplicate() const { return dropped[DropReason::frame_duplicate]; }
  /// Every frame has one fate, or is still here.
  bool is_balanced() const { return seen == out + held + queued + dropped.sum(); }
};

}  // namespace cw::gateway
