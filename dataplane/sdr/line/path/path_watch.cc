#include "dataplane/sdr/line/path/path_watch.h"

#include <algorithm>

namespace cw::sdr {
namespace {

constexpr size_t lost_capacity = 256;

}  // namespace

PathWatch::PathWatch(uint16_t paths, const PathOptions& options, TableMemory& tables)
    : paths_(paths, PathEstimates(options)),
      trackers_(paths),
      peer_reports_(paths),
      peer_losses_(paths, LossEstimator(options.loss_window)),
      lost_(lost_capacity, &tables) {}

void PathWatch::begin_epoch(size_t rows, bool peer_sees_ours) {
  trackers_.resize(rows * paths_.size());
  for (size_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].psns = PsnTracker(static_cast<uint32_t>(i));
    trackers_[i].gaps.clear();
  }
  lost_.clear();
  std::ranges::fill(peer_reports_, PathReport{});
  sent_logs_.assign(peer_sees_ours ? 0 : paths_.size(), SentLog());
}

// ---- packets that come ----

GapLedger* PathWatch::on_odd_packet(Tracked& tracked, uint16_t path, Psn psn, Instant now) {
  const PsnArrival arrival = tracked.psns.on_arrival(psn, awake(now), lost_);
  paths_[path].on_arrival(arrival, now);
  return arrival.kind == PsnArrival::Kind::Fresh ? &tracked.gaps : nullptr;
}

bool PathWatch::settle(Instant now) {
  for (size_t i = 0; i < trackers_.size(); ++i) {
    PsnTracker& psns = trackers_[i].psns;
    if (!psns.has_gaps()) continue;
    const Duration reorder = reorder_time_of(i);
    if (psns.next_settle(reorder) <= awake(now)) psns.settle(awake(now), reorder, lost_);
  }
  return !lost_.is_empty();
}

Instant PathWatch::next_settle() const {
  Instant due = Instant::never();
  for (size_t i = 0; i < trackers_.size(); ++i) {
    const PsnTracker& psns = trackers_[i].psns;
    if (psns.has_gaps()) due = std::min(due, psns.next_settle(reorder_time_of(i)) + slept_);
  }
  return due;
}

std::optional<PathWatch::Lost> PathWatch::take_lost(Instant now) {
  if (lost_.is_empty()) return std::nullopt;
  const LostRange range = lost_.pop();
  const auto path = static_cast<uint16_t>(range.tracker % paths_.size());
  paths_[path].on_lost(range, now);
  return Lost{path, range.count, trackers_[range.tracker].gaps.find(range.first, range.count)};
}

// ---- what is told ----

std::optional<PathWatch::Sums> PathWatch::on_report(const PathReport& said, Instant now) {
  if (said.path >= paths_.size()) return std::nullopt;
  PathReport record = said;
  PathReport& last = peer_reports_[record.path];
  if (!sent_logs_.empty()) {
    const SentLog& log = sent_logs_[record.path];
    record.lost = std::max(last.lost, log.lost(record.received, rtt(record.path), now));
  }
  // Cumulative, and they may overtake each other.
  if (record.received < last.received || record.lost < last.lost) return std::nullopt;
  peer_losses_[record.path].add_arrived(record.received - last.received, now);
  if (record.lost > last.lost) {
    const uint64_t bursts = record.bursts > last.bursts ? record.bursts - last.bursts : 1;
    peer_losses_[record.path].add_lost(record.lost - last.lost, bursts, now);
  }
  last = record;
  Sums sums;
  for (const PathReport& report : peer_reports_) {
    sums.arrived += report.received;
    sums.lost += report.lost;
  }
  return sums;
}

void PathWatch::log_sent(const Transmitter& transmitter, Instant now) {
  for (uint16_t path = 0; path < paths(); ++path) {
    sent_logs_[path].note(transmitter.sent(path), rtt(path), now);
  }
}

PathReport PathWatch::report(uint16_t path, Instant now) const {
  const PathState state = paths_[path].report(now);
  PathReport record;
  record.path = path;
  record.channels = static_cast<uint16_t>(trackers_.size() / paths_.size());
  record.received = state.arrived;
  record.lost = state.lost;
  record.reordered = state.reordered;
  record.duplicates = state.duplicates;
  record.bursts = state.bursts;
  record.reorder_depth_max = state.reorder_packets_max;
  return record;
}

cw_path_facts PathWatch::facts(uint16_t path, bool is_source, Instant now) const {
  const PathState state = paths_[path].report(now);
  const LossEstimator& peer = peer_losses_[path];
  const Share loss = is_source ? peer.loss(now) : state.loss;
  const double burst = is_source ? peer.burst_mean(now) : state.burst_packets_mean;
  cw_path_facts facts{};
  facts.rtt_min_ns = state.rtt_min.ns();
  facts.rtt_smooth_ns = state.rtt_smoothed.ns();
  facts.rtt_var_ns = state.rtt_variance.ns();
  facts.loss = loss.ratio;
  facts.loss_low = loss.low;
  facts.loss_high = loss.high;
  facts.burst_mean = std::max(burst, 1.0);
  facts.reorder_ns = state.reorder_budget.ns();
  facts.queue_delay_ns = std::max<int64_t>(0, (state.rtt_smoothed - state.rtt_min).ns());
  return facts;
}

}  // namespace cw::sdr
