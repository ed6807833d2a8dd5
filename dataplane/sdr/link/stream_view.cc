#include "dataplane/sdr/link/stream_view.h"

#include "dataplane/sdr/link/link.h"
#include "dataplane/sdr/seat/seat.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

StreamView view_of(const Link& link, const StreamConfig& config, const Seat& seat) {
  const PolicyHost& host = seat.current();
  return {.is_started = link.is_up(),
          .places = config.messages,
          .policy_epoch = host.policy_epoch(),
          .is_swapping = seat.is_swapping(),
          .is_quarantined = host.is_quarantined(),
          .refused = host.refused_count()};
}

}  // namespace

std::optional<StreamView> view_of(Link& link, uint16_t qp, cw_role role) {
  if (role == CW_SOURCE) {
    SendStream* const stream = link.send_stream(qp);
    if (stream == nullptr) return std::nullopt;
    StreamView view = view_of(link, stream->config(), stream->seat());
    view.messages = stream->live_count();
    view.waiting_bytes = stream->waiting_bytes();
    return view;
  }
  RecvStream* const stream = link.recv_stream(qp);
  if (stream == nullptr) return std::nullopt;
  StreamView view = view_of(link, stream->config(), stream->seat());
  view.messages = stream->posted_count();
  return view;
}

}  // namespace cw::sdr
