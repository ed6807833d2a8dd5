// What a policy says to the core, a decision at a time.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"

namespace cw::policy {

/// Where decide() writes. Every maker returns false when there is no room; the core then calls
/// again.
class Out {
 public:
  explicit Out(cw_out& out) : out_(out) {}

  bool send(const cw_send& send) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_SEND);
    if (d != nullptr) d->u.send = send;
    return d != nullptr;
  }
  bool code(const cw_code& code) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_CODE);
    if (d != nullptr) d->u.code = code;
    return d != nullptr;
  }
  bool layout(const cw_layout& layout) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_LAYOUT);
    if (d != nullptr) d->u.layout = layout;
    return d != nullptr;
  }
  bool timer(uint64_t cookie, Instant at) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_TIMER);
    if (d != nullptr) d->u.timer = {.cookie = cookie, .at_ns = at.ns()};
    return d != nullptr;
  }
  bool release(uint32_t message, uint32_t up_to) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_RELEASE);
    if (d != nullptr) d->u.release = {.message = message, .up_to = up_to};
    return d != nullptr;
  }
  /// Settles the whole message.
  bool finish(uint32_t message, cw_finish_status status) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_FINISH);
    if (d != nullptr) d->u.finish = {message, 0, CW_UNKNOWN, static_cast<uint32_t>(status)};
    return d != nullptr;
  }

  /// Settles its slots below `up_to`, as all before them are.
  bool finish_below(uint32_t message, uint32_t up_to) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_FINISH);
    if (d != nullptr) d->u.finish = {message, 0, up_to, CW_FINISH_OK};
    return d != nullptr;
  }

  bool ask(const cw_ask& ask) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_ASK);
    if (d != nullptr) d->u.ask = ask;
    return d != nullptr;
  }

  /// Room for a note of up to `bytes`; empty (and asked for again) when there is less. Fill it,
  /// then call note(): nothing else may be decided in between.
  std::span<uint8_t> note_space(uint32_t bytes) {
    const bool has_room = out_.decision_count < out_.decision_capacity &&
                          out_.note_capacity - out_.note_count >= bytes;
    if (!has_room) out_.more = 1;
    return has_room ? std::span(out_.note_bytes + out_.note_count, bytes) : std::span<uint8_t>();
  }
  /// Sends the first `bytes` of the last note_space(), so many times.
  void note(uint32_t bytes, uint32_t copies = 1) {
    cw_decision* d = cw_decide(&out_, CW_DECIDE_NOTE);
    CW_ASSERT(d != nullptr && bytes <= out_.note_capacity - out_.note_count);
    d->u.note = {.offset = out_.note_count, .count = bytes, .repeat = copies};
    out_.note_count += bytes;
  }

 private:
  cw_out& out_;
};

}  // namespace cw::policy
