#include "tests/sim/gateway/two_sites.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "dataplane/sdr/seat/policy_needs.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"

namespace cw::sim {
namespace {

constexpr std::string_view secret = "a shared secret of this pair";

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().sentence.c_str());
  std::abort();
}

const cw_policy_ops& policy_of(const TwoSitesOptions& options) {
  return options.policy ? *options.policy : *cw_policy_selective_repeat();
}

std::vector<gateway::Prefix> nets_of(uint16_t site) {
  gateway::Prefix v4, v6;
  const auto high = static_cast<uint8_t>(site >> 8), low = static_cast<uint8_t>(site);
  v4.address = {10, low};
  v4.bits = 16;
  if (high != 0) v4 = {.address = {11, high, low}, .bits = 24};
  v6.address = {0xfd, 0, high, low};
  v6.bits = 32;
  v6.is_v6 = true;
  return {v4, v6};
}

}  // namespace

std::vector<double> defaults_of(const cw_policy_ops& policy) {
  std::vector<double> params;
  for (uint32_t i = 0; i < policy.param_count; ++i) params.push_back(policy.params[i].initial);
  return params;
}

size_t packets_of(const TwoSitesOptions& options, size_t peers) {
  constexpr size_t besides = 4096;
  return besides + peers * options.classes.size() * options.messages * options.message_slots;
}

GatewaySite::GatewaySite(Port& lan, Port& wan, std::span<const FarSite> far_sites,
                         const TwoSitesOptions& options, uint64_t seed, Instant now)
    : prng_(seed), params_(defaults_of(policy_of(options))) {
  cw_mac key;
  cw_mac_init(&key, secret.data(), secret.size());
  sdr_.emplace(wan, sdr::RandomSource::of(prng_));
  sdr_->endpoint().set_finder(known_);
  gateway::GatewayOptions gateway;
  gateway.classes = options.classes;
  for (const FarSite& far : far_sites) {
    must(sdr_->add_link(link_options(far.peer, options), key, now));
    gateway.peers.push_back(
        {.peer = far.peer, .name = std::to_string(far.site), .routes = nets_of(far.site)});
  }
  gateway.lan_mtu = options.lan_mtu;
  gateway.decrement_ttl = true;
  gateway.lan_queue = options.lan_queue;
  // As a plan has it: four round trips of the longest route there is room for, and notes.
  gateway.queue_memory = options.rate.bytes_in(Duration::from_ms(500));
  gateway.hash_key[0] = prng_.next();
  gateway.hash_key[1] = prng_.next();
  gateway_ = must(
      gateway::Gateway::make(gateway, lan, sdr_->endpoint(), sdr_->counters(), sdr_->drops(), now));
  sdr_->begin(std::array{Worker::Side{.port = &lan, .station = gateway_.get()}});
}

sdr::LinkOptions GatewaySite::link_options(uint16_t far_peer, const TwoSitesOptions& options) {
  sdr::LinkOptions made;
  made.peer = far_peer;
  made.control.site = "sim";
  made.control.payload_bytes = options.payload_bytes;
  made.pacer.rate = options.rate;
  made.pacer.burst_bytes = options.burst_bytes;
  made.pacer.pause_bytes = options.pause_bytes;
  made.pacer.horizon = Duration::from_us(20);
  made.pacer.overhead_ppm = options.overhead_ppm;
  made.rate_control.adapt = options.adapt;
  made.fallback = {cw_policy_passthrough(), {}};
  for (const gateway::ClassOptions& each : options.classes) {
    sdr::QpOptions qp;
    qp.stream.qp = each.qp;
    qp.stream.messages = options.messages;
    qp.stream.data_slots_max = options.message_slots;
    qp.stream.payload_bytes = options.payload_bytes;
    qp.send.slot_by_slot = true;
    qp.send.hold = each.hold;
    qp.weight = each.weight;
    qp.policy = {&policy_of(options), params_};
    const sdr::LinkGuess link{.rate = options.rate, .rtt = options.wan.delay * 2};
    qp.stream = sdr::coded(qp.stream, sdr::needs_of(qp.policy, qp.stream, link), code::all());
    for (const cw_policy_ops* other : options.room_for) {
      const std::vector<double> params = defaults_of(*other);
      qp.stream =
          sdr::coded(qp.stream, sdr::needs_of({other, params}, qp.stream, link), code::all());
    }
    made.qps.push_back(qp);
  }
  return made;
}

void GatewaySite::turn_after_pause(Instant meant, Instant now) {
  sdr_->worker().sleeps_until(meant);  // time was moved on purpose
  sdr_->turn(now);
}

TwoSites::TwoSites(const TwoSitesOptions& options)
    : options_(options),
      network_({.seed = options.seed,
                .port_packets = packets_of(options),
                .wire_packets = 65536,
                .payload_max = 9216}),
      stage_(network_, options.seed) {
  for (int i = 0; i < 2; ++i) {
    SimPort& host_port = network_.add_port();
    lan_[i] = &network_.add_port();
    wan_[i] = &network_.add_port();
    const SimPeers lan = network_.join(host_port, *lan_[i]);
    hosts_[i] = std::make_unique<Host>(host_port, lan.of_first);
    lan_used_[i] = around(options_.lan_around, i + 1, *lan_[i]);
    wan_used_[i] = around(options_.wan_around, i + 1, *wan_[i]);
  }
  wan_peers_ = network_.join(*wan_[0], *wan_[1], options.wan);
  for (int site : {1, 2}) {
    gateways_[site - 1] = std::make_unique<Seat>();
    gateways_[site - 1]->options = &options_;
    gateways_[site - 1]->number = site;
    start(site);
    stage_.add(*hosts_[site - 1]);
    stage_.add(*gateways_[site - 1]);
  }
}

TwoSites::~TwoSites() = default;

Port* TwoSites::around(const PortWrap& wrap, int site, Port& inner) {
  auto made = wrap ? wrap(site, inner) : nullptr;
  if (!made) return &inner;
  around_.push_back(std::move(made));
  return around_.back().get();
}

void TwoSites::Seat::turn(Instant now) {
  if (now < wakes_at) return;
  if (options->around_turn) options->around_turn(number, true);
  site->turn_after_pause(std::min(std::exchange(paused_at, Instant::never()), now), now);
  if (options->around_turn) options->around_turn(number, false);
}

void TwoSites::start(int site) {
  const FarSite far{far_peer(site), static_cast<uint8_t>(3 - site)};
  const uint64_t seed = options_.seed * 1000 + ++lives_;
  gateways_[site - 1]->site = std::make_unique<GatewaySite>(
      *lan_used_[site - 1], *wan_used_[site - 1], std::span(&far, 1), options_, seed, now());
}

void TwoSites::restart(int site) {
  gateways_[site - 1]->site.reset();
  start(site);
}

void TwoSites::run_for(Duration time) {
  stage_.run_until([] { return false; }, now() + time);
}

bool TwoSites::come_up() {
  const auto is_up = [&] { return gateway(1).link().is_up() && gateway(2).link().is_up(); };
  return stage_.run_until(is_up, now() + Duration::from_s(1)) == StageEnd::Reached;
}

void TwoSites::set_wan(const Impairment& impairment) {
  network_.set_impairment(*wan_[0], {wan_peers_.of_first, 0}, impairment);
  network_.set_impairment(*wan_[1], {wan_peers_.of_second, 0}, impairment);
}

}  // namespace cw::sim
