// A gateway's file as it was written, key by key. What follows from it is plan.h's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/api/sockets.h"
#include "control/config/section.h"
#include "control/gateway/keys/classes/class_config.h"
#include "control/gateway/keys/groups/group_config.h"
#include "control/gateway/keys/key_file.h"
#include "control/gateway/plan.h"
#include "dataplane/gateway/options.h"
#include "dataplane/policy.h"
#include "dataplane/port/impair/impairment.h"
#include "dataplane/port/verbs/verbs_options.h"

namespace cw::site {

inline constexpr size_t site_name_bytes_max = 63;

struct SiteConfig {
  std::string name;
  std::optional<uint32_t> core;
  std::vector<uint32_t> cores;  // several; empty: core
  IdlePolicy idle = IdlePolicy::Adaptive;
  int nice = -10;
  LogLevel log = LogLevel::Info;
  LogFormat log_format = LogFormat::Text;
  std::string user, status, state_folder, private_key_file;
  Bytes memory = Bytes(uint64_t{4} << 30);
  uint16_t spare_peers = 0;  // places for peers that come later
  uint8_t coding_threads = 0;
  std::vector<std::string> plugins;
  std::vector<std::string> eal;
  Bytes eal_memory = Bytes(UINT64_MAX);  // none: what the ports need
};

/// What [lan] and [wan] have alike where their port is over DPDK.
struct DpdkConfig {
  uint16_t queues = 0, descriptors = 1024;
};

struct LanConfig {
  LanKind port = LanKind::Tun;
  std::string device = tun_device;
  static constexpr const char* tun_device = "causeway0";
  DpdkConfig dpdk;
  uint16_t vlan = 0;
  uint32_t mtu = 1500;
  std::vector<std::string> addresses, prefix_texts;
  bool routes = true, offload = true;
  Duration queue = Duration::from_ms(10);
  Rate release_rate;  // zero: from pair.rate
};

struct WanConfig {
  WanKind port = WanKind::Udp;
  std::string device;
  DpdkConfig dpdk;
  std::string address;
  uint16_t udp_port = 4791, source_port = rnic_source_port_min, paths = 1;
  std::optional<IcrcMode> icrc;       // none: the port's own
  std::vector<uint8_t> path_weights;  // by path; empty: all alike
  Rate rate;
  bool adapt = true;
  std::optional<double> overhead_limit;
  bool is_impaired = false;
  Impairment impairment;
  uint64_t seed = 1;
};

/// Where programs ask and order.
struct ApiConfig {
  std::string folder = api::default_folder;
  bool has_folder = false;  // it was written
  std::string read_group, control_group;
  std::string listen, metrics, certificate, certificate_key, client_ca;
  std::vector<std::string> controllers, hosts;
};

/// Who turns what the WAN's device has placed into bits.
struct OffloadConfig {
  OffloadExecutor executor = OffloadExecutor::Turn;
  std::vector<uint32_t> cores;  // of executor cores
  uint16_t threads = 1;         // of executor dpa
  Duration stall = Duration::from_ms(50);
};

enum class Cipher : uint8_t { Fastest, Aes128, Aes256, ChaCha20 };

struct PairConfig {
  std::string key_file;
  bool seal = true;
  bool pad = false;
  Cipher cipher = Cipher::Fastest;
  uint32_t mtu = 1500;
  Duration rtt;
  Duration rtt_max = Duration::max();  // known when [pair] has been read
  Rate rate;                           // zero: wan.rate
  uint16_t links = 1;
};

struct PeerConfig {
  std::string name, address, next_hop;
  uint16_t udp_port = 4791, source_port = 0;
  uint16_t first_source() const { return source_port != 0 ? source_port : udp_port; }
  Rate rate;  // zero: a share of wan.rate
  uint16_t prefer = gateway::PeerRoutes::prefer_default;
  std::vector<std::string> route_texts;
  std::vector<gateway::Prefix> routes;
  std::string public_key, next_public_key, preshared_key_file;
  seal::KeyringPeer keyring;  // known when the peer has been read
};

/// Everything at once; lives while the file is read. Rows are stored by pointer, since keys are
/// bound to their members.
struct Config {
  std::string folder;  ///< of the file: what relative paths begin at
  SiteConfig site;
  LanConfig lan;
  WanConfig wan;
  OffloadConfig offload;
  ApiConfig api;
  PairConfig pair;
  std::vector<std::unique_ptr<PeerConfig>> peers;
  std::vector<std::unique_ptr<ClassConfig>> classes;
  std::vector<std::unique_ptr<GroupConfig>> groups;
  std::vector<gateway::Prefix> lan_addresses;
  std::vector<gateway::Prefix> own_prefixes;  ///< of this side's hosts

