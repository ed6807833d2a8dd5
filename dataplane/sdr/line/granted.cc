#include "dataplane/sdr/line/granted.h"

#include <utility>

namespace cw::sdr {
namespace {

/// Over which a wish is an average; a burst waits no longer than `drain_time` for the rate.
constexpr Duration average_time = Duration::from_ms(8), drain_time = Duration::from_ms(2);
/// Tells, of a millisecond each.
constexpr uint32_t endless = 8;
/// So long unused, and the grant is renewed seldom; or not at all.
constexpr Duration slow_after = Duration::from_ms(20), rest_after = Duration::from_s(1);
constexpr Duration slow_interval = Duration::from_ms(4);
static_assert(slow_interval < grant_lease);

uint64_t kbps_of(uint64_t bytes, Duration time) {
  return bytes * 8'000'000 / static_cast<uint64_t>(std::max<int64_t>(time.ns(), 1));
}

}  // namespace

bool Granted::renew(Instant now) {
  const Rate before = rate_;
  (void)line_.grant.try_read(grant_);
  const bool is_over = now >= grant_.until;
  rate_ = is_over ? Rate() : grant_.rate;
  due_ = is_over ? now + grant_interval : std::min(now + grant_interval, grant_.until);
  return rate_ != before;
}

uint32_t Granted::Wish::update(const Taken& taken, Duration elapsed) {
  const Duration passed = std::min(elapsed, average_time);
  const auto now = static_cast<int64_t>(kbps_of(taken.bytes, elapsed));
  const auto before = static_cast<int64_t>(average_kbps);
  average_kbps = static_cast<uint64_t>(before + (now - before) * passed.ns() / average_time.ns());
  const uint64_t kbps = std::max(average_kbps, kbps_of(taken.waiting, drain_time));
  return static_cast<uint32_t>(std::min<uint64_t>(kbps, Demand::all - 1));
}

uint32_t Granted::Wish::update_class(const Taken& taken, Duration elapsed) {
  const bool waits = taken.has_more || taken.waiting > 0;
  waits_in_a_row = waits ? waits_in_a_row + 1 : 0;
  const uint32_t kbps = update(taken, elapsed);
  // Where waiting bytes are not counted, what waits may be anything.
  const bool may_be_all = waits_in_a_row >= endless || (taken.has_more && taken.waiting == 0);
  return may_be_all ? Demand::all : kbps;
}

/// Notes tell another end what to send again, and to a link that only receives nobody grants
/// anything for data. Returns whether there were any envelopes.
bool Granted::tell_envelopes(const Waiting& waiting, Duration elapsed) {
  const Taken taken{.bytes = std::exchange(envelopes_bytes_, 0),
                    .waiting = waiting.envelopes_bytes};
  demand_.envelopes_kbps = envelopes_wish_.update(taken, elapsed);
  return taken.bytes > 0 || taken.waiting > 0;
}

void Granted::tell(Shares& shares, const Waiting& waiting, Instant now) {
  bool has_data = false;
  // Classes beyond those that have demands of their own share the last.
  std::array<Taken, grant_classes_max> taken{};
  for (size_t i = 0; i < shares.count(); ++i) {
    Taken& of = taken[std::min(i, grant_classes_max - 1)];
    of.bytes += shares.take_count(i);
    of.waiting += shares.waiting_bytes(i);
    of.has_more |= shares.has_more(i);
  }
  for (size_t i = 0; i < grant_classes_max; ++i) {
    has_data |= taken[i].bytes > 0 || taken[i].waiting > 0 || taken[i].has_more;
    // What waits at the pacer has left the streams, and wants to leave though nothing follows.
    if (waiting.backlog <= grant_interval) {
      is_at_pacer_[i] = false;
    } else if (taken[i].bytes > 0) {
      is_at_pacer_[i] = true;
    }
    taken[i].has_more |= is_at_pacer_[i];
    demand_.kbps[i] = wishes_[i].update_class(taken[i], now - told_at_);
  }
  const bool has_envelopes = tell_envelopes(waiting, now - told_at_);
  demand_.at = told_at_ = now;
  demand_.lowerings = grant_.lowerings;
  line_.demand.write(demand_);
  line_.counts.write(counts_);
  plan_next(has_data, has_envelopes, waiting.is_any, now);
}

// An envelope now and then has a grant of its own and makes nobody hold one; a row of them does.
void Granted::plan_next(bool has_data, bool has_envelopes, bool waits, Instant now) {
  if (has_data) used_at_ = now;
  const Duration unused = now - used_at_;
  is_slow_ = unused >= slow_after && !waits;
  if (!is_slow_) return;
  const bool rests = unused >= rest_after && !has_envelopes;
  due_ = rests ? Instant::never() : now + slow_interval;
}

void Granted::begin_epoch() {
  counts_ = {};
  base_rtts_ = {};
}

// Paths of unequal length are one number to rate control: the longest of them, and the queue on
// whichever was asked.
void Granted::on_rtt(uint16_t path, Duration sample) {
  Duration& base = base_rtts_[path];
  base = base == Duration() ? sample : std::min(base, sample);
  counts_.rtt = std::ranges::max(base_rtts_) + (sample - base);
  ++counts_.rtts;
}

}  // namespace cw::sdr
