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
  bool append(sdr::Source stream, uint16_t bytes, Instant now, uint8_t ecn = 0, uint8_t dscp = 0) {
    const uint32_t payload = stream.config().payload_bytes;
    if (handle_ && slots_ >= stream.slots_max(*handle_)) close(stream);
    if (!handle_) handle_ = stream.try_open({});
    if (!handle_) return false;
    if (!stream.has_packets(*handle_, 1)) return false;
    uint8_t* const slot = stream.slot_memory(*handle_);
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
  void close(sdr::Source stream) {
    if (!handle_) return;
    CW_ASSERT(stream.close(*handle_).has_value());
    stream.forget(*handle_);
    handle_.reset();
    slots_ = 0;
  }
  /// The epoch is over: what was under way is lost.
  void on_reset(sdr::Source stream) {
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

/// Reads along with a stream of a site, after each turn of it; it goes before the site does.
class SlotSink {
 public:
  explicit SlotSink(Site& site, uint16_t qp = 0)
      : sink_(site.receives(qp)),
        config_(sink_.config()),
        memory_(config_.messages * config_.message_bytes_max()),
        buffers_(memory_, config_.message_bytes_max()) {
    sink_.read_along(buffers_);
    post();
    site.after_turns([this](Instant now) { read(now); });
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
    std::set<uint32_t> gone;
    std::optional<uint32_t> slots;
  };

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }
  void post() {
    while (sink_.try_post()) {
    }
  }
  void read(Instant now) {
    if (sink_.reset_count() != resets_) {
      resets_ = sink_.reset_count();
      received_.clear();
      post();
    }
    sdr::MessageNews news;
    while (sink_.take_news({&news, 1}) == 1) read(news, now);
  }
  void read(const sdr::MessageNews& news, Instant now) {
    const sdr::MessageView view = sink_.view(news.handle);
    Received& message = received_[news.handle.place];
    const uint32_t slot_end = std::min(news.word_end * 64, config_.data_slots_max);
    for (uint32_t slot = news.word_first * 64; slot < slot_end; ++slot) {
      if (has(view.placed, slot) && message.placed.insert(slot).second) {
        if (message.gone.contains(slot)) ++late_;
        take(view, slot, now);
      }
      if (has(view.gone, slot)) message.gone.insert(slot);
    }
    if (view.slots != CW_UNKNOWN) message.slots = view.slots;
    if (view.is_cut && !message.slots) message.slots = config_.data_slots_max;
    complete_if_over(news.handle, now);
  }
  static bool has(const uint64_t* bits, uint32_t slot) {
    return (bits[slot / 64] >> slot % 64 & 1) != 0;
  }
  void take(const sdr::MessageView& view, uint32_t slot, Instant now) {
    SlotLabel label;
    const uint8_t* bytes = view.memory + size_t{slot} * view.payload_bytes;
    std::memcpy(&label, bytes, sizeof(label));
    for (size_t i = sizeof(label); i < label.bytes; ++i) {
      if (bytes[i] != (label.number & 0xff)) return complain("a wrong byte");
    }
    if (!arrivals_.emplace(label.number, now).second) return complain("a slot came twice");
    if (view.is_marked(slot)) marked_.insert(label.number);
  }
  void complete_if_over(sdr::RecvHandle handle, Instant now) {
    Received& message = received_[handle.place];
    bool is_over = message.slots.has_value();
    for (uint32_t slot = 0; is_over && slot < *message.slots; ++slot) {
      is_over = message.placed.contains(slot) || message.gone.contains(slot);
    }
    const auto status = sink_.info(handle).status;
    if (is_over != (status != sdr::MessageStatus::Open)) complain("over here, open there");
    if (!is_over) return;
    const bool is_whole = message.placed.size() == *message.slots;
    if (is_whole != (status == sdr::MessageStatus::Done)) complain("whole here, not there");
    ++(is_whole ? completed_ : given_up_);
    received_.erase(handle.place);
    if (!sink_.complete(handle, now)) complain("a stale handle");
    post();
  }

  const sdr::Sink sink_;
  const sdr::StreamConfig config_;
  std::vector<uint8_t> memory_;
  sdr::RecvBuffers buffers_;
  std::map<uint32_t, Received> received_;
  std::map<uint32_t, Instant> arrivals_;
  std::set<uint32_t> marked_;
  size_t completed_ = 0, given_up_ = 0, late_ = 0;
  uint32_t resets_ = 0;
  std::string complaint_;
};

}  // namespace cw::sim
