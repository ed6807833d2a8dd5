#include "dataplane/gateway/to_wan/send_lane.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/limits.h"
#include "dataplane/gateway/ingress/ip_packet.h"

namespace cw::gateway {
namespace {

/// What the stream has at hand: what leaves between two turns, and before a late one.
constexpr Duration ahead = Duration::from_ms(3);
constexpr uint64_t ahead_bytes_min = 2 * limits::frame_bytes_max;

}  // namespace

QueueTimes QueueTimes::of(const ClassOptions& options, Duration rtt) {
  // Repair that must be repaired itself stops a flow for two RTTs: one of these is to be within.
  constexpr Duration interval_min = Duration::from_ms(200);
  const Duration most = options.queue.value_or(queue_by_rtt(rtt, options.hold));
  return {.most = most, .codel = {.target = most / 2, .interval = std::max(rtt * 6, interval_min)}};
}

Result<SendLane> SendLane::make(const ClassOptions& options, sdr::Source stream,
                                QueueMemory& memory, Counters& counters, Drops& drops) {
  auto writer = SlotWriter::make(stream, options.pads);
  if (!writer) return failure("class \"" + options.name + "\": " + writer.error().sentence);
  stream.set_block_age(options.block_age);
  return SendLane(options, *writer, memory, counters, drops);
}

SendLane::SendLane(const ClassOptions& options, const SlotWriter& writer, QueueMemory& memory,
                   Counters& counters, Drops& drops)
    : stream_(writer.stream()),
      counters_(&counters),
      drops_(&drops),
      writer_(writer),
      queue_(memory, options.fair),
      options_(options),
      times_(QueueTimes::of(options, Duration())) {
  size_queue();
}

void SendLane::restart(Instant now) {
  writer_.restart(now);
  sequences_.restart();
}

void SendLane::set_rate(Rate share, Rate line) {
  share_ = share;
  line_ = line;
  size_queue();
}

void SendLane::set_rtt(Duration rtt) {
  rtt_ = rtt;
  writer_.set_rtt(rtt);
  times_ = QueueTimes::of(options_, rtt);
  size_queue();
}

void SendLane::change(const ClassOptions& options) {
  options_.hold = options.hold;
  options_.queue = options.queue;
  options_.mark = options.mark;
  if (std::exchange(options_.block_age, options.block_age) != options.block_age) {
    stream_.set_block_age(options.block_age);
  }
  times_ = QueueTimes::of(options_, rtt_);
  size_queue();
}

void SendLane::size_queue() {
  // However slow the link: a few frames must fit, or none ever gets through.
  constexpr uint64_t bytes_min = 4 * limits::frame_bytes_max;
  queue_bytes_max_ = std::max(share_.bytes_in(times_.most).count(), bytes_min);
  ahead_bytes_max_ = std::clamp(line_.bytes_in(ahead).count(), ahead_bytes_min,
                                std::max(queue_bytes_max_ / 2, ahead_bytes_min));
  // Then the stream never has less at hand than it may.
  if (is_held_back_) ahead_bytes_max_ = 0;
}

// ---- in ----

bool SendLane::try_offer(const Admitted& admitted, std::span<uint8_t> packet, Instant now,
                         DropReason& why) {
  const auto refuse = [&why](DropReason reason) { return why = reason, false; };
  if (!stream_.is_started()) return refuse(DropReason::peer_down);
  const auto frame = packet.first(admitted.bytes);
  if (queue_.is_empty() && stream_.waiting_bytes() < ahead_bytes_max_) {
    const Appended appended = append(admitted, frame, now, now);
    if (appended == Appended::Taken) return true;
    if (appended == Appended::Broken) return refuse(DropReason::stream_broken);
  }
  return try_wait(admitted, frame, now) || refuse(reason_when_full());
}

Appended SendLane::append(const Admitted& how, std::span<const uint8_t> packet, Instant since,
                          Instant now) {
  const FrameHeader header = sequences_.header_for(how.bytes, how.bucket, how.order);
  const Appended appended = writer_.append(header, packet, {how.ecn, how.dscp, since}, now);
  if (appended == Appended::Taken) sequences_.take(header);
  has_places_ = appended != Appended::NoRoom;
  return appended;
}

// One row drops at its tail, where a burst loses only what is too much of it; of several, the one
// that has most waiting makes room.
bool SendLane::try_wait(const Admitted& how, std::span<const uint8_t> packet, Instant now) {
  const uint64_t most =
      queue_bytes_max_ + share_.bytes_in(standstill_.rest(now)).count() - how.bytes;
  while (waiting_bytes() > most) {
    if (!queue_.try_drop_fattest(how)) return false;
    drops_->add(reason_when_full());
  }
  while (!queue_.try_push(how, packet, now)) {
    if (!options_.fair || queue_.is_empty()) return false;
    drops_->add(reason_when_full());
    queue_.drop_oldest();
  }
  return true;
}

// ---- out ----

void SendLane::send_waiting(Instant now) {
  if (queue_.is_empty()) return standstill_.end(now);
  if (!stream_.is_started()) {
    drops_->add(DropReason::peer_down, queue_.frames());
    return queue_.clear();
  }
  while (!queue_.is_empty() && stream_.waiting_bytes() < ahead_bytes_max_) {
    if (!try_send_next(now)) return;
  }
}

/// False: there is no room for it.
bool SendLane::try_send_next(Instant now) {
  WaitingFrame& frame = queue_.next();
  if (!frame.is_judged && !may_leave(frame, now)) return true;
  frame.is_judged = true;
  const Appended appended = append(frame.how, queue_.packet_of(frame), frame.since, now);
  if (appended == Appended::NoRoom) return false;
  if (appended == Appended::Broken) drops_->add(DropReason::stream_broken);
  queue_.pop_next();
  return true;
}

/// False: it has been dropped.
bool SendLane::may_leave(WaitingFrame& frame, Instant now) {
  const Duration sojourn = now - frame.since;
  if (sojourn >= options_.hold) return drop_next(DropReason::wan_queue_old), false;
  // The last of its row waits for nobody that could be told.
  const Duration own = queue_.is_last(frame) ? Duration() : sojourn - standstill_.rest(now);
  if (!queue_.codel_of(frame).judge(own, times_.codel, now)) return true;
  if (try_mark(frame) || frame.how.goes_back) return true;
  return drop_next(DropReason::wan_queue_codel), false;
}

void SendLane::drop_next(DropReason reason) {
  drops_->add(reason);
  queue_.pop_next();
}

bool SendLane::try_mark(WaitingFrame& frame) {
  if (!options_.mark || frame.how.ecn == ecn_not_capable) return false;
  if (frame.how.ecn != ecn_ce && try_set_ce(queue_.packet_of(frame))) {
    frame.how.ecn = ecn_ce;
    counters_->add(Counter::lan_marked);
  }
  return true;
}

void SendLane::end_turn(Instant now) {
  writer_.end_turn(now);
  counters_->add(Counter::lan_sent,
                 writer_.sent_count() - std::exchange(sent_told_, writer_.sent_count()));
  if (const auto lost = writer_.lost_count() - std::exchange(lost_told_, writer_.lost_count())) {
    drops_->add(DropReason::stream_broken, lost);
  }
}

bool SendLane::is_hungry() const {
  return !queue_.is_empty() && has_places_ && stream_.waiting_bytes() < ahead_bytes_max_ / 2;
}

}  // namespace cw::gateway
