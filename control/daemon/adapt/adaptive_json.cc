#include "control/daemon/adapt/adaptive_json.h"

namespace cw::daemon {
namespace {

Json view_json(const site::Plan& plan, const site::AdaptView& view, Instant now) {
  const adapt::LineFacts& line = view.facts;
  Json json = {{"peer", plan.gateway.peers[view.place.peer].name},
               {"class", plan.classes[view.place.class_index].name},
               {"state", site::name_of(view.state)},
               {"present", view.present},
               {"loss", line.loss.share.ratio},
               {"loss_low", line.loss.share.low},
               {"loss_high", line.loss.share.high},
               {"burst", line.loss.burst_packets},
               {"packets", line.loss.counts.packets()},
               {"seconds", line.loss.age.seconds()},
               {"rtt_ms", line.rtt.ms()},
               {"is_queued", line.is_queued},
               {"raised", view.raised},
               {"lowered", view.lowered},
               {"refused", view.refused},
               {"last", view.last}};
  if (!view.last.empty()) json["last_s_ago"] = (now - view.last_at).seconds();
  return json;
}

}  // namespace

Json adaptive_json(const site::Plan& plan, std::span<const site::AdaptView> views, Instant now) {
  Json json = Json::array();
  for (const site::AdaptView& each : views) json.push_back(view_json(plan, each, now));
  return json;
}

}  // namespace cw::daemon
