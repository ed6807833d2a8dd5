// Whether an opened envelope belongs to this epoch (SPEC.md 6.1): the exchange of nonces as a pure
// state machine. Randomness is handed in, time is the caller's.
//
// An epoch is a pair of nonces, one of each end. A peer proves that it is alive by naming a nonce
// that we have just drawn; it could not have known that nonce earlier, so nothing recorded can
// prove anything. A nonce of ours serves ONE epoch: while an epoch is in force, a stranger is
// offered a fresh nonce beside it. Without that second nonce a recording from the peer's previous
// life would still name our current one and could bring that life back.
//
//   we: in force (a, b1)                 stranger: restarted, drew b2
//                       <- hello (b2, 0)            Stranger: offer(a2)
//   hello (a2, b2) ->                               the stranger sees b2: we are proven to it
//                       <- anything (b2, a2)        NewEpoch: (a2, b2) is in force, (a, b1) is
//                       stale
#pragma once

#include <cstdint>
#include <expected>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/control/replay_window.h"

namespace cw {

/// How an acceptable envelope stands to us.
enum class Standing : uint8_t {
  Current,   ///< of the epoch in force: act on its records
  NewEpoch,  ///< has just proven a new epoch, now in force: begin anew, then act on its records
  Stranger,  ///< a hello of someone not yet proven: answer it from answer_to(), change nothing else
};

class EpochExchange {
 public:
  struct Nonces {
    uint64_t mine = 0;
    uint64_t peer = 0;
    bool operator==(const Nonces&) const = default;
  };

  /// `fresh` is 64 bits from the operating system's generator, not zero, and new every time [C-24].
  explicit EpochExchange(uint64_t fresh) { leave(fresh); }

  /// Judges an envelope whose MAC was right, and takes its sequence [C-25]. Errors: Reflected,
  /// Stale, Unproven, Replay; the envelope is then to be dropped.
  std::expected<Standing, ControlError> judge(const Envelope& envelope) {
    const auto& [sender, receiver, sequence, link] = envelope.header;
    if (sender == current_.mine || sender == offered_) return refused(ControlError::Reflected);
    if (offered_ != 0 && receiver == offered_) {
      if (!try_prove(envelope)) return refused(ControlError::Replay);
      return Standing::NewEpoch;
    }
    if (is_in_force() && sender == current_.peer) {
      if (receiver != current_.mine) return refused(ControlError::Stale);
      if (!window_.try_accept(sequence)) return refused(ControlError::Replay);
      return Standing::Current;
    }
    if (receiver != 0) return refused(ControlError::Stale);
    constexpr RecordTypes strangers_may_send = types_of<Hello, Pad>;
    const bool is_only_hello = (envelope.types & ~strangers_may_send) == 0;
    return is_only_hello ? std::expected<Standing, ControlError>(Standing::Stranger)
                         : refused(ControlError::Unproven);
  }

  /// Its sender lives, as it has named our offer, or for another reason: they are an epoch now.
  /// needs_offer() is false. False: it has no sequence, and nothing has changed.
  bool try_prove(const Envelope& envelope) {
    CW_ASSERT(!needs_offer());
    ReplayWindow fresh;
    if (!fresh.try_accept(envelope.header.sequence)) return false;
    window_ = fresh;
    current_ = {std::exchange(offered_, 0), envelope.header.sender_nonce};
    return true;
  }
  /// Whether `nonce`, which is not zero, is one of ours that still counts.
  bool knows(uint64_t nonce) const { return nonce == current_.mine || nonce == offered_; }
  bool is_in_force() const { return current_.peer != 0; }
  /// The epoch in force; zeros when there is none.
  const Nonces& current() const { return current_; }

  /// Whether offer() is needed before a stranger can be answered or a hello be sent without epoch.
  bool needs_offer() const { return offered_ == 0; }
  void offer(uint64_t fresh) {
    CW_ASSERT(needs_offer() && fresh != 0 && fresh != current_.mine);
    offered_ = fresh;
  }
  /// The nonces of a hello: to a stranger with its nonce, to whomever it may concern with zero.
  Nonces answer_to(uint64_t stranger) const {
    CW_ASSERT(!needs_offer());
    return {offered_, stranger};
  }

  /// Ends the epoch in force, if any, because the peer has left or fallen silent.
  void leave(uint64_t fresh) {
    CW_ASSERT(fresh != 0);
    current_ = {};
    offered_ = fresh;
  }

 private:
  static std::unexpected<ControlError> refused(ControlError error) {
    return std::unexpected(error);
  }

  Nonces current_;
  uint64_t offered_ = 0;  ///< drawn, and proven by nobody yet
  ReplayWindow window_;
};

}  // namespace cw
