// The swaps of a link: for each direction of each QP that is here, one end (swap_end.h) and the
// seat that it acts upon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/swap/outcome_desk.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "dataplane/sdr/swap/swap_seat.h"
#include "dataplane/wire/control/control_swap.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sdr {

class SendStream;
class RecvStream;

/// Thread: the link's owner. Nothing allocates, save add() and order().
class SwapDesk {
 public:
  explicit SwapDesk(Counters& counters);
  ~SwapDesk();

  /// Either may be null; both outlive the desk. `hold` is how long a slot may wait for its frames;
  /// `refuge`, if it has a table, is ordered after each quarantine.
  void add(uint16_t qp, SendStream* send, RecvStream* recv, Duration hold,
           const PolicyChoice& refuge);

  /// This end of the QP's one direction asks for it; without a role, both do, and begin together or
  /// not at all. Errors: it is not configured for that; one is under way; longer than `room` bytes,
  /// which an envelope has.
  Result<void> order(uint16_t qp, std::optional<cw_role> role, const SwapPolicy& policy,
                     size_t room, Instant now);
  /// From the policy that is there to another instance of the same: no news for who asks how the
  /// latest swap came out, at either end.
  Result<void> renew(uint16_t qp, cw_role role, size_t room, Instant now);
  /// Null: not configured for this direction.
  const SwapEnd* find(uint16_t qp, cw_role role) const;
  /// By which this end decides about what is new. Cost: allocates.
  SwapPolicy policy(uint16_t qp, cw_role role) const;
  /// Its table; null as above.
  const cw_policy_ops* table(uint16_t qp, cw_role role) const;
  /// As Seat says, of all of them. Cost: allocates.
  bool try_list(std::vector<const cw_policy_ops*>& tables) const;

  void on_record(const SwapPrepare& record, Instant now);
  void on_record(const SwapReady& record, Instant now);
  void on_record(const SwapBoundary& record, Instant now);
  void on_record(const SwapAcknowledge& record, Instant now);
  void on_record(const SwapCancel& record, Instant now);
  /// True once for those that have begun: their successors know nothing of the link yet.
  bool take_begun();
  /// Seats have been given what they lacked.
  void on_care(size_t room, Instant now);
  void end_epoch(Instant now);

  /// Nothing to do, and nothing to say: on_time() need not be called. Hot.
  bool is_idle() const { return is_idle_; }
  /// `room` is order()'s; zero: nothing can be ordered now.
  void on_time(size_t room, Instant now);
  Instant next_due() const;
  /// Whether there was ever one.
  bool has_history() const { return has_history_; }
  /// How policies do.
  OutcomeDesk& outcomes() { return outcomes_; }
  const OutcomeDesk& outcomes() const { return outcomes_; }
  void on_record(const Outcome& record, Instant now) { outcomes_.on_record(record, now); }
  Instant offer_due() const;
  bool offer(EnvelopeWriter& writer, Duration rtt, Instant now);

 private:
  class StreamSeat;
  class SourceSeat;
  class SinkSeat;
  struct Direction;

  Direction* direction(uint16_t qp, SwapRole role) const;
  template <class Record>
  void pass_on(const Record& record, SwapRole role, Instant now);
  Result<void> begin(std::span<Direction* const> ordered, const SwapPolicy& policy, Instant now);
  void relieve(Direction& direction, size_t room, Instant now);
  template <class Do>
  void each(const Do& act) const;

  Counters& counters_;
  std::vector<std::unique_ptr<Direction>> directions_;
  OutcomeDesk outcomes_;
  bool is_idle_ = true;
  bool has_history_ = false;
};

}  // namespace cw::sdr
