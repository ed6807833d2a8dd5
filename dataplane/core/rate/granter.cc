#include "dataplane/core/rate/granter.h"

#include <algorithm>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

/// Of the rate, for those together who want nothing: for what begins.
constexpr uint64_t floor_parts = 128;

/// More than there is, and little enough to be added up.
uint64_t bps_of(uint32_t kbps, uint64_t most) {
  return kbps == Demand::all ? most : std::min(uint64_t{kbps} * 1000, most);
}

}  // namespace

uint64_t share_out(uint64_t capacity, std::span<Claim> claims) {
  uint64_t weights = 0;
  for (Claim& claim : claims) {
    claim.given = 0;
    weights += claim.wants > 0 ? claim.weight : 0;
  }
  const auto take = [&](Claim& claim, uint64_t bps) {
    claim.given = bps;
    capacity -= bps;
    weights -= claim.weight;
  };
  const auto part_of = [&](const Claim& claim) {
    CW_ASSERT(weights > 0);  // its own is one of them
    return capacity * claim.weight / weights;
  };
  const auto is_open = [](const Claim& claim) { return claim.wants > 0 && claim.given == 0; };
  for (bool has_settled = true; has_settled;) {
    has_settled = false;
    for (Claim& claim : claims) {
      if (!is_open(claim) || claim.wants > part_of(claim)) continue;
      take(claim, claim.wants);
      has_settled = true;
    }
  }
  for (Claim& claim : claims) {
    if (is_open(claim)) take(claim, part_of(claim));
  }
  return capacity;
}

uint64_t Granter::Link::held_bps(Instant now) const {
  const auto of = [&](const Grant& told) {
    return now < told.until + grant_margin ? told.rate.bps() : 0;
  };
  const bool is_confirmed = demand.lowerings == grant.lowerings;
  return is_confirmed ? of(grant) : std::max(of(grant), of(former));
}

Granter::Granter(const GranterOptions& options, std::span<GrantLine> lines)
    : rate_control_(options.rate_control, options.rate), weights_(options.weights) {
  CW_ASSERT(!lines.empty() && lines.size() <= limits::links_max);
  for (GrantLine& line : lines) links_.push_back({.line = &line});
}

void Granter::turn(Instant now) {
  look(now);
  (void)rate_control_.on_time(now);
  divide(now);
  for (Link& link : links_) lower(link, now);
  for (Link& link : links_) raise(link, now);
}

bool Granter::is_wanted(Instant now) const {
  return std::ranges::any_of(links_, [now](const Link& link) {
    const auto is_any = [](uint32_t kbps) { return kbps > 0; };
    return link.is_awake(now) && std::ranges::any_of(link.demand.kbps, is_any);
  });
}

void Granter::look(Instant now) {
  bool is_pressed = false;
  for (size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    (void)link.line->demand.try_read(link.demand);
    is_pressed |= link.is_awake(now) && link.demand.is_pressed;
    count(i, now);
  }
  rate_control_.on_pressure(is_pressed);
  rate_control_.on_report(arrived_, lost_, now);
}

// As rate control takes a line's own numbers, it takes these sums; each link is a path to it.
void Granter::count(size_t index, Instant now) {
  LineCounts& before = links_[index].counts;
  LineCounts counts = before;
  if (!links_[index].line->counts.try_read(counts)) return;
  const auto since = [](uint64_t earlier, uint64_t later) {
    return later < earlier ? later : later - earlier;  // an epoch has begun
  };
  rate_control_.on_sent(since(before.sent_packets, counts.sent_packets),
                        since(before.sent_bytes, counts.sent_bytes));
  arrived_ += since(before.arrived, counts.arrived);
  lost_ += since(before.lost, counts.lost);
  if (counts.rtts != before.rtts) {
    rate_control_.on_rtt(static_cast<uint16_t>(index), counts.rtt, now);
  }
  before = counts;
}

// ---- who should have what ----

/// Those that are awake take part. Returns what nobody wanted.
template <class Wants>
uint64_t Granter::share_among_links(uint64_t capacity, Claims& claims, const Wants& wants) {
  for (size_t i = 0; i < links_.size(); ++i) {
    claims[i].wants = links_[i].target_bps > 0 ? wants(links_[i]) : 0;
  }
  const uint64_t rest = share_out(capacity, std::span(claims).first(links_.size()));
  for (size_t i = 0; i < links_.size(); ++i) links_[i].target_bps += claims[i].given;
  return rest;
}

void Granter::divide(Instant now) {
  const uint64_t rate = this->rate().bps(), floor = rate / floor_parts / links_.size();
  uint64_t awake = 0;
  for (Link& link : links_) {
    awake += link.is_awake(now) ? 1 : 0;
    link.target_bps = link.is_awake(now) ? floor : 0;
    link.class_bps = {};
  }
  if (awake == 0) return;
  std::array<Claim, grant_classes_max> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    classes[c].weight = weights_[c];
    for (const Link& link : links_) {
      if (weights_[c] == 0 || link.target_bps == 0) continue;
      classes[c].wants = std::min(rate, classes[c].wants + bps_of(link.demand.kbps[c], rate));
    }
  }
  Claims envelopes;
  const uint64_t for_classes =
      share_among_links(rate - floor * awake, envelopes, [&](const Link& link) {
        const uint64_t wants = bps_of(link.demand.envelopes_kbps, rate);
        return wants - std::min(wants, floor);
      });
  const uint64_t rest = share_out(for_classes, classes);
  for (size_t c = 0; c < classes.size(); ++c) divide_class(c, classes[c].given);
  for (Link& link : links_) link.target_bps += link.target_bps > 0 ? rest / awake : 0;
}

void Granter::divide_class(size_t which, uint64_t capacity) {
  Claims claims;
  (void)share_among_links(capacity, claims, [&](const Link& link) {
    return bps_of(link.demand.kbps[which], capacity);
  });
  for (size_t i = 0; i < links_.size(); ++i) links_[i].class_bps[which] = claims[i].given;
}

// ---- who has it when ----

// Also renews, without raising. A lease counts from when its shard was last heard of: who stands
// still keeps what it has until that ends.
void Granter::lower(Link& link, Instant now) {
  if (now >= link.grant.until + grant_margin) link.grant.rate = Rate();
  if (link.target_bps == 0) return;
  if (link.target_bps < link.grant.rate.bps()) {
    link.former = {.rate = Rate::from_bps(link.held_bps(now)), .until = link.grant.until};
    link.grant.rate = Rate::from_bps(link.target_bps);
    ++link.grant.lowerings;
  }
  link.grant.until = link.lease_end();
  write(link);
}

void Granter::raise(Link& link, Instant now) {
  const uint64_t granted = link.grant.rate.bps();
  if (link.target_bps <= granted) return;
  uint64_t held = 0;
  for (const Link& each : links_) held += each.held_bps(now);
  const uint64_t rate = this->rate().bps();
  if (held >= rate) return;
  link.grant.rate = Rate::from_bps(std::min(link.target_bps, granted + (rate - held)));
  write(link);
}

void Granter::write(Link& link) {
  for (size_t c = 0; c < grant_classes_max; ++c) {
    link.grant.kbps[c] =
        static_cast<uint32_t>(std::min<uint64_t>(link.class_bps[c] / 1000, Demand::all));
  }
  link.line->grant.write(link.grant);
}

}  // namespace cw
