// One gateway with as many peers as wanted, all up, of which the first alone has something to say:
// a host behind the gateway sends it a flow. The others are one far gateway, which takes this one
// for as many sites: a thousand peers then need no thousand ports with packets of their own.
#pragma once

#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {

class ManyPeers {
 public:
  static constexpr uint16_t centre_site = 1, busy_site = 2;

  explicit ManyPeers(size_t peers) : ManyPeers(peers, options()) {}
  ManyPeers(size_t peers, const TwoSitesOptions& options)
      : options_(options),
        network_(
            {.port_packets = packets_of(options_), .wire_packets = 65536, .payload_max = 2048}),
        stage_(network_) {
    SimPort& lan = add_lan();
    SimPort& wan = network_.add_port();
    std::vector<FarSite> far_sites;
    for (const size_t count : {size_t{1}, peers - 1}) {
      if (count > 0) add_far(count, wan, far_sites);
    }
    seat_.site = std::make_unique<GatewaySite>(lan, wan, far_sites, options_, 1, network_.now());
    for (size_t i = 0; i < 2; ++i) stage_.add(*hosts_[i]);
    stage_.add(seat_);
    for (const auto& far : far_) stage_.add(*far);
  }

  /// Until all links are up; false when they do not come up.
  bool come_up() {
    const auto are_up = [this] {
      const auto is_up = [](const auto& far) { return far->site->are_links_up(); };
      return seat_.site->are_links_up() && std::ranges::all_of(far_, is_up);
    };
    return stage_.run_until(are_up, network_.now() + Duration::from_s(2)) == StageEnd::Reached;
  }
  /// A flow to the first peer for so long; what the gateway's turns came to meanwhile.
  struct Turns {
    uint64_t count = 0, links_awake = 0;
    double seconds = 0;
    double links_per_turn() const { return double(links_awake) / double(count); }
    double ns() const { return 1e9 * seconds / double(count); }
  };
  Turns run(Duration time, Rate rate) {
    FlowOptions flow{.number = ++flows_, .rate = rate, .packets = UINT64_MAX};
    flow.begin = network_.now();
    hosts_.front()->add_flow(flow);
    seat_.turns = {};
    seat_.is_timed = true;
    (void)stage_.run_until([] { return false; }, network_.now() + time);
    const Turns turns = seat_.turns;
    seat_.is_timed = false;
    hosts_.front()->stop();
    // What is on its way, and an RTT in which all of it is settled.
    (void)stage_.run_until([] { return false; }, network_.now() + Duration::from_ms(200));
    return turns;
  }
  /// A flow to one peer after the other for so long each, so that what they share is used by one at
  /// a time; 250 peers at most.
  void run_each(Duration time, Rate rate) {
    for (size_t i = 0; i < seat_.site->link_count(); ++i) {
      FlowOptions flow{.number = ++flows_, .rate = rate, .packets = UINT64_MAX};
      flow.to = static_cast<uint8_t>(busy_site + i);
      flow.begin = network_.now();
      hosts_.front()->add_flow(flow);
      rest(time);
      hosts_.front()->stop();
    }
  }
  /// Nobody says anything for so long.
  void rest(Duration time) {
    (void)stage_.run_until([] { return false; }, network_.now() + time);
  }
  uint64_t count(Counter counter) const { return seat_.site->counters().read_any_thread(counter); }
  Host& centre_host() { return *hosts_[0]; }
  Host& busy_host() { return *hosts_[1]; }

  static TwoSitesOptions options() {
    TwoSitesOptions options;
    options.wan.delay = Duration::from_ms(5);
    options.message_slots = 64;
    return options;
  }

 private:
  SimPort& add_lan() {
    SimPort& host = network_.add_port();
    SimPort& lan = network_.add_port();
    hosts_.push_back(std::make_unique<Host>(host, network_.join(host, lan).of_first));
    return lan;
  }

  /// Turns when it must: the gateway's caches are to be its own.
  struct Far final : Actor {
    explicit Far(SimPort& wan) : port(wan) {}
    void turn(Instant now) override {
      if (due > now && port.next_event() > now) return;
      site->turn(now);
      due = site->next_deadline();
    }
    Instant next_deadline() const override { return due; }
    SimPort& port;
    std::unique_ptr<GatewaySite> site;
    Instant due;
  };
  /// One more far gateway, by so many links; to it lead sites that the others do not lead to.
  void add_far(size_t links, SimPort& wan, std::vector<FarSite>& far_sites) {
    SimPort& far_lan = add_lan();
    SimPort& far_wan = network_.add_port();
    std::vector<FarSite> centres;
    for (size_t i = 0; i < links; ++i) {
      const SimPeers ends = network_.join(wan, far_wan, options_.wan);
      const auto site = static_cast<uint16_t>(busy_site + far_sites.size());
      far_sites.push_back({ends.of_first, site});
      centres.push_back({ends.of_second, i == 0 ? centre_site : site});
    }
    far_.push_back(std::make_unique<Far>(far_wan));
    far_.back()->site = std::make_unique<GatewaySite>(far_lan, far_wan, centres, options_,
                                                      100 + far_.size(), network_.now());
  }
  struct Seat final : Actor {
    void turn(Instant now) override {
      if (!is_timed) return site->turn(now);
      timespec begin{}, end{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
      site->turn(now);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      ++turns.count;
      turns.links_awake += site->links_awake();
      turns.seconds +=
          double(end.tv_sec - begin.tv_sec) + 1e-9 * double(end.tv_nsec - begin.tv_nsec);
    }
    Instant next_deadline() const override { return site->next_deadline(); }
    std::unique_ptr<GatewaySite> site;
    Turns turns;
    bool is_timed = false;
  };

  const TwoSitesOptions options_;
  SimNetwork network_;
  Stage stage_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Far>> far_;
  Seat seat_;
  uint16_t flows_ = 0;
};

}  // namespace cw::sim
