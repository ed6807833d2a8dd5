// What a policy at an endpoint knows of a message that has to come, and of its step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "policies/parts/received.h"

namespace cw::policy {

struct OpenMessage;

/// Messages in a row, each in one at most.
struct MessageRow {
  OpenMessage *first, *last;

  bool is_empty() const { return first == nullptr; }
  void push(OpenMessage& message);
  void remove(OpenMessage& message);
};

/// A step of which some message is open.
struct OpenStep {
  uint32_t number;
  uint32_t messages;  // open, of it
  uint64_t expected_bytes, received_bytes;
  Rate rate;
  Instant deadline;
  uint32_t sources, sources_done;
  bool is_told;       // as a whole; until then the numbers are those of its first message
  Instant heard_at;   // something of it came last; before that, when it began
  MessageRow silent;  // of which nothing has come, in order of opening
  OpenStep* next_free;
  Instant due;
  uint32_t heap_at;

  uint64_t to_come() const {
    return expected_bytes > received_bytes ? expected_bytes - received_bytes : 0;
  }
};

/// Kept by the core, and zeroed when the message is opened. What asks for it keeps more, behind it.
struct OpenMessage {
  uint32_t sequence;
  uint32_t peer;
  Received received;
  OpenStep* step;              // null: nobody has said yet whose it is
  OpenMessage *next, *before;  // in its row
  uint64_t expected_bytes;
  Instant heard_at;       // something of it came last; before that, when it was opened
  Duration rtt, rtt_var;  // to its peer; zero: not measured
  Instant due;
  uint32_t heap_at;
  bool is_heard;    // something of it has come
  bool is_silent;   // is in its step's row
  bool is_waiting;  // is in the row of those that ask as soon as there is room
  bool is_over, is_finished;

  /// Where it ends, as far as anybody knows.
  uint32_t end(const cw_env& env) const {
    if (received.slots != CW_UNKNOWN) return received.slots;
    const uint64_t slots = (expected_bytes + env.payload_bytes - 1) / env.payload_bytes;
    const uint64_t least = std::max(received.highest, 1u);
    return static_cast<uint32_t>(std::clamp<uint64_t>(slots, least, env.data_slots_max));
  }
  /// How many data slots of [first, end) are not in place.
  uint32_t missing(SlotRun range) const {
    range.first = std::max(range.first, received.cumulative);
    // Nothing is in place beyond the highest, and no word need be read there.
    const SlotRun seen{range.first, std::min(range.end, received.highest)};
    uint32_t count = range.end > std::max(range.first, received.highest)
                         ? range.end - std::max(range.first, received.highest)
                         : 0;
    for (uint32_t index = seen.first / 64; !seen.is_empty() && index <= (seen.end - 1) / 64;
         ++index)
      count += static_cast<uint32_t>(
          std::popcount(~received.word(index) & mask_of(index, seen.first, seen.end)));
    return count;
  }
};

inline void MessageRow::push(OpenMessage& message) {
  message.before = last;
  message.next = nullptr;
  (last != nullptr ? last->next : first) = &message;
  last = &message;
}
inline void MessageRow::remove(OpenMessage& message) {
  (message.before != nullptr ? message.before->next : first) = message.next;
  (message.next != nullptr ? message.next->before : last) = message.before;
}

/// What an endpoint measures of its paths.
struct EndpointTiming {
  Duration rtt = Duration::from_ms(200);  // longer than any, until it is known
  Duration rtt_var;
  Duration reorder;  // how late a slot may come and not be lost, whatever path it took
  Rate rate;

  /// The slowest path that is up says how long anything takes, and the fastest how early what left
  /// later may come.
  static EndpointTiming from(const cw_fact_link& link) {
    EndpointTiming timing;
    timing.rate = Rate::from_bps(std::max<uint64_t>(link.rate_bps, 1));
    timing.rtt = std::max(Duration::from_ns(link.rtt_ns), Duration::from_us(1));
    int64_t fastest = INT64_MAX, slowest = 0;
    for (uint32_t i = 0; i < std::min(link.paths, CW_PATHS_MAX); ++i) {
      const cw_path_facts& path = link.path[i];
      if (path.is_up == 0) continue;
      timing.reorder = std::max(timing.reorder, Duration::from_ns(path.reorder_ns));
      timing.rtt_var = std::max(timing.rtt_var, Duration::from_ns(path.rtt_var_ns));
      if (path.rtt_smooth_ns <= 0) continue;
      fastest = std::min(fastest, path.rtt_smooth_ns);
      slowest = std::max(slowest, path.rtt_smooth_ns);
    }
    if (slowest > fastest) timing.reorder += Duration::from_ns(slowest - fastest);
    return timing;
  }
};

}  // namespace cw::policy
