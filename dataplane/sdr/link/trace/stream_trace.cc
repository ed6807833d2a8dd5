#include "dataplane/sdr/link/trace/stream_trace.h"

#include "dataplane/sdr/link/link.h"
#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

Seat* find_seat(Link& link, uint16_t qp, cw_role role) {
  if (role == CW_SOURCE) {
    SendStream* const stream = link.send_stream(qp);
    return stream == nullptr ? nullptr : &stream->seat();
  }
  RecvStream* const stream = link.recv_stream(qp);
  return stream == nullptr ? nullptr : &stream->seat();
}

}  // namespace

Result<void> begin_trace(Link& link, uint16_t qp, cw_role role,
                         const std::shared_ptr<PolicyTrace>& trace, Instant now) {
  Seat* const seat = find_seat(link, qp, role);
  if (seat == nullptr) return failure("the stream has no such direction");
  seat->trace_next(trace);
  return link.order_swap(qp, role, link.swap_desk().policy(qp, role), now);
}

void end_trace(Link& link, uint16_t qp, cw_role role) {
  if (Seat* const seat = find_seat(link, qp, role)) seat->trace_next(nullptr);
}

}  // namespace cw::sdr
