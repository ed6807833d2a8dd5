// What programs post, and how it ended.
#pragma once

#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

/// A message to another member. Its memory is read until its completion.
struct SendPosting {
  uint16_t to = 0;
  Step step;  ///< as its receiver calls it, too
  const uint8_t* memory = nullptr;
  uint64_t bytes = 0;       ///< at least one
  uint64_t step_bytes = 0;  ///< for this receiver in the step, in all messages; 0: not known
  uint64_t cookie = 0;      ///< the program's own
  Duration deadline;        ///< from now on; zero: the usual one
  bool is_last = false;     ///< of the step, for this receiver
  bool is_for_pool = false;
};

/// The next message that this member sends us. Its memory is written until its completion.
struct ReceivePosting {
  uint16_t from = 0;
  Step step;
  uint8_t* memory = nullptr;
  uint64_t bytes = 0;  ///< exactly
  uint64_t cookie = 0;
  Duration deadline;
};

/// Memory for a message of whoever sends one for the pool, MessagesOptions::pool_bytes long.
struct PoolPosting {
  uint8_t* memory = nullptr;
  uint64_t cookie = 0;
};

/// One for each posting, save for memory of the pool that nobody took.
struct Completion {
  uint64_t cookie = 0;
  uint64_t bytes = 0;  ///< of the message
  Instant at;          ///< when it ended
  Step step;
  uint32_t message = 0;
  uint16_t peer = 0;
  bool is_send = false;
  bool is_whole = false;         ///< else `reason` says why not
  bool is_of_other_end = false;  ///< who gave it up
  Reason reason = Reason::Cancelled;
};

/// Names a posted message until its completion.
struct MessageTicket {
  uint32_t place = UINT32_MAX;
  uint32_t generation = 0;
  bool is_send = false;
};

}  // namespace cw::group
