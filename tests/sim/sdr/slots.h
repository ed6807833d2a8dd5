// Both ends of a stream as a gateway uses it: messages that grow slot by slot, closed and forgotten
// in one breath, and a receiver that is told and does not ask. Every slot says who it is, so that
// wrong, stale and doubled bytes are seen.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/sdr/site.h"

namespace cw::sim {

/// What a slot of a test begins with; the rest is filled with the low byte of `number`.
struct SlotLabel {
  uint32_t number = 0;  ///< of all slots ever appended, from 1
  uint16_t bytes = 0;
  uint16_t life = 0;  ///< of the sender's epoch
};

/// Thread: the test's. The stream may be replaced (a restart): it is asked for each time.
class SlotSource {
 public:
  explicit SlotSource(const sdr::StreamConfig& config) : config_(config) {}

  /// Appends one slot of `bytes`; false when there is no place, or no packet, for it.
  bool append(sdr::SendStream& stream, uint16_t bytes, Instant now, uint8_t ecn = 0,
              uint8_t dscp = 0) {
    const uint32_t payload = stream.config().payload_bytes;
    if (handle_ && slots_ >= stream.slots_max(*handle_)) close(stream);
    if (!handle_) handle_ = stream.try_open({});
    if (!handle_) return false;
    if (!stream.has_packets(1)) return false;
    uint8_t* const slot = stream.slot_memory();
    std::memset(slot, 0xee, payload);  // what lies behind a short one is nobody's
    const SlotLabel label{number_ + 1, bytes, life_};
    std::memset(slot, static_cast<int>(label.number & 0xff), bytes);
    std::memcpy(slot, &label, sizeof(label));
    if (!stream.append_slot(*handle_, {bytes, ecn, dscp}, now)) return false;
    ++number_;
    if (++slots_ == config_.data_slots_max) close(stream);
    return true;
  }
  /// Ends the message under way and asks no more about it.
  void close(sdr::SendStream& stream) {
    if (!handle_) return;
    CW_ASSERT(stream.close(*handle_).has_value());
    stream.forget(*handle_);
    handle_.reset();
    slots_ = 0;
  }
  /// The epoch is over: what was under way is lost.
  void on_reset(sdr::SendStream& stream) {
    if (handle_) stream.forget(*handle_);
    handle_.reset();
    slots_ = 0;
    ++life_;
  }
  uint32_t appended() const { return number_; }
  bool is_in_message() const { return handle_.has_value(); }

 private:
  const sdr::StreamConfig config_;
  std::optional<sdr::SendHandle> handle_;
  uint32_t slots_ = 0, number_ = 0;
  uint16_t life_ = 0;
};

class SlotSink final : public sdr::RecvEvents {
 public:
  explicit SlotSink(sdr::RecvStream& stream)
      : stream_(stream),
        config_(stream.config()),
        memory_(config_.messages * config_.message_bytes_max()) {
    stream_.set_events(this);
    post();
  }

  void on_placed(sdr::RecvHandle handle, uint32_t word_first, uint32_t word_end,
                 const uint64_t* placed, Instant now) override {
    Received& message = received_[handle.place];
    for (uint32_t slot = word_first * 64; slot < word_end * 64; ++slot) {
      if (!(placed[slot / 64] >> slot % 64 & 1) || message.placed.contains(slot)) continue;
      message.placed.insert(slot);
      if (message.is_abandoned(slot)) ++late_;
      take(handle, slot, now);
    }
    complete_if_over(handle, now);
  }
  void on_length(sdr::RecvHandle handle, sdr::MessageLength length, Instant now) override {
    Received& message = received_[handle.place];
    if (message.slots) complain("length told twice");
    message.slots = length.slots;
    complete_if_over(handle, now);
  }
  void on_abandoned(sdr::RecvHandle handle, uint32_t first, uint32_t count, Instant now) override {
    Received& message = received_[handle.place];
    if (first != message.abandoned_end) complain("abandoned twice, or with a hole");
    message.abandoned_end = count == CW_UNKNOWN ? config_.data_slots_max : first + count;
    if (count == CW_UNKNOWN && !message.slots) message.slots = config_.data_slots_max;
    complete_if_over(handle, now);
  }
  void on_reset(Instant) override {
    received_.clear();
    posted_ = 0;
    ++resets_;
    post();
  }

  /// When the slot of this number came; nothing when it did not.
  std::optional<Instant> arrival(uint32_t number) const {
    const auto found = arrivals_.find(number);
    return found == arrivals_.end() ? std::nullopt : std::optional(found->second);
  }
  size_t arrived_count() const { return arrivals_.size(); }
  size_t late_count() const { return late_; }
  size_t completed_count() const { return completed_; }
  size_t given_up_count() const { return given_up_; }
  size_t reset_count() const { return resets_; }
  const std::set<uint32_t>& marked() const { return marked_; }
  const std::string& complaint() const { return complaint_; }

 private:
  struct Received {
    std::set<uint32_t> placed;
    std::optional<uint32_t> slots;
    uint32_t abandoned_end = 0;
    bool is_abandoned(uint32_t slot) const { return slot < abandoned_end; }
  };

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }
  void post() {
    for (;;) {
      const uint64_t bytes = config_.message_bytes_max();
      // The place is not known before: the stream takes them in turn.
      const auto handle = stream_.try_post({&memory_[posted_ % config_.messages * bytes], bytes});
      if (!handle) return;
      ++posted_;
    }
  }
  void take(sdr::RecvHandle handle, uint32_t slot, Instant now) {
    const uint32_t payload = stream_.config().payload_bytes;
    const uint64_t base = base_of(handle);
    SlotLabel label;
    const uint8_t* bytes = &memory_[base + uint64_t{slot} * payload];
    std::memcpy(&label, bytes, sizeof(label));
    for (size_t i = sizeof(label); i < label.bytes; ++i) {
      if (bytes[i] != (label.number & 0xff)) return complain("a wrong byte");
    }
    if (!arrivals_.emplace(label.number, now).second) return complain("a slot came twice");
    if (stream_.arrivals(handle).is_marked(slot)) marked_.insert(label.number);
  }
  uint64_t base_of(sdr::RecvHandle handle) const {
    return handle.place * config_.message_bytes_max();
  }
  void complete_if_over(sdr::RecvHandle handle, Instant now) {
    Received& message = received_[handle.place];
    bool is_over = message.slots.has_value();
    for (uint32_t slot = 0; is_over && slot < *message.slots; ++slot) {
      is_over = message.placed.contains(slot) || message.is_abandoned(slot);
    }
    const auto status = stream_.info(handle).status;
    if (is_over != (status != sdr::MessageStatus::Open)) complain("over here, open there");
    if (!is_over) return;
    const bool is_whole = message.placed.size() == *message.slots;
    if (is_whole != (status == sdr::MessageStatus::Done)) complain("whole here, not there");
    ++(is_whole ? completed_ : given_up_);
    received_.erase(handle.place);
    if (!stream_.complete(handle, now)) complain("a stale handle");
    post();
  }

  sdr::RecvStream& stream_;
  const sdr::StreamConfig config_;
  std::vector<uint8_t> memory_;
  uint64_t posted_ = 0;
  std::map<uint32_t, Received> received_;
  std::map<uint32_t, Instant> arrivals_;
  std::set<uint32_t> marked_;
  size_t completed_ = 0, given_up_ = 0, late_ = 0, resets_ = 0;
  std::string complaint_;
};

}  // namespace cw::sim