  std::unique_ptr<PairKey> key = std::make_unique<PairKey>();
  std::optional<SealPlan> seal;  ///< known when all has been read; nothing: it does not
  std::optional<seal::Secret> private_key;
  Secrets secrets;  ///< of files, as they were read now or before
  Known known;      ///< in place of what the file says
  std::unique_ptr<plugins::Registry> registry = std::make_unique<plugins::Registry>();
  std::vector<plugins::PolicyRef> loaded;
  std::vector<const cw_policy_ops*> policies;  ///< that `policy` may name
  std::vector<std::string> warnings;
  std::string exposure;  ///< as Plan has it

  /// The newest of this name, which is built in.
  const cw_policy_ops* policy_called(std::string_view name) const;
  /// IPv6 between the gateways.
  bool is_wan_v6() const;
  /// For peers: those that there are, and those that may come.
  size_t places() const { return peers.size() + site.spare_peers; }
  /// One per core that packets are given to.
  size_t shards() const { return std::max<size_t>(site.cores.size(), 1); }
  /// Of one peer, in the shard that has most of them.
  size_t links_per_shard() const { return (pair.links + shards() - 1) / shards(); }
  /// The faster direction of a link, and of all links of a pair together.
  Rate link_rate() const {
    if (known.link_rate != Rate()) return known.link_rate;
    return pair.rate == Rate() ? wan.rate : pair.rate;
  }
  /// Resends and repair per byte of data: as written, or what resends need and codes may take.
  double overhead_limit() const;
  /// Whether the ports carry what is sealed.
  bool is_sealed() const { return !site.private_key_file.empty(); }
  /// Of a full packet: what pair.mtu leaves.
  uint32_t packet_payload_bytes() const;
  /// Of a full slot: the same, and what a seal leaves.
  uint32_t payload_bytes() const {
    return packet_payload_bytes() - (is_sealed() ? seal::seal_bytes : 0);
  }
  /// What the named file is, from where we stand.
  std::string path_of(const std::string& file) const;
};
using ConfigPtr = std::shared_ptr<Config>;

// ---- the keys; each complains in its own place --------------------------------------------------

/// Declares everything that a file may hold.
void declare(config::Section& file, const ConfigPtr& config);

void declare_site(config::Section& section, const ConfigPtr& config);
void declare_api(config::Section& section, const ConfigPtr& config);
void declare_offload(config::Section& section, const ConfigPtr& config);
void declare_class(config::Section& row, ClassConfig& it, const ConfigPtr& config);
/// `prefixes` of [lan], once its addresses are known.
void declare_lan_prefixes(config::Section& lan, const ConfigPtr& config);
/// [[group]], once classes and peers are known.
void declare_groups(config::Section& file, const ConfigPtr& config);
/// The class that a file without any has.
std::unique_ptr<ClassConfig> class_for_all();

/// `policy`, and how it is chosen where that is "adaptive".
void declare_own_policy(config::Section& row, ClassConfig& it, const ConfigPtr& config);
/// Of `policy = "adaptive"`: how it chooses.
void declare_adapt(config::Section& row, ClassConfig& it);
/// Settles what it chooses from and begins with; policy and policies have been read.
void settle_adapt(config::Section& row, ClassConfig& it, Config& config);
/// `policies`, beside the policy by which the class sends.
void declare_others(config::Section& row, ClassConfig& it, const ConfigPtr& config);
/// Settles the policies that the file names; pair.rtt and pair.rate are known.
void settle_named(ClassConfig& it, const Config& config);
/// Adds, where it names no others, those that cost no room; hold is known, or was complained about.
void settle_unnamed(ClassConfig& it, const Config& config);
/// What a policy needs over such a route.
cw_policy_limits needs_at(Duration rtt, const ClassPolicy& policy, const Config& config);

// ---- checks between keys ------------------------------------------------------------------------

/// Of a class without hold and host_timeout: room for a second loss over the longest route.
Duration hold_of(const ClassConfig& it, const Config& config);
/// Settles policies, block_age and hold, once everything else of the class is known, or says why
/// they cannot be.
void settle_class(config::Section& row, ClassConfig& it, const Config& config);
/// Those that were found, and where hosts give up sooner than a gateway may be restarted.
std::vector<std::string> take_warnings(Config& config);
/// The peer, or class, and those before it.
void check_peer(config::Section& row, const PeerConfig& it, const Config& config);
void check_class(config::Section& row, const ClassConfig& it, const Config& config);
/// Whether packets fit into the rings of the ports over DPDK.
void check_device_mtus(config::Section& file, const Config& config);
/// "this machine has cores 0 to 1", where it has none of this number; else empty.
std::string why_no_core(uint32_t core);
/// Whether the WAN's port has anything to offload.
void check_offload(config::Section& file, const Config& config);
/// Whether every core has links, and ports that several can share.
void check_cores(config::Section& file, const Config& config);
/// All of them.
void check_peers(config::Section& file, const Config& config);
void check_classes(config::Section& file, const Config& config);
/// Needs a config without mistakes so far, and leaves it as it was.
void check_memory(config::Section& file, Config& config);

/// "39.6 ms": a time as a sentence has it.
std::string about(Duration time);
std::string about(Rate rate);

}  // namespace cw::site
