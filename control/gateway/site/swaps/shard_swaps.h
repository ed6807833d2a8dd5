// What a shard's links are to change about their policies: wanted by whoever runs the site, ordered
// of each link as soon as that can be, and told as it came out.
//
//   want(): what the file says --.
//                                >--> a wish for each link and direction --> the link's swap
//   order(): what somebody asks --'       '-- again, where the link has begun anew
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/gateway/site/swaps/swap_guard.h"
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

/// What somebody asks for at run time: one class, at one peer or all, one direction or both.
struct SwapOrder {
  uint32_t number = 0;  ///< tells who asked what became of it; Site counts them, from 1 on
  uint16_t class_index = 0;
  std::optional<uint16_t> peer;  ///< in the order of the file; none: all
  bool is_outward = true, is_inward = false;
  sdr::SwapPolicy policy;
  const cw_policy_ops* table = nullptr;  ///< as WantedPolicy has it, of what this site sends
  /// Each direction is swapped back, once, if it does worse than the one before: first that is
  /// watched for a while, until then the order waits.
  bool is_guarded = false;

  /// Whether nothing of it is left once `next` has been ordered.
  bool is_followed_by(const SwapOrder& next) const;
};

/// The latest change of one class at one link, in one direction; and of orders that others have
/// followed, a few.
struct SwapView {
  enum class Fate : uint8_t { Waiting, UnderWay, Done, NotDone };

  uint16_t peer = 0, link = 0, class_index = 0;
  bool is_outward = true;         ///< of what this site sends
  bool is_ours = true;            ///< wanted at this site
  bool is_refused_there = false;  ///< `status` is the peer's
  Fate fate = Fate::Waiting;
  SwapStatus status = SwapStatus::Ready;  ///< what `why` says, where it is one of these
  std::string policy, params, why;        ///< the last: what it waits for, or why it was not done
  uint32_t order = 0;  ///< its number; 0: the file, a quarantine or the peer wants it
  uint32_t id = 0;     ///< tells one from the next, within an epoch of the link; 0: none
  double ms = 0;       ///< from order to end, once it has ended
  GuardState guard = GuardState::None;
  std::string guard_says;  ///< with the figures of both policies, once it is over
  bool operator==(const SwapView&) const = default;
};

/// Thread: the shard's worker's, between two turns. Allocates.
class ShardSwaps {
 public:
  /// `endpoint` outlives it; its links are there.
  ShardSwaps(sdr::Endpoint& endpoint, size_t classes) : endpoint_(endpoint), classes_(classes) {}

  /// Takes the place of what was wanted and ordered before, and begins.
  void want(std::span<const WantedPolicy> wanted, Instant now);
  /// Takes the place of what was wanted and ordered of these links, of the same class and
  /// direction, and begins. What is done is done again when the link begins anew with another
  /// policy, until somebody wants another: the file, the peer, a quarantine. What has to wait for
  /// another swap does so for a while.
  void order(const SwapOrder& order, std::span<const size_t> links, Instant now);
  /// Orders what could not be ordered yet: a link was down, a swap under way.
  void pursue(Instant now);
  /// Adds the tables that seats of the links go by, and what is wished; false: some may go by
  /// others, too.
  bool try_list(std::vector<const cw_policy_ops*>& tables) const;
  /// Whether something may have to be ordered yet.
  bool has_open() const;
  /// Of every link, by the port's number for its peer. Each order has one at each of its links.
  std::vector<SwapView> views() const;

 private:
  static constexpr Duration busy_max = Duration::from_s(10);
  static constexpr uint32_t orders_told = 16;

  /// Which swap of an end it is, in whatever epoch.
  struct Mark {
    uint32_t id = 0;
    Instant begun;
    bool operator==(const Mark&) const = default;
  };
  struct Wish {
    size_t link = 0;
    cw_role role = CW_SOURCE;
    WantedPolicy wanted;
    uint32_t order = 0;       // 0: the file's
    bool is_over = false;     // `view` is the last word, unless the link begins anew
    bool is_latest = true;    // nobody has wanted another here since
    bool is_ordered = false;  // of the link, as the swap `mark`
    Mark mark;                // once it is over: the end's latest by then
    uint32_t epoch = 0;       // of the link, as of then
    Instant busy_until = Instant::never();
    SwapView view;
    std::optional<SwapGuard> guard;  // until its verdict has been carried out
    sdr::SwapPolicy before;          // what it swaps back to
  };
  static Mark mark_of(const sdr::SwapEnd& end) { return {end.report().id, end.report().begun}; }
  sdr::Link& link_of(const Wish& wish) const { return *endpoint_.links()[wish.link]; }
  const sdr::SwapEnd* end_of(const Wish& wish) const {
    return link_of(wish).swap(wish.wanted.class_index, wish.role);
  }
  void add(const Wish& wish);
  static void follow(Wish& wish, const std::string& why);
  bool is_so(const Wish& wish) const;
  bool has_begun_anew(const Wish& wish) const;
  static void reopen(Wish& wish);
  void advance(Wish& wish, Instant now);
  Wish* partner_of(const Wish& wish);
  void place(Wish& wish, Instant now);
  void conclude(Wish& wish, const sdr::SwapEnd& end, Instant now);
  static void refuse(Wish& wish, SwapStatus status, const std::string& why);
  static void wait(Wish& wish, SwapStatus status, const std::string& why);
  void watch(Wish& wish, Instant now);
  std::optional<GuardSample> sample_of(const Wish& wish, Instant now) const;
  void judge(Wish& wish, Instant now);
  static void end_watch(Wish& wish, GuardState state, const std::string& why);
  SwapView view_of(size_t link, const WantedPolicy& wanted) const;
  std::optional<SwapView> latest(size_t link, uint16_t class_index, cw_role role) const;

  sdr::Endpoint& endpoint_;
  const size_t classes_;
  std::vector<Wish> wishes_;
};

}  // namespace cw::site
