// The steps of which messages are open: as many as messages at most, found by their number.
#pragma once

#include "policies/parts/array.h"
#include "policies/parts/endpoint/open_message.h"
#include "policies/parts/messages.h"

namespace cw::policy {

class OpenSteps {
 public:
  explicit OpenSteps(const cw_env& env) : index_(env), steps_(env, env.messages) {}
  bool is_ready() const { return index_.is_ready() && steps_.is_ready(); }

  OpenStep* find(uint32_t number) const { return index_.find(number); }
  /// For one more message; begins when it is the first.
  OpenStep& join(uint32_t number, Instant now) {
    OpenStep* step = find(number);
    if (step == nullptr) {
      step = free_ != nullptr ? free_ : &steps_[used_++];
      free_ = step->next_free;
      *step = {.number = number, .deadline = Instant::never(), .heard_at = now};
      index_.try_add(number, step);
    }
    ++step->messages;
    return *step;
  }
  /// True when it was the last message, and the step is gone. It must be in no heap then.
  void leave(OpenStep& step) {
    if (--step.messages > 0) return;
    index_.remove(step.number);
    step.next_free = free_;
    free_ = &step;
  }

 private:
  Messages<OpenStep> index_;
  Array<OpenStep> steps_;
  OpenStep* free_ = nullptr;  // were used before
  size_t used_ = 0;
};

}  // namespace cw::policy
