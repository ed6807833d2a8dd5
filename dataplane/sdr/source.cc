#include "dataplane/sdr/source.h"

#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {

const StreamConfig& Source::config() const { return stream_->config(); }
bool Source::is_started() const { return stream_->is_started(); }
bool Source::is_idle() const { return stream_->live_count() == 0; }
const SentSlots& Source::sent() const { return stream_->sent(); }
const char* Source::policy() const { return stream_->seat().name(); }

std::optional<SendHandle> Source::try_open(const MessageHint& hint) const {
  return stream_->try_open(hint);
}
Result<void> Source::append(SendHandle handle, uint32_t first,
                            std::span<const uint8_t> bytes) const {
  return stream_->append(handle, first, bytes);
}
Result<void> Source::close(SendHandle handle, uint32_t frames) const {
  return stream_->close(handle, frames);
}
MessageStatus Source::status(SendHandle handle) const { return stream_->status(handle); }
bool Source::is_released(SendHandle handle) const { return stream_->is_released(handle); }
bool Source::is_growing(SendHandle handle) const { return stream_->is_growing(handle); }
void Source::cancel(SendHandle handle, Instant now) const { stream_->cancel(handle, now); }
void Source::forget(SendHandle handle) const { stream_->forget(handle); }

bool Source::has_packets(SendHandle handle, size_t count) const {
  return stream_->has_packets(handle, count);
}
uint8_t* Source::slot_memory(SendHandle handle) const { return stream_->slot_memory(handle); }
bool Source::append_slot(SendHandle handle, const SlotPiece& piece, Instant now) const {
  return stream_->append_slot(handle, piece, now);
}
uint32_t Source::slots_max(SendHandle handle) const { return stream_->slots_max(handle); }
uint64_t Source::waiting_bytes() const { return stream_->waiting_bytes(); }
void Source::set_block_age(Duration age) const { stream_->set_block_age(age); }

}  // namespace cw::sdr
