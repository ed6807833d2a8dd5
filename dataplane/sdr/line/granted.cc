#include "dataplane/sdr/line/granted.h"

namespace cw::sdr {
namespace {

/// A pause between two rows is no wish for less; after all that it could get, it is what it took.
uint32_t wish(uint32_t before, uint64_t taken_kbps) {
  const uint64_t least = before == Demand::all ? 0 : uint64_t{before} * 7 / 8;
  return static_cast<uint32_t>(std::clamp<uint64_t>(taken_kbps, least, Demand::all - 1));
}

}  // namespace

bool Granted::renew(Instant now) {
  const Rate before = rate_;
  (void)line_.grant.try_read(grant_);
  const bool is_over = now >= grant_.until;
  rate_ = is_over ? Rate() : grant_.rate;
  due_ = is_over ? now + grant_interval : std::min(now + grant_interval, grant_.until);
  return rate_ != before;
}

void Granted::tell(Shares& shares, Duration backlog, Instant now) {
  const auto elapsed_ns = static_cast<uint64_t>(std::max<int64_t>((now - told_at_).ns(), 1));
  const bool is_behind = backlog > grant_interval;
  // Classes beyond those that have demands of their own share the last.
  std::array<uint64_t, grant_classes_max> taken{};
  std::array<bool, grant_classes_max> has_more{};
  for (size_t i = 0; i < shares.count(); ++i) {
    const size_t of = std::min(i, grant_classes_max - 1);
    taken[of] += shares.take_count(i);
    has_more[of] |= shares.has_more(i);
  }
  for (size_t i = 0; i < grant_classes_max; ++i) {
    uint32_t& wants = demand_.kbps[i];
    const bool waits = is_behind && (taken[i] > 0 || wants == Demand::all);
    const bool wants_all = has_more[i] || waits;
    wants = wants_all ? Demand::all : wish(wants, taken[i] * 8'000'000 / elapsed_ns);
  }
  demand_.at = told_at_ = now;
  demand_.lowerings = grant_.lowerings;
  line_.demand.write(demand_);
  line_.counts.write(counts_);
}

void Granted::begin_epoch() {
  counts_ = {};
  base_rtts_ = {};
}

// Paths of unequal length are one number to rate control: the longest of them, and the queue on
// whichever was asked.
void Granted::on_rtt(uint16_t path, Duration sample) {
  Duration& base = base_rtts_[path];
  base = base == Duration() ? sample : std::min(base, sample);
  counts_.rtt = std::ranges::max(base_rtts_) + (sample - base);
  ++counts_.rtts;
}

}  // namespace cw::sdr
