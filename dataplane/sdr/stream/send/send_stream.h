// The sending end of a stream: messages in a row, their memory, the credit that the receiver gives,
// and the decisions of the policy turned into packets.
//
//   application:  open -> append ... -> close          status -> forget
//                    |       |            |               ^
//   policy:       opened  appended      closed          finish
//                            |
//                         send(range) -> outbox -> pacer -> try_make() -> sent
//
// Where the stream is coded, what the policy knows is cut into blocks, and a code decision makes
// repair slots of a set of slots, row by row, which may then be sent.
//
// A message lives in the place `seq mod messages` from open() until the receiver has retired it and
// the application has forgotten it; only then can seq + messages be opened. What the receiver must
// know of a message (OPENED, CLOSED, ABANDONED) is state, repeated until clear-to-send covers it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/memory/table.h"
#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/sdr/line/transmitter.h"
#include "dataplane/sdr/seat/code/code_desk.h"
#include "dataplane/sdr/seat/code/code_queue.h"
#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/budget_watch.h"
#include "dataplane/sdr/stream/note_queue.h"
#include "dataplane/sdr/stream/send/outbox.h"
#include "dataplane/sdr/stream/send/send_message.h"
#include "dataplane/sdr/stream/send/sent_runs.h"
#include "dataplane/sdr/stream/send/store/packet_stock.h"
#include "dataplane/sdr/stream/send/store/slot_store.h"
#include "dataplane/sdr/stream/slot_counts.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sdr {

class SendStream final : public PolicyActions, private CodeClient {
 public:
  using Options = SendOptions;

  /// `desk` has been asked for room, and is stopped before the stream ends. `tables` lives longer.
  SendStream(const StreamConfig& config, const Options& options, LinkKey link,
             std::unique_ptr<Seat> seat, CodeDesk& desk, PacketStock& stock,
             Transmitter& transmitter, TableMemory& tables, Counters& counters);

  /// When the application has done something, or what was at the desk is back; as Seat says.
  void set_wake(Activity::Wake wake, Activity::Wake care) {
    wake_ = wake;
    seat_->set_care(care);
  }

  // ---- the application: as Source says ----
  std::optional<SendHandle> try_open(const MessageHint& hint);
  Result<void> append(SendHandle handle, uint32_t first, std::span<const uint8_t> bytes);
  bool has_packets(SendHandle to, size_t count) { return store_.has_room(to.place, count); }
  uint8_t* slot_memory(SendHandle of) { return store_.memory(of.place); }
  bool append_slot(SendHandle handle, const SlotPiece& piece, Instant now);
  uint32_t slots_max(SendHandle handle) const;
  void set_block_age(Duration age);
  void set_hold(Duration hold);  ///< of slots that are under way, too
  uint64_t waiting_bytes() const { return waiting_bytes_; }
  Result<void> close(SendHandle handle, uint32_t frames = 0);
  MessageStatus status(SendHandle handle) const;
  bool is_released(SendHandle handle) const;
  bool is_growing(SendHandle handle) const;
  void cancel(SendHandle handle, Instant now);
  void forget(SendHandle handle);
  uint32_t live_count() const { return live_count_; }  ///< begun, and not forgotten

  // ---- the link ----
  /// The epoch is in force: from here on packets go to `address`.
  void start(const StreamAddress& address, uint32_t payload_bytes, Instant now);
  /// The epoch is over: every message fails as PeerLost, sequences begin anew.
  void reset(Instant now);
  void on_clear_to_send(const ClearToSend& clear, Instant now);
  void on_note(const Note& note, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift) { seat_->rebase(shift); }
  bool is_started() const { return is_started_; }

  /// Writes state records that are due. False when `writer` was too full for one of them.
  bool offer(EnvelopeWriter& writer, Instant now);
  Instant offer_due() const;

  // ---- the pacer ----
  bool has_ready(Priority priority) const { return is_started_ && !outbox_.is_empty(priority); }
  /// The next packets-to-be of a class that are alike; nothing when all has become pointless.
  std::optional<Departure> take_ready(Priority priority, Instant now, const RowLimit& most = {});
  /// Makes the ticket's slot leave: all of `send` but who it goes to. False: that has become
  /// pointless.
  bool try_make(const SendTicket& ticket, Instant departed, Instant now, Send& send);
  void on_expired(const SendTicket& ticket);
  /// A Send that held memory of the message in this place is sent or lost.
  void on_done(uint32_t place);
  void flush_facts(Instant now);
  /// No message is open, nothing is on its way: of what lies in `tables` zeros are as good.
  bool is_at_rest() const;
  /// `budget` is the line's, and lacks this stream's credit.
  bool hears_budget() const { return seat_->current().hears_budget(); }
  void on_budget(cw_fact_budget budget, Instant now);

  // ---- the policy ----
  void on_send(const cw_send& send, Instant now) override;
  void on_code(const cw_code& code, Instant now) override;
  void on_note(const cw_note& note, std::span<const uint8_t> bytes, uint16_t policy_epoch) override;
  void on_release(const cw_release& release, Instant now) override;
  void on_finish(const cw_finish& finish, Instant now) override;
  void on_quarantine(PolicyHost& host, Instant now) override;

  NoteQueue& notes() { return notes_; }
  const StreamConfig& config() const { return config_; }
  Seat& seat() { return *seat_; }
  Duration rtt() const { return rtt_; }
  const SentSlots& sent() const { return sent_; }
  MessageSeq bind();  ///< as SwapSeat
  void unbind();
  bool try_begin_swap(const Swap& swap, Instant now);

 private:
  using Message = SendMessage;

