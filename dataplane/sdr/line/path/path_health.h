// Which paths of a link carry packets, by its own questions: short ones along each path in turn
// [C-41], and some as long as a full data packet [C-10]. What ICMP says of that anybody can forge.
//
//               a long answer              questions missed
//   probing ---------------------> up ------------------------> down
//                                   ^        a long answer        |
//                                   '-----------------------------'
//
// A question is missed when its answer is overdue and one that was asked later, by whatever path,
// has come [C-58]. So a peer that stands still takes no path down, and the last one stays up until
// the link ends. Nor does chance take one down whose data arrives, as the peer's reports say
// [C-59].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/units.h"
#include "dataplane/core/path/paths.h"

namespace cw::sdr {

/// Thread: the link's. Nothing allocates.
class PathHealth {
 public:
  enum class State : uint8_t { Probing, Up, Down };

  /// Of a path that is up: short questions missed in a row, while data crosses and while none does.
  static constexpr uint8_t misses_max = 3, misses_idle_max = 8;
  /// And long ones: of a path on which much of the data is lost, and of another.
  static constexpr uint8_t long_misses_suspect_max = 2, long_misses_max = 8;
  /// How often a path that is not up is asked.
  static constexpr Duration retry = Duration::from_ms(500);

  /// Each path that is up is asked a long question once in an interval.
  PathHealth(uint16_t paths, Duration interval)
      : paths_(paths), interval_(interval), states_(paths) {}

  /// The link is up, and both ends have so many paths. One alone is up as well.
  void restart(uint16_t paths, Instant now);
  void rebase(Duration shift);
  uint16_t paths() const { return paths_; }

  // ---- questions ----
  /// Of the next long question, and the path that it is to take.
  Instant long_due() const { return long_due_; }
  uint16_t long_path() const { return long_path_; }
  /// What tells the two kinds apart when they come back.
  static uint64_t short_token(Instant now) {
    return static_cast<uint64_t>(now.ns()) & ~uint64_t{1};
  }
  static uint64_t long_token(Instant now) { return static_cast<uint64_t>(now.ns()) | 1; }
  static bool is_long(uint64_t token) { return (token & 1) != 0; }
  /// A question leaves.
  void on_asked(uint16_t path, uint64_t token, Instant now);
  /// The answer to a token that was ours; `path` is one of the link's.
  void on_answer(uint16_t path, uint64_t token, Instant now);
  void on_rtt(uint16_t path, Duration sample, Instant now) { at(path).rtt.add(sample, now); }
  /// Of the shortest path; Duration::max() before the first sample.
  Duration rtt_min() const;
  /// What the peer has counted of our data on this path, and what has left by it, since the epoch
  /// began; the latter in 24 bits.
  void on_report(uint16_t path, uint64_t received, uint64_t lost, uint32_t sent, Instant now);

  /// Since the last answer by any path, or since restart(); while this thread stood still does not
  /// count.
  Duration silence(Instant now) const { return now - heard_at_; }

  // ---- judgement ----
  /// Misses what is overdue. Returns whether up() has changed since the last call.
  bool judge(bool has_traffic, Instant now);
  Instant judge_due() const { return judge_due_; }

  State state(uint16_t path) const { return states_[path].state; }
  /// One bit for each path that data may take; before the first answer all of them, never none.
  uint32_t up() const;
  /// One bit for each path that carries short packets and no long ones.
  uint32_t too_small() const;

 private:
  /// Short ones under way that are remembered: asked four times in an RTT, and answered late.
  static constexpr size_t questions_max = 16;

  struct Question {
    uint64_t token = 0;  // 0: there is none
    Instant overdue;
  };
  struct Path {
    State state = State::Probing;
    RttEstimator rtt;
    std::array<Question, questions_max> asked;  // short, the oldest first
    uint8_t asked_count = 0;
    uint8_t misses = 0, long_misses = 0;  // in a row
    uint64_t missed_from = 0;             // the token of the first of the short ones
    Question asked_long;
    Instant long_due;
    // As the last report said, and what had left when one said that more has come.
    uint64_t received = 0, lost = 0;
    uint32_t sent = 0;
    Instant grown_at;
    bool is_suspect = false;
  };

  Path& at(uint16_t path) { return states_[path]; }
  Instant overdue(const Path& path, Instant now) const;
  void on_alive(Path& path, uint64_t token);
  void suspect(Path& path, Instant now);
  uint64_t lead(const Path& path) const;
  bool is_missed(const Path& path, const Question& question, Instant now) const;
  void miss(Path& path, Instant now);
  bool is_over(const Path& path, bool has_traffic, Instant now) const;
  void schedule();

  uint16_t paths_, long_path_ = 0;
  Duration interval_;
  Instant long_due_ = Instant::never(), judge_due_ = Instant::never();
  uint64_t heard_ = 0;        // the latest token that has come back
  Instant heard_at_;          // when one did last
  uint32_t told_ = 0;         // up(), at the last judgement
  std::vector<Path> states_;  // of those that this end has
};

}  // namespace cw::sdr
