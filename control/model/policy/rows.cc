#include "control/model/policy/rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "control/model/law/tries.h"

namespace cw::model {
namespace {

constexpr int resends_max = 16;
constexpr double seen_least = 1e-12;
/// So many states of all classes of a block are followed together; of more, two classes at a time.
constexpr size_t followed_most = 8192;

/// A class: every `count`-th slot of a block.
struct Class {
  uint32_t data = 0, repair = 0, count = 1;
};

/// Groups of a row of XOR differ by one slot where m does not divide k: `group` of them.
Class class_of(const Code& code, uint32_t group) {
  if (!code.is_xor) return {code.k, code.m, code.rows};
  const uint32_t groups = std::min(code.m, code.k);
  return {(code.k - group - 1) / groups + 1, 1, code.rows * groups};
}
uint32_t groups_of(const Code& code) { return code.is_xor ? std::min(code.m, code.k) : 1; }

BlockLosses independent(double loss, const Code& code) {
  BlockLosses result;
  for (int resends = 0; resends <= resends_max; ++resends) {
    double well = 0;  // of a row, as a logarithm
    for (uint32_t group = 0; group < groups_of(code); ++group) {
      const Class it = class_of(code, group);
      const ClassFailure failure = class_failure(it.data, it.repair, loss, resends);
      well += std::log1p(-failure.chance);
      if (resends == 0) result.asked += code.rows * failure.asked;
    }
    result.log_whole.push_back(code.rows * well);
    if (code.rows * well > -seen_least) break;
  }
  return result;
}

/// What some classes have lost, each at most what its repair makes up for: what loses more is out.
class Tally {
 public:
  Tally(const LossChain& chain, uint32_t classes, uint32_t repair)
      : chain_(chain), side_(repair + 1), states_(count_of(classes, repair)) {
    for (States& each : states_) each.assign(chain.state_count(), 0);
    states_[0] = chain.steady();
  }
  static size_t count_of(uint32_t classes, uint32_t repair) {
    const double count = std::pow(repair + 1.0, classes);
    return count > 1e9 ? SIZE_MAX : static_cast<size_t>(count);
  }

  /// The next slot is of this class.
  void slot(uint32_t whose) {
    std::vector<States> next(states_.size(), States(chain_.state_count(), 0));
    const size_t step = count_of(whose, side_ - 1);
    for (size_t at = 0; at < states_.size(); ++at) {
      if (sum_of(states_[at]) <= 0) continue;
      const bool is_full = at / step % side_ + 1 == side_;
      for (const LossChain::Move& move : chain_.moves()) {
        if (move.is_lost && is_full) continue;
        next[at + (move.is_lost ? step : 0)][move.to] += states_[at][move.from] * move.chance;
      }
    }
    states_ = std::move(next);
  }
  /// And these are of others.
  void skip(uint64_t slots) {
    for (States& each : states_) each = chain_.after(each, slots);
  }
  /// Slots of each class in turn, so often; `apart` from one of the first to the next.
  void turns(uint32_t classes, uint32_t count, uint64_t apart) {
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t whose = 0; whose < classes; ++whose) slot(whose);
      skip(apart - classes);
    }
  }
  double log_well() const {
    double sum = 0;
    for (const States& each : states_) sum += sum_of(each);
    return std::log(std::max(sum, 1e-300));
  }

 private:
  const LossChain& chain_;
  uint32_t side_;
  std::vector<States> states_;
};

/// The logarithm of P(so many classes that follow each other are well).
double log_well_of(const LossChain& chain, const Class& it, uint32_t classes, uint64_t gap,
                   uint64_t repair_apart) {
  Tally tally(chain, classes, it.repair);
  tally.turns(classes, it.data, it.count);
  tally.skip(gap);
  tally.turns(classes, it.repair, repair_apart);
  return tally.log_well();
}

/// Of a class and its like in the next block.
double log_next_block_well(const LossChain& chain, const Class& it, uint64_t gap,
                           uint64_t repair_apart) {
  Tally tally(chain, 2, it.repair);
  const auto both = [&](uint32_t count, uint64_t apart) {
    for (uint32_t i = 0; i < 2 * count; ++i) {
      tally.slot(i / count);
      tally.skip(apart - 1);
    }
  };
  both(it.data, it.count);
  tally.skip(gap);
  both(it.repair, repair_apart);
  return tally.log_well();
}

