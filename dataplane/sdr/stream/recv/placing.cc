#include "dataplane/sdr/stream/recv/placing.h"

#include "dataplane/base/assert.h"

namespace cw::sdr {

void Placing::begin(WanPort& port, uint16_t peer) {
  port_ = &port;
  peer_ = peer;
  if (is_landing()) data_ = Buffers(config_.messages, config_.data_landing_bytes());
  if (config_.repair_slots_max > 0) {
    repairs_ = Buffers(config_.messages, config_.repair_landing_bytes());
  }
}

// What is late for a message finds its window closed: it cannot say for whom it was [C-56].
void Placing::open(RecvMessage& message, uint32_t place) {
  const std::span data = is_landing() ? std::span(data_.at(place), config_.data_landing_bytes())
                                      : std::span(message.memory, message.memory_bytes);
  message.data = port_->open_window(data);
  if (config_.repair_slots_max == 0) return;
  message.repairs = port_->open_window({repairs_.at(place), config_.repair_landing_bytes()});
}

void Placing::close(RecvMessage& message) {
  for (Window* window : {&message.data, &message.repairs}) {
    if (window->key != 0) port_->close_window(window->key);
    *window = {};
  }
}

bool Placing::try_open(Arrival& arrival, const RecvMessage& message,
                       const ImmediateSplit::Parts& parts) const {
  const bool is_repair = parts.slot >= config_.data_slots_max;
  const uint32_t slot = is_repair ? parts.slot - config_.data_slots_max : parts.slot;
  const uint64_t offset = uint64_t{slot} * config_.landing_bytes();
  const Window& window = is_repair ? message.repairs : message.data;
  arrival.head.address = window.address + offset;
  arrival.head.key = window.key;
  arrival.peer = peer_;
  arrival.form = Form::Write;
  arrival.payload = (is_repair ? repairs_ : data_).at(parts.id) + offset;
  CW_DCHECK(arrival.head.payload_bytes <= config_.landing_bytes());
  return port_->try_open_landed(arrival);
}

}  // namespace cw::sdr
