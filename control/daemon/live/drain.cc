#include "control/daemon/live/drain.h"

#include <map>
#include <string>
#include <tuple>

#include "control/daemon/system/notify.h"
#include "control/gateway/keys/prefix.h"
#include "control/gateway/site/site.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

uint64_t frames_of(const site::SiteState& state) {
  uint64_t frames = 0;
  for (const gateway::LaneView& lane : state.lanes) frames += lane.sent + lane.inbound.out;
  return frames + (state.beside ? state.beside->crossed : 0);
}

std::string reason_of(const site::RouteMove& move) {
  switch (move.why) {
    case gateway::Standing::Down:
      return move.from + " does not answer";
    case gateway::Standing::Draining:
      return move.from + " drains";
    case gateway::Standing::Returning:
      return move.from + " has just come back";
    case gateway::Standing::Up:
      break;
  }
  return move.to + " is preferred";
}

}  // namespace

void Drain::want(bool is_wanted, Duration patience) {
  if (is_wanted != is_wanted_) {
    log_.info(is_wanted ? "asks_for_drain" : "asks_no_more",
              {{"meaning", is_wanted ? "peers are to send by others; what still comes is carried"
                                     : "peers may send here again"}});
    is_fresh_ = true;
  }
  is_wanted_ = is_wanted;
  notify_manager(status_line());
  is_asked_ = site_.want_drain(is_wanted, patience);
}

std::string Drain::status_line() const {
  return is_wanted_ ? "STATUS=draining: others take over"
                    : "STATUS=carrying packets for " + site_.plan().site;
}

void Drain::look(const site::SiteState& state, Duration patience) {
  if (!is_asked_) is_asked_ = site_.want_drain(is_wanted_, patience);
  const uint64_t frames = frames_of(state);
  if (frames != crossed_ || is_fresh_) crossed_at_ = state.at;
  is_fresh_ = false;
  crossed_ = frames;
  looked_at_ = state.at;
  tell_moves(state, patience);
}

void Drain::tell_moves(const site::SiteState& state, Duration patience) {
  constexpr size_t named_max = 8;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> told;
  for (const site::RouteMove& move : site_.steer(state, patience)) {
    told[{move.from, move.to, reason_of(move)}].push_back(site::prefix_text(move.route));
  }
  for (auto& [move, routes] : told) {
    const auto& [from, to, why] = move;
    const size_t count = routes.size();
    if (count > named_max) routes.resize(named_max);
    log_.info("routes_moved",
              {{"from", from}, {"to", to}, {"why", why}, {"count", count}, {"routes", routes}});
  }
}

}  // namespace cw::daemon
