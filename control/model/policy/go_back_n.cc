#include "control/model/policy/go_back_n.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "dataplane/base/assert.h"

namespace cw::model {
namespace {

constexpr size_t passes_max = 5;       // beyond, a run is lost as often as in the last of them
constexpr double seen_least = 1e-7;    // what is less likely is taken for done
constexpr double tick_rtts = 1.0 / 8;  // how late the sink says how far it is
constexpr size_t doublings_most = 6;

/// P(no slot is lost by all of `passes` passes over all of them), passes knowing nothing of each
/// other: a chain of their states together.
double whole_after(const LossChain& chain, uint64_t slots, size_t passes) {
  if (chain.is_independent()) {
    return std::exp(double(slots) * std::log1p(-std::pow(chain.loss(), double(passes))));
  }
  const size_t states = size_t{1} << passes;
  double kept[2][2] = {}, lost[2][2] = {};
  for (const LossChain::Move& move : chain.moves()) {
    (move.is_lost ? lost : kept)[move.from][move.to] += move.chance;
  }
  std::vector<double> moves(states * states), now(states);
  for (size_t from = 0; from < states; ++from) {
    now[from] = 1;
    for (size_t pass = 0; pass < passes; ++pass) now[from] *= chain.steady()[from >> pass & 1];
    for (size_t to = 0; to < states; ++to) {
      double any = 1, all_lost = 1;
      for (size_t pass = 0; pass < passes; ++pass) {
        const size_t a = from >> pass & 1, b = to >> pass & 1;
        any *= kept[a][b] + lost[a][b];
        all_lost *= lost[a][b];
      }
      moves[from * states + to] = any - all_lost;
    }
  }
  for (uint64_t slot = 0; slot < slots; ++slot) {
    std::vector<double> next(states, 0);
    for (size_t from = 0; from < states; ++from) {
      for (size_t to = 0; to < states; ++to) next[to] += now[from] * moves[from * states + to];
    }
    now = std::move(next);
  }
  return sum_of(now);
}

/// What of the first pass nothing behind it tells: P(all of the message is lost), and P(its last
/// slots are, all before them not).
struct Tails {
  double all = 0, some = 0;
};
Tails tails_of(const LossChain& chain, uint64_t slots) {
  States kept = chain.begin(), all = chain.begin(), tail(chain.state_count(), 0);
  for (uint64_t i = 0; i < slots; ++i) {
    tail = chain.after_one(tail, true);
    // A tail begins behind a slot that is kept.
    if (i > 0) {
      const States begun = chain.after_one(kept, true);
      for (size_t s = 0; s < tail.size(); ++s) tail[s] += begun[s];
    }
    kept = chain.after_one(kept, false);
    all = chain.after_one(all, true);
  }
  return {.all = sum_of(all), .some = sum_of(tail)};
}

/// Messages before a pass.
struct Walk {
  std::vector<double> runs;  ///< [n]: those that lack n runs of slots
  double at = 0;             ///< when the pass leaves, in RTTs
  double moved = 0;          ///< when the source last heard of progress
  size_t doublings = 0;
  bool asks = true;  ///< the sink may still ask once
  size_t pass = 2;
  double left() const { return sum_of(runs); }
};

class Walker {
 public:
  Walker(const GoBackNTimes& times, const LossChain& chain)
      : it_(times), spares_none_(chain.burst() / (2 * chain.burst() - 1)) {
    for (size_t pass = 1; pass <= passes_max; ++pass) {
      const double whole = whole_after(chain, times.slots, pass);
      rates_.push_back(-std::log(std::max(whole, 1e-300)));
    }
  }

  /// Runs that are missing after the first pass.
  double rate() const { return rates_[0]; }
  void done(double ms, double share) { outcomes_.push_back({ms, share}); }
  void sent(double share) { sent_ += share; }
  void walk(const Walk& walk);
  GoBackN result() { return {.law = Law::of_outcomes(std::move(outcomes_)), .sent = sent_}; }
  /// The chance of a run to be lost in this pass as well.
  double again(size_t pass) const {
    const size_t i = std::min(pass, passes_max) - 1;
    return rates_[i - 1] > 0 ? std::min(1.0, rates_[i] / rates_[i - 1]) : 0;
  }

