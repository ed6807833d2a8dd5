// One stream from a peer, from its slots to the LAN's door: the reader of its slots, the order of
// its frames, and the table that bounds them.
//
//   RecvStream -> SlotReader -> Order -> Release
//        ^------------- memory ------------'
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/core/large_memory.h"
#include "dataplane/gateway/accounts.h"
#include "dataplane/gateway/frames.h"
#include "dataplane/gateway/order.h"
#include "dataplane/gateway/release.h"
#include "dataplane/gateway/slot_reader.h"

namespace cw::gateway {

struct InboundOptions {
  SlotReaderOptions slots;
  Duration hold = Duration::from_ms(250);
  BucketSeq first_seq;         ///< see OrderOptions
  MessageSeq first_message;    ///< of every epoch
  size_t frames_max = 65'536;  ///< held or on their way out; what comes beyond is dropped

  /// What make() takes, about: to be compared with what the machine has.
  uint64_t memory_bytes() const;
};

class Inbound final : FrameSink, OrderSink, FrameSource {
 public:
  /// `receives`, `release` and the counts live longer. Errors: memory.
  static Result<std::unique_ptr<Inbound>> make(const InboundOptions& options, Receives& receives,
                                               Release& release, Drops& drops);

  // ---- events of the stream ----
  void on_placed(sdr::RecvHandle handle, uint32_t word_first, uint32_t word_end,
                 const uint64_t* placed, Instant now) {
    reader_.on_placed(handle, word_first, word_end, placed, now);
  }
  void on_length(sdr::RecvHandle handle, sdr::MessageLength length, Instant now) {
    reader_.on_length(handle, length, now);
  }
  void on_abandoned(sdr::RecvHandle handle, uint32_t first, uint32_t count, Instant now) {
    reader_.on_abandoned(handle, first, count, now);
  }
  /// Nothing of the old epoch is released from here on.
  void on_reset(Instant now);

  /// Once per turn, outside of events: what has been held for too long is given up, messages that
  /// are through are posted anew. Returns whether there was any.
  bool on_time(Instant now);
  Instant next_due() const;
  void rebase(Duration shift);

  InboundAccounts accounts() const;
  size_t frames_lent() const { return frames_.lent_count(); }

 private:
  Inbound(const InboundOptions& options, LargeMemory memory, Receives& receives, Release& release,
          Drops& drops);

  Frame* try_take(Instant now) override;
  void on_frame(Frame& frame, Instant now) override;
  void on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end, Instant now) override {
    order_.on_settled(place, slot_first, slot_end, now);
  }
  void on_released(uint32_t frame, Instant now) override;
  void on_refused(uint32_t frame, DropReason reason) override;
  void copy(uint32_t frame, uint8_t* out) override;
  void on_out(uint32_t frame) override;
  void on_dropped(uint32_t frame, DropReason reason) override;
  void count_drop(DropReason reason) { ++accounts_.dropped.values[static_cast<size_t>(reason)]; }
  void give_back(uint32_t frame);

  const size_t frames_low_;  // free frames below which holes are given up early
  LargeMemory memory_;
  Release& release_;
  Release::Lane out_;
  Drops& drops_;
  FrameTable frames_;
  Order order_;
  SlotReader reader_;
  InboundAccounts accounts_;
};

}  // namespace cw::gateway
