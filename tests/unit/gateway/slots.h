// A sender's half for the tests of the receiving half: frames packed into slots, and the stream
// that they are put into.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/gateway/to_lan/inbound_stock.h"
#include "dataplane/gateway/to_lan/slot_reader.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/wire/slot.h"

namespace cw::gateway::test {

using ByteRow = std::vector<uint8_t>;

/// An IPv4 packet of `bytes` with random content and the given ECN bits, its checksum right.
ByteRow ip_packet(Prng& random, size_t bytes, uint8_t ecn = 0);

struct TestFrame {
  FrameHeader header;
  ByteRow packet;
  uint32_t message = 0;                    ///< counted from 0
  uint32_t slot_first = 0, slot_last = 0;  ///< that it touches
};

/// Packs frames into slots of messages, as a sender does.
class Packer {
 public:
  Packer(size_t payload_bytes, uint32_t slots_max, MessageSeq first_seq = {})
      : payload_bytes_(payload_bytes), slots_max_(slots_max), first_seq_(first_seq) {
    messages_.emplace_back();
  }
  /// Sets where the frame lies; begins a new message when it does not fit.
  void add(TestFrame& frame);
  void end_slot();
  void end_message();
  /// By message and slot: what the packets carry.
  const std::vector<std::vector<ByteRow>>& messages() const { return messages_; }
  MessageSeq seq_of(size_t message) const { return first_seq_ + message; }

 private:
  size_t room() const { return payload_bytes_ - open_.size(); }
  void begin_slot();
  void put(std::span<const uint8_t> bytes);

  size_t payload_bytes_;
  uint32_t slots_max_;
  MessageSeq first_seq_;
  std::vector<std::vector<ByteRow>> messages_;
  ByteRow open_;  // the slot that is being filled, when not empty
  uint16_t first_ = no_frame_start;
};

/// For `streams` such readers.
std::unique_ptr<InboundStock> stock_for(const SlotReaderOptions& options, Drops& drops,
                                        size_t frames = 4096, size_t streams = 1);

/// A real receiving stream under `passthrough`, and what its link brings it.
class SlotStream {
 public:
  explicit SlotStream(const SlotReaderOptions& options, MessageSeq first_seq = {});

  sdr::Sink sink() { return sdr::Sink(*stream_); }
  bool is_open(MessageSeq seq) const;  ///< posted
  size_t posted_count() const;
  /// Brings a slot; one that has been there is dropped.
  void place(MessageSeq seq, uint32_t slot, std::span<const uint8_t> bytes, bool is_marked = false);
  void say_length(MessageSeq seq, uint32_t slots, uint32_t frames = 0);
  /// Slots from `first` on, `count` of them, will not come any more.
  void abandon(MessageSeq seq, uint32_t first, uint32_t count);
  /// The epoch is over, and the next begins: all handles are void.
  void reset();

 private:
  void start();

  sdr::StreamConfig config_;
  Counters counters_;
  Drops drops_;
  sdr::CodeDesk desk_;
  sdr::StreamAddress address_;
  LazyMemory tables_;
  std::unique_ptr<sdr::RecvStream> stream_;
  sdr::Seat* seat_ = nullptr;  // the stream's
};

}  // namespace cw::gateway::test
