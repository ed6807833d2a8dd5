#include "control/adapt/adapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "control/units/text.h"

namespace cw::adapt {
namespace {

/// One may be chance.
constexpr uint64_t bursts_to_raise = 2;
/// Times as many transfers may be late as the law says: those of hosts are no messages of ours.
constexpr double doubt = 3;
/// Of RTT, rate and bursts: less is no other line.
constexpr double line_step = 1.25, burst_step = 2;
constexpr uint64_t caution_max = 64;
/// Taken back within so many times what it had waited for: too soon.
constexpr int64_t soon = 10;
constexpr double nothing_sent = 0.001;  // a smaller part of what is sent is no difference

bool is_apart(double one, double other, double step) {
  return one > other * step || other > one * step;
}

std::string percent(double share) { return text_of("%.2g", share * 100); }

std::string line_text(const LineLoss& loss) {
  if (!loss.has_lost()) {
    return text_of("no loss in %llu packets",
                   static_cast<unsigned long long>(loss.counts.packets()));
  }
  std::string text = "loss " + percent(loss.share.ratio) + " % (" + percent(loss.share.low) +
                     " to " + percent(loss.share.high) + ")";
  if (loss.burst_packets >= 1.5) text += text_of(", bursts of %.0f", loss.burst_packets);
  return text;
}

/// Of what is aimed at, less is better.
double price_of(const model::Prediction& it, model::Aim aim) {
  if (aim != model::Aim::Tail) return model::cost_of(it, aim);
  return it.law.quantile_ms(1 - 0.001 / doubt);
}

std::string aim_text(const model::Prediction& before, const model::Prediction& after,
                     model::Aim aim) {
  switch (aim) {
    case model::Aim::Tail:
      return text_of("expected p99.9 at most %.3g ms -> %.3g ms", price_of(before, aim),
                     price_of(after, aim));
    case model::Aim::Mean:
      return text_of("expected mean %.3g ms -> %.3g ms", before.mean_ms, after.mean_ms);
    case model::Aim::Goodput:
      return text_of("expected %.3g Gbit/s -> %.3g Gbit/s", before.goodput_gbps,
                     after.goodput_gbps);
  }
  return {};
}

Line line_at(const LineFacts& facts, double loss) {
  return {.rate = facts.rate, .rtt = facts.rtt, .loss = loss, .burst = facts.loss.burst_packets};
}

}  // namespace

double Adapter::cost(const model::Prediction& it) const { return price_of(it, aim_); }

std::optional<Decision> Adapter::look(const LineFacts& facts, size_t present, Instant now) {
  if (facts.rtt == Duration() || facts.rate == Rate() || facts.loss.counts.packets() == 0) {
    return std::nullopt;
  }
  const bool is_worse = this->is_worse(facts);
  if (!facts.is_queued && (is_worse || is_known_better(facts))) {
    for (const double loss : {facts.loss.share.high, facts.loss.share.ratio}) {
      if (loss > facts.loss.share.ratio && !is_worse) continue;
      if (auto decision = raise(facts, loss, present, now)) return decision;
    }
    accept(facts);
  }
  accepted_.loss_high = std::min(accepted_.loss_high, facts.loss.share.high);
  if (!is_long_enough(facts, now)) return std::nullopt;
  return lower(facts, present, now);
}

void Adapter::refused(size_t candidate, Instant now) {
  if (refused_until_.size() <= candidate) refused_until_.resize(candidate + 1, Instant());
  refused_until_[candidate] = now + refused_for;
  forget();
}

// ---- when ----

bool Adapter::is_other_line(const LineFacts& facts) const {
  return is_apart(facts.rtt.ms(), accepted_.rtt.ms(), line_step) ||
         is_apart(double(facts.rate.bps()), double(accepted_.rate.bps()), line_step) ||
         is_apart(facts.loss.burst_packets, accepted_.burst, burst_step);
}

bool Adapter::is_worse(const LineFacts& facts) const {
  if (facts.loss.counts.bursts < bursts_to_raise) return false;
  return facts.loss.share.ratio > accepted_.loss_high || is_other_line(facts);
}

/// There is as much again to tell from: how long runs are, above all, takes some of them to know.
bool Adapter::is_known_better(const LineFacts& facts) const {
  const uint64_t bursts = facts.loss.counts.bursts;
  return bursts >= bursts_to_raise && bursts >= 2 * accepted_.bursts;
}

bool Adapter::is_long_enough(const LineFacts& facts, Instant now) const {
  const Duration age = std::min(facts.loss.age, now - changed_);
  const bool has_lost_enough = facts.loss.counts.bursts >= losses_min * caution_;
  return (age >= facts.rtt * rtts_min && has_lost_enough) || age >= calm_max;
}

// ---- what ----

bool Adapter::may_take(size_t candidate, const Verdicts& verdicts, Instant now) const {
  const auto& verdict = verdicts[candidate];
  const bool is_refused = candidate < refused_until_.size() && now < refused_until_[candidate];
  return verdict && verdict->overhead <= overhead_max_ && !is_refused;
}

/// What sends least of those that are about as good as the best. Nothing: none may be taken.
std::optional<size_t> Adapter::best(const Verdicts& verdicts, Instant now) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (may_take(i, verdicts, now)) least = std::min(least, cost(*verdicts[i]));
  }
  std::optional<size_t> found;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (!may_take(i, verdicts, now)) continue;
    if (cost(*verdicts[i]) > least * (1 + alike)) continue;
    if (!found || verdicts[i]->overhead < verdicts[*found]->overhead) found = i;
  }
  return found;
}

