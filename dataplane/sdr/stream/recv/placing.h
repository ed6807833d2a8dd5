// Where a port places payload itself: the windows of a receiving stream, each open as long as its
// message may be written to.
//
// Slots that are sealed land in memory of the stream's own, `landing_bytes()` apart, and are opened
// before anything is believed of them: nobody could check them when they were written [C-86].
#pragma once

#include <cstdint>

#include "dataplane/base/memory/buffers.h"
#include "dataplane/sdr/stream/recv/recv_message.h"
#include "dataplane/sdr/stream/recv/slot_arrival.h"
#include "dataplane/sdr/stream/stream_config.h"
#include "dataplane/wan.h"

namespace cw::sdr {

/// Thread: the stream's. Allocates in begin() alone.
class Placing {
 public:
  /// Which outlives it, as does the port.
  explicit Placing(const StreamConfig& config) : config_(config) {}

  /// Once, before anything is posted.
  void begin(WanPort& port, uint16_t peer);
  bool has_begun() const { return port_ != nullptr; }
  /// Whether what is placed is sealed.
  bool is_landing() const { return port_ != nullptr && config_.seal_bytes > 0; }

  /// To the message's memory, which is there unless slots land elsewhere.
  void open(RecvMessage& message, uint32_t place);
  void close(RecvMessage& message);
  /// Where a repair slot is placed.
  const uint8_t* repair(uint32_t place, uint32_t slot) const {
    return repairs_.at(place) + size_t{slot} * config_.landing_bytes();
  }

  /// Opens a slot that has landed, of a place and a number that there are: head and payload are
  /// then what was sealed, until the next call. The head has immediate, length, and the QP as the
  /// sender knows it. False: it is not to be believed, and its error says why.
  bool try_open(Arrival& arrival, const RecvMessage& message,
                const ImmediateSplit::Parts& parts) const;

 private:
  const StreamConfig& config_;
  WanPort* port_ = nullptr;
  uint16_t peer_ = 0;                   // whose writes these are, as the port numbers it
  Buffers data_{0, 0}, repairs_{0, 0};  // one of each for each place
};

}  // namespace cw::sdr
