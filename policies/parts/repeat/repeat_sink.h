// The receiving end of whatever resends exactly what was lost; a row of FIFOs like its twin
// (repeat_source.h):
//
//   suspected --budget-->       holes still there are losses: ask, and wait in
//   asked     --RTT + margin--> still there: the resend was lost too, ask again
//   tails     --budget + RTT/16 of silence--> a closed message has lost its last slots
#pragma once

#include "policies/parts/array.h"
#include "policies/parts/messages.h"
#include "policies/parts/note.h"
#include "policies/parts/out.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/received.h"
#include "policies/parts/repeat/repeat_times.h"

namespace cw::policy {

/// What the sink keeps of a message, in the core's memory.
struct SinkMessage {
  uint32_t sequence;
  Received received;
  SlotRun report;          // slots whose words the next notes carry; empty: none
  SlotRun wanted_report;   // and whose wanted words
  uint32_t overdue;        // holes below are losses
  uint32_t suspected_end;  // slots below have been put under suspicion, or are in place
  Instant grown_at;        // when something beyond `highest` came last
  Duration silence;        // the longest time between two such arrivals
  bool is_dirty;           // waits in `dirty_` for the next report
  bool is_reporting;       // waits in `reports_`
  bool is_tail_watched;    // has an entry in `tails_`
  bool is_over, is_finished;
  bool is_named;  // waits in `completed_` to be named again
  bool was_given_up;
  SlotRun wanted;  // covers what is wanted by name (RepeatSink::names_what_it_wants)
};

class RepeatSink {
 public:
  RepeatSink(const cw_env& env, const RepeatSettings& settings);
  bool is_ready() const;

  void on_opened(const cw_fact_opened& fact, Instant now);
  void on_closed(const cw_fact_closed& fact, Instant now);
  void on_arrived(const cw_fact_arrived& fact, Instant now);
  void on_lost(const cw_fact_lost& fact, Instant now);
  void on_expired(const cw_fact_expired& fact, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_timer(uint64_t cookie, Instant now);
  void on_drain(Instant by, Instant now);
  void on_ended(uint32_t sequence, void* state, Instant now);
  void decide(Instant now, Out& out);

 protected:
  ~RepeatSink() = default;

  // What somebody else than the source may be able to do about a hole.

  /// Slots may now be missing that were not before: puts them under suspicion.
  virtual void suspect(SinkMessage& message, Instant now);
  /// Holes among these slots have waited for long enough: asks for them.
  virtual void doubt(SinkMessage& message, SlotRun slots, Instant now) {
    ask(message, message.received.holes(slots), now);
  }
  /// Nothing has come for so long that nothing more is on its way: said before doubt().
  virtual void on_silence(SinkMessage&) {}
  /// What may be missing at the end although nothing later has come; empty: nothing.
  virtual SlotRun tail_of(const SinkMessage& message) const {
    return {message.received.highest, message.received.end()};
  }
  /// True: notes say slot by slot what is wanted, by wanted_word(). False: every hole below
  /// `overdue` is.
  virtual bool names_what_it_wants() const { return false; }
  virtual uint64_t wanted_word(const SinkMessage&, uint32_t) const { return 0; }

  void complete(SinkMessage& message);
  void ask(SinkMessage& message, SlotRun slots, Instant now);
  void look_closer(SinkMessage& message, Instant now);
  void soil(SinkMessage& message, Instant now);
  SinkMessage* find_open(uint32_t sequence) const;

  const RepeatSettings settings_;
  const Rate rate_;  // as configured
  const uint32_t slot_wire_bytes_;
  LinkTiming link_;
  RepeatTimes times_;
  Messages<SinkMessage> messages_;
  RangeFifo suspected_;  // holes within their reorder budget

 private:
  /// A message that is complete is named in this many notes, and once more when something of it
  /// comes after them: all of them may have been lost.
  static constexpr uint32_t tellings = 3;
  struct Completed {
    uint32_t sequence = 0;
    uint32_t left = 0;
  };

  void watch_tail(SinkMessage& message, Instant now);
  void tick(Instant now);
  void find_losses(Instant now);
  void find_lost_tails(Instant now);
  void ask_again(Instant now);
  void report(SinkMessage& message, SlotRun slots);
  void name_again(SinkMessage& message, Instant now);
  void give_up_all();

  bool finish(Out& out);
  bool write_notes(Instant now, Out& out);
  void write_reports(NoteWriter& writer);
  void write_completed(NoteWriter& writer);
  void drop_oldest_completed();
  void drop_stale(RangeFifo& fifo);
  bool write_sections(SinkMessage& message, NoteWriter& writer);
  bool write_state(SinkMessage& message, NoteWriter& writer);
  bool write_wanted(SinkMessage& message, NoteWriter& writer);
  void arm(Out& out);

  Queue<uint32_t> dirty_;       // something came; reported at the next tick, oldest first
  Queue<uint32_t> reports_;     // to be written now
  Queue<uint32_t> finished_;    // to be settled with the core
  Queue<Completed> completed_;  // to be told to the source, several times
  RangeFifo tails_;             // closed messages whose highest slots are not in place
  RangeFifo asked_;             // holes that a note has asked for
  uint32_t untold_ = 0;         // completed messages that no note has named yet
  bool tells_again_ = false;    // a tick is due for those that were named before
  Instant tick_at_ = Instant::never();
  Instant report_from_;  // not before: reports keep a gap, and so many notes each
  uint32_t notes_per_report_ = 1;
  Instant give_up_at_ = Instant::never();
  Instant armed_at_ = Instant::never();
};

}  // namespace cw::policy