std::optional<Decision> Adapter::raise(const LineFacts& facts, double loss, size_t present,
                                       Instant now) {
  const Verdicts& verdicts = judge_.at(line_at(facts, loss));
  const auto to = best(verdicts, now);
  if (!to || *to == present) return std::nullopt;
  const model::Prediction& after = *verdicts[*to];
  if (verdicts[present]) {
    const model::Prediction& before = *verdicts[present];
    const bool gains = cost(after) < cost(before) * (1 - gain_min);
    const bool is_over = before.overhead > overhead_max_;
    const bool sends_less = after.overhead < before.overhead;
    if ((!gains || sends_less) && !is_over) return std::nullopt;
  }
  const bool is_back = waited_ != Duration() && now - changed_ < waited_ * soon;
  caution_ = is_back ? std::min(caution_ * 2, caution_max) : 1;
  waited_ = Duration();
  changed_ = now;
  accept(facts);
  return decide(facts, verdicts, present, *to);
}

std::optional<Decision> Adapter::lower(const LineFacts& facts, size_t present, Instant now) {
  const Verdicts& verdicts = judge_.at(line_at(facts, facts.loss.share.ratio));
  const auto to = best(verdicts, now);
  if (!to || *to == present) return std::nullopt;
  if (verdicts[present]) {
    const double before = verdicts[present]->overhead, after = verdicts[*to]->overhead;
    if (after > before * (1 - nothing_sent)) return std::nullopt;
  }
  waited_ = std::min(facts.loss.age, now - changed_);
  changed_ = now;
  accept(facts);
  return decide(facts, verdicts, present, *to);
}

void Adapter::accept(const LineFacts& facts) {
  accepted_ = {.loss_high = facts.loss.share.high,
               .bursts = facts.loss.counts.bursts,
               .burst = facts.loss.burst_packets,
               .rtt = facts.rtt,
               .rate = facts.rate};
}

Decision Adapter::decide(const LineFacts& facts, const Verdicts& verdicts, size_t from,
                         size_t to) const {
  const auto& before = verdicts[from];
  const model::Prediction& after = *verdicts[to];
  Decision decision{.from = from, .to = to};
  decision.is_raise = !before || after.overhead > before->overhead;
  decision.what = line_text(facts.loss) + ": " + name_of(candidates()[from]) + " -> " +
                  name_of(candidates()[to]) + ", " +
                  (before ? aim_text(*before, after, aim_) +
                                text_of(", sends %.3g -> %.3g", before->overhead, after.overhead)
                          : "where the one before has no law");
  return decision;
}

}  // namespace cw::adapt
