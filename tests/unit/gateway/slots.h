// A sender's half for the tests of the receiving half: frames packed into slots, and the stream
// that they are put into.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/gateway/slot_reader.h"
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

/// A stream as the reader sees it.
class FakeReceives final : public Receives {
 public:
  FakeReceives(const SlotReaderOptions& options, MessageSeq first_seq = {})
      : options_(options), next_(first_seq), first_(first_seq) {}

  std::optional<sdr::RecvHandle> try_post(sdr::RecvMemory& lender, uint64_t bytes) override;
  void complete(sdr::RecvHandle handle, Instant now) override;
  sdr::SlotArrivals arrivals(sdr::RecvHandle handle) const override;
  uint32_t payload_bytes() const override { return options_.payload_bytes_max; }

  bool is_open(MessageSeq seq) const { return posted_.contains(seq.value()); }
  /// Null when it is not posted.
  std::optional<sdr::RecvHandle> handle_of(MessageSeq seq) const;
  /// Puts a slot in place; flush() tells of it. Once per slot.
  void place(MessageSeq seq, uint32_t slot, std::span<const uint8_t> bytes, bool is_marked = false);
  /// Calls tell(handle, word_first, word_end, words) for each message with news.
  template <class Tell>
  void flush(Tell&& tell) {
    for (auto& [seq, message] : posted_) {
      if (message.word_first >= message.word_end) continue;
      const uint32_t first = std::exchange(message.word_first, UINT32_MAX);
      const uint32_t end = std::exchange(message.word_end, 0);
      tell(message.handle, first, end, message.bits.data());
    }
  }
  /// The epoch is over: all handles are void.
  void reset();
  size_t posted_count() const { return posted_.size(); }

 private:
  struct Message {
    sdr::RecvHandle handle;
    sdr::RecvMemory* lender = nullptr;
    uint8_t* memory = nullptr;
    std::vector<uint64_t> bits, marks;
    std::vector<uint16_t> short_by;  // by slot
    uint32_t word_first = UINT32_MAX, word_end = 0;
  };
  SlotReaderOptions options_;
  MessageSeq next_, first_;
  std::map<uint32_t, Message> posted_;  // by sequence
};

}  // namespace cw::gateway::test
