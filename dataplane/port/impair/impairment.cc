#include "dataplane/port/impair/impairment.h"

#include <cmath>
#include <string>

namespace cw {

GilbertElliott GilbertElliott::from_burst(double mean_burst, double mean_loss) {
  const double to_good = 1 / mean_burst;
  return {.to_bad = mean_loss * to_good / (1 - mean_loss), .to_good = to_good};
}

double GilbertElliott::mean_loss() const {
  if (to_bad == 0) return loss_good;
  const double bad_share = to_bad / (to_bad + to_good);
  return bad_share * loss_bad + (1 - bad_share) * loss_good;
}

const BurstProfile* find_burst_profile(std::string_view name) {
  for (const BurstProfile& profile : burst_profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

double BurstLoss::drops_per_event() const {
  const double window_drops = 0.5 * (window_drops_min + window_drops_max);
  return profile.single + profile.high_frequency * window_drops +
         profile.long_burst * burst_packets;
}

double BurstLoss::packets_per_event() const {
  return profile.single + profile.high_frequency * window_packets +
         profile.long_burst * burst_packets;
}

double BurstLoss::event_probability() const {
  if (loss == 0) return 0;
  // The packets between two events follow from loss = drops / (between + packets in the event).
  const double between = drops_per_event() / loss - packets_per_event();
  return 1 / (1 + between);
}

bool Blackout::covers(Instant t) const {
  if (t < start) return false;
  const Duration since = t - start;
  return (period == Duration() ? since : since % period) < length;
}

namespace {

/// Collects the first complaint; the checks read like a list.
class Judge {
 public:
  void must(bool is_fine, const std::string& sentence) {
    if (is_fine || !first_.empty()) return;
    first_ = sentence;
  }
  void probability(const char* field, double value) {
    must(value >= 0 && value <= 1,
         std::string(field) + " is " + std::to_string(value) + "; a probability is from 0 to 1");
  }
  void not_negative(const char* field, Duration value) {
    must(value >= Duration(),
         std::string(field) + " is " + std::to_string(value.ns()) + " ns; it must not be negative");
  }
  void delay(const char* field, Duration value) {
    must(value >= Duration() && value <= impairment_delay_max,
         std::string(field) + " is " + std::to_string(value.ns()) +
             " ns; 0 ns to one hour are accepted");
  }
  Result<void> result() const {
    if (first_.empty()) return {};
    return failure(first_);
  }

 private:
  std::string first_;
};

void check_bursts(const BurstLoss& bursts, Judge& judge) {
  judge.probability("bursts.loss", bursts.loss);
  if (bursts.loss == 0) return;
  const BurstProfile& profile = bursts.profile;
  judge.probability("bursts.profile.single", profile.single);
  judge.probability("bursts.profile.high_frequency", profile.high_frequency);
  judge.probability("bursts.profile.long_burst", profile.long_burst);
  const double sum = profile.single + profile.high_frequency + profile.long_burst;
  judge.must(std::abs(sum - 1) < 1e-9,
             "the shares of bursts.profile add up to " + std::to_string(sum) + ", not to 1");
  judge.must(bursts.burst_spread < bursts.burst_packets,
             "bursts.burst_spread must be below bursts.burst_packets");
  judge.must(uint64_t{bursts.burst_packets} + bursts.burst_spread <= BurstLoss::event_packets_max &&
                 bursts.window_packets <= BurstLoss::event_packets_max,
             "bursts: an event spans at most 64 packets");
  judge.must(bursts.window_drops_min >= 1 && bursts.window_drops_min <= bursts.window_drops_max &&
                 bursts.window_drops_max <= bursts.window_packets,
             "bursts: 1 <= window_drops_min <= window_drops_max <= window_packets must hold");
  const double loss_most = bursts.drops_per_event() / bursts.packets_per_event();
  judge.must(bursts.loss <= loss_most, "bursts.loss is " + std::to_string(bursts.loss) +
                                           "; these events lose at most " +
                                           std::to_string(loss_most));
}

void check_queue(const Impairment& it, Judge& judge) {
  const bool has_queue = it.queue_bytes < Bytes(UINT64_MAX) || it.queue_time < Duration::max() ||
                         it.mark_above < Duration::max();
  judge.must(it.rate > Rate() || !has_queue,
             "queue_bytes, queue_time and mark_above need a rate; rate is 0 (unlimited)");
  judge.must(it.rate == Rate() || it.rate >= impairment_rate_min,
             "rate is " + std::to_string(it.rate.bps()) + " bit/s; 0 (unlimited) or 1000 and more");
  judge.not_negative("queue_time", it.queue_time);
  judge.not_negative("mark_above", it.mark_above);
}

void check_delays(const Impairment& it, Judge& judge) {
  judge.delay("delay", it.delay);
  judge.delay("jitter_max", it.jitter_max);
  judge.delay("jitter_mean", it.jitter_mean);
  judge.must(it.jitter_shape == JitterShape::Uniform || it.jitter_mean <= it.jitter_max,
             "jitter_mean must not be above jitter_max");
  judge.must(it.jitter_shape == JitterShape::Uniform || it.jitter_max == Duration() ||
                 it.jitter_mean > Duration(),
             "exponential jitter needs a jitter_mean above 0");
  judge.probability("reorder", it.reorder);
  judge.delay("reorder_delay", it.reorder_delay);
  judge.must(it.reorder == 0 || it.reorder_delay > Duration(),
             "reorder needs a reorder_delay above 0");
}

void check_blackout(const Blackout& blackout, Judge& judge) {
  judge.not_negative("blackout.length", blackout.length);
  judge.not_negative("blackout.period", blackout.period);
  judge.must(blackout.period == Duration() || blackout.length < blackout.period,
             "blackout.length must be below blackout.period, or nothing ever passes");
}

}  // namespace

Result<void> validate(const Impairment& it) {
  Judge judge;
  judge.must(it.mtu_from == Instant::never() || it.mtu > Bytes(), "mtu is 0; nothing would pass");
  judge.must(it.targeted.first > 0 || (it.targeted.every == 0 && it.targeted.resends == 0),
             "targeted.every and targeted.resends need targeted.first, counted from 1");
  check_queue(it, judge);
  check_blackout(it.blackout, judge);
  judge.probability("loss", it.loss);
  judge.probability("gilbert_elliott.to_bad", it.gilbert_elliott.to_bad);
  judge.probability("gilbert_elliott.to_good", it.gilbert_elliott.to_good);
  judge.probability("gilbert_elliott.loss_good", it.gilbert_elliott.loss_good);
  judge.probability("gilbert_elliott.loss_bad", it.gilbert_elliott.loss_bad);
  check_bursts(it.bursts, judge);
  judge.probability("corrupt", it.corrupt);
  judge.probability("duplicate", it.duplicate);
  judge.must(it.copies_max >= 1 && it.copies_max <= impairment_copies_max,
             "copies_max is " + std::to_string(it.copies_max) + "; 1 to 4 are accepted");
  check_delays(it, judge);
  return judge.result();
}

}  // namespace cw