 private:
  const GoBackNTimes& it_;
  double spares_none_;
  std::vector<double> rates_;  // [i]: runs missing after i + 1 passes
  std::vector<Outcome> outcomes_;
  double sent_ = 1;
};

/// `runs[n]` with the first of them gone, or lost again, and the others thinned.
std::vector<double> thinned(const std::vector<double>& runs, double again, bool first_is_lost) {
  std::vector<double> next(runs.size(), 0);
  for (size_t n = 1; n < runs.size(); ++n) {
    if (runs[n] < 1e-15) continue;
    double term = runs[n] * std::pow(1 - again, double(n - 1));
    const double odds = again / std::max(1 - again, 1e-12);
    for (size_t k = 0; k < n; ++k) {
      next[k + (first_is_lost ? 1 : 0)] += term * (first_is_lost ? again : 1 - again);
      term *= double(n - 1 - k) / double(k + 1) * odds;
    }
  }
  return next;
}

void Walker::walk(const Walk& now) {
  const double again = this->again(now.pass);
  const double end_ms = double(it_.slots) * it_.slot_ms;
  for (size_t n = 1; n < now.runs.size(); ++n) {
    // All of them arrive; the last lies so far behind.
    const double share = now.runs[n] * std::pow(1 - again, double(n));
    done((now.at + 1) * it_.rtt_ms + end_ms * double(n) / double(n + 1), share);
    sent_ += now.runs[n] * double(n) / double(n + 1);
  }
  std::vector<double> further = thinned(now.runs, again, false);
  further[0] = 0;
  const std::vector<double> stuck = thinned(now.runs, again, true);
  const double timeout = 1 + it_.alpha;
  Walk next{.runs = std::move(further), .moved = now.at + 1 + tick_rtts, .pass = now.pass + 1};
  next.asks = false;
  next.doublings = now.asks ? 0 : 1;
  next.at = now.asks ? now.at + 1 : next.moved + timeout;
  // A burst that hits the first run again spares its first slots or does not: of all places where
  // it may lie over the run, nearly every second.
  Walk late{.moved = std::max(now.moved, now.at), .asks = now.asks, .pass = now.pass + 1};
  Walk part{
      .moved = now.at + 1 + tick_rtts, .doublings = 1, .asks = now.asks, .pass = now.pass + 1};
  for (const double each : stuck) {
    late.runs.push_back(each * spares_none_);
    part.runs.push_back(each * (1 - spares_none_));
  }
  late.at = late.moved + timeout * double(1u << std::min(now.doublings, doublings_most));
  late.doublings = now.doublings + 1;
  part.at = part.moved + timeout;
  for (const Walk* each : {&next, &late, &part}) {
    if (each->left() > seen_least) {
      walk(*each);
    } else {
      done((each->at + 1) * it_.rtt_ms + end_ms, each->left());
    }
  }
}

}  // namespace

GoBackN go_back_n_law(const GoBackNTimes& times, const LossChain& chain) {
  CW_ASSERT(chain.state_count() <= 2);
  Walker walker(times, chain);
  const double end_ms = double(times.slots) * times.slot_ms, rate = walker.rate();
  const double whole = std::exp(-rate), timeout = 1 + times.alpha;
  walker.done(end_ms + times.rtt_ms, whole);
  if (whole > 1 - 1e-15) return walker.result();

  // Tails first: one run, which is sent again by timeout, and asked for when it has a hole itself.
  const Tails tails = tails_of(chain, times.slots);
  const double told = std::max(1 + tick_rtts, 1 + end_ms / times.rtt_ms + tick_rtts / 2);
  Walk all{.runs = {0, tails.all}, .at = timeout, .doublings = 1};
  Walk some{.runs = {0, tails.some}, .at = told + timeout, .moved = told, .doublings = 1};
  // The rest lacks a Poisson number of runs, of which there is one at least.
  const double rest = std::max(0.0, 1 - whole - tails.all - tails.some);
  const auto most = static_cast<size_t>(rate + 12 * std::sqrt(rate) + 12);
  Walk holes{.runs = std::vector<double>(most + 1, 0), .at = 1};
  double all_holes = 0;
  for (size_t n = 1; n <= most; ++n) {
    holes.runs[n] = std::exp(double(n) * std::log(rate) - rate - std::lgamma(double(n) + 1));
    all_holes += holes.runs[n];
  }
  for (double& each : holes.runs) each *= all_holes > 0 ? rest / all_holes : 0;
  for (const Walk* each : {&all, &some, &holes}) walker.walk(*each);
  return walker.result();
}

}  // namespace cw::model
