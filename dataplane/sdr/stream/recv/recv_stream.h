// The receiving end of a stream: posted receives in a row, packets put in place, bits set, and what
// the sender must know of it (clear-to-send).
//
//   application:  try_post -> ... chunk bits ... -> complete
//                    | arm                            | close
//   slot map:      clear -> armed ----- claim, copy, count -----> clear
//
// Repair slots of a coded stream go to memory of its own, never to the application's; a decode
// decision of the policy puts the data slots in place that they make up for.
//
// The i-th message of the sender lands in the i-th receive. A packet is trusted with nothing: its
// key, its address and its immediate must all name the same slot of a message that is posted and of
// the right life, or it is dropped for a counted reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/core/turn/activity.h"
#include "dataplane/sdr/line/path/gap_ledger.h"
#include "dataplane/sdr/seat/code/code_desk.h"
#include "dataplane/sdr/seat/code/code_queue.h"
#include "dataplane/sdr/seat/code/known_blocks.h"
#include "dataplane/sdr/seat/code/repair_slots.h"
#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/sink.h"
#include "dataplane/sdr/stream/note_queue.h"
#include "dataplane/sdr/stream/recv/placing.h"
#include "dataplane/sdr/stream/recv/promises.h"
#include "dataplane/sdr/stream/recv/recv_message.h"
#include "dataplane/sdr/stream/recv/slot_arrival.h"
#include "dataplane/sdr/stream/slot_counts.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wan.h"
#include "dataplane/wire/control/control.h"
#include "dataplane/wire/control/envelope.h"
#include "offload/slot_map.h"
#include "offload/stage/stage.h"

namespace cw::sdr {

class RecvStream final : public PolicyActions, private CodeClient {
 public:
  /// `desk` has been asked for room, and is stopped before the stream ends. `tables` lives longer.
  RecvStream(const StreamConfig& config, std::unique_ptr<Seat> seat, CodeDesk& desk,
             TableMemory& tables, Counters& counters, Drops& drops);
  ~RecvStream() override;

  /// When the application has done something, or what was at the desk is back; as Seat says.
  void set_wake(Activity::Wake wake, Activity::Wake care) {
    wake_ = wake;
    seat_->set_care(care);
  }
  /// Once, before anything is posted: `port`, to which it is `peer`'s, places payload, and where
  /// none is sealed `stage`, in which this is stream `number`, turns it into bits. Both outlive the
  /// stream.
  void set_placer(WanPort& port, uint16_t peer);
  void set_stage(BitStage& stage, uint16_t number);
  /// As BitStageClient says.
  bool on_bits(std::span<const cw_bits_event> events);

  // ---- the application: as Sink says ----
  std::optional<RecvHandle> try_post(std::span<uint8_t> memory);
  RecvInfo info(RecvHandle handle) const;
  std::span<const uint8_t> chunk_bitmap(RecvHandle handle) const;
  void slots_of_chunk(RecvHandle handle, uint64_t chunk, std::span<uint64_t> words) const;
  std::optional<uint32_t> immediate(RecvHandle handle) const;
  bool complete(RecvHandle handle, Instant now);
  uint32_t posted_count() const { return posted_count_; }
  uint64_t over_count() const { return over_count_; }
  void read_along(RecvBuffers& buffers);
  std::optional<RecvHandle> try_post();
  bool has_news() const { return !news_.is_empty(); }
  size_t take_news(std::span<MessageNews> row);
  MessageView view(RecvHandle handle) const;
  uint32_t reset_count() const { return reset_count_; }
  // ---- the link ----
  /// A new epoch: packets to `address` are this stream's.
  void set_address(const StreamAddress& address) { address_ = address; }
  bool has_key(uint32_t key) const {
    return key == address_.data_key || key == address_.repair_key;
  }
  /// Both ends agree; slots are `payload_bytes` long. Clear-to-send may go out.
  void start(uint32_t payload_bytes, Instant now);
  /// The epoch is over: every receive fails as PeerLost, sequences begin anew.
  void reset(Instant now);
  /// False: it has landed sealed, and is not to be believed; that is all that happens then.
  bool on_slot(const SlotArrival& arrival);
  void on_opened(const Opened& opened, Instant now);
  void on_block_closed(const BlockClosed& closed, Instant now);
  void on_closed(const Closed& closed, Instant now);
  void on_abandoned(const Abandoned& abandoned, Instant now);
  void on_probe(Instant now);
  void on_note(const Note& note, Instant now);
  void on_lost(const MissingSlots& slots, uint16_t path, Instant now);
  void on_link(const cw_fact_link& fact, Instant now);
  void on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift) { seat_->rebase(shift); }
  /// No message has begun: of what lies in `tables` zeros are as good.
  bool is_at_rest() const;
  void flush_facts(Instant now);
  MessageSeq seq_in(uint32_t place) const { return messages_[place].seq; }
  bool offer(EnvelopeWriter& writer, Instant now);
  Instant offer_due() const { return clear_due_; }
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
  RecvTally& tally() { return tally_; }
  HeardSlots heard() const;
  Duration rtt() const { return rtt_; }
  bool may_begin_at(MessageSeq boundary) const;
  bool try_begin_swap(const Swap& swap, Instant now);

