#include "control/daemon/watch/latency_watch.h"

#include <utility>

namespace cw::daemon {
namespace {

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
  if (before_at_ != Instant::never() && state.at - before_at_ < window) return;
  long_before_ = std::exchange(before_, {});
  for (const gateway::LaneView& lane : state.lanes) {
    before_[{lane.peer, lane.class_index}].add(lane);
  }
  before_at_ = state.at;
}

Added LatencyWatch::added(const gateway::LaneView& lane) const {
  Sums now, before;
  now.add(lane);
  const auto found = long_before_.find({lane.peer, lane.class_index});
  if (found != long_before_.end()) before = found->second;
  const bool is_anew = now.out < before.out || now.holds.sum() < before.holds.sum();
  const HoleTimes holds = is_anew ? now.holds : now.holds.since(before.holds);
  const uint64_t out = is_anew ? now.out : now.out - before.out;
  return {.sending = quantiles_of(now.waits.since(before.waits)),
          .receiving = {quantile_of(holds, out, 0.5), quantile_of(holds, out, 0.99),
                        quantile_of(holds, out, 0.999)}};
}

}  // namespace cw::daemon
