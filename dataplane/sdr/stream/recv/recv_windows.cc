// Where the port places payload itself: windows for it, open as long as a message may be written
// to.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {

void RecvStream::set_placer(WanPort& port, BitStage& stage, uint16_t number) {
  CW_ASSERT(posted_count_ == 0);
  placer_ = &port;
  stage_ = &stage;
  stage_stream_ = number;
  if (config_.repair_slots_max > 0) {
    placed_repairs_ = Buffers(config_.messages, config_.repair_window_bytes());
  }
}

RecvStream::~RecvStream() {
  for (uint32_t place = 0; place < config_.messages; ++place) close_windows(messages_[place]);
}

// What is late for a message finds its window closed: it cannot say for whom it was [C-56].
void RecvStream::open_windows(Message& message) {
  if (is_read_along()) {
    message.memory = buffers_->take();
    message.is_lent = true;
  }
  message.data = placer_->open_window({message.memory, message.memory_bytes});
  if (config_.repair_slots_max == 0) return;
  const uint32_t place = place_of(message);
  message.repairs =
      placer_->open_window({placed_repairs_.at(place), config_.repair_window_bytes()});
}

void RecvStream::close_windows(Message& message) {
  for (Window* window : {&message.data, &message.repairs}) {
    if (window->key != 0) placer_->close_window(window->key);
    *window = {};
  }
}

/// Of the first messages that have not begun, as far as `row` reaches; returns how many.
size_t RecvStream::take_placements(std::span<Placement> row) const {
  size_t count = 0;
  for (MessageSeq seq = retired_seq_; count < row.size() && seq.is_before(next_seq_); ++seq) {
    const Message& message = messages_[config_.place_of(seq)];
    if (message.seq != seq || message.is_opened || message.data.key == 0) continue;
    row[count++] = {be32(seq.value()), be32(message.data.key), be64(message.data.address),
                    be32(message.repairs.key), be64(message.repairs.address)};
  }
  return count;
}

}  // namespace cw::sdr
