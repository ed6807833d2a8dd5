#include "bench/policy/coding_model.h"

#include <algorithm>
#include <cmath>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// P(X = hits), X binomial over `tries` with probability `p`, 0 < p < 1.
double binomial(uint32_t tries, uint32_t hits, double p) {
  const double ways =
      std::lgamma(tries + 1.0) - std::lgamma(hits + 1.0) - std::lgamma(tries - hits + 1.0);
  return std::exp(ways + hits * std::log(p) + (tries - hits) * std::log1p(-p));
}

/// P(X > hits): summed from its largest terms down, not taken from 1.
double binomial_above(uint32_t tries, uint32_t hits, double p) {
  double sum = 0;
  for (uint32_t i = hits + 1; i <= tries; ++i) sum += binomial(tries, i, p);
  return std::min(sum, 1.0);
}

double xor_failure(const CodingSetting& it) {
  double all_well = 0;  // as a logarithm
  for (uint32_t group = 0; group < it.m && group < it.k; ++group) {
    const uint32_t data = (it.k - group - 1) / it.m + 1;
    all_well += std::log1p(-binomial_above(data + 1, 1, it.line.loss));
  }
  return -std::expm1(all_well);
}

/// The probability that `data` and `repair` chunks together lack more than `repair` when each of
/// the data has had `resends` tries more.
double group_failure(uint32_t data, uint32_t repair, double loss, int resends) {
  double sum = 0;
  for (uint32_t lost = 1; lost <= data; ++lost) {
    double repair_short = 0;
    for (uint32_t i = lost > repair ? 0 : repair - lost + 1; i <= repair; ++i) {
      repair_short += binomial(repair, i, loss);
    }
    sum += binomial(data, lost, std::pow(loss, resends + 1)) * repair_short;
  }
  return std::min(sum, 1.0);
}

uint32_t block_count(const CodingSetting& it) {
  CW_ASSERT(it.k > 0 && it.line.chunks % it.k == 0);
  return it.line.chunks / it.k;
}

/// The probability that a message is not whole after so many resends of what it lacks.
double unfinished(const CodingSetting& it, int resends) {
  double well = 0;  // as a logarithm
  const uint32_t groups = it.code == PaperCode::Mds ? 1 : std::min(it.m, it.k);
  for (uint32_t group = 0; group < groups; ++group) {
    const uint32_t data = (it.k - group - 1) / groups + 1;
    well += std::log1p(-group_failure(data, it.m / groups, it.line.loss, resends));
  }
  return -std::expm1(block_count(it) * well);
}

}  // namespace

double block_failure(const CodingSetting& it) {
  if (it.line.loss <= 0) return 0;
  return it.code == PaperCode::Mds ? binomial_above(it.k + it.m, it.m, it.line.loss)
                                   : xor_failure(it);
}

double fallback_probability(const CodingSetting& it) {
  return -std::expm1(block_count(it) * std::log1p(-block_failure(it)));
}

double coding_mean_ms(const CodingSetting& it) {
  const uint32_t blocks = block_count(it);
  const double repair = std::ceil(double(it.line.chunks) * it.m / it.k);
  double mean = (it.line.chunks + repair) * it.line.inject_ms + it.line.rtt_ms;
  const double failure = block_failure(it);
  if (failure <= 0) return mean;
  for (uint32_t failed = 1; failed <= blocks; ++failed) {
    const double share = binomial(blocks, failed, failure);
    if (share < 1e-15) continue;
    PaperSetting again = it.line;
    again.chunks = failed * it.k;
    mean += share * (it.beta * it.line.rtt_ms + paper_moments(again).mean_ms);
  }
  return mean;
}

double keeping_mean_ms(const CodingSetting& it) {
  const double repair = std::ceil(double(it.line.chunks) * it.m / it.k);
  double mean = (it.line.chunks + repair) * it.line.inject_ms + it.line.rtt_ms +
                fallback_probability(it) * (1 + it.beta) * it.line.rtt_ms;
  for (int resends = 1;; ++resends) {
    const double left = unfinished(it, resends);
    mean += left * it.line.rto_ms;
    if (left < 1e-9) return mean;
  }
}

double chunk_loss(double loss, uint32_t packets) {
  return -std::expm1(packets * std::log1p(-loss));
}

}  // namespace cw
