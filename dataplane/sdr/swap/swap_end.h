// One end of a stream in a swap (SPEC.md 6.6): what it has been told, what it says, and what its
// seat is to do. It knows neither policies nor messages.
//
//        order, records, what was made --> SwapEnd --> SwapSeat: make one, bind, begin, let go
//                                             '------> records
//
// Two ends of a QP at one place, one of each direction, may have one order: then neither begins
// unless both can. The source keeps its boundary to itself until the sink has heard that of the
// peer, whose source waits from then on; the sink keeps its acknowledgement until the source has
// had its own. So what one of them is refused calls the other off, and past that nothing can be.
//
// Which event leads where is said by swap_transitions.def alone, and what it entails by
// swap_end.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/result.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/core/counters.h"
#include "dataplane/sdr/swap/swap_seat.h"
#include "dataplane/wire/control/control_swap.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sdr {

enum class SwapRole : uint8_t { Source, Sink };
enum class SwapState : uint8_t { Idle, Preparing, Asking, Bound, Ready, Draining };
enum class SwapEvent : uint8_t {
  Order,         ///< of whoever runs this end
  Asked,         ///< by the peer
  Made,          ///< the successor of an order of this end's
  MadeForPeer,   ///< that of the peer's
  Failed,        ///< it cannot be made
  Accepted,      ///< the sink is ready
  Refused,       ///< the peer cannot make it
  Bound,         ///< the source says from where on
  Acknowledged,  ///< the sink has begun
  Cancelled,
  TimeOver,
  Drained,  ///< nothing of the one before lives here
  EpochOver,
};

/// The state that an event leads to; the same one where it means nothing.
SwapState next_state(SwapRole role, SwapState state, SwapEvent event);

/// What became of the latest swap, for people.
struct SwapReport {
  enum class Fate : uint8_t { None, UnderWay, Done, NotDone };

  Fate fate = Fate::None;
  bool is_ours = false;           ///< ordered at this end
  bool is_cut_off = false;        ///< by the end of the link's epoch
  bool is_refused_there = false;  ///< by the peer: `status` is its own
  uint32_t id = 0;
  SwapPolicy policy;
  SwapStatus status = SwapStatus::Ready;
  SwapSentence sentence;  ///< why it was not done; perhaps the peer's words
  Instant begun, over;
};

/// Thread: the link's owner. Nothing allocates, save the beginning of the first swap.
class SwapEnd {
 public:
  /// `seat` and `counters` outlive it.
  SwapEnd(SwapRole role, uint16_t qp, SwapSeat& seat, Counters& counters);

  /// Errors: one is under way.
  Result<void> order(const SwapPolicy& policy, Instant now);
  /// Both have just been ordered: one order from now on.
  static void join(SwapEnd& source, SwapEnd& sink);
  /// What has just been ordered is a renewal, which is not reported.
  void renews() { is_renewal_ = true; }
  /// Of what a peer wants, once it is there.
  const SwapReport& report() const {
    const bool is_told = !is_renewal_ && (report_.is_ours || state_ != SwapState::Preparing);
    return is_told || before_ == nullptr ? report_ : *before_;
  }
  SwapState state() const { return state_; }
  /// Of who decides here about what is new.
  uint16_t policy_epoch() const { return seat_.policy_epoch(); }
  bool is_idle() const { return state_ == SwapState::Idle; }

  // ---- what comes ----
  void on_record(const SwapPrepare& prepare, Instant now);
  void on_record(const SwapReady& ready, Instant now);
  void on_record(const SwapBoundary& boundary, Instant now);
  void on_record(const SwapAcknowledge& acknowledge, Instant now);
  void on_record(const SwapCancel& cancel, Instant now);
  /// The seat may have what it was to make, or know that it cannot be.
  void on_made(Instant now);
  void end_epoch(Instant now);

