// Which paths of a link carry packets of full size. What ICMP says of that anybody can forge, so
// the link asks by itself: questions in packets of full size, along each path in turn [C-10]. A
// path that goes on answering short questions and no longer those has become too small.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"

namespace cw::sdr {

/// Thread: the link's.
class PathSizes {
 public:
  /// So many long questions in a row that later short ones overtook for good are no loss by chance.
  static constexpr uint8_t misses_max = 8;
  /// After one of them, until the path is asked again.
  static constexpr Duration retry = Duration::from_ms(250);

  PathSizes(uint16_t paths, Duration interval) : paths_(paths), interval_(interval) {}

  /// All paths are fit for now; each is asked once in an interval.
  void restart(Instant now) {
    for (uint16_t path = 0; path < paths_; ++path) {
      states_[path] = {.due = now + interval_ * (path + 1) / paths_};
    }
    choose_next();
  }
  void rebase(Duration shift) {
    for (State& state : states_) state.due += shift;
    choose_next();
  }

  /// Of the next long question, and the path that it is to take.
  Instant due() const { return due_; }
  uint16_t path() const { return next_; }

  /// What tells the two kinds of questions apart when they come back.
  static uint64_t short_token(Instant now) {
    return static_cast<uint64_t>(now.ns()) & ~uint64_t{1};
  }
  static uint64_t long_token(Instant now) { return static_cast<uint64_t>(now.ns()) | 1; }

  /// A long question leaves along path().
  void on_asked(Instant now) {
    states_[next_].asked = long_token(now);
    states_[next_].due = now + interval_;
    choose_next();
  }
  /// An answer of either kind has come; `path` is one of the link's.
  void on_answer(uint16_t path, uint64_t token, Instant now) {
    State& state = states_[path];
    if (token & 1) {
      state.asked = 0;
      state.misses = 0;
      return;
    }
    if (state.asked == 0 || token < state.asked) return;
    state.asked = 0;
    state.misses = std::min<uint8_t>(state.misses + 1, misses_max);
    state.due = std::min(state.due, now + retry);
    choose_next();
  }

  bool is_too_small(uint16_t path) const { return states_[path].misses == misses_max; }
  /// One bit for each path that is too small.
  uint32_t too_small() const {
    uint32_t paths = 0;
    for (uint16_t path = 0; path < paths_; ++path) paths |= uint32_t{is_too_small(path)} << path;
    return paths;
  }

 private:
  struct State {
    Instant due;
    uint64_t asked = 0;  // the token of a long question under way; 0: there is none
    uint8_t misses = 0;
  };

  void choose_next() {
    next_ = 0;
    for (uint16_t path = 1; path < paths_; ++path) {
      if (states_[path].due < states_[next_].due) next_ = path;
    }
    due_ = states_[next_].due;
  }

  uint16_t paths_, next_ = 0;
  Duration interval_;
  Instant due_;
  std::array<State, limits::paths_max> states_{};
};

}  // namespace cw::sdr
