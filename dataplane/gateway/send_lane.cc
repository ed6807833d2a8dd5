#include "dataplane/gateway/send_lane.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/limits.h"
#include "dataplane/gateway/ip_packet.h"

namespace cw::gateway {

Result<SendLane> SendLane::make(const ClassOptions& options, sdr::SendStream& stream,
                                Counters& counters) {
  auto writer = SlotWriter::make(stream);
  if (!writer) return failure("class \"" + options.name + "\": " + writer.error().sentence);
  stream.set_block_age(options.block_age);
  SendLane lane(options, stream, *writer, counters);
  lane.set_rate(Rate());
  return lane;
}

void SendLane::restart(Instant now) {
  writer_.restart(now);
  sequences_.restart();
}

void SendLane::set_rate(Rate rate) {
  rate_ = rate;
  size_queue();
}

void SendLane::set_rtt(Duration rtt) {
  writer_.set_rtt(rtt);
  rtt_ = rtt;
  size_queue();
}

void SendLane::size_queue() {
  // However slow the link: a few frames must fit, or none ever gets through.
  constexpr uint64_t bytes_min = 4 * limits::frame_bytes_max;
  const Duration most = queue_.value_or(queue_by_rtt(rtt_, hold_));
  queue_bytes_max_ = std::max(rate_.bytes_in(most).count(), bytes_min);
}

bool SendLane::try_offer(const Admitted& admitted, std::span<uint8_t> packet, Instant now,
                         DropReason& why) {
  const auto refuse = [&why](DropReason reason) { return why = reason, false; };
  if (!stream_->is_started()) return refuse(DropReason::peer_down);
  const uint64_t waiting = stream_->waiting_bytes();
  if (waiting >= queue_bytes_max_) return refuse(DropReason::wan_queue_full);
  uint8_t ecn = admitted.ecn;
  if (marks_ && waiting >= queue_bytes_max_ / 2 && ecn != ecn_ce && try_set_ce(packet)) {
    ecn = ecn_ce;
    counters_->add(Counter::lan_marked);
  }
  const FrameHeader header = sequences_.header_for(admitted.bytes, admitted.bucket, admitted.order);
  switch (writer_.append(header, packet.first(admitted.bytes), ecn, admitted.dscp, now)) {
    case Appended::NoRoom:
      return refuse(DropReason::wan_places_full);
    case Appended::Broken:
      return refuse(DropReason::stream_broken);
    case Appended::Taken:
      break;
  }
  sequences_.take(header);
  return true;
}

uint64_t SendLane::end_turn(Instant now) {
  writer_.end_turn(now);
  counters_->add(Counter::lan_sent,
                 writer_.sent_count() - std::exchange(sent_told_, writer_.sent_count()));
  return writer_.lost_count() - std::exchange(lost_told_, writer_.lost_count());
}

}  // namespace cw::gateway
