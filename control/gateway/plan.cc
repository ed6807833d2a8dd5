#include "control/gateway/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "control/config/policy_keys.h"
#include "control/config/quantity.h"
#include "control/config/text/read.h"
#include "control/gateway/derive.h"
#include "control/gateway/keys/config.h"
#include "dataplane/base/assert.h"
#include "offload/crc32.h"
#include "offload/mac.h"
#include "policies/policies.h"

namespace cw::site {
namespace {

// Around each packet on an Ethernet wire, beyond what the port is given: preamble, Ethernet header,
// frame check, gap; then IP, UDP and the ICRC.
constexpr uint32_t ethernet_bytes = 8 + 14 + 4 + 12;
constexpr uint32_t udp_and_icrc_bytes = 8 + 4;
// The worker shares a core with others at times: what it was late for it may send at once, and
// what it stood still for, as far as a line's queue has room for it.
constexpr Duration burst_time = GapDetector::turn_max, pause_time = Duration::from_ms(10);
// A packet that crosses a long link may wait a little for others; who is a tenth of an RTT late on
// a short one may not wait longer.
constexpr Duration gather_min = Duration::from_us(50), gather_max = Duration::from_us(200);
constexpr Duration late = Duration::from_us(100);  // a turn, and how late the kernel wakes
Duration gather_of(const Config& config) {
  return std::clamp(config.pair.rtt / 10, gather_min, gather_max);
}
constexpr uint64_t burst_bytes_min = 64 << 10, burst_bytes_max = 1 << 20;
constexpr double release_factor = 1.25;
constexpr double million = 1e6;

TunPortOptions lan_options(const LanConfig& lan) {
  TunPortOptions options;
  options.device = {.name = lan.device, .mtu = lan.mtu, .offload = lan.offload};
  return options;
}

/// What may wait in the kernel for a turn of ours: as many small packets as the links carry in
/// lan.queue. A turn reads them all, so a long queue delays nobody; a class's own bounds that.
uint32_t lan_queue_packets(const Config& config) {
  constexpr uint64_t small_bytes = 128, packets_min = 1000, packets_max = 16'384;
  const Bytes bytes = config.wan.rate.bytes_in(config.lan.queue);
  return static_cast<uint32_t>(std::clamp(bytes.count() / small_bytes, packets_min, packets_max));
}

UdpPortOptions wan_options(const Config& config) {
  UdpPortOptions options;
  options.address = config.wan.address;
  options.udp_port = config.wan.udp_port;
  options.paths = config.wan.paths;
  options.payload_bytes_max = config.packet_payload_bytes();
  options.packets = wan_packets(config);
  options.crc32 = cw_crc32;
  options.icrc = config.wan.icrc.value_or(config.wan.port == WanKind::Udp ? IcrcMode::Pseudo
                                                                          : IcrcMode::Exact);
  for (const auto& peer : config.peers) {
    options.peers.push_back(
        {.address = peer->address, .udp_port = peer->udp_port, .source_port = peer->source_port});
  }
  options.peers.resize(config.places());
  return options;
}

FrameLanOptions lan_over_frames_options(const Config& config) {
  FrameLanOptions options;
  options.device = config.lan.device;
  options.queues = config.lan.dpdk.queues;
  options.descriptors = config.lan.dpdk.descriptors;
  options.mtu = config.lan.mtu;
  options.vlan = config.lan.vlan;
  options.silences_kernel = config.lan.routes;
  options.packets = lan_packets(config);
  for (const auto& each : config.groups) {
    const IpVersion version = each->options.is_v6 ? IpVersion::V6 : IpVersion::V4;
    options.groups.push_back({each->options.address, version});
  }
  for (const gateway::Prefix& it : config.lan_addresses) {
    const IpVersion version = it.is_v6 ? IpVersion::V6 : IpVersion::V4;
    options.addresses.push_back({.ip = {it.address, version}, .bits = it.bits});
  }
  for (const HostAddress& group : options.groups) {
    const uint8_t bits = group.is_v4() ? 32 : 128;
    options.targets.push_back({.ip_version = group.version, .ip = group.ip, .bits = bits});
  }
  for (const auto& peer : config.peers) {
    for (const gateway::Prefix& route : peer->routes) {
      const IpVersion version = route.is_v6 ? IpVersion::V6 : IpVersion::V4;
      options.targets.push_back({.ip_version = version, .ip = route.address, .bits = route.bits});
    }
  }
  return options;
}

FrameWanOptions wan_over_frames_options(const Config& config, const UdpPortOptions& wan) {
  FrameWanOptions options;
  options.device = config.wan.device;
  options.queues = config.wan.dpdk.queues;
  options.descriptors = config.wan.dpdk.descriptors;
  options.address = wan.address;
  options.udp_port = wan.udp_port;
  options.paths = wan.paths;
  options.payload_bytes_max = wan.payload_bytes_max;
  options.packets = wan.packets;
  options.icrc = wan.icrc;
  options.crc32 = wan.crc32;
  for (const auto& peer : config.peers) {
    options.peers.push_back({.address = peer->address,
                             .udp_port = peer->udp_port,
                             .next_hop = peer->next_hop,
                             .source_port = peer->source_port});
  }
  return options;
}

/// Of a plan whose classes are known.
VerbsPortOptions wan_by_rnic_options(const Config& config, const Plan& plan) {
  constexpr Duration stall = Duration::from_ms(20);  // of the worker, on a busy machine
  constexpr size_t packets_min = 1024, windows_per_message = 2;
  VerbsPortOptions options;
  options.device = config.wan.device;
  options.address = plan.wan.address;
  options.source_port = config.wan.source_port;
  options.paths = plan.wan.paths;
  options.payload_bytes_max = plan.wan.payload_bytes_max;
  options.packets = plan.wan.packets;
  options.windows = 0;
  for (const ClassPlan& each : plan.classes) {
    options.windows += windows_per_message * each.stream.messages;
  }
  const uint64_t bytes = config.link_rate().bytes_in(stall).count();
  options.turn_packets = std::max<size_t>(bytes / plan.wan.payload_bytes_max, packets_min);
  for (const auto& peer : config.peers) options.peers.push_back({.address = peer->address});
  options.windows *= options.peers.size() * config.pair.links;
  return options;
}

/// Without devices when no port is over DPDK.
EalOptions eal_options(const Config& config) {
  EalOptions options;
  if (config.lan.port == LanKind::Dpdk) options.devices.push_back(config.lan.device);
  if (config.wan.port == WanKind::Dpdk) options.devices.push_back(config.wan.device);
  options.arguments = config.site.eal;
  options.core = config.site.core;
  if (!config.site.cores.empty()) options.core = config.site.cores.front();
  options.memory_mib = static_cast<uint32_t>(eal_memory_of(config).count() >> 20);
  return options;
}

std::optional<ImpairedPortOptions> impair_options(const Config& config) {
  if (!config.wan.is_impaired) return std::nullopt;
  ImpairedPortOptions options;
  options.tx = config.wan.impairment;
  options.seed = config.wan.seed;
  options.held_packets_max = impaired_packets(config);
  return options;
}

/// What is left of wan.rate goes to the peers that say nothing, in equal shares.
Rate rate_of(const PeerConfig& peer, const Config& config) {
  if (peer.rate != Rate()) return peer.rate;
  uint64_t taken = 0, open = 0;
  for (const auto& each : config.peers) {
    taken += each->rate.bps();
    open += each->rate == Rate() ? 1 : 0;
  }
  CW_ASSERT(open > 0);  // this one
  return Rate::from_bps((config.wan.rate.bps() - taken) / open);
}

PacerOptions pacer_options(const PeerConfig& peer, const Config& config) {
  PacerOptions options;
  options.rate = rate_of(peer, config);
  options.packet_overhead_bytes =
      ethernet_bytes + udp_and_icrc_bytes + (config.is_wan_v6() ? 40 : 20);
  if (config.pair.seal && config.is_sealed()) options.packet_overhead_bytes += seal::seal_bytes;
  const auto ahead_bytes = [&](Duration time) {
    const uint64_t bytes = options.rate.bytes_in(time).count();
    return static_cast<uint32_t>(std::clamp(bytes, burst_bytes_min, burst_bytes_max));
  };
  options.burst_bytes = ahead_bytes(burst_time);
  options.pause_bytes = ahead_bytes(pause_time);
  options.horizon = gather_of(config) + late;
  options.overhead_ppm = static_cast<uint32_t>(std::lround(config.overhead_limit() * million));
  // One round trip's losses may be mended at once.
  const uint64_t saved =
      options.rate.scaled(config.overhead_limit()).bytes_in(config.pair.rtt_max).count();
  options.overhead_burst_bytes = static_cast<uint32_t>(
      std::clamp<uint64_t>(saved, options.overhead_burst_bytes, UINT32_MAX / 2));
  return options;
}

/// "1 x 32 + 8 packets": the largest in each respect.
std::string block_text(const sdr::StreamConfig& stream) {
  if (stream.k == 0) return "none";
  return std::to_string(stream.rows) + " x " + std::to_string(stream.k) + " + " +
         std::to_string(stream.m_cap) + " packets";
}

std::vector<OtherPolicy> others_of(const ClassConfig& it) {
  std::vector<OtherPolicy> others;
  for (const ClassPolicy& each : std::span(it.policies).subspan(1)) {
    others.push_back({each.ops, each.params});
  }
  return others;
}

/// All that must be alike, as a person wrote it.
sdr::PairKeys pair_keys(const Config& config, const Plan& plan) {
  std::string names;
  for (const auto& each : config.classes) names += (names.empty() ? "" : ", ") + each->name;
  sdr::PairKeys keys = {{"pair.mtu", std::to_string(config.pair.mtu)},
                        {"pair.links", std::to_string(config.pair.links)},
                        {"the row of classes", names}};
  for (const ClassPlan& each : plan.classes) {
    keys.emplace_back("the largest block of class." + each.name + ".policies",
                      block_text(each.stream));
  }
  return keys;
}

/// What streams follow from, besides; first of all what the rest follows from.
sdr::PairKeys told_keys(const Config& config, const Plan& plan) {
  sdr::PairKeys keys = {{"pair.rtt", about(config.pair.rtt)},
                        {"pair.rtt_max", about(config.pair.rtt_max)},
                        {"pair.rate", about(config.link_rate())}};
  for (const ClassPlan& each : plan.classes) {
    keys.emplace_back("class." + each.name + ".hold", about(each.hold));
  }
  return keys;
}

gateway::ClassOptions class_options(const ClassConfig& it, uint16_t qp, bool pads) {
  gateway::ClassOptions options;
  options.pads = pads;
  options.name = it.name;
  options.matches = it.matches;
  options.qp = qp;
  options.weight = it.weight;
  options.order = it.order;
  options.hold = it.hold;
  if (it.queue != Duration::max()) options.queue = it.queue;
  options.fair = it.fair;
  options.block_age = it.block_age;
  options.mark = it.mark;
  return options;
}

/// From the pair's key, or the site's own, so that it outlives the process: what the next one sends
/// of a flow takes the link of what came before, which the far end may hold yet, and cannot
/// overtake it by another.
void draw_hash_key(const Config& config, uint64_t (&words)[2]) {
  constexpr std::string_view purpose = "flow hash";  // shorter than whatever has a MAC on the wire
  cw_mac own = config.key->mac;
  if (config.seal) {
    const auto secret = config.seal->own.private_key.bytes();
    cw_mac_init(&own, secret.data(), secret.size());
  }
  std::array<uint8_t, CW_MAC_BYTES> mac;
  cw_mac_compute(&own, purpose.data(), purpose.size(), mac.data());
  explicit_bzero(&own, sizeof own);
  static_assert(sizeof(words) <= sizeof(mac));
  std::memcpy(words, mac.data(), sizeof(words));
}

gateway::GatewayOptions gateway_options(const Config& config) {
  gateway::GatewayOptions options;
  options.decrement_ttl = is_over_frames(config.lan.port);  // else the kernel has done it
  for (size_t i = 0; i < config.classes.size(); ++i) {
    options.classes.push_back(
        class_options(*config.classes[i], static_cast<uint16_t>(i), config.pair.pad));
  }
  for (size_t i = 0; i < config.peers.size(); ++i) {
    const PeerConfig& peer = *config.peers[i];
    options.peers.push_back({.peer = static_cast<uint16_t>(i),
                             .name = peer.name,
                             .routes = peer.routes,
                             .prefer = peer.prefer});
  }
  for (size_t i = config.peers.size(); i < config.places(); ++i) {
    options.peers.push_back({.peer = static_cast<uint16_t>(i), .name = "", .routes = {}});
  }
  for (const auto& each : config.groups) options.groups.push_back(each->options);
  options.own_prefixes = config.own_prefixes;
  options.full_links = full_links(config);
  options.queue_memory = queue_memory_of(config);
  options.lan_mtu = config.lan.mtu;
  options.lan_queue = config.lan.queue;
  options.release_rate =
      config.lan.release_rate != Rate()
          ? config.lan.release_rate
          : config.link_rate().scaled(release_factor * static_cast<double>(config.peers.size()));
  draw_hash_key(config, options.hash_key);
  return options;
}

sdr::LinkOptions link_options(size_t index, const Config& config, const Plan& plan) {
  sdr::LinkOptions options;
  options.peer = static_cast<uint16_t>(index);
  options.control.site = config.site.name;
  options.control.peer_site = config.peers[index]->name;
  options.control.peer_address = config.peers[index]->address;
  options.control.pair_keys = pair_keys(config, plan);
  options.control.told_keys = told_keys(config, plan);
  options.control.payload_bytes = config.payload_bytes();
  options.control.paths = config.wan.paths;
  options.control.qps = static_cast<uint16_t>(plan.classes.size());
  options.control.pads = config.pair.pad;
  options.path_weights = config.wan.path_weights;
  options.pacer = pacer_options(*config.peers[index], config);
  options.rate_control.adapt = config.wan.adapt;
  options.fallback = {cw_policy_passthrough(), {}};
  for (size_t i = 0; i < plan.classes.size(); ++i) {
    sdr::QpOptions qp;
    qp.stream = plan.classes[i].stream;
    qp.send.hold = plan.classes[i].hold;
    qp.send.slot_by_slot = true;
    qp.weight = config.classes[i]->weight;
    qp.policy = {config.classes[i]->policy, plan.classes[i].params};
    qp.after_quarantine = {plan.classes[i].fallback.ops, plan.classes[i].fallback.params};
    for (const OtherPolicy& each : plan.classes[i].others) {
      qp.policies.push_back({each.ops, each.params});
    }
    options.qps.push_back(qp);
  }
  return options;
}

ApiPlan api_plan(const Config& config) {
  const ApiConfig& api = config.api;
  ApiPlan plan = {.folder = api.folder,
                  .is_chosen = api.has_folder,
                  .read_group = api.read_group,
                  .control_group = api.control_group,
                  .listen = api.listen,
                  .metrics = api.metrics,
                  .certificate_file = config.path_of(api.certificate),
                  .key_file = config.path_of(api.certificate_key),
                  .client_ca_file = config.path_of(api.client_ca),
                  .controllers = api.controllers,
                  .hosts = api.hosts};
  if (!plan.folder.empty()) plan.folder = config.path_of(plan.folder);
  return plan;
}

/// Where there is nobody yet.
sdr::LinkOptions vacant_link(size_t index, const sdr::LinkOptions& like) {
  sdr::LinkOptions options = like;
  options.peer = static_cast<uint16_t>(index);
  options.control.is_vacant = true;
  options.control.peer_site.clear();
  options.control.peer_address.clear();
  return options;
}

/// Once each: twins have the same.
void add_missing(const std::vector<gateway::Prefix>& routes, std::vector<gateway::Prefix>& all) {
  for (const gateway::Prefix& each : routes) {
    if (std::ranges::find(all, each) == all.end()) all.push_back(each);
  }
}

void put_seal(const Config& config, Plan& plan) {
  plan.seal = config.seal;
  plan.secrets = config.secrets;
  plan.exposure = config.exposure;
  if (!plan.seal) return;
  for (const auto& each : config.peers) plan.seal->peers.emplace_back(each->keyring);
  plan.seal->peers.resize(config.places());
}

ClassPlan class_plan(const ClassConfig& it, uint16_t qp, const Config& config) {
  return {.name = it.name,
          .policy = it.policy->name,
          .params = it.params,
          .adapt = it.adapts ? std::optional(it.adapt) : std::nullopt,
          .others = others_of(it),
          .fallback = {it.fallback, config::default_params(*it.fallback)},
          .hold = it.hold,
          .recovery_worst = it.recovery_worst(),
          .stream = *stream_of(it, qp, config)};
}

/// Of a config without mistakes.
Plan plan_of(Config& config) {
  Plan plan;
  plan.site = config.site.name;
  plan.cores = {config.site.core};
  if (!config.site.cores.empty()) {
    plan.cores.assign(config.site.cores.begin(), config.site.cores.end());
  }
  plan.links = config.pair.links;
  plan.idle = config.site.idle;
  plan.nice = config.site.nice;
  plan.log_level = config.site.log;
  plan.log_format = config.site.log_format;
  plan.user = config.site.user;
  if (!config.site.status.empty()) plan.status_file = config.path_of(config.site.status);
  if (!config.site.state_folder.empty()) {
    plan.state_folder = config.path_of(config.site.state_folder);
  }
  plan.lan_kind = config.lan.port;
  plan.lan = lan_options(config.lan);
  plan.lan_queue_packets = lan_queue_packets(config);
  plan.lan_addresses = config.lan_addresses;
  plan.sets_routes = config.lan.routes && config.lan.port == LanKind::Tun;
  plan.lan_over_frames = lan_over_frames_options(config);
  plan.wan_kind = config.wan.port;
  plan.wan = wan_options(config);
  plan.wan_over_frames = wan_over_frames_options(config, plan.wan);
  plan.eal = eal_options(config);
  plan.impair = impair_options(config);
  plan.rtt = config.pair.rtt;
  plan.rtt_max = config.pair.rtt_max;
  plan.link_rate = config.link_rate();
  plan.gather = gather_of(config);
  plan.gateway = gateway_options(config);
  plan.coding.executor.threads = config.site.coding_threads;
  plan.offload = {.executor = config.offload.executor,
                  .cores = {config.offload.cores.begin(), config.offload.cores.end()},
                  .threads = config.offload.threads,
                  .stall_max = config.offload.stall};
  plan.api = api_plan(config);
  plan.memory = memory_of(config);
  plan.idle_links_memory = idle_links_memory_of(config);
  plan.plugins = config.site.plugins;
  for (const std::string& each : plan.plugins) plan.plugin_files.push_back(config.path_of(each));
  plan.key = std::move(config.key);
  put_seal(config, plan);
  plan.registry = std::move(config.registry);
  plan.loaded = std::move(config.loaded);
  plan.warnings = take_warnings(config);
  for (size_t i = 0; i < config.classes.size(); ++i) {
    plan.classes.push_back(class_plan(*config.classes[i], static_cast<uint16_t>(i), config));
  }
  plan.wan_by_rnic = wan_by_rnic_options(config, plan);
  for (size_t i = 0; i < config.peers.size(); ++i) {
    plan.peers.push_back(link_options(i, config, plan));
    const auto& routes = config.peers[i]->routes;
    if (config.lan.routes) add_missing(routes, plan.lan_routes);
  }
  for (size_t i = config.peers.size(); i < config.places(); ++i) {
    plan.peers.push_back(vacant_link(i, plan.peers.front()));
  }
  return plan;
}

}  // namespace

static ConfigPtr empty_config(std::string_view file, const Known& known) {
  auto config = std::make_shared<Config>();
  config->known = known;
  config->folder = std::filesystem::path(file).parent_path().string();
  return config;
}

Result<Plan> read_plan(std::string_view file, std::string_view text, const Known& known) {
  const ConfigPtr config = empty_config(file, known);
  config::Section schema;
  declare(schema, config);
  const config::Mistakes mistakes = config::read(schema, text);
  if (!mistakes.empty()) return failure(config::to_text(mistakes, file));
  return plan_of(*config);
}

Result<Plan> read_plan(std::string_view file, const config::Node& tree, const Known& known) {
  const ConfigPtr config = empty_config(file, known);
  config::Section schema;
  declare(schema, config);
  const config::Mistakes mistakes = config::read(schema, tree);
  if (mistakes.empty()) return plan_of(*config);
  std::string sentences;
  for (const config::Mistake& each : mistakes) {
    sentences += (sentences.empty() ? "" : "\n") + each.sentence;
  }
  return failure(sentences);
}

std::string all_keys() {
  const auto config = std::make_shared<Config>();
  config::Section schema;
  declare(schema, config);
  return config::help(schema);
}

}  // namespace cw::site
