// What a shard's links are to change about their policies: wanted by whoever runs the site, ordered
// of each link as soon as that can be, and told as it came out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/sdr/endpoint.h"
#include "dataplane/sdr/swap/swap_end.h"

namespace cw::site {

/// By which a class is to send, to every peer.
struct WantedPolicy {
  uint16_t class_index = 0;
  sdr::SwapPolicy policy;
  /// The newest of that name: one that runs an older table is swapped, too. Null: whichever.
  const cw_policy_ops* table = nullptr;
};

/// The latest change of one class at one link, in one direction.
struct SwapView {
  enum class Fate : uint8_t { Waiting, UnderWay, Done, NotDone };

  uint16_t peer = 0, link = 0, class_index = 0;
  bool is_outward = true;  ///< of what this site sends
  bool is_ours = true;     ///< wanted at this site
  Fate fate = Fate::Waiting;
  std::string policy, params, why;  ///< the last: what it waits for, or why it was not done
  uint32_t id = 0;                  ///< tells one from the next, within an epoch of the link
  double ms = 0;                    ///< from order to end, once it has ended
  bool operator==(const SwapView&) const = default;
};

/// Thread: the shard's worker's, between two turns. Allocates.
class ShardSwaps {
 public:
  /// `endpoint` outlives it; its links are there.
  ShardSwaps(sdr::Endpoint& endpoint, size_t classes) : endpoint_(endpoint), classes_(classes) {}

  /// Takes the place of what was wanted before, and begins.
  void want(std::span<const WantedPolicy> wanted, Instant now);
  /// Orders what could not be ordered yet: a link was down, a swap under way.
  void pursue(Instant now);
  /// Whether something may have to be ordered yet.
  bool has_open() const;
  /// Of every link, by the port's number for its peer.
  std::vector<SwapView> views() const;

 private:
  struct Wish {
    size_t link = 0;
    WantedPolicy wanted;
    std::string why;
    bool is_refused = false;  // before anything was asked of the peer
    uint32_t ordered = 0;     // the swap's number, once it is
  };
  bool try_settle(Wish& wish, Instant now);
  SwapView view_of(size_t link, uint16_t class_index, const sdr::SwapPolicy& policy) const;

  sdr::Endpoint& endpoint_;
  const size_t classes_;
  std::vector<Wish> wishes_;  // that have not come true
};

}  // namespace cw::site
