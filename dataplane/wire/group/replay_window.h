// Which sequences of a member have been seen: control/replay_window.h in 16 bytes, of which there
// is one for each member [C-74]. What is overtaken by 64 others is dropped, and is said again.
#pragma once

#include <cstdint>

namespace cw::group {

/// Starts with nothing seen. Sequences begin at 1; 0 is never acceptable.
class ReplayWindow {
 public:
  static constexpr uint64_t width = 64;

  /// True the first time a sequence comes, unless it is `width` or more behind the highest so far.
  /// Only for sequences that a MAC vouches for: a forged high one would shut out all others.
  bool try_accept(uint64_t sequence) {
    if (sequence == 0) return false;
    if (sequence > highest_) {
      const uint64_t steps = sequence - highest_;
      seen_ = (steps < width ? seen_ << steps : 0) | 1;
      highest_ = sequence;
      return true;
    }
    const uint64_t back = highest_ - sequence;
    if (back >= width || (seen_ >> back & 1) != 0) return false;
    seen_ |= uint64_t{1} << back;
    return true;
  }
  uint64_t highest() const { return highest_; }

 private:
  uint64_t highest_ = 0;
  uint64_t seen_ = 0;  ///< bit i: highest_ - i
};
static_assert(sizeof(ReplayWindow) == 16);

}  // namespace cw::group
