#include "tests/sim/gateway/swarm/site_watch.h"

#include <algorithm>
#include <array>

namespace cw::sim {
namespace {

constexpr Duration interval = Duration::from_ms(5);

/// A packet of the LAN that went no further.
uint64_t turned_away(const Drops::Snapshot& drops) {
  uint64_t total = 0;
  for (const DropReason reason :
       {DropReason::lan_malformed, DropReason::lan_unroutable, DropReason::no_route,
        DropReason::multicast_unknown, DropReason::multicast_looped, DropReason::multicast_source,
        DropReason::lan_too_big, DropReason::no_class, DropReason::ttl_expired,
        DropReason::peer_down, DropReason::wan_queue_full, DropReason::wan_queue_codel,
        DropReason::wan_queue_old, DropReason::wan_places_full, DropReason::stream_broken}) {
    total += drops[reason];
  }
  return total;
}

std::string against(uint64_t left, const char* what_left, uint64_t right, const char* what_right) {
  return std::to_string(left) + " " + what_left + " and " + std::to_string(right) + " " +
         what_right;
}

}  // namespace

void SiteWatch::begin(Sites& sites) {
  sites_ = &sites;
  seen_.resize(static_cast<size_t>(sites.count()) + 1);
}

void SiteWatch::before_turn(int) {
  heap_.emplace();
  allocations_before_ = allocation_count();
}

void SiteWatch::after_turn(int site) {
  seen_[static_cast<size_t>(site)].allocations += allocation_count() - allocations_before_;
  heap_.reset();
}

void SiteWatch::on_turn(Instant now) {
  if (now < due_) return;
  due_ = now + interval;
  for (int site = 1; site <= sites_->count(); ++site) {
    if (!sites_->seat(site).is_alive()) continue;
    note_life(site);
    const site::SiteState state = sites_->state(site);
    check_accounts(site, state);
    check_memory(site, state);
  }
}

void SiteWatch::note_life(int site) {
  SiteSeat& seat = sites_->seat(site);
  Seen& seen = seen_[static_cast<size_t>(site)];
  if (seen.life == seat.lives()) return;
  seen.life = seat.lives();
  seen.epochs = UINT64_MAX;  // of no process
}

void SiteWatch::check_accounts(int site, const site::SiteState& state) {
  const SiteSeat& seat = sites_->seat(site);
  uint64_t in = 0, out = 0;
  for (size_t shard = 0; shard < seat.ports().size(); ++shard) {
    const PortCounters& before = seat.lan_at_start(shard);
    const PortCounters lan = seat.ports()[shard].lan->counters();
    in += lan.rx_packets - before.rx_packets;
    out += lan.tx_packets - before.tx_packets;
  }
  uint64_t taken = state.rooms[Counter::lan_sent] + turned_away(state.drops);
  for (const gateway::LaneView& lane : state.lanes) taken += lane.waiting;
  if (state.beside) taken += state.beside->waiting;
  if (in != state.rooms[Counter::lan_in] || in != taken) {
    complain("conservation", site,
             against(in, "packets came from the LAN", taken, "were sent on or dropped, or wait"));
  }
  uint64_t lanes_out = state.out_before + (state.beside ? state.beside->out : 0);
  for (const gateway::LaneView& lane : state.lanes) {
    lanes_out += lane.inbound.out;
    if (lane.inbound.is_balanced()) continue;
    complain("conservation", site,
             against(lane.inbound.seen, "frames seen", lane.inbound.out,
                     "out, and the rest is not accounted for"));
  }
  const uint64_t given = lanes_out + state.rooms[Counter::icmp_sent];
  if (out != given) {
    complain("conservation", site, against(given, "packets for the LAN", out, "came there"));
  }
}

void SiteWatch::check_memory(int site, const site::SiteState& state) {
  SiteSeat& seat = sites_->seat(site);
  Seen& seen = seen_[static_cast<size_t>(site)];
  for (const SiteSeat::Ports& each : seat.ports()) {
    const size_t lent = each.wan->lent_count(), most = seat.plan().wan.packets;
    if (lent > most) complain("memory", site, against(lent, "WAN packets lent", most, "planned"));
  }
  std::vector<site::PeerView> links = state.peers;
  if (state.beside) {
    links.insert(links.end(), state.beside->peers.begin(), state.beside->peers.end());
  }
  const auto ups = static_cast<size_t>(std::ranges::count_if(links, &site::PeerView::is_up));
  // Memory is taken when an epoch begins, and until its link is up; and when a policy is replaced:
  // for want of another thread its successor is made between a turn and the next.
  bool is_swapping = std::ranges::any_of(state.swaps, [](const site::SwapView& each) {
    return each.fate == site::SwapView::Fate::UnderWay;
  });
  if (state.beside) is_swapping |= state.beside->is_swapping;
  const uint64_t swaps =
      state.rooms[Counter::policies_swapped] + state.rooms[Counter::swaps_refused];
  const bool has_swapped = is_swapping || seen.is_swapping || swaps != seen.swaps;
  const uint64_t quarantined = state.rooms[Counter::policies_quarantined];
  const bool is_same = state.rooms[Counter::epochs] == seen.epochs && ups == seen.ups &&
                       ups == links.size() && quarantined == seen.quarantined && !has_swapped;
  if (is_same && seen.allocations != seen.allocations_told) {
    complain("memory", site,
             std::to_string(seen.allocations - seen.allocations_told) +
                 " allocations in turns without a new epoch");
  }
  seen.allocations_told = seen.allocations;
  seen.epochs = state.rooms[Counter::epochs];
  seen.ups = ups;
  seen.quarantined = quarantined;
  seen.is_swapping = is_swapping;
  seen.swaps = swaps;
}

void SiteWatch::check_policies() {
  for (int site = 1; site <= sites_->count(); ++site) {
    const uint64_t quarantined = seen_[static_cast<size_t>(site)].quarantined;
    if (quarantined == 0) continue;
    complain("memory", site, std::to_string(quarantined) + " policies were quarantined");
  }
}

void SiteWatch::check_between_sites() {
  const auto number = [](int from, int to) {
    return static_cast<size_t>(to < from ? to - 1 : to - 2);
  };
  // Of all links together, which lie in a row.
  const auto lane_of = [links = sites_->links()](const site::SiteState& state, size_t index) {
    gateway::LaneView lane = state.lanes[index * links];
    for (size_t i = 1; i < links; ++i) lane.add(state.lanes[index * links + i]);
    return lane;
  };
  for (int from = 1; from <= sites_->count(); ++from) {
    const site::SiteState source = sites_->state(from);
    const size_t classes = source.lanes.size() / source.peers.size();
    for (int to = 1; to <= sites_->count(); ++to) {
      if (to == from) continue;
      const site::SiteState target = sites_->state(to);
      for (size_t i = 0; i < classes; ++i) {
        const uint64_t sent = lane_of(source, number(from, to) * classes + i).sent;
        const gateway::InboundAccounts in = lane_of(target, number(to, from) * classes + i).inbound;
        const uint64_t known = in.seen + in.given_up;
        if (sent == known || (sent > known && in.unheard_messages > 0)) continue;
        complain("conservation", to,
                 "of class " + std::to_string(i) + " site " + std::to_string(from) + " sent " +
                     against(sent, "frames; here", in.seen, "were seen, and given up ") +
                     std::to_string(in.given_up));
      }
    }
  }
}

bool SiteWatch::has_first_epochs() {
  for (int site = 1; site <= sites_->count(); ++site) {
    const site::SiteState state = sites_->state(site);
    if (sites_->seat(site).lives() != 1) return false;
    if (state.rooms[Counter::epochs] != state.peers.size()) return false;
  }
  return true;
}

std::string SiteWatch::unsettled() {
  for (int site = 1; site <= sites_->count(); ++site) {
    const std::string who = "site " + std::to_string(site);
    if (!sites_->seat(site).is_alive()) return who + " is dead";
    std::string of_links = " (";
    for (int each = 1; each <= sites_->count(); ++each) {
      of_links += (each == 1 ? "" : " | ") + links(each);
    }
    of_links += ")";
    const site::SiteState state = sites_->state(site);
    for (const site::PeerView& peer : state.peers) {
      if (!peer.is_up) return who + " is down: " + peer.why + of_links;
    }
    for (const gateway::LaneView& lane : state.lanes) {
      const uint64_t rest = lane.inbound.held + lane.inbound.queued;
      if (!lane.is_open || rest + lane.waiting_bytes > 0) {
        return who + ", class " + std::to_string(lane.class_index) + " to peer " +
               std::to_string(lane.peer) + " holds " + std::to_string(rest) + " frames, and " +
               std::to_string(lane.waiting_bytes) + " bytes wait" + (lane.is_open ? "" : ", shut") +
               of_links;
      }
    }
    if (!state.is_quiet) return who + " has messages open" + of_links;
  }
  return "";
}

std::string SiteWatch::links(int site) {
  constexpr std::array<const char*, 4> phases{"one set of links", "a second set waits",
                                              "the second set carries", "one set leaves"};
  if (!sites_->seat(site).is_alive()) return "dead";
  const site::Relink& relink = sites_->gateway(site).relink();
  std::string text = phases[static_cast<size_t>(relink.phase())];
  for (const std::string& each : relink.missing()) text += ", " + each + " missing";
  if (const auto beside = sites_->state(site).beside; beside) {
    for (const site::PeerView& each : beside->peers) text += each.is_up ? "; up" : "; " + each.why;
    if (!beside->is_quiet) text += "; not empty";
    text += "; " + std::to_string(beside->waiting) + " frames wait";
  }
  return text;
}

std::string SiteWatch::rates(int site) {
  std::string text;
  for (const site::PeerView& peer : sites_->state(site).peers) {
    text += (text.empty() ? "" : " and ") + std::to_string(peer.rate.bps() / 1000) + " kbit/s";
  }
  return text;
}

void SiteWatch::complain(const char* checker, int site, const std::string& what) {
  verdicts_.complain_of(checker, "site " + std::to_string(site) + ": " + what);
}

}  // namespace cw::sim
