#include "dataplane/sdr/line/path/path_health.h"

#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"

namespace cw::sdr {
namespace {

/// Beyond what round trips vary by: the peer answers between two of its turns.
constexpr Duration answer_time = Duration::from_ms(10);
constexpr Duration timeout_floor = Duration::from_ms(1), timeout_ceiling = Duration::from_s(4);
constexpr Duration timeout_unknown = Duration::from_s(1);
/// Data that has left since some last came as it should: fewer are lost by chance.
constexpr uint32_t silent_packets_min = 8;

}  // namespace

void PathHealth::restart(uint16_t paths, Instant now) {
  CW_ASSERT(paths >= 1 && paths <= limits::paths_max);
  paths_ = paths;
  states_.assign(std::max<size_t>(states_.size(), paths), {});
  for (uint16_t path = 0; path < paths_; ++path) {
    at(path).long_due = at(path).grown_at = now;
  }
  if (paths_ == 1) {  // it is how the link came up
    at(0).state = State::Up;
    at(0).long_due = now + interval_;
  }
  heard_ = 0;
  heard_at_ = now;
  told_ = up();
  schedule();
}

void PathHealth::rebase(Duration shift) {
  for (Path& path : states_) {
    for (Question& question : path.asked) question.overdue += shift;
    path.asked_long.overdue += shift;
    path.long_due += shift;
    path.grown_at += shift;
  }
  heard_at_ += shift;
  schedule();
}

// ---- questions ----

Instant PathHealth::overdue(const Path& path, Instant now) const {
  // Of one that has never answered the others tell.
  Duration longest;
  for (const Path& other : states_) longest = std::max(longest, other.rtt.smoothed());
  const Duration unknown = longest > Duration() ? longest * 2 : timeout_unknown;
  return now + path.rtt.timeout(timeout_floor, timeout_ceiling, unknown) + answer_time;
}

void PathHealth::on_asked(uint16_t path, uint64_t token, Instant now) {
  Path& asked = at(path);
  const Question question{token, overdue(asked, now)};
  if (is_long(token)) {
    asked.asked_long = question;
    asked.long_due = now + (asked.state == State::Up ? interval_ : retry);
  } else if (asked.asked_count < questions_max) {
    asked.asked[asked.asked_count++] = question;
  }
  schedule();
}

void PathHealth::on_answer(uint16_t path, uint64_t token, Instant now) {
  Path& answered = at(path);
  heard_ = std::max(heard_, token);
  heard_at_ = now;
  on_alive(answered, token);
  if (is_long(token)) {
    answered.asked_long = {};
    answered.misses = answered.long_misses = 0;
    answered.is_suspect = false;
    if (answered.state != State::Up) answered.grown_at = now;
    answered.state = State::Up;
    answered.long_due = now + interval_;
  }
  schedule();
}

Duration PathHealth::rtt_min() const {
  Duration shortest = Duration::max();
  for (const Path& path : states_) {
    if (path.rtt.has_sample()) shortest = std::min(shortest, path.rtt.min());
  }
  return shortest;
}

/// What left by the path at the token's time has come.
void PathHealth::on_alive(Path& path, uint64_t token) {
  const auto end = path.asked.begin() + path.asked_count;
  const auto rest = std::find_if(path.asked.begin(), end,
                                 [&](const Question& each) { return each.token > token; });
  std::copy(rest, end, path.asked.begin());
  path.asked_count = static_cast<uint8_t>(end - rest);
  if (token >= path.missed_from) path.misses = 0;
}

void PathHealth::on_report(uint16_t path, uint64_t received, uint64_t lost, uint32_t sent,
                           Instant now) {
  if (path >= paths_) return;
  Path& of = at(path);
  if (received < of.received || lost < of.lost) return;  // another one has overtaken it
  const uint64_t came = received - of.received, gone = lost - of.lost;
  of.received = received;
  of.lost = lost;
  if (came > 0 && gone <= came) {
    of.sent = sent;
    of.grown_at = now;
    of.is_suspect = false;
  } else if (const uint32_t left = (sent - of.sent) & 0xffffff; left >= silent_packets_min) {
    // There, counted once in an RTT, and back.
    const Duration way = of.rtt.min() * 2 + answer_time;
    if (gone > 0 || now - of.grown_at > way) suspect(of, now);
  }
  schedule();
}

/// It is asked at once whether it carries long packets.
void PathHealth::suspect(Path& path, Instant now) {
  path.is_suspect = true;
  if (path.state == State::Up && path.asked_long.token == 0) {
    path.long_due = std::min(path.long_due, now);
  }
}

// ---- judgement ----

/// How much later others may have been asked whose answers come first. A machine that stands still
/// holds up the answers of all paths alike, so this stays short where `overdue` grows.
uint64_t PathHealth::lead(const Path& path) const {
  if (!path.rtt.has_sample()) return UINT64_MAX;
  Duration shortest = path.rtt.smoothed();
  for (const Path& other : states_) {
    if (other.rtt.has_sample()) shortest = std::min(shortest, other.rtt.smoothed());
  }
  const Duration longer = path.rtt.smoothed() - shortest;
  return static_cast<uint64_t>((longer + path.rtt.min() / 4 + answer_time).ns());
}

bool PathHealth::is_missed(const Path& path, const Question& question, Instant now) const {
  if (question.token == 0 || question.token >= heard_) return false;
  return question.overdue <= now || heard_ - question.token > lead(path);
}

void PathHealth::miss(Path& path, Instant now) {
  size_t missed = 0;
  while (missed < path.asked_count && is_missed(path, path.asked[missed], now)) {
    if (path.misses == 0) path.missed_from = path.asked[missed].token;
    if (path.misses < misses_idle_max) ++path.misses;
    ++missed;
  }
  std::copy(path.asked.begin() + missed, path.asked.begin() + path.asked_count, path.asked.begin());
  path.asked_count -= static_cast<uint8_t>(missed);
  if (!is_missed(path, path.asked_long, now)) return;
  path.asked_long = {};
  if (path.long_misses < long_misses_max) ++path.long_misses;
  if (path.state == State::Up) path.long_due = std::min(path.long_due, now);
}

bool PathHealth::is_over(const Path& path, bool has_traffic, Instant now) const {
  // What the peer tells of data is as old as half a round trip, and told once in one.
  const bool has_carried = now - path.grown_at < path.rtt.smoothed() * 3 / 2 + answer_time;
  const bool is_dead = path.misses >= (has_traffic ? misses_max : misses_idle_max) && !has_carried;
  return is_dead ||
         path.long_misses >= (path.is_suspect ? long_misses_suspect_max : long_misses_max);
}

bool PathHealth::judge(bool has_traffic, Instant now) {
  for (uint16_t i = 0; i < paths_; ++i) {
    Path& path = at(i);
    miss(path, now);
    if (!is_over(path, has_traffic, now)) continue;
    if (path.state == State::Probing) path.state = State::Down;
    if (path.state == State::Down || std::popcount(up()) == 1) continue;
    path.state = State::Down;
    path.long_due = now;
  }
  schedule();
  const uint32_t before = told_;
  told_ = up();
  return told_ != before;
}

void PathHealth::schedule() {
  long_due_ = judge_due_ = Instant::never();
  for (uint16_t i = 0; i < paths_; ++i) {
    const Path& path = states_[i];
    if (path.long_due < long_due_) {
      long_due_ = path.long_due;
      long_path_ = i;
    }
    const auto wait_for = [&](const Question& question) {
      const bool is_heard = question.token != 0 && question.token < heard_;
      if (is_heard) judge_due_ = std::min(judge_due_, question.overdue);
    };
    if (path.asked_count > 0) wait_for(path.asked.front());
    wait_for(path.asked_long);
  }
}

uint32_t PathHealth::up() const {
  uint32_t up = 0, not_down = 0;
  for (uint16_t path = 0; path < paths_; ++path) {
    up |= uint32_t{state(path) == State::Up} << path;
    not_down |= uint32_t{state(path) != State::Down} << path;
  }
  const uint32_t all = (uint32_t{1} << paths_) - 1;
  return up != 0 ? up : not_down != 0 ? not_down : all;
}

uint32_t PathHealth::too_small() const {
  uint32_t paths = 0;
  for (uint16_t i = 0; i < paths_; ++i) {
    const Path& path = states_[i];
    const bool is_down = path.state == State::Down;
    const uint8_t most = is_down ? long_misses_suspect_max : long_misses_max;
    const bool is_too_small = path.long_misses >= most && path.misses < misses_max;
    paths |= uint32_t{is_too_small} << i;
  }
  return paths;
}

}  // namespace cw::sdr