/// Losses of one class: [data lost][repair lost].
std::vector<std::vector<double>> losses_of(const LossChain& chain, const Class& it, uint64_t gap,
                                           uint64_t repair_apart) {
  const auto step = [&](Missing& lost, uint64_t apart) {
    Missing next(lost.size() + 1, States(chain.state_count(), 0));
    for (size_t n = 0; n < lost.size(); ++n) {
      for (const bool is_lost : {false, true}) {
        const States to = chain.after(chain.after_one(lost[n], is_lost), apart - 1);
        for (size_t s = 0; s < to.size(); ++s) next[n + (is_lost ? 1 : 0)][s] += to[s];
      }
    }
    lost = std::move(next);
  };
  Missing data(1, chain.steady());
  for (uint32_t i = 0; i < it.data; ++i) step(data, it.count);
  std::vector<std::vector<double>> result;
  for (const States& begin : data) {
    Missing repair(1, chain.after(begin, gap));
    for (uint32_t i = 0; i < it.repair; ++i) step(repair, repair_apart);
    std::vector<double> shares;
    for (const States& each : repair) shares.push_back(sum_of(each));
    result.push_back(std::move(shares));
  }
  return result;
}

/// What of those that failed is unfinished after each number of resends.
std::vector<double> unfinished_of(const LossChain& chain, const Class& it,
                                  const std::vector<std::vector<double>>& losses, double failure,
                                  uint64_t between) {
  std::vector<double> result;
  std::vector<Missing> left(it.data + 1);
  for (uint32_t lost = 1; lost <= it.data; ++lost) left[lost] = all_missing(chain, lost);
  for (int resends = 1; resends <= resends_max; ++resends) {
    double still = 0;
    for (uint32_t lost = 1; lost <= it.data; ++lost) {
      left[lost] = try_again(chain, left[lost], between);
      for (uint32_t gone = 0; gone <= it.repair; ++gone) {
        double more = 0;  // P(more is missing than `repair - gone` make up for)
        for (size_t n = it.repair - gone + 1; n < left[lost].size(); ++n) {
          more += sum_of(left[lost][n]);
        }
        still += losses[lost][gone] * more;
      }
    }
    result.push_back(std::min(1 - seen_least, still / failure));
    if (result.back() < seen_least) break;
  }
  return result;
}

}  // namespace

double binomial(uint64_t tries, uint64_t hits, double p) {
  if (p <= 0) return hits == 0 ? 1 : 0;
  if (p >= 1) return hits == tries ? 1 : 0;
  const auto n = static_cast<double>(tries), k = static_cast<double>(hits);
  const double ways = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  return std::exp(ways + k * std::log(p) + (n - k) * std::log1p(-p));
}

double row_failure(const Code& code, double loss) {
  double well = 0;  // as a logarithm
  for (uint32_t group = 0; group < groups_of(code); ++group) {
    const Class it = class_of(code, group);
    well += std::log1p(-class_failure(it.data, it.repair, loss, 0).chance);
  }
  return -std::expm1(well);
}

ClassFailure class_failure(uint32_t data, uint32_t repair, double loss, int resends) {
  ClassFailure failure;
  for (uint32_t lost = 1; lost <= data; ++lost) {
    double repair_short = 0;
    for (uint32_t i = lost > repair ? 0 : repair - lost + 1; i <= repair; ++i) {
      repair_short += binomial(repair, i, loss);
    }
    const double share = binomial(data, lost, std::pow(loss, resends + 1)) * repair_short;
    failure.chance += share;
    failure.asked += share * lost;
  }
  failure.chance = std::min(failure.chance, 1.0);
  return failure;
}

BlockLosses block_losses(const LossChain& chain, const Code& code, const Gaps& gaps) {
  if (chain.is_independent()) return independent(chain.loss(), code);
  const Class it = class_of(code, 0);  // groups that differ count as the largest
  const uint64_t repair_apart = it.count + gaps.shards, gap = gaps.repair;
  const auto losses = losses_of(chain, it, gap, repair_apart);
  double failure = 0;
  BlockLosses result;
  for (uint32_t lost = 1; lost <= it.data; ++lost) {
    for (uint32_t gone = it.repair - std::min(it.repair, lost - 1); gone <= it.repair; ++gone) {
      failure += losses[lost][gone];
      result.asked += it.count * lost * losses[lost][gone];
    }
  }
  double log_well = std::log1p(-std::min(failure, 1 - 1e-12));
  const double alone = log_well;
  if (failure > 0) {
    if (Tally::count_of(it.count, it.repair) <= followed_most) {
      log_well = log_well_of(chain, it, it.count, gap, repair_apart);
    } else {
      const double both = log_well_of(chain, it, 2, gap, repair_apart);
      log_well += (it.count - 1) * std::min(0.0, both - alone);
    }
    const double both = log_next_block_well(chain, it, gap, repair_apart);
    result.next_block = std::clamp((both - alone) / alone, 0.0, 1.0);
  }
  result.log_whole.push_back(log_well);
  if (failure <= 0) return result;
  // Classes fail in company, and a company is finished when all of it is. What is sent again lies
  // close together and meets the same bursts.
  const double failed = it.count * failure / std::max(-log_well, 1e-300);
  const double company = std::max(1.0, failed / chain.burst());
  for (const double still : unfinished_of(chain, it, losses, failure, gaps.resends)) {
    result.log_whole.push_back(log_well * -std::expm1(company * std::log1p(-still)));
  }
  return result;
}

}  // namespace cw::model
