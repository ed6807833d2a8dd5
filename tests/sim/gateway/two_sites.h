// Two sites as they are built between two datacenters, in one thread and virtual time: hosts, LAN
// ports, gateways, WAN ports. All of it is the real code, save the wires.
//
//   host 1 -- LAN -- gateway 1 ===== WAN (impaired) ===== gateway 2 -- LAN -- host 2
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/gateway/gateway.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/seat/care/policy_finder.h"
#include "dataplane/sdr/shard.h"
#include "policies/policies.h"
#include "tests/sim/gateway/host.h"
#include "tests/sim/stage.h"

namespace cw::sim {

/// Puts a port of a test's own around one of `site`'s; null: leaves it as it is.
using PortWrap = std::function<std::unique_ptr<Port>(int site, Port& inner)>;

struct TwoSitesOptions {
  uint64_t seed = 1;
  Impairment wan{.delay = Duration::from_ms(10)};  ///< each way
  uint32_t payload_bytes = 1024;
  Rate rate = Rate::from_mbps(500);
  uint32_t messages = 16, message_slots = 512;
  const cw_policy_ops* policy = nullptr;       ///< null: selective_repeat
  std::vector<const cw_policy_ops*> room_for;  ///< besides `policy`: for their blocks
  std::vector<gateway::ClassOptions> classes{{.name = "all"}};
  Duration lan_queue = Duration::from_ms(10);
  uint32_t lan_mtu = 1500;
  uint32_t overhead_ppm = 750'000;            ///< of the pacer: repair and resends per data
  uint32_t burst_bytes = 0, pause_bytes = 0;  ///< likewise
  bool adapt = false;                         ///< the rate follows what the link carries
  PortWrap lan_around, wan_around;
  /// Called before and after each turn of a gateway.
  std::function<void(int site, bool is_before)> around_turn;
};

/// One value per parameter of the policy.
std::vector<double> defaults_of(const cw_policy_ops& policy);

/// Of a WAN port: what its streams may keep, and more.
size_t packets_of(const TwoSitesOptions& options, size_t peers = 1);

/// A peer as a gateway's WAN port numbers it, and the site behind it.
struct FarSite {
  uint16_t peer = 0;
  uint16_t site = 2;  // 10.<site>.0.0/16 and fd00:<site>::/32; from 256 on 11.<high>.<low>.0/24
};

/// One gateway process: dies with its state, and a new one begins with a new seed.
class GatewaySite final : public Actor {
 public:
  GatewaySite(Port& lan, Port& wan, std::span<const FarSite> far_sites,
              const TwoSitesOptions& options, uint64_t seed, Instant now);

  void turn(Instant now) override { turn_after_pause(now, now); }
  /// The first one since `meant`, when the last one was to be followed by another.
  void turn_after_pause(Instant meant, Instant now);
  Instant next_deadline() const override { return sdr_->worker().next_wakeup(); }

  sdr::Link& link(size_t index = 0) { return *sdr_->endpoint().links()[index]; }
  size_t link_count() const { return sdr_->endpoint().links().size(); }
  bool are_links_up() const {
    return std::ranges::all_of(sdr_->endpoint().links(),
                               [](const auto& link) { return link->is_up(); });
  }
  /// How many something has happened to.
  size_t links_awake() const {
    size_t count = 0;
    sdr_->endpoint().activity().for_awake([&](size_t) { ++count; });
    return count;
  }
  gateway::Gateway& gateway() { return *gateway_; }
  const Drops& drops() const { return sdr_->drops(); }
  const Counters& counters() const { return sdr_->counters(); }

 private:
  sdr::LinkOptions link_options(uint16_t far_peer, const TwoSitesOptions& options);

  Prng prng_;
  std::unique_ptr<gateway::Gateway> gateway_;
  sdr::ListedPolicies known_{policy::for_streams()};  // by name, for swaps
  std::optional<sdr::Shard> sdr_;
  const std::vector<double> params_;  // of the policy; every peer's streams point here
};

class TwoSites {
 public:
  explicit TwoSites(const TwoSitesOptions& options);
  ~TwoSites();

  Instant now() const { return network_.now(); }
  Host& host(int site) { return *hosts_[site - 1]; }
  GatewaySite& gateway(int site) { return *gateways_[site - 1]->site; }
  SimNetwork& network() { return network_; }

  void run_for(Duration time);
  /// Until both links are up, a second at most.
  bool come_up();
  /// Another process in the place of this one: nothing of its state survives.
  void restart(int site);
  /// The site's gateway stands still from now on: what comes for it waits at its ports.
  void pause(int site, Duration time) { gateways_[site - 1]->stand_still(now(), time); }
  /// Both ways; packets under way keep their fate.
  void set_wan(const Impairment& impairment);
  /// The port below whatever is around it, and the far gateway's number there.
  SimPort& wan_port(int site) { return *wan_[site - 1]; }
  uint16_t far_peer(int site) const {
    return site == 1 ? wan_peers_.of_first : wan_peers_.of_second;
  }

 private:
  /// Keeps the actor's place on the stage while processes come and go.
  struct Seat final : Actor {
    void turn(Instant now) override;
    Instant next_deadline() const override { return std::max(site->next_deadline(), wakes_at); }
    const TwoSitesOptions* options = nullptr;
    int number = 0;
    void stand_still(Instant now, Duration time) {
      paused_at = now;
      wakes_at = now + time;
    }
    Instant paused_at = Instant::never(), wakes_at;  // the first turn from the latter on comes late
    std::unique_ptr<GatewaySite> site;
  };
  Port* around(const PortWrap& wrap, int site, Port& inner);
  void start(int site);

  TwoSitesOptions options_;
  SimNetwork network_;
  Stage stage_;
  SimPort *lan_[2], *wan_[2];
  Port *lan_used_[2], *wan_used_[2];
  std::vector<std::unique_ptr<Port>> around_;
  SimPeers wan_peers_;
  std::unique_ptr<Host> hosts_[2];
  std::unique_ptr<Seat> gateways_[2];
  uint64_t lives_ = 0;
};

}  // namespace cw::sim