 private:
  using Message = RecvMessage;
  Message* find(RecvHandle handle);
  const Message* find(RecvHandle handle) const;
  Message* find_live(MessageSeq seq);
  Message* find_told(uint32_t seq);
  uint32_t place_of(const Message& message) const {
    return static_cast<uint32_t>(&message - messages_.get());
  }
  RecvHandle handle_of(const Message& message) const { return {place_of(message), message.seq}; }
  bool is_misplaced(const SlotArrival& arrival, uint32_t key, uint64_t expected,
                    uint64_t window_bytes, DropReason& reason) const;
  bool is_misfit(const SlotArrival& arrival, const ImmediateSplit::Parts& parts,
                 DropReason& reason) const;
  bool is_repair_misfit(const SlotArrival& arrival, const ImmediateSplit::Parts& parts,
                        DropReason& reason) const;
  void on_repair(const SlotArrival& arrival);
  bool has_room_for_blocks() const { return config_.rows != 0; }
  /// How its policy cuts it into blocks.
  const BlockShape& shape_of(const Message& message) const {
    return seat_->of(message.seq).shape();
  }
  const CodedSet& block_of(const Message& message, uint32_t block) const {
    return blocks_.at(place_of(message), block);
  }
  bool has_place(const Message& message, uint32_t block, const CodedSet& set) const;
  bool try_take_block(Message& message, uint32_t block, const CodedSet& set, Instant now);
  void tell_block(Message& message, uint32_t block, Instant now);
  bool has_blocks(const Message& message) const {
    return !shape_of(message).is_coded() || message.blocks_end >= message.slots;
  }
  void on_row_coded(CodeRow& row, const CodeResult& result) override;
  bool issue_row(CodeRequest& request);
  uint32_t fill_row(CodeRow& row, const Message& message, const CodedSet& set) const;
  void copy_shard(const Message& message, uint32_t slot, uint8_t* buffer) const;
  void put_rebuilt(Message& message, uint32_t slot, const uint8_t* bytes);
  void code_rows(Instant now);
  void begin_sequences();
  Message* try_take_place();
  RecvHandle post(Message& message);
  void arm(const Message& message);
  void end_life(const Message& message);
  bool try_put(Message& message, uint32_t slot, const uint8_t* payload, uint32_t bytes,
               DropReason& reason);
  bool is_of_its_life(const Message& message, const SlotArrival& arrival) const {
    return arrival.generation == config_.generation_of(message.seq);
  }
  void put(const SlotArrival& arrival);
  bool try_open_landed(const SlotArrival& slot, Arrival& landed);
  void on_placed(const SlotArrival& arrival, Message& message);
  bool take_event(const cw_bits_event& event);
  bool take_bits(Message& message, uint32_t first_slot, uint64_t bits);
  void prefetch(const Message& message, uint64_t offset) const;
  void copy_slot(const Message& message, const uint8_t* payload, uint32_t bytes,
                 uint32_t slot) const;
  void fill_up(const Message& message, uint32_t bytes, uint32_t slot) const;
  void touch(Message& message);
  void touch_all(Message& message);
  void touch_slot(Message& message, uint32_t slot);
  size_t word_of(uint32_t place, uint32_t slot) const {
    return size_t{place} * ((config_.data_slots_max + 63) / 64) + slot / 64;
  }
  bool is_read_along() const { return buffers_ != nullptr; }
  void note_arrival(const SlotArrival& arrival);
  void note_gone(Message& message, uint32_t first, uint32_t end);
  void note_news(Message& message, uint32_t word_first, uint32_t word_end);
  void give_back_memory(const Message& message);
  // Payload that the port places (recv_windows.cc).
  void open_windows(Message& message);
  size_t take_placements(std::span<Placement> row) const;
  void forget_rows(const Message& message);
  void end_receives();
  void take_fragment(Message& message, uint32_t slot, uint32_t bits);
  void* state_of(const Message& message);
  void tell_opened(Message& message, Instant now);
  void tell_again(Message& message, Instant now);
  void tell_arrived(Message& message, Instant now);
  void advance_first_missing(Message& message) const;
  void finish_if_over(Message& message);
  void end_with(Message& message, MessageStatus status);
  bool is_missing_from(const Message& message, uint32_t slot) const;
  void open(const Message& message, Instant now);
  void advance_sequences();
  void make_clear_due(Instant at) { clear_due_ = std::min(clear_due_, at); }
  StreamConfig config_;
  TableMemory& tables_;
  Activity::Wake wake_;
  std::unique_ptr<Seat> seat_;
  CodeDesk& desk_;
  Counters& counters_;
  Drops& drops_;
  StreamAddress address_;
  bool is_started_ = false;
  RecvBuffers* buffers_ = nullptr;  // of who reads along
  Promises promises_;               // of them
  LazyMemory lasting_;              // of places, which are touched one by one
  Table<Message> messages_;
  SlotMap map_;
  Ring<uint32_t> touched_;  // places with facts of this burst
  Ring<uint32_t> news_;     // and with something that who reads along has not asked for
  KnownBlocks blocks_;
  RepairSlots repairs_;
  Placing placing_;
  BitStage* stage_ = nullptr;  // of what the port places
  uint16_t stage_stream_ = 0;  // which of its streams this is
  CodeQueue codes_;
  Table<uint64_t> gone_{0}, marked_{0};  // for who reads along
  Table<uint16_t> short_by_{0};          // bytes that a slot's packet was shorter than a slot
  MessageSeq next_seq_;                  // to be posted
  MessageSeq retired_seq_;               // everything below is complete
  MessageSeq heard_seq_;                 // of everything below the length is known
  uint64_t slot_limit_ = 0, over_count_ = 0;
  uint32_t posted_count_ = 0, open_count_ = 0, reset_count_ = 0;
  NoteQueue notes_;
  Duration rtt_ = Duration::from_ms(1);
  Instant clear_due_ = Instant::never();
  RecvTally tally_;
  ClearToSend clear_said_;
  uint8_t clear_repeats_ = 0;  // of it
};

}  // namespace cw::sdr
