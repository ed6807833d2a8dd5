#include "control/daemon/capture/tracing.h"

#include <algorithm>
#include <utility>

#include "control/gateway/site/site.h"
#include "control/json/json.h"
#include "control/trace/trace_document.h"
#include "dataplane/sdr/link/trace/stream_trace.h"

namespace cw::daemon {

using sdr::TraceState;

Tracing::Tracing(site::Site& site, const TraceOrder& order, Instant now, Duration patience)
    : site_(site),
      order_(order),
      site_name_(site.plan().site),
      peer_(site.plan().gateway.peers[order.peer].name),
      class_(site.plan().classes[order.class_index].name),
      patience_(patience),
      asked_(now) {
  for (const cw_role role : {CW_SOURCE, CW_SINK}) {
    if (!(role == CW_SOURCE ? order.is_outward : order.is_inward)) continue;
    ends_.push_back({role, std::make_shared<sdr::PolicyTrace>(TraceOrder::bytes_max), ""});
  }
  const auto begin = [&](sdr::Link& link, Instant at) {
    for (End& each : ends_) {
      const auto begun = sdr::begin_trace(link, order_.class_index, each.role, each.trace, at);
      if (!begun) each.why = begun.error().sentence;
    }
  };
  if (site_.with_link(order_.peer, order_.link, begin, patience_)) return;
  is_over_ = true;
  for (End& each : ends_) each.why = "there is no such link, or its thread has no turn";
}

bool Tracing::look(Instant now) {
  if (is_over_) return true;
  const auto waits = [](const End& each) { return state_of(each) == TraceState::Waiting; };
  if (std::ranges::all_of(ends_, [](const End& each) { return each.trace->is_over(); }))
    return true;
  const auto waiting = std::ranges::count_if(ends_, waits);
  const bool is_none = waiting == std::ssize(ends_);
  const Duration patience = is_none ? begin_patience : other_patience;
  if (!begun_ && (waiting == 0 || now - asked_ >= patience)) begun_ = now;
  return begun_ && (is_none || now - *begun_ >= order_.time);
}

/// Whatever has become of the link meanwhile, they hold no more; the stream lets go of them if it
/// is still there.
void Tracing::end() {
  if (std::exchange(is_over_, true)) return;
  for (const End& each : ends_) each.trace->end(TraceState::Asked);
  const auto forget = [&](sdr::Link& link, Instant) {
    for (const End& each : ends_) {
      sdr::forget_trace(link, order_.class_index, each.role, *each.trace);
    }
  };
  (void)site_.with_link(order_.peer, order_.link, forget, patience_);
}

api::Response Tracing::finish() {
  end();
  trace::TraceDocument document{.site = site_name_, .streams = {}};
  for (const End& each : ends_) {
    trace::StreamTrace& stream = document.streams.emplace_back(trace::stream_trace_of(*each.trace));
    stream.peer = peer_;
    stream.class_name = class_;
    stream.link = order_.link;
    stream.is_outward = each.role == CW_SOURCE;
    if (!stream.bytes.empty()) continue;
    stream.why = each.why.empty() ? "its policy was not begun anew; /v1/log may say why" : each.why;
  }
  return api::json_response(json_of(document));
}

}  // namespace cw::daemon
