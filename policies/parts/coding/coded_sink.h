// The receiving end of whatever codes: rebuilds what it can, asks for the rest.
//
// Blocks are looked at when something of them arrives: rows that can be solved are decoded, and
// what is rebuilt arrives like any slot. A hole is asked for when it has waited for long enough
// (RepeatSink: suspected, tails, lost) and the code cannot repair it:
//
//   at once    A repair slot is given up a reorder budget after a later one came, and with it the
//              data of its block that has not come. A hole that no row can solve any more, even if
//              all repair still on its way arrives, is asked for; the others wait for their repair.
//   patient    Patience with a hole begins when a later slot comes, or all of its block is told.
//              When it is over no more repair is expected: what cannot be solved with what is in
//              place, and with slots that are waited for still, is asked for.
//
// What has arrived is never thrown away: a slot that was asked for is a hole less for its row, and
// the row is solved as soon as that is enough.
//
// A decode that failed although its rows looked solvable shows that the two ends do not code alike;
// the block is then repaired by resending alone.
#pragma once

#include "policies/parts/coding/coding_settings.h"
#include "policies/parts/coding/peeling.h"
#include "policies/parts/repeat/repeat_sink.h"
#include "policies/parts/slot_marks.h"

namespace cw::policy {

struct CodedSinkMessage : SinkMessage {
  uint16_t place;           // of its blocks
  uint32_t blocks_end;      // blocks above have not been told
  uint32_t repair_highest;  // highest repair slot in place + 1
  uint32_t repair_overdue;  // repair slots below are here or lost
  const uint64_t* repair;   // null until one has arrived; the core's
  SlotMarks::Map wanted_marks;
};

class CodedSink : public RepeatSink {
 public:
  CodedSink(const cw_env& env, const CodingSettings& settings);
  bool is_ready() const;

  void on_opened(const cw_fact_opened& fact, Instant now);
  void on_block_closed(const cw_fact_block_closed& fact, Instant now);
  void on_arrived(const cw_fact_arrived& fact, Instant now);
  void on_coded(const cw_fact_coded& fact, Instant now);
  void on_refused(const cw_fact_refused& fact, Instant now);
  void on_lost(const cw_fact_lost& fact, Instant now);
  void on_timer(uint64_t cookie, Instant now);
  void on_ended(uint32_t sequence, void* state, Instant now);
  void decide(Instant now, Out& out);

 protected:
  ~CodedSink() = default;

 private:
  static constexpr uint64_t timer_cookie = 1;  // 0 is RepeatSink's

  struct SunkBlock : Block {
    uint16_t decoding = 0;         // decisions under way
    uint32_t holes_at_decode = 0;  // when the last of them was decided
    bool is_queued = false;        // waits in `rebuilds_`
    bool is_distrusted = false;    // its code has not kept what it promised
  };
  struct Rebuild {
    uint32_t message = 0, block = 0;
    uint32_t set = 0;  // the next one to look at
  };

  void suspect(SinkMessage& message, Instant now) override;
  void doubt(SinkMessage& message, SlotRun slots, Instant now) override;
  void on_silence(SinkMessage& message) override;
  SlotRun tail_of(const SinkMessage& message) const override;
  bool names_what_it_wants() const override { return is_coded(); }
  uint64_t wanted_word(const SinkMessage& message, uint32_t index) const override;

  bool is_coded() const { return blocks_max_ > 0; }
  SunkBlock& block_of(const CodedSinkMessage& message, uint32_t index) {
    return blocks_[size_t{message.place} * blocks_max_ + index];
  }
  template <class Action>
  void for_blocks(CodedSinkMessage& message, SlotRun slots, Action&& action);
  bool is_sound(uint32_t index, const Block& told) const;
  bool has_repair(const CodedSinkMessage& message, uint32_t index) const;
  uint32_t hole_count(const CodedSinkMessage& message, const Block& block) const;

  void note_repair(CodedSinkMessage& message, const cw_fact_arrived& fact, Instant now);
  void judge(CodedSinkMessage& message, uint32_t index);
  void doubt_block(CodedSinkMessage& message, SunkBlock& block, SlotRun slots, Instant now);
  void take_hopes(const CodedSinkMessage& message, const SunkBlock& block);
  void want(CodedSinkMessage& message, SlotRun slots, Instant now);
  void find_lost_repair(Instant now);
  void retry_refused(Instant now);
  bool rebuild(Out& out);
  bool rebuild_block(Rebuild& work, CodedSinkMessage& message, Out& out);
  CodedSinkMessage* find(uint32_t sequence) const {
    return static_cast<CodedSinkMessage*>(find_open(sequence));
  }

  const CodingSettings coding_;
  const uint32_t slots_max_;
  const uint32_t block_slots_max_;
  const uint32_t repair_per_block_;
  const uint32_t blocks_max_;  // of a message; 0: the stream has none
  Array<SunkBlock> blocks_;
  Queue<uint16_t> places_;  // free
  SlotMarks wanted_;
  BlockBits bits_;
  Queue<Rebuild> rebuilds_;
  RangeFifo repair_seen_;  // repair slots: what of them is missing is on its way for a budget more
  RangeFifo refused_;      // blocks whose decoding was refused
  Instant coding_armed_at_ = Instant::never();
};

}  // namespace cw::policy
