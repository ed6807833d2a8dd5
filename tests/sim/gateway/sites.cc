#include "tests/sim/gateway/sites.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/base/shards.h"

namespace cw::sim {
namespace {

std::string peer_text(int site, bool is_sealed) {
  const std::string s = std::to_string(site);
  return "[[peer]]\nname = \"site " + s + "\"\naddress = \"192.0.2." + s + "\"\nroutes = [\"10." +
         s + ".0.0/16\", \"fd00:" + s + "::/32\"]\n" +
         (is_sealed ? "public_key = \"" + seal::text_of(identity_of(site).public_key) + "\"\n"
                    : "");
}

std::string file_of(int site, int count, const SiteText& text) {
  const std::string own = "private_key_file = \"" + std::to_string(site) + ".key\"\n";
  std::string file = "[site]\nname = \"site " + std::to_string(site) + "\"\n" +
                     (text.is_sealed ? own : "") + text.site + "\n[lan]\n" + text.lan +
                     "\n[wan]\nrate = \"" + text.rate + "\"\n" + text.wan + "\n[pair]\n" +
                     (text.is_sealed ? "" : "key_file = \"key\"\n") + "rtt = \"" + text.rtt +
                     "\"\n" + text.pair + "\n";
  for (int other = 1; other <= count; ++other) {
    if (other != site) file += peer_text(other, text.is_sealed);
  }
  return file + text.classes;
}

/// What all plans together need of the network's ports.
SimOptions network_options(const SitesOptions& options) {
  SimOptions network{.seed = options.seed,
                     .wire_packets = options.wire_packets,
                     .payload_max = 0,
                     .icrc = options.icrc};
  for (const std::string& file : options.files) {
    const site::Plan plan = plan_of(file);
    network.paths = plan.wan.paths;
    network.port_packets = std::max(network.port_packets, plan.wan.packets);
    network.payload_max =
        std::max({network.payload_max, plan.gateway.lan_mtu, plan.wan.payload_bytes_max});
  }
  return network;
}

std::string sentence(const Checker& checker, const std::string& verdict) {
  return std::string(checker.name()) + ": " + verdict;
}

}  // namespace

std::vector<std::string> site_files(int count, const SiteText& text) {
  std::vector<std::string> files;
  for (int site = 1; site <= count; ++site) files.push_back(file_of(site, count, text));
  return files;
}

Sites::Sites(const SitesOptions& options)
    : options_(options),
      paths_(plan_of(options.files.front()).wan.paths),
      links_(plan_of(options.files.front()).links),
      network_(network_options(options)) {
  const int count = static_cast<int>(options.files.size());
  for (int site = 1; site <= count; ++site) add_site(site);
  // In this order every port numbers its peers as the site's file does.
  for (int first = 1; first <= count; ++first) {
    for (int second = first + 1; second <= count; ++second) join(first, second);
  }
  for (int site = 1; site <= count; ++site) start(site);
  for (int site = 1; site <= count && options.has_hosts; ++site) {
    hosts_.push_back(std::make_unique<Host>(host_port(site), 0));
    add_host(site, *hosts_.back());
  }
}

void Sites::add_site(int site) {
  SiteSeat::Options seat{.number = site,
                         .file = options_.files[index(site)],
                         .ports = {},
                         .tap = options_.tap,
                         .turns = options_.turns,
                         .serves_relinks = options_.serves_relinks,
                         .keys = options_.keys};
  SimPort& hosts = network_.add_port();
  const size_t shards = plan_of(seat.file).cores.size();
  for (size_t i = 0; i < shards; ++i) {
    SimPort& lan = network_.add_port();
    seat.ports.push_back({&lan, &network_.add_port()});
    network_.join(hosts, lan);
  }
  host_ports_.push_back(&hosts);
  spreaders_.push_back(std::make_unique<FlowSpreader>(hosts, shards));
  seats_.push_back(std::make_unique<SiteSeat>(seat));
}

void Sites::join(int first, int second) {
  for (uint16_t link = 0; link < links_; ++link) {
    const LinkEnd here = end_of(first, second, link), there = end_of(second, first, link);
    const SimPeers peers = network_.join(*here.port, *there.port, options_.wan);
    CW_ASSERT(peers.of_first == here.peer && peers.of_second == there.peer);
  }
}

// As the site's shards number them: peer by peer, each with those of its links that live there.
Sites::LinkEnd Sites::end_of(int from, int to, uint16_t link) const {
  const auto ports = seats_[index(from)]->ports();
  const size_t shards = ports.size(), shard = shard_of_link(link, shards);
  const size_t links_here = (links_ - shard + shards - 1) / shards;
  return {ports[shard].wan,
          static_cast<uint16_t>(peer_number(from, to) * links_here + link / shards)};
}

Sites::~Sites() = default;

void Sites::add_host(int site, Actor& actor) {
  guests_.push_back({&actor, host_ports_[index(site)]});
}

void Sites::start(int site) { seat(site).start(options_.seed * 1000 + ++lives_, now()); }

void Sites::restart(int site) {
  crash(site);
  start(site);
}

bool Sites::run_until(const std::function<bool()>& is_reached, Instant deadline) {
  // An actor that always wants a turn now cannot stop time.
  constexpr Duration step_min = Duration::from_ns(100);
  while (true) {
    turn_all();
    for (Checker* checker : checkers_) checker->on_turn(now());
    if (complaint()) return false;
    if (is_reached()) return true;
    if (now() >= deadline) return false;
    network_.advance_to(std::min(std::max(next_event(), now() + step_min), deadline));
  }
}

void Sites::turn_all() {
  for (const Guest& guest : guests_) {
    if (guest.due() <= now()) guest.actor->turn(now());
  }
  for (const auto& seat : seats_) {
    if (seat->due() <= now()) seat->turn(now());
  }
}

Instant Sites::next_event() const {
  Instant next = Instant::never();
  for (const Guest& guest : guests_) next = std::min(next, guest.due());
  for (const auto& seat : seats_) next = std::min(next, seat->due());
  return next;
}

void Sites::run_for(Duration time) {
  run_until([] { return false; }, now() + time);
}

bool Sites::is_up() {
  return std::ranges::all_of(seats_, [this](const auto& seat) {
    return seat->is_alive() &&
           std::ranges::all_of(seat->site().state(now()).peers, &site::PeerView::is_up);
  });
}

bool Sites::come_up(Duration within) {
  return run_until([this] { return is_up(); }, now() + within);
}

std::optional<std::string> Sites::complaint() const {
  for (const Checker* checker : checkers_) {
    if (const auto verdict = checker->verdict()) return sentence(*checker, *verdict);
  }
  return std::nullopt;
}

std::optional<std::string> Sites::final_complaint() const {
  if (const auto earlier = complaint()) return earlier;
  for (const Checker* checker : checkers_) {
    if (const auto verdict = checker->final_verdict()) return sentence(*checker, *verdict);
  }
  return std::nullopt;
}

void Sites::set_wan(const Impairment& impairment) {
  for (int from = 1; from <= count(); ++from) {
    for (int to = 1; to <= count(); ++to) {
      for (uint16_t path = 0; path < paths_ && from != to; ++path) {
        set_wan({from, to, path}, impairment);
      }
    }
  }
}

void Sites::set_wan(const WanRoute& route, const Impairment& impairment) {
  for (uint16_t link = 0; link < links_; ++link) {
    const LinkEnd end = end_of(route.from, route.to, link);
    network_.set_impairment(*end.port, {end.peer, route.path}, impairment);
  }
}

const ImpairmentCounters& Sites::wan_counters(const WanRoute& route) {
  const LinkEnd end = end_of(route.from, route.to, 0);
  return network_.counters_of(*end.port, {end.peer, route.path});
}

void Sites::inject(const WanRoute& route, uint16_t link, std::span<const uint8_t> bytes) {
  const LinkEnd end = end_of(route.from, route.to, link);
  Packet* packet = nullptr;
  if (end.port->take_burst({&packet, 1}) == 0) return;
  CW_ASSERT(bytes.size() <= packet->bytes_max);
  std::ranges::copy(bytes, packet->data);
  packet->bytes = static_cast<uint32_t>(bytes.size());
  packet->peer = end.peer;
  packet->path = route.path;
  CW_ASSERT(end.port->tx_burst({&packet, 1}, now()) == 1);
}

}  // namespace cw::sim
