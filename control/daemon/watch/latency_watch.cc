#include "control/daemon/watch/latency_watch.h"

#include <utility>

namespace cw::daemon {
namespace {

/// What has come since; of a stream that has begun anew, all.
OctaveTimes since(const OctaveTimes& now, const OctaveTimes& before) {
  if (now.count() < before.count()) return now;
  OctaveTimes result = now;
  for (size_t i = 0; i < OctaveTimes::steps; ++i) result.counts[i] -= before.counts[i];
  return result;
}

AddedTimes quantiles_of(const OctaveTimes& times) {
  return {times.quantile(0.5), times.quantile(0.99), times.quantile(0.999)};
}

/// Of `all` frames, of which these have waited.
Duration quantile_of(const HoleTimes& holds, uint64_t all, double share) {
  const auto held = static_cast<double>(holds.sum());
  const auto beyond = static_cast<double>(all) * (1 - share);
  if (held <= beyond || held == 0) return {};
  return holds.quantile(1 - beyond / held);
}

}  // namespace

void LatencyWatch::Sums::add(const gateway::LaneView& lane) {
  waits.add(lane.sent_slots.waits);
  holds.add(lane.holds);
  out += lane.inbound.out;
}

void LatencyWatch::look(const site::SiteState& state) {
  now_.clear();
  for (const gateway::LaneView& lane : state.lanes) now_[{lane.peer, lane.class_index}].add(lane);
  if (before_at_ != Instant::never() && state.at - before_at_ < window) return;
  long_before_ = std::exchange(before_, now_);
  before_at_ = state.at;
}

LatencyWatch::Sums LatencyWatch::find(const ByLane& sums, uint16_t peer, uint16_t class_index) {
  const auto found = sums.find({peer, class_index});
  return found == sums.end() ? Sums() : found->second;
}

Added LatencyWatch::added(uint16_t peer, uint16_t class_index) const {
  const Sums now = find(now_, peer, class_index), before = find(long_before_, peer, class_index);
  const bool is_anew = now.out < before.out || now.holds.sum() < before.holds.sum();
  const HoleTimes holds = is_anew ? now.holds : now.holds.since(before.holds);
  const uint64_t out = is_anew ? now.out : now.out - before.out;
  return {.sending = quantiles_of(since(now.waits, before.waits)),
          .receiving = {quantile_of(holds, out, 0.5), quantile_of(holds, out, 0.99),
                        quantile_of(holds, out, 0.999)}};
}

}  // namespace cw::daemon
