#include "dataplane/core/rate/rate_control.h"

#include "dataplane/base/assert.h"

namespace cw {
namespace {

constexpr double drain_share = 0.75, cruise_share = 0.97, probe_share = 1.25;
/// More than policies are there for, and less than what a queue loses that is 8 % short of a line.
constexpr double loss_of_queue = 0.07;
constexpr double loss_of_probe = 0.05;  // beyond what the cruise before it lost
constexpr double share_of_all = 0.95;   // what merely loses a little arrives as a whole
constexpr uint32_t congested_intervals = 2, queued_intervals = 8;
constexpr uint32_t vain_drains_max = 2;
constexpr uint32_t thin_intervals = 8, trial_intervals = 3;
constexpr double trial_rest_max = 0.1;  // of loss that is taken for the line's own beside it
constexpr int64_t cruise_units = 7;
constexpr uint64_t packets_min = 16;  // that an interval must speak of
constexpr Duration interval_min = Duration::from_ms(20);
constexpr Duration accepted_time = Duration::from_s(30);
constexpr Duration drain_max = Duration::from_s(2);

/// Envelopes alone want a megabit, and with what is to be acknowledged more of them. Where they
/// fill the line no probe finds room in it, and the rate never rises again.
Rate least(const RateControlOptions& options, Rate configured) {
  const Rate for_envelopes = std::min(Rate::from_mbps(4), configured.scaled(0.25));
  return std::max({options.floor, for_envelopes, configured.scaled(1.0 / 16)});
}

}  // namespace

void RateControl::restart(Rate configured) {
  const RateControlOptions options = options_;
  *this = RateControl(options, configured);
}

Duration RateControl::base_rtt() const {
  Duration base;
  for (const Path& path : paths_) base = std::max(base, path.rtt.min());
  return base;
}

void RateControl::on_rtt(uint16_t path, Duration sample, Instant now) {
  CW_ASSERT(path < paths_.size());
  Path& of = paths_[path];
  of.rtt.add(sample, now);
  of.least = std::min(of.least, sample);
  const Duration queue = sample - of.rtt.min();
  if (phase_ == Phase::Cruise && now >= blind_until_) cruise_peak_ = std::max(cruise_peak_, queue);
  if (phase_ > Phase::Cruise) probe_peak_ = std::max(probe_peak_, queue);
}

// The shortest wait of an interval: whatever came and went within it was no standing queue.
void RateControl::take_queue(Interval& interval) {
  for (Path& path : paths_) {
    if (path.least == Duration::max()) continue;
    const Duration queue = path.least - path.rtt.min();
    path.least = Duration::max();
    if (queue <= interval.queue) continue;
    interval.queue = queue;
    interval.is_sure = queue > options_.queue_min * 3 + path.rtt.variance() * 2;
  }
}

bool RateControl::measure(uint64_t arrived, uint64_t lost, Instant now, Interval& interval) {
  const Duration elapsed = now - judged_at_;
  if (has_judged_ && elapsed < std::max(base_rtt(), interval_min)) return false;
  const uint64_t came = arrived - std::min(arrived_, arrived), gone = lost - std::min(lost_, lost);
  const bool is_idle = came + gone < packets_min;
  if (has_judged_ && is_idle && elapsed < unit() * 2) return false;
  if (sent_packets_ > 0) {
    packet_bytes_ = static_cast<double>(sent_bytes_) / static_cast<double>(sent_packets_);
  }
  const bool is_measured = has_judged_ && !is_idle;
  if (is_measured) {
    interval.sent_bps = static_cast<double>(sent_bytes_) * 8 / elapsed.seconds();
    interval.carried_bps = static_cast<double>(came) * packet_bytes_ * 8 / elapsed.seconds();
    const Share loss = wilson_share(gone, came + gone);
    interval.loss = loss.ratio;
    interval.loss_low = loss.low;
    take_queue(interval);
  }
  has_judged_ = true;
  judged_at_ = now;
  arrived_ = arrived;
  lost_ = lost;
  sent_packets_ = sent_bytes_ = 0;
  return is_measured;
}

void RateControl::on_report(uint64_t arrived, uint64_t lost, Instant now) {
  Interval interval;
  if (!options_.adapt || !measure(arrived, lost, now, interval)) return;
  if (phase_ > Phase::Cruise) {
    ++probe_intervals_;
    probe_loss_ = std::max(probe_loss_, interval.loss);
    probe_carried_bps_ = std::max(probe_carried_bps_, interval.carried_bps);
    return;
  }
  if (phase_ != Phase::Drain && now >= blind_until_) judge(interval, now);
}

void RateControl::judge(const Interval& interval, Instant now) {
  const bool is_route = now < accepted_until_ && interval.queue < accepted_;
  const bool stands = interval.queue > options_.queue_min && !is_route;
  const bool is_congested = stands && interval.loss_low > loss_of_queue;
  queued_ = interval.is_sure && stands ? queued_.with(interval) : Queued();
  congested_ = is_congested ? congested_ + 1 : 0;
  if (!stands) vain_drains_ = 0, drained_queue_ = Duration();
  if (phase_ == Phase::Cruise) cruise_loss_ += (interval.loss - cruise_loss_) / 4;
  if (congested_ < congested_intervals && queued_.intervals < queued_intervals) {
    return judge_loss(interval, stands, now);
  }
  trial_loss_ = 0;
  // A queue that is as long after a drain as before it is none, be it that a probe has passed
  // since.
  const auto floor = static_cast<double>(least(options_, configured_).bps());
  const bool could_drain = carries_bps_ * drain_share >= floor;
  const bool was_drained = drained_queue_ > Duration() && could_drain;
  const bool was_vain = was_drained && interval.queue > drained_queue_ * 3 / 4;
  vain_drains_ = was_vain ? vain_drains_ + 1 : 0;
  if (vain_drains_ == vain_drains_max) return accept_delay(interval.queue, now);
  cruise_loss_ = is_congested ? 0 : interval.loss;
  limit(carried_with_queue(interval, is_congested), interval.queue, now);
}

double RateControl::carried_with_queue(const Interval& interval, bool is_congested) const {
  const bool all_came = queued_.carried_bps > queued_.sent_bps * share_of_all;
  return all_came && !is_congested ? static_cast<double>(rate().bps()) : interval.carried_bps;
}

void RateControl::judge_loss(const Interval& interval, bool is_queued, Instant now) {
  if (phase_ == Phase::Cruise && trial_loss_ > 0) return judge_trial(interval, now);
  const bool is_own = now < own_loss_until_ && interval.loss < own_loss_;
  if (phase_ != Phase::Open || is_queued || is_own || interval.loss_low < loss_of_queue) {
    thin_ = {};
    return;
  }
  thin_.loss += interval.loss;
  thin_.carried_bps += interval.carried_bps;
  if (++thin_.intervals < thin_intervals) return;
  trial_loss_ = thin_.loss / thin_intervals;
  cruise_loss_ = 0;
  limit(thin_.carried_bps / thin_intervals, Duration(), now);
}

// At what came, a policer loses nothing.
void RateControl::judge_trial(const Interval& interval, Instant now) {
  thin_.loss += interval.loss;
  if (++thin_.intervals < trial_intervals) return;
  const double loss = thin_.loss / trial_intervals;
  const double tried = trial_loss_;
  thin_ = {};
  trial_loss_ = 0;
  if (loss < tried / 2) {
    // What the line itself loses came through the policer and did not arrive.
    carries_bps_ /= 1 - std::min(loss, trial_rest_max);
    cruise_loss_ = loss;
    return;
  }
  own_loss_ = std::max(loss, tried) * 3 / 2;
  own_loss_until_ = now + accepted_time;
  open();
}

void RateControl::limit(double carried_bps, Duration queue, Instant now) {
  const auto floor = static_cast<double>(least(options_, configured_).bps());
  const auto ceiling = static_cast<double>(configured_.bps());
  carries_bps_ = std::clamp(carried_bps, std::min(floor, ceiling), ceiling);
  drained_queue_ = queue;
  // At three quarters the queue loses a quarter of its time in its time.
  enter(Phase::Drain, std::clamp(queue * 4, unit(), drain_max), now);
}

// A longer route, or one that delays what is loaded: the base is learnt anew, and should it fall
// again, this much is not taken for a queue for a while.
void RateControl::accept_delay(Duration queue, Instant now) {
  accepted_ = queue + queue / 4;
  accepted_until_ = now + accepted_time;
  for (Path& path : paths_) path.rtt = RttEstimator();
  vain_drains_ = 0;
  drained_queue_ = Duration();
  open();
}

void RateControl::open() {
  phase_ = Phase::Open;
  phase_end_ = Instant::never();
  congested_ = 0;
  queued_ = {};
  thin_ = {};
}

void RateControl::enter(Phase phase, Duration time, Instant now) {
  phase_ = phase;
  phase_end_ = now + time;
  congested_ = 0;
  queued_ = {};
  thin_ = {};
  if (phase == Phase::Cruise) {
    cruise_peak_ = Duration();
    blind_until_ = now + base_rtt() + options_.queue_min * 2;
  }
  if (phase != Phase::Probe) return;
  probe_peak_ = Duration();
  probe_loss_ = probe_carried_bps_ = 0;
  probe_bytes_ = probe_intervals_ = 0;
}

bool RateControl::on_time(Instant now) {
  if (phase_end_ <= now) {
    switch (phase_) {
      case Phase::Open:
        break;
      case Phase::Drain:
        enter(Phase::Cruise, unit() * cruise_units, now);
        break;
      case Phase::Cruise:
        enter(Phase::Probe, unit(), now);
        break;
      case Phase::Probe:
        enter(Phase::Dip, unit(), now);
        break;
      case Phase::Dip:
        enter(Phase::Wait, unit(), now);
        break;
      case Phase::Wait:
        judge_probe(now);
        break;
    }
  }
  const bool has_changed = rate() != told_;
  told_ = rate();
  return has_changed;
}

void RateControl::judge_probe(Instant now) {
  const auto ceiling = static_cast<double>(configured_.bps());
  const double sent_bps = static_cast<double>(probe_bytes_) * 8 / unit().seconds();
  const bool was_filled = sent_bps > std::min(carries_bps_ * 1.1, ceiling * 0.97);
  const bool met_queue = probe_peak_ > cruise_peak_ + options_.queue_min;
  const bool met_loss = probe_loss_ > cruise_loss_ + loss_of_probe;
  const bool is_sound = was_filled && probe_intervals_ > 0;
  if (is_sound && !met_queue && !met_loss) {
    carries_bps_ *= probe_share;
    if (carries_bps_ >= ceiling) return open();
    return enter(Phase::Probe, unit(), now);
  }
  // While its queue stood, all that can come came.
  if (is_sound && met_queue) {
    carries_bps_ = std::max(carries_bps_, std::min(probe_carried_bps_, carries_bps_ * 1.1));
  }
  enter(Phase::Cruise, unit() * cruise_units, now);
}

Rate RateControl::share(double factor) const {
  const auto wanted = static_cast<uint64_t>(carries_bps_ * factor);
  return std::min(configured_, std::max(Rate::from_bps(wanted), least(options_, configured_)));
}

Rate RateControl::rate() const {
  switch (phase_) {
    case Phase::Open:
      return configured_;
    case Phase::Probe:
      return share(probe_share);
    case Phase::Drain:
    case Phase::Dip:
      return share(is_pressed_ ? cruise_share : drain_share);
    case Phase::Cruise:
    case Phase::Wait:
      return share(cruise_share);
  }
  return configured_;
}

}  // namespace cw
