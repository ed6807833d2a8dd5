// The sending end of whatever resends exactly what was lost. Things wait in the order in which they
// happened, and each kind waits equally long, so every kind is one FIFO of ranges and one deadline:
//
//   departed  --RTO-->          resend what is neither acknowledged nor on its way
//   fresh     --7/8 RTT min-->  a first transmission may now be known to be lost
//   resent    --RTT + margin--> likewise a resend: nothing is resent twice within an RTT
//   wanted    --at once-->      what a note asked for
//
// A message that has a deadline, and is not settled by then, is given up.
//
// A timeout alone proves nothing: the far end may have stood still, or the route have grown. What
// left before something that has been acknowledged, by more than packets overtake each other, was
// lost (RFC 8985, section 3); of nothing else is that known. So every sixteenth of an RTT a slot
// that leaves becomes a witness, and a slot that is overdue is sent again once a younger witness
// has arrived. When the youngest is overdue and none has, sixteen slots ask, with a doubling wait;
// everything else stays where it is. What is sent again is a witness only where nothing new leaves,
// and not when it is acknowledged sooner than it can have arrived: then it was late, and came the
// first time.
#pragma once

#include "policies/parts/array.h"
#include "policies/parts/messages.h"
#include "policies/parts/note.h"
#include "policies/parts/out.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/repeat/repeat_times.h"
#include "policies/parts/slot_marks.h"

namespace cw::policy {

/// What the source keeps of a message, in the core's memory.
struct SourceMessage {
  uint32_t sequence;
  uint32_t slots;         // CW_UNKNOWN until closed
  uint32_t appended_end;  // slots beyond were never given to us; no note may speak of them
  uint32_t sent_end;      // slots beyond have never left
  uint32_t cumulative;    // the sink has every slot below
  uint32_t released;      // what the core was told to release
  bool is_over;           // settled: nothing of it is sent any more
  bool is_finished;       // and the core was told
  bool is_queued;         // waits in `settled_`
  bool was_given_up;
  Instant swept_at;  // time of its one covering entry in `departed_`; zero: none
  Instant deadline;  // what is not settled by then is given up
  SlotMarks::Map marks;
};

class RepeatSource {
 public:
  RepeatSource(const cw_env& env, const RepeatSettings& settings);
  bool is_ready() const;

  void on_opened(const cw_fact_opened& fact, Instant now);
  void on_appended(const cw_fact_appended& fact, Instant now);
  void on_closed(const cw_fact_closed& fact, Instant now);
  void on_sent(const cw_fact_sent& fact, Instant now);
  void on_refused(const cw_fact_refused& fact, Instant now);
  void on_note(const cw_fact_note& fact, Instant now);
  void on_expired(const cw_fact_expired& fact, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_timer(uint64_t cookie, Instant now);
  void on_drain(Instant by, Instant now);
  void on_ended(uint32_t sequence, void* state, Instant now);
  void decide(Instant now, Out& out);

 protected:
  ~RepeatSource() = default;

  SourceMessage* find_open(uint32_t sequence) const {
    SourceMessage* message = messages_.find(sequence);
    return message == nullptr || message->is_over ? nullptr : message;
  }
  /// Settles a message that is open, unrepaired.
  void give_up(SourceMessage& message) {
    message.was_given_up = true;
    settle(message);
  }

  LinkTiming link_;
  RepeatTimes times_;
  const bool has_paths_;

 private:
  /// A slot that left then.
  struct Witness {
    uint32_t message = 0, slot = 0;
    Instant at;
    bool is_first = true;
  };
  /// Something that left then has arrived, as was heard then.
  struct Proof {
    Instant left, heard;
  };
  enum Mark : uint32_t {
    Acknowledged = 0,
    Young = 1,  // on its way for less than an RTT, or not sent at all: nobody can know it lost
    Again = 2   // sent again: its first departure says nothing more
  };
  /// What an entry of `departed_` speaks of.
  enum Departure : uint8_t { First, Any };

  // Each returns false when the output is full.
  bool tell_settled(Out& out);
  bool send_unsent(Out& out);
  bool retry_refused(Instant now, Out& out);
  bool send_wanted(Out& out);
  bool send_overdue(Instant now, Out& out);
  bool probe(Instant now, Out& out);
  bool ask(uint32_t sequence, SlotRun slots, Out& out);
  bool resend(RangeFifo::Entry& entry, SourceMessage& message, bool spares_again, Out& out);
  bool send(SourceMessage& message, SlotRun slots, bool is_first, Out& out);
  void arm(Out& out);

  void wait_for_age(RangeFifo& fifo, const RangeFifo::Entry& entry);
  void age(RangeFifo& fifo, Duration age, Instant now);
  void grow_old(const RangeFifo::Entry& entry);
  void left(SourceMessage& message, const cw_fact_sent& fact, SlotRun slots);
  void depart(uint32_t message, SlotRun slots, Instant at, Departure what);
  void sweep_oldest();
  bool drop_acknowledged(RangeFifo::Entry& entry);
  void witness(const Witness& witness);
  bool could_have_come(const Witness& witness, Instant now) const {
    return witness.is_first || now - witness.at >= link_.rtt - link_.rtt / 8;
  }
  void hear_witnesses(Instant now);
  void ripen(Instant now);
  bool is_proven(Instant left) const { return left + link_.skew <= proven_; }
  Instant overdue_at() const;
  void give_up_all();
  void give_up_late(Instant now);
  void forget_deadline(const SourceMessage& message);

  void read_section(const Section& section, NoteReader& reader);
  void read_word(SourceMessage& message, uint32_t index, uint64_t word, uint32_t overdue);
  void want(SourceMessage& message, uint32_t index, uint64_t bits);
  void advance(SourceMessage& message);
  void settle(SourceMessage& message);
  void queue(SourceMessage& message) {
    if (!message.is_queued) message.is_queued = settled_.try_push(message.sequence);
  }
  bool is_acknowledged(uint32_t sequence, uint32_t slot) const;

  const RepeatSettings settings_;
  const uint32_t slots_max_;
  BackOff back_off_;
  Messages<SourceMessage> messages_;
  SlotMarks marks_;
  RangeFifo unsent_;          // appended, not yet decided
  RangeFifo refused_;         // the core would not take them
  RangeFifo wanted_;          // the sink asked for them
  RangeFifo departed_;        // every transmission, until acknowledged or overdue
  RangeFifo fresh_;           // first transmissions, until their loss may be known
  RangeFifo resent_;          // resends, likewise
  Queue<uint32_t> settled_;   // messages whose release or finish the core has not been told
  Queue<Witness> witnesses_;  // oldest first
  Instant first_sent_;        // something left for the first time, lately
  Proof heard_;               // the youngest
  Proof ripening_;            // the notes that came with it may still be on their way
  Instant proven_;            // whatever left before has arrived or was lost, but for overtaking
  Instant probed_at_;         // the last question
  Instant give_up_at_ = Instant::never();
  Instant deadline_next_ = Instant::never();  // of the messages that are open
  Instant armed_at_ = Instant::never();
};

}  // namespace cw::policy
