#include "control/gateway/site/adapt/line_watch.h"

#include <algorithm>

namespace cw::site {
namespace {

/// Counts begin anew with an epoch of the link.
adapt::LineCounts since(const adapt::LineCounts& now, const adapt::LineCounts& before) {
  const bool has_begun_anew =
      now.arrived < before.arrived || now.lost < before.lost || now.bursts < before.bursts;
  if (has_begun_anew) return now;
  return {now.arrived - before.arrived, now.lost - before.lost, now.bursts - before.bursts};
}

}  // namespace

void LineWatch::look(std::span<const PeerView> links, Instant now) {
  adapt::LineCounts counts;
  facts_ = {};
  uint64_t bps = 0;
  for (const PeerView& link : links) {
    if (!link.is_up) continue;
    adapt::LineCounts& before = counted_[link.link];
    counts.add(since(link.there, before));
    before = link.there;
    bps += link.rate.bps();
    const Duration least = link.rtt_min(), queue = link.rtt() - least;
    if (least == Duration()) continue;
    facts_.rtt = facts_.rtt == Duration() ? least : std::min(facts_.rtt, least);
    facts_.is_queued |= queue > std::max(queue_min, least / queue_part);
  }
  facts_.rate = Rate::from_bps(bps);
  history_.add(counts, now);
}

adapt::LineFacts LineWatch::facts(Instant now) const {
  adapt::LineFacts facts = facts_;
  facts.loss = history_.loss(now);
  return facts;
}

}  // namespace cw::site
