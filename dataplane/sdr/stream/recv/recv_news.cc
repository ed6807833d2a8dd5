// Who reads along: the memory its receives lie in, and what is new of them.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {

void RecvStream::read_along(RecvBuffers& buffers) {
  CW_ASSERT(posted_count_ == 0);
  buffers_ = &buffers;
  promises_.share(buffers.join());
  const size_t words = word_of(config_.messages, 0);
  for (auto* bits : {&gone_, &marked_}) *bits = Table<uint64_t>(words, &tables_);
  short_by_ = Table<uint16_t>(words * 64, &tables_);
}

std::optional<RecvHandle> RecvStream::try_post() {
  CW_ASSERT(is_read_along());
  const bool may_promise = promises_.has_room(posted_count_ - open_count_);
  Message* const message = may_promise ? try_take_place() : nullptr;
  if (message == nullptr) return std::nullopt;
  wake_();
  promises_.make();
  message->memory_bytes = buffers_->bytes();
  return post(*message);
}

/// Of whoever was in this place before. Who was never heard of has left nothing, and memory that
/// nobody sends to is not touched.
void RecvStream::forget_rows(const Message& message) {
  if (has_room_for_blocks()) blocks_.forget(place_of(message));
  if (!is_read_along()) return;
  const size_t first = word_of(place_of(message), 0), words = word_of(1, 0);
  for (auto* bits : {&gone_, &marked_}) std::fill_n(&(*bits)[first], words, 0);
  std::fill_n(&short_by_[first * 64], words * 64, 0);
}

void RecvStream::give_back_memory(const Message& message) {
  if (message.is_lent) buffers_->give_back(message.memory);
}

/// What was told of them, nobody needs to hear any more.
void RecvStream::end_receives() {
  news_.clear();
  for (uint32_t place = 0; place < config_.messages; ++place) {
    Message& message = messages_[place];
    give_back_memory(message);
    message = message.emptied();
    message.is_in_news = false;
  }
  promises_.reset(posted_count_);
  posted_count_ = 0;
  ++reset_count_;
}

void RecvStream::note_gone(Message& message, uint32_t first, uint32_t end) {
  if (!is_read_along()) return;
  uint64_t* const gone = &gone_[word_of(place_of(message), 0)];
  for (uint32_t slot = first; slot < end; ++slot) gone[slot / 64] |= uint64_t{1} << slot % 64;
  note_news(message, first / 64, (end + 63) / 64);
}

/// Without words for what concerns no slot.
void RecvStream::note_news(Message& message, uint32_t word_first, uint32_t word_end) {
  if (!is_read_along()) return;
  if (!message.is_news) {
    message.is_news = true;
    message.news_word_first = UINT32_MAX;
    message.news_word_end = 0;
    if (!message.is_in_news) CW_ASSERT(news_.try_push(place_of(message)));
    message.is_in_news = true;
  }
  message.news_word_first = std::min(message.news_word_first, word_first);
  message.news_word_end = std::max(message.news_word_end, word_end);
}

size_t RecvStream::take_news(std::span<MessageNews> row) {
  size_t count = 0;
  while (count < row.size() && !news_.is_empty()) {
    Message& message = messages_[news_.pop()];
    message.is_in_news = false;
    if (!message.is_news) continue;  // it has been completed since
    message.is_news = false;
    row[count++] = {handle_of(message), message.news_word_first, message.news_word_end};
  }
  return count;
}

MessageView RecvStream::view(RecvHandle handle) const {
  const Message* const message = find(handle);
  CW_ASSERT(is_read_along() && message != nullptr);
  const size_t first = word_of(handle.place, 0);
  return {.memory = message->memory,
          .placed = map_.data_words(handle.place),
          .gone = &gone_[first],
          .marked = &marked_[first],
          .short_by = &short_by_[first * 64],
          .payload_bytes = config_.payload_bytes,
          .slots = message->is_closed ? message->slots : CW_UNKNOWN,
          .frames = message->frames,
          .is_cut = message->is_cut};
}

}  // namespace cw::sdr
