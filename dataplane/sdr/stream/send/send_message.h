// What a sending stream keeps of each message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/message.h"

namespace cw::sdr {

struct SendMessage {
  enum class Life : uint8_t { Free, Open, Closed };
  MessageSeq seq;
  Life life = Life::Free;
  MessageStatus status = MessageStatus::Open;
  bool is_told = false;        // the policy knows it
  bool is_close_told = false;  // and that it is complete
  bool is_retired = false;     // the receiver has closed it
  bool is_forgotten = false;   // the application has
  bool is_abandoned = false;   // the receiver must hear that there is no more
  bool is_drained = false;     // because its policy had to go
  bool has_holes = false;      // the policy has given up a part of it
  bool needs_telling = false;  // something was appended or closed since
  uint8_t repeats = 0;         // of its state
  uint32_t slots = 0;          // appended
  uint32_t end = 0;            // highest slot appended + 1
  uint32_t told = 0;           // data slots the policy knows
  uint32_t departed = 0;       // data slots that left for the first time
  uint32_t settled = 0;        // finished, from the front
  uint32_t released = 0;       // the policy keeps none of the slots below
  uint32_t given_up = 0;       // slot by slot: and nor does the stream of those below here
  // Coded: blocks closed, told to the policy and written into records; where the open one begins
  // and what it is to be; repair slots that may have been claimed.
  uint32_t blocks = 0, blocks_told = 0, blocks_said = 0;
  uint32_t block_first = 0;
  bool has_open_block = false;
  cw_layout layout{};
  Instant block_opened, blocks_repeated;
  uint32_t repair_end = 0;
  uint32_t frames = 0;  // of hosts, told with its length
  // Slots below are too old, or were released before: they leave no more [C-38].
  uint32_t expired_end = 0, expired_told = 0;
  uint64_t bytes = 0;
  uint64_t waiting_bytes = 0;  // slot by slot: of slots that have not left yet
  Instant state_due = Instant::never();
  Instant state_told;
  Instant drop_after = Instant::never();
  MessageHint hint;

  /// Of the slots below nobody wants to know how old they are.
  uint32_t hold_front() const { return std::max(released, expired_end); }
  bool is_over() const { return status != MessageStatus::Open || is_retired; }
  /// Slots below are neither sent again nor coded: of a coded message a row may be made of any.
  uint32_t unread_front(bool is_coded) const {
    if (is_over()) return slots;
    return is_coded ? 0 : std::max(settled, hold_front());
  }
};

}  // namespace cw::sdr
