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
    : site_(site), order_(order), patience_(patience), asked_(now) {
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
  const auto has = [&](auto&& is_so) {
    return std::ranges::all_of(ends_, [&](const End& each) { return is_so(each.trace->state()); });
  };
  if (has([](TraceState state) { return state > TraceState::Running; })) return true;
  const bool have_begun = has([](TraceState state) { return state != TraceState::Waiting; });
  if (!begun_ && (have_begun || now - asked_ >= begin_patience)) begun_ = now;
  const bool has_any = !has([](TraceState state) { return state == TraceState::Waiting; });
  return begun_ && (!has_any || now - *begun_ >= order_.time);
}

void Tracing::end() {
  if (std::exchange(is_over_, true)) return;
  const auto end_there = [&](sdr::Link& link, Instant) {
    for (const End& each : ends_) sdr::end_trace(link, order_.class_index, each.role);
  };
  (void)site_.with_link(order_.peer, order_.link, end_there, patience_);
}

api::Response Tracing::finish() {
  end();
  const site::Plan& plan = site_.plan();
  trace::TraceDocument document{.site = plan.site, .streams = {}};
  for (const End& each : ends_) {
    const auto bytes = each.trace->bytes();
    const bool has_begun = !bytes.empty();
    document.streams.push_back({.peer = plan.gateway.peers[order_.peer].name,
                                .class_name = plan.classes[order_.class_index].name,
                                .link = order_.link,
                                .is_outward = each.role == CW_SOURCE,
                                .state = name_of(each.trace->state()),
                                .why = has_begun ? "" : each.why,
                                .bytes = {bytes.begin(), bytes.end()}});
    if (!has_begun && each.why.empty()) {
      document.streams.back().why = "its policy was not begun anew; /v1/log may say why";
    }
  }
  return api::json_response(json_of(document));
}

}  // namespace cw::daemon
