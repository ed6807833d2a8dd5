// Divides a pair's rate among its links, so that what is granted never adds up to more, whatever
// the shards have seen of it and when: what falls is told first, and given to another only when its
// shard has said that it knows, or the lease that it may still go by is over.
//
//   wanted less -> told, and renewed -> confirmed, or the old lease over -> free -> given to others
//
// Envelopes come first, as they do at a pacer: what a link sends may wait for what another tells.
// Classes get shares of the rest by their weights, over all links; within a class, links that want
// more than there is get alike. What nobody wants is everybody's, in equal parts, so that
// who begins to send need not ask first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/core/rate/grants.h"
#include "dataplane/core/rate/rate_control.h"

namespace cw {

/// One of those who share.
struct Claim {
  uint64_t wants = 0, given = 0;
  uint32_t weight = 1;  ///< above 0
};
/// Max-min by weight: who wants less than its share is given that, and the others share the rest.
/// Returns what nobody wanted. At least wants x weight fits 64 bits.
uint64_t share_out(uint64_t capacity, std::span<Claim> claims);

struct GranterOptions {
  Rate rate;                                          ///< of the pair
  std::array<uint32_t, grant_classes_max> weights{};  ///< by class; 0: there is none
  RateControlOptions rate_control;  ///< of all links together; Line has none of its own then
};

/// Thread: one, which may be a shard's. Nothing allocates after construction.
class Granter {
 public:
  /// One line for each link, limits::links_max at most; they outlive the granter.
  Granter(const GranterOptions& options, std::span<GrantLine> lines);

  /// Looks at what the shards say, and grants. Once in grant_interval.
  void turn(Instant now);
  /// The rate that the pair is configured for.
  void set_rate(Rate rate) { rate_control_.restart(rate); }
  /// By which classes get shares of it; as many as before.
  void set_weights(const std::array<uint32_t, grant_classes_max>& weights) { weights_ = weights; }
  void set_adapt(bool adapts) { rate_control_.set_adapt(adapts); }
  /// It divides so many quarters of it, as another granter of the pair has the rest.
  void set_quarters(uint64_t quarters) { quarters_ = quarters; }
  /// Whether packets wait at any of its links, as far as it has been told.
  bool is_wanted(Instant now) const;
  /// As it was set, whatever the links carry.
  Rate configured() const { return rate_control_.configured(); }
  /// What is divided: less, at times, than configured. What falls is obeyed within a lease.
  Rate rate() const { return Rate::from_bps(rate_control_.rate().bps() / 4 * quarters_); }

 private:
  static_assert(limits::links_max <= limits::paths_max);  // to rate control a link is a path

  struct Link {
    GrantLine* line = nullptr;
    Demand demand;      // as last seen
    LineCounts counts;  // likewise
    Grant grant;        // as last told
    Grant former;       // what the shard may go by unless it has confirmed
    uint64_t target_bps = 0;
    std::array<uint64_t, grant_classes_max> class_bps{};  // of that

    /// What it may be sending by.
    uint64_t held_bps(Instant now) const;
    Instant lease_end() const { return demand.at + grant_lease; }
    bool is_awake(Instant now) const { return now < lease_end(); }
  };

  void look(Instant now);
  void count(size_t index, Instant now);
  void divide(Instant now);
  using Claims = std::array<Claim, limits::links_max>;
  template <class Wants>
  uint64_t share_among_links(uint64_t capacity, Claims& claims, const Wants& wants);
  void divide_class(size_t which, uint64_t capacity);
  void lower(Link& link, Instant now);
  void raise(Link& link, Instant now);
  void write(Link& link);

  RateControl rate_control_;
  uint64_t quarters_ = 4;
  std::array<uint32_t, grant_classes_max> weights_;
  std::vector<Link> links_;
  uint64_t arrived_ = 0, lost_ = 0;  // of all links, over all their epochs
};

}  // namespace cw
