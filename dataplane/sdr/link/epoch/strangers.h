// Who has said hello and is nobody that we know: whom of them to answer next, and when.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::sdr {

/// Thread: the link's. Cost: some hundred bytes are looked at for each hello of a stranger.
class Strangers {
 public:
  struct Stranger {
    uint64_t nonce = 0;
    uint32_t control_qpn = 0;  ///< where it says that it hears
  };
  /// Hellos of former lives may be said again and again. One that was never answered
  /// goes first, so that they do not take every answer from a peer that lives [C-27].
  void on_hello(const Stranger& stranger, Instant now) {
    const bool is_first = due_ == Instant::never();
    if (is_first || !was_answered(stranger.nonce) || was_answered(next_.nonce)) next_ = stranger;
    if (is_first) due_ = std::max(now, allowed_);
  }
  /// Never: there is nobody to answer.
  Instant due() const { return due_; }
  const Stranger& next() const { return next_; }
  void on_answered(Instant now) {
    answered_[count_++ % answered_.size()] = next_.nonce;
    due_ = Instant::never();
    allowed_ = now + interval;
  }
  /// Nobody waits for an answer any more.
  void forget() { due_ = Instant::never(); }

 private:
  static constexpr Duration interval = Duration::from_ms(10);  // [C-27]

  bool was_answered(uint64_t nonce) const {
    return std::ranges::find(answered_, nonce) != answered_.end();
  }

  Stranger next_;
  std::array<uint64_t, 64> answered_{};  // of late
  size_t count_ = 0;
  Instant due_ = Instant::never(), allowed_;
};

}  // namespace cw::sdr
