#include "bench/policy/paper_model.h"

#include <cmath>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// P(max X_i < next step) once chunks 1 .. `ahead` have had `tries` tries and the rest one less.
double complete(const PaperSetting& it, uint32_t ahead, int tries) {
  const double more = std::log1p(-std::pow(it.loss, tries));
  const double less = tries > 1 ? std::log1p(-std::pow(it.loss, tries - 1)) : 0;
  if (tries == 1 && ahead < it.chunks) return 0;
  return std::exp(ahead * more + (it.chunks - ahead) * less);
}

/// Walks the steps of the distribution of max X_i: `visit(from, to, cdf)` until it returns false.
/// Chunk i has its next try at i T + k O, so between two of those nothing changes.
template <class Visit>
void walk(const PaperSetting& it, Visit&& visit) {
  const double other = it.rto_ms + it.inject_ms;
  CW_ASSERT(it.chunks * it.inject_ms <= other);
  for (int tries = 1;; ++tries) {
    const double start = (tries - 1) * other;
    for (uint32_t i = 1; i < it.chunks; ++i) {
      const double from = start + i * it.inject_ms;
      if (!visit(from, from + it.inject_ms, complete(it, i, tries))) return;
    }
    const double from = start + it.chunks * it.inject_ms;
    if (!visit(from, start + other + it.inject_ms, complete(it, it.chunks, tries))) return;
  }
}

}  // namespace

PaperMoments paper_moments(const PaperSetting& it) {
  // E[X] and E[X^2] as integrals over P(X > q); nothing completes before T.
  double first = it.inject_ms, second = it.inject_ms * it.inject_ms;
  walk(it, [&](double from, double to, double cdf) {
    first += (1 - cdf) * (to - from);
    second += (1 - cdf) * (to * to - from * from);
    return 1 - cdf > 1e-12;
  });
  return {first + it.rtt_ms, std::sqrt(std::max(0.0, second - first * first))};
}

double paper_quantile_ms(const PaperSetting& it, double q) {
  double found = 0;
  walk(it, [&](double from, double, double cdf) {
    found = from;
    return cdf < q;
  });
  return found + it.rtt_ms;
}

}  // namespace cw
