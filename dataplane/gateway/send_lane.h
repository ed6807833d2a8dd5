// The second half of a frame's way to the WAN: what one class sends to one peer. Numbers the frames
// of each bucket, keeps what waits for the link within the class's `queue`, and fills slots.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/core/counters.h"
#include "dataplane/gateway/flow.h"
#include "dataplane/gateway/ingress.h"
#include "dataplane/gateway/slot_writer.h"

namespace cw::gateway {

class SendLane {
 public:
  /// `stream` and `counters` outlive the lane. Errors: those of SlotWriter.
  static Result<SendLane> make(const ClassOptions& options, sdr::SendStream& stream,
                               Counters& counters);

  /// An epoch is in force: numbers begin anew.
  void restart(Instant now);
  /// The part of the link's rate that the class may count on: decides how many bytes `queue` is.
  void set_rate(Rate rate);
  void set_rtt(Duration rtt);
  void rebase(Duration shift) { writer_.rebase(shift); }

  /// Takes a frame, or says why not. Marks CE in place when much waits. Cost: hot; one copy.
  bool try_offer(const Admitted& admitted, std::span<uint8_t> packet, Instant now, DropReason& why);
  /// Returns how many frames, taken before, were lost since the last call because their message
  /// was over: to be counted as DropReason::stream_broken.
  uint64_t end_turn(Instant now);
  void on_time(Instant now) { writer_.on_time(now); }
  Instant next_due() const { return writer_.next_due(); }

  const SlotWriter& writer() const { return writer_; }
  uint64_t queue_bytes_max() const { return queue_bytes_max_; }

 private:
  SendLane(const ClassOptions& options, sdr::SendStream& stream, const SlotWriter& writer,
           Counters& counters)
      : stream_(&stream),
        counters_(&counters),
        writer_(writer),
        queue_(options.queue),
        hold_(options.hold),
        marks_(options.mark) {}
  void size_queue();

  sdr::SendStream* stream_;
  Counters* counters_;
  SlotWriter writer_;
  BucketSequences sequences_;
  std::optional<Duration> queue_;
  Duration hold_, rtt_;
  Rate rate_;
  bool marks_;
  uint64_t queue_bytes_max_ = 0;
  uint64_t sent_told_ = 0, lost_told_ = 0;
};

}  // namespace cw::gateway