  // ---- what leaves ----
  void on_time(Instant now);
  Instant next_due() const;
  Instant offer_due() const { return answers_.is_empty() ? say_due_ : Instant(); }
  /// False when `writer` was too full for one.
  bool offer(EnvelopeWriter& writer, Duration rtt, Instant now);

 private:
  static constexpr Duration asking_max = Duration::from_s(5);
  static constexpr Duration silence_max = Duration::from_s(10);
  static constexpr Duration repeat_min = Duration::from_ms(1);
  static constexpr size_t answers_max = 8;

  /// How the swap of the highest id of a chooser has ended.
  struct Past {
    uint32_t id = 0;
    SwapReport::Fate fate = SwapReport::Fate::None;
    SwapStatus status = SwapStatus::Ready;
  };
  /// What the source may ask about for as long as it has not heard of it.
  struct Begun {
    uint32_t id = 0;
    MessageSeq boundary;
    uint16_t policy_epoch = 0;
  };
  /// Said once for each question.
  struct Answer {
    RecordType type = RecordType::SwapReady;
    uint32_t id = 0;
  };

  bool try_step(SwapEvent event, Instant now);
  void begin(uint32_t id, bool is_ours, const SwapPolicy& policy, Instant now);
  void end(SwapReport::Fate fate, SwapStatus status, const SwapSentence& sentence, Instant now);
  void fail(SwapEvent event, SwapStatus status, std::string_view sentence, Instant now);
  bool is_current(uint32_t id) const { return state_ != SwapState::Idle && report_.id == id; }
  bool may_yield() const;
  void accept(Instant now);
  void take_boundary(Instant now);
  void go_on(Instant now);
  void call_off(const SwapEnd& why, Instant now);
  /// Of a sink: whether the peer may be asked, and acknowledged.
  bool may_ask() const { return partner_ == nullptr || partner_->has_heard_; }
  bool may_begin() const { return partner_ == nullptr || partner_->state_ == SwapState::Draining; }
  /// Of a source: whether it may say from where on.
  bool may_bind() const { return partner_ == nullptr || partner_->has_heard_; }
  void answer_current();
  void answer_past(const Past& past);
  /// When too many wait the peer asks again.
  void answer(RecordType type, uint32_t id) { (void)answers_.try_push({type, id}); }
  void bind(Instant now);
  void say_now(Instant now) { say_due_ = now; }
  bool try_answer(EnvelopeWriter& writer, const Answer& answer);
  bool try_say(EnvelopeWriter& writer) const;
  SwapDirection direction() const {
    return role_ == SwapRole::Source ? SwapDirection::SourceIsSender
                                     : SwapDirection::SourceIsReceiver;
  }
  Past& past_of(uint32_t id) { return past_[is_of_sink(id) ? 1 : 0]; }
  bool is_own(uint32_t id) const { return is_of_sink(id) == (role_ == SwapRole::Sink); }
  void remember(const Past& past, const SwapSentence& sentence);
  uint32_t own_bit() const { return role_ == SwapRole::Sink ? swap_id_of_sink : 0; }

  const SwapRole role_;
  const uint16_t qp_;
  SwapSeat& seat_;
  Counters& counters_;
  SwapState state_ = SwapState::Idle;
  SwapReport report_;
  std::unique_ptr<SwapReport> before_;  // what was told when that one begun
  bool is_renewal_ = false;
  MessageSeq boundary_;  // once bound; at a sink, heard of and not begun with yet
  uint16_t policy_epoch_ = 0;
  bool has_heard_ = false;      // what it waits for from the peer; it may wait for its partner, too
  SwapEnd* partner_ = nullptr;  // of the same order, and as far as neither is over
  Instant since_;               // the state, or the peer's last question in it
  Instant say_due_ = Instant::never();  // the state's own record
  std::array<Past, 2> past_;            // by chooser
  SwapSentence why_not_;                // of the latest that the peer chose
  Begun begun_;                         // the latest, at a sink
  Ring<Answer> answers_{answers_max};
};

}  // namespace cw::sdr
