#include "control/gateway/site/swaps/swap_guard.h"

#include <algorithm>
#include <cstdio>

#include "dataplane/core/path/paths.h"

namespace cw::site {
namespace {

/// Of two counts that only grow; a peer's need not.
uint64_t grown(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

constexpr uint64_t waited_min = 200;  // for a percentile of them
constexpr double half_more = 1.5;
constexpr Duration beyond_noise = Duration::from_ms(1);

bool is_half_more(Duration before, Duration after) {
  return after.ms() > before.ms() * half_more + beyond_noise.ms();
}

std::string text_of(const char* form, auto... values) {
  char text[160];
  std::snprintf(text, sizeof(text), form, values...);
  return text;
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void SwapGuard::Window::add(const GuardSample& sample) {
  const bool is_news = !last || sample.outcome.at > last->outcome.at;
  if (!is_news) return;
  if (!first) first = sample;
  last = sample;
  if (sample.rtt == Duration()) return;
  rtt_sum += sample.rtt;
  rtt_min = std::min(rtt_min, sample.rtt);
  ++rtts;
}

bool SwapGuard::Window::is_full() const {
  if (!first) return false;
  const Duration time = last->outcome.at - first->outcome.at;
  return time >= std::max(window_min, last->rtt * window_rtts_min) && frames() >= window_frames_min;
}

uint64_t SwapGuard::Window::out() const {
  return first ? grown(first->outcome.frames_out, last->outcome.frames_out) : 0;
}

/// What is late is of no use to hosts either.
uint64_t SwapGuard::Window::given_up() const {
  if (!first) return 0;
  return grown(first->outcome.frames_given_up, last->outcome.frames_given_up) +
         grown(first->outcome.frames_late, last->outcome.frames_late);
}

HoleTimes SwapGuard::Window::holes() const {
  return first ? last->outcome.holes.since(first->outcome.holes) : HoleTimes();
}

uint64_t SwapGuard::Window::line_lost() const {
  return first ? grown(first->line_lost, last->line_lost) : 0;
}

uint64_t SwapGuard::Window::line_packets() const {
  return first ? line_lost() + grown(first->line_arrived, last->line_arrived) : 0;
}

Duration SwapGuard::Window::rtt_mean() const { return rtts == 0 ? Duration() : rtt_sum / rtts; }

void SwapGuard::add(const std::optional<GuardSample>& sample, Instant now) {
  if (!sample) return;
  if (!is_after_) return before_.add(*sample);
  const bool is_its_own = sample->outcome.policy_epoch == policy_epoch_;
  if (is_its_own && sample->outcome.at >= began_ && now >= began_) after_.add(*sample);
}

void SwapGuard::swapped(uint16_t policy_epoch, Instant now) {
  is_after_ = true;
  policy_epoch_ = policy_epoch;
  began_ = now;
}

std::optional<SwapGuard::Verdict> SwapGuard::verdict(Instant now) const {
  using State = GuardState;
  if (!is_after_) return std::nullopt;
  if (!after_.is_full() && now < began_ + after_max && before_.is_full()) return std::nullopt;
  if (!before_.is_full() || !after_.is_full()) {
    return Verdict{State::Undecided,
                   text_of("too few frames to compare: %llu before and %llu after",
                           static_cast<unsigned long long>(before_.frames()),
                           static_cast<unsigned long long>(after_.frames()))};
  }
  if (!is_more_given_up() && !is_hole_longer()) return Verdict{State::Kept, figures()};
  if (!is_line_worse()) return Verdict{State::SwappedBack, figures()};
  return Verdict{
      State::Undecided,
      figures() + text_of("; but the line lost %.3g %% of packets after %.3g %%, and took %.3g ms "
                          "after %.3g ms",
                          percent(after_.line_lost(), after_.line_packets()),
                          percent(before_.line_lost(), before_.line_packets()),
                          after_.rtt_mean().ms(), before_.rtt_mean().ms())};
}

bool SwapGuard::is_more_given_up() const {
  const Share before = wilson_share(before_.given_up(), before_.frames());
  const Share after = wilson_share(after_.given_up(), after_.frames());
  return after.low > 2 * before.high;
}

/// Where hardly any frame waited before, that many do now is as bad.
bool SwapGuard::is_hole_longer() const {
  if (after_.waited() < waited_min) return false;
  if (before_.waited() >= waited_min) return is_half_more(before_.hole_p99(), after_.hole_p99());
  const Share before = wilson_share(before_.waited(), before_.frames());
  const Share after = wilson_share(std::min(after_.waited(), after_.frames()), after_.frames());
  return after.low > 2 * before.high;
}

bool SwapGuard::is_line_worse() const {
  const Share before = wilson_share(before_.line_lost(), before_.line_packets());
  const Share after = wilson_share(after_.line_lost(), after_.line_packets());
  if (after.low > half_more * before.high) return true;
  if (before_.rtts == 0 || after_.rtts == 0) return false;
  const Duration empty = std::min(before_.rtt_min, after_.rtt_min);
  return is_half_more(before_.rtt_mean() - empty, after_.rtt_mean() - empty);
}

std::string SwapGuard::figures() const {
  return text_of("given up %.3g %% of %llu frames after %.3g %% of %llu; ",
                 percent(after_.given_up(), after_.frames()),
                 static_cast<unsigned long long>(after_.frames()),
                 percent(before_.given_up(), before_.frames()),
                 static_cast<unsigned long long>(before_.frames())) +
         text_of("p99 of %llu holes %.3g ms after %.3g ms of %llu",
                 static_cast<unsigned long long>(after_.waited()), after_.hole_p99().ms(),
                 before_.hole_p99().ms(), static_cast<unsigned long long>(before_.waited()));
}

}  // namespace cw::site