  Message* find(SendHandle handle);
  const Message* find(SendHandle handle) const;
  /// The open message that a policy names; null when it names none.
  Message* find_told(uint32_t seq);
  Message* find_ticket(const SendTicket& ticket);
  bool is_unheard(const Message& message) const;
  uint16_t life_of(MessageSeq seq) const;
  uint32_t place_of(const Message& message) const {
    return static_cast<uint32_t>(&message - messages_.get());
  }

  // Blocks (send_blocks.cc).
  const BlockShape& shape_of(const Message& message) const {
    return seat_->of(message.seq).shape();
  }
  CodedSet& block_of(const Message& message, uint32_t block);
  uint32_t told_front(const Message& message) const;
  uint32_t slots_wanted(const Message& message) const;
  uint64_t slots_covered(const Message& message, uint32_t open_slots) const;
  uint64_t slots_covered(const Message& message) const;
  void cut_blocks(Message& message, bool is_end, Instant now);
  void open_block(Message& message, Instant now);
  void close_block(Message& message, uint32_t slots, Instant now);
  void tell_blocks(Message& message, uint32_t front, Instant now);
  void close_old_blocks(Instant now);
  bool try_write_blocks(Message& message, EnvelopeWriter& writer, Instant now);
  // Repair (send_repair.cc).
  void on_row_coded(CodeRow& row, const CodeResult& result) override;
  bool issue_row(CodeRequest& request);
  uint32_t fill_row(CodeRow& row, const CodedSet& set, uint32_t most);
  const uint8_t* shard_of(std::span<const uint8_t> slot, uint8_t* buffer) const;
  void code_rows(Instant now);
  bool has_repair(const Message& message, const cw_send& send) const;
  Window window_of(const Message& message, const SendTicket& ticket) const;
  bool try_take_placements(const ClearToSend& clear);
  bool has_place_there(MessageSeq seq) const;
  // Slot by slot (send_slots.cc).
  void give_up_slots(Message& message);
  Instant hold_end(const Message& message, uint32_t slot, Instant now) const;
  bool try_take_off(Message& message, uint32_t slot);
  void stop_waiting(Message& message);
  void expire(Instant now);
  void expire_below(Message& message, uint32_t end, Instant now);
  void tell_expired(Message& message, Instant now);
  void settle_if_expired(Message& message, Instant now);
  void begin_sequences();
  uint64_t slot_credit() const { return slot_limit_ - std::min(slots_used_, slot_limit_); }
  cw_fact_opened opened_fact(const Message& message);
  void give_up_late(Instant now);
  void tell_late(const Message& message, Instant now);
  void tell(Message& message, Instant now);
  void tell_opened(Message& message, Instant now);
  void tell_appended(Message& message, Instant now);
  void settle(Message& message, MessageStatus status, Instant now);
  void retire_below(MessageSeq seq, Instant now);
  void retire(Message& message, Instant now);
  void free_if_over(Message& message);
  void refuse(const cw_send& send, cw_refusal reason);
  void* state_of(const Message& message);
  void tell_again(Message& message, Instant now);

  // From one policy to the next (send_swap.cc).
  bool is_swap_due() const;
  bool is_filling() const;
  void go_on_swapping(Instant now);
  void open_empty();
  void give_up_rest(Instant now);
  bool has_range(const Message& message, const cw_send& send) const;
  Instant drop_after(const Message& message, const cw_send& send, Instant now) const;
  void schedule_state(Message& message, Instant at);
  void schedule_probe(Instant now);
  bool try_write_state(const Message& message, EnvelopeWriter& writer) const;
  bool try_write_abandoned(const Message& message, EnvelopeWriter& writer) const;
  /// Something waits for credit, or for the receiver to close it: ask in case its word was lost.
  bool is_blocked() const;
  bool is_close_due(const Message& message) const;
  uint32_t count_alike(const SendRange& range, uint32_t most) const;
  Instant drop_after(const Message& message, const SendRange& range, Instant now) const;
  void describe(const SendTicket& ticket, Psn psn, Send& send) const;
  void tell_sent(uint16_t path, const SentRun& run, Instant now);
  StreamConfig config_;
  Activity::Wake wake_;
  Options options_;
  std::unique_ptr<Seat> seat_;
  CodeDesk& desk_;
  Transmitter& transmitter_;
  Counters& counters_;
  StreamAddress address_;
  bool is_started_ = false, needs_telling_ = false;
  Table<Message> messages_;
  SlotStore store_;
  Table<CodedSet> blocks_;
  CodeQueue codes_;
  Duration block_age_, rtt_ = Duration::from_ms(1);
  Instant blocks_due_ = Instant::never(), hold_due_ = blocks_due_, deadline_due_ = blocks_due_;
  MessageSeq next_seq_;                // to be opened by the application
  MessageSeq told_seq_;                // to be told to the policy next
  MessageSeq retired_seq_;             // everything below is over at the receiver
  std::optional<MessageSeq> bound_;    // none of these opens before a swap has begun
  MessageSeq message_limit_;           // may be told below this
  std::vector<Placement> placements_;  // by place, where the receiver's hardware wants them
  MessageSeq heard_seq_;               // state below this needs no repeating
  uint64_t slot_limit_ = 0, slots_used_ = 0, waiting_bytes_ = 0;
  SentSlots sent_;
  uint32_t live_count_ = 0;
  std::vector<uint32_t> lives_over_;  // of each place: in former epochs, or disowned
  Outbox outbox_;
  SentRuns sent_runs_;
  BudgetWatch budget_;
  NoteQueue notes_;
  Instant records_due_ = Instant::never(), probe_due_ = Instant::never();
  uint8_t probes_ = 0;
};

}  // namespace cw::sdr
