#include "dataplane/sdr/sink.h"

#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {

const StreamConfig& Sink::config() const { return stream_->config(); }
HeardSlots Sink::heard() const { return stream_->heard(); }
const char* Sink::policy() const { return stream_->seat().name(); }

std::optional<RecvHandle> Sink::try_post(std::span<uint8_t> memory) const {
  return stream_->try_post(memory);
}
std::optional<RecvHandle> Sink::try_post() const { return stream_->try_post(); }
RecvInfo Sink::info(RecvHandle handle) const { return stream_->info(handle); }
std::span<const uint8_t> Sink::chunk_bitmap(RecvHandle handle) const {
  return stream_->chunk_bitmap(handle);
}
void Sink::slots_of_chunk(RecvHandle handle, uint64_t chunk, std::span<uint64_t> words) const {
  stream_->slots_of_chunk(handle, chunk, words);
}
std::optional<uint32_t> Sink::immediate(RecvHandle handle) const {
  return stream_->immediate(handle);
}
bool Sink::complete(RecvHandle handle, Instant now) const { return stream_->complete(handle, now); }
bool Sink::is_idle() const { return stream_->posted_count() == 0; }
bool Sink::is_at_rest() const { return stream_->is_at_rest(); }
uint64_t Sink::over_count() const { return stream_->over_count(); }

void Sink::read_along(RecvBuffers& buffers) const { stream_->read_along(buffers); }
void Sink::tell_of_frames(const FrameTeller& frames) const { stream_->tally().frames = &frames; }
bool Sink::has_news() const { return stream_->has_news(); }
size_t Sink::take_news(std::span<MessageNews> row) const { return stream_->take_news(row); }
MessageView Sink::view(RecvHandle handle) const { return stream_->view(handle); }
uint32_t Sink::reset_count() const { return stream_->reset_count(); }

}  // namespace cw::sdr
