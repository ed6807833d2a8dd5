// Sites as causewayd runs them, in one thread and virtual time: each is made from the text of its
// configuration file, by the same parser, plan and rooms; only ports, time and chance are
// simulated. Every site has a link to every other.
//
//   host -- LAN -- gateway ===== WAN (impaired, by direction and path) ===== gateway -- LAN -- host
//
//     Sites sites({.seed = 7, .files = site_files(2, {.rate = "500 Mbit/s", .rtt = "20 ms"}),
//                  .wan = {.loss = 0.01, .delay = 10_ms}});
//     ASSERT_TRUE(sites.come_up());
//     sites.host(1).add_flow({.packets = 1000, .begin = sites.now()});
//     sites.pause(2, 50_ms);
//     sites.run_for(1_s);
//     EXPECT_EQ(sites.host(2).report(1).received, 1000u);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/gateway/site/site.h"
#include "dataplane/port/sim/network.h"
#include "tests/sim/checkers/checker.h"
#include "tests/sim/gateway/flow_spreader.h"
#include "tests/sim/gateway/host.h"
#include "tests/sim/gateway/site_seat.h"

namespace cw::sim {

/// What differs from the defaults in the files of sites; lines of TOML where it is not one value.
struct SiteText {
  std::string rate = "500 Mbit/s";  ///< wan.rate
  std::string rtt = "20 ms";        ///< pair.rtt
  std::string site, lan, wan, pair;
  std::string classes;     ///< whole tables; empty: the one that takes everything
  bool is_sealed = false;  ///< each site has a key of its own; else all share one
};

/// Sites 1 to `count`, alike: site s has the hosts 10.s.0.0/16 and fd00:s::/32.
std::vector<std::string> site_files(int count, const SiteText& text = {});

struct SitesOptions {
  uint64_t seed = 1;
  std::vector<std::string> files = site_files(2);
  Impairment wan{.delay = Duration::from_ms(10)};  ///< of every path, each way
  IcrcMode icrc = IcrcMode::Exact;                 ///< None: damaged packets are delivered
  size_t wire_packets = 65'536;                    ///< under way at once; more are lost
  bool has_hosts = true;                           ///< one at each site; else whoever is added
  WanTap* tap = nullptr;
  TurnWatch* turns = nullptr;
  bool serves_relinks = false;  ///< as SiteSeat::Options
  KeyLogs* keys = nullptr;
};

/// One direction of one path between two sites, of all their links.
struct WanRoute {
  int from = 1, to = 2;
  uint16_t path = 0;
};

class Sites {
 public:
  /// Aborts with the sentence of a file that is wrong.
  explicit Sites(const SitesOptions& options);
  ~Sites();
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;

  int count() const { return static_cast<int>(seats_.size()); }
  uint16_t paths() const { return paths_; }
  uint16_t links() const { return links_; }
  Instant now() const { return network_.now(); }
  SimNetwork& network() { return network_; }
  Host& host(int site) { return *hosts_[index(site)]; }
  /// Somebody else at the hosts' side of `site`, where there are no hosts.
  void add_host(int site, Actor& actor);
  Port& host_port(int site) { return *spreaders_[index(site)]; }
  SiteSeat& seat(int site) { return *seats_[index(site)]; }
  /// Of a site that is alive.
  site::Site& gateway(int site) { return seat(site).site(); }
  site::SiteState state(int site) { return gateway(site).state(now()); }
  void watch(Checker& checker) { checkers_.push_back(&checker); }

  /// Virtual time passes; false when it is up, or a checker complains, before `is_reached`.
  bool run_until(const std::function<bool()>& is_reached, Instant deadline);
  void run_for(Duration time);
  /// Until all links are up.
  bool come_up(Duration within = Duration::from_s(2));
  bool is_up();
  /// "checker: sentence", or nothing when all are content.
  std::optional<std::string> complaint() const;
  std::optional<std::string> final_complaint() const;

  // ---- faults ----
  /// Packets under way keep their fate.
  void set_wan(const Impairment& impairment);
  void set_wan(const WanRoute& route, const Impairment& impairment);
  /// Of the first link.
  const ImpairmentCounters& wan_counters(const WanRoute& route);
  /// The machine of this gateway stands still; what comes waits in its kernel.
  void pause(int site, Duration time) { seat(site).pause(now(), time); }
  /// The process dies with its state; what comes is lost.
  void crash(int site) { seat(site).crash(now()); }
  /// Another process in its place.
  void start(int site);
  void restart(int site);
  /// Past a gateway, bytes that look as if it had sent them.
  void inject(const WanRoute& route, uint16_t link, std::span<const uint8_t> bytes);

 private:
  struct Guest {
    Actor* actor;
    const SimPort* port;
    Instant due() const { return std::min(port->next_event(), actor->next_deadline()); }
  };
  static size_t index(int site) { return static_cast<size_t>(site - 1); }
  /// The number of `to` among the peers of `from`.
  static uint16_t peer_number(int from, int to) {
    return static_cast<uint16_t>(to < from ? to - 1 : to - 2);
  }
  /// Where a link begins: the port of its shard, and the peer's number there.
  struct LinkEnd {
    SimPort* port;
    uint16_t peer;
  };
  LinkEnd end_of(int from, int to, uint16_t link) const;
  void add_site(int site);
  void join(int first, int second);
  void turn_all();
  Instant next_event() const;

  SitesOptions options_;
  uint16_t paths_, links_;
  SimNetwork network_;
  std::vector<SimPort*> host_ports_;
  std::vector<std::unique_ptr<FlowSpreader>> spreaders_;
  std::vector<std::unique_ptr<SiteSeat>> seats_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Guest> guests_;
  std::vector<Checker*> checkers_;
  uint64_t lives_ = 0;
};

}  // namespace cw::sim
