#include "bench/policy/which/points.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "bench/policy/which/maps.h"
#include "control/units/text.h"
#include "dataplane/base/assert.h"
#include "tests/sim/model/box.h"

namespace cw::which {
namespace {

constexpr double mib = 1 << 20;
constexpr std::pair<double, double> typical[] = {
    {1 * mib, 1e-6}, {1 * mib, 3e-3}, {16 * mib, 1e-4}, {256 * mib, 1e-5}, {256 * mib, 3e-3}};
constexpr const char* no_law = "no law";

std::string time_text(const Standing& standing, const model::Prediction* it) {
  if (it == nullptr || !standing.is_law(*it)) return no_law;
  return text_of(it->p999_ms < 1000 ? "%.1f" : "%.0f", it->p999_ms);
}

void print_point(const Scenery& at) {
  const Standing it = stand(at);
  const bool is_known = it.is_known(), has_timeout = is_known && it.is_law(*it.by_timeout);
  const std::string best = is_known ? look_of(it.best->plan).name : no_law;
  const std::string times =
      has_timeout ? text_of("%.1f", it.by_timeout->p999_ms / it.best->p999_ms) : std::string();
  std::printf("| %g ms | %s | %s | %s | %s | %s | %s | %s | %s |\n", at.rtt_ms,
              size_text(at.size_bytes).c_str(), loss_text(at.loss).c_str(), best.c_str(),
              is_known ? time_text(it, it.best).c_str() : "",
              it.second ? look_of(it.second->plan).name : no_law,
              it.second ? time_text(it, it.second).c_str() : "",
              time_text(it, it.by_timeout).c_str(), times.c_str());
}

/// Of the codes.
const model::Prediction& best_code_of(const Standing& standing) {
  const model::Prediction* found = nullptr;
  for (const model::Prediction& it : standing.all) {
    if (!is_code(it.plan)) continue;
    if (found == nullptr || it.p999_ms < found->p999_ms) found = &it;
  }
  CW_ASSERT(found != nullptr);
  return *found;
}

/// Returns by which share the model is off at the most.
double print_long(const Scenery& at, const Standing& standing, const model::Prediction& it,
                  uint64_t messages, uint64_t seed) {
  const BoxPoint point{.policy = model::plan_text(it.plan),
                       .slots = standing.scene.slots,
                       .gbps = at.gbps,
                       .rtt_ms = at.rtt_ms,
                       .loss = at.loss};
  std::fprintf(stderr, "simulates %s\n", point.text().c_str());
  const CompletionTimes ours = run_point(point, messages, seed).completion;
  std::printf(
      "| %g Gbit/s, %g ms | %s, %.1f RTTs | %s | %s | %s%.1f | %.1f | %+.1f %% | %s%.1f | %.1f | "
      "%+.1f %% |\n",
      at.gbps, at.rtt_ms, size_text(at.size_bytes).c_str(), standing.leaving_rtts(),
      loss_text(at.loss).c_str(), look_of(it.plan).name, it.is_bound ? "at least " : "", it.mean_ms,
      ours.mean, 100 * (ours.mean / it.mean_ms - 1), it.is_bound ? "at least " : "", it.p99_ms,
      ours.p99, 100 * (ours.p99 / it.p99_ms - 1));
  std::fflush(stdout);
  return std::max(std::abs(ours.mean / it.mean_ms - 1), std::abs(ours.p99 / it.p99_ms - 1));
}

}  // namespace

void print_points() {
  for (const double gbps : rates_gbps) {
    std::printf(
        "\n**%g Gbit/s**\n\n| RTT | message | packets lost | best | p99.9, ms | next with a law | "
        "p99.9, ms | "
        "by timeout, ms | times the best |\n|---|---|---|---|---|---|---|---|---|\n",
        gbps);
    for (const double rtt_ms : rtts_ms) {
      for (const auto& [size, loss] : typical) {
        print_point({.gbps = gbps, .rtt_ms = rtt_ms, .size_bytes = size, .loss = loss});
      }
    }
  }
}

void print_long_messages(uint64_t messages, uint64_t seed) {
  std::printf(
      "| link | message, leaves in | packets lost | policy | mean, model | mean, ours | | p99, "
      "model | p99, ours | |\n|---|---|---|---|---|---|---|---|---|---|\n");
  double most = 0;
  for (const double rtt_ms : {25.0, 5.0}) {
    for (const double loss : {1e-4, 1e-2}) {
      const Scenery at{.gbps = 1, .rtt_ms = rtt_ms, .size_bytes = 16 * mib, .loss = loss};
      const Standing standing = stand(at);
      for (const model::Prediction* it :
           {standing.by_asking, standing.by_timeout, &best_code_of(standing)}) {
        most = std::max(most, print_long(at, standing, *it, messages, seed));
      }
    }
  }
  std::printf("\nBound and law are at most %.1f %% off, so a map of bounds is nearly the map.\n",
              100 * most);
}

}  // namespace cw::which
