// A gateway's file, read, checked and turned into what the rooms are made from. Nothing has been
// opened yet but the key, the plugins and the file itself: a plan is also what --check looks at.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/adapt/adapt_plan.h"
#include "control/config/text/tree.h"
#include "control/gateway/keys/key_file.h"
#include "control/gateway/log_choice.h"
#include "dataplane/base/result.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/gateway/options.h"
#include "dataplane/port/dpdk/eal/eal.h"
#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/port/tun/tun_port.h"
#include "dataplane/port/udp/udp_port.h"
#include "dataplane/port/verbs/verbs_options.h"
#include "dataplane/sdr/options.h"
#include "dataplane/seal/keyring.h"
#include "plugins/registry.h"

namespace cw::site {

enum class LanKind : uint8_t { Tun, Dpdk, Xdp };
enum class WanKind : uint8_t { Udp, Dpdk, Verbs, Xdp };
/// As files have it.
constexpr std::string_view name_of(LanKind kind) {
  return std::array<std::string_view, 3>{"tun", "dpdk", "xdp"}[static_cast<size_t>(kind)];
}
constexpr std::string_view name_of(WanKind kind) {
  return std::array<std::string_view, 4>{"udp", "dpdk", "verbs", "xdp"}[static_cast<size_t>(kind)];
}
/// Whether packets are Ethernet's, in queues of our own.
constexpr bool is_over_frames(LanKind kind) { return kind != LanKind::Tun; }
constexpr bool is_over_frames(WanKind kind) {
  return kind == WanKind::Dpdk || kind == WanKind::Xdp;
}
enum class OffloadExecutor : uint8_t { Turn, Cores, Dpa };

/// Who turns what a device has placed into bits; of all shards.
struct OffloadPlan {
  OffloadExecutor executor = OffloadExecutor::Turn;
  std::vector<int> cores;  ///< of executor cores: shard s of n has every n-th, from the s-th on
  uint32_t threads = 1;    ///< of executor dpa, for each shard
  Duration stall_max = Duration::from_ms(50);
};

/// Where programs ask and order.
struct ApiPlan {
  std::string folder;      ///< that gateways share; empty: there is none
  bool is_chosen = false;  ///< it was written: that it cannot be had is a mistake
  std::string read_group, control_group;
  std::string listen;   ///< "192.0.2.1:9443"; empty: not over TCP
  std::string metrics;  ///< "127.0.0.1:9464", in the clear, for scrapers; empty: not there
  std::string certificate_file, key_file, client_ca_file;
  std::vector<std::string> controllers, hosts;

  /// What of it cannot be had is a mistake.
  bool must_be() const { return is_chosen || !listen.empty() || !metrics.empty(); }
};

/// A policy beside the one by which a class sends.
struct OtherPolicy {
  const cw_policy_ops* ops;
  std::vector<double> params;  ///< what PolicyChoice points to
};

/// What a class came to, for a person.
struct ClassPlan {
  std::string name, policy;
  std::vector<double> params;             ///< what PolicyChoice points to
  std::optional<adapt::AdaptPlan> adapt;  ///< nothing: `policy` stands until somebody swaps it
  std::vector<OtherPolicy> others;
  OtherPolicy fallback;  ///< after a quarantine
  Duration hold, recovery_worst;
  sdr::StreamConfig stream;
};

/// By the path of the file that each is from.
using Secrets = std::map<std::string, seal::Secret>;

/// Who the site is, and how it seals.
struct SealPlan {
  seal::Identity own;
  bool seals_data = true;
  std::vector<cw_aead_kind> kinds;                        ///< the best first
  std::vector<std::optional<seal::KeyringPeer>> peers{};  ///< by place
  seal::KeyLog* log = nullptr;  ///< no file says one; it outlives the site
};

/// Moves, and what points into it stays valid.
struct Plan {
  std::string site;
  std::vector<std::optional<uint32_t>> cores{std::nullopt};  ///< one for each shard
  uint16_t links = 1;  ///< to each peer, dealt out to the shards
  IdlePolicy idle = IdlePolicy::Adaptive;
  Duration gather;  ///< between turns while packets come in a row
  int nice = -10;
  LogLevel log_level = LogLevel::Info;
  LogFormat log_format = LogFormat::Text;
  std::string user, status_file;
  std::string state_folder;  ///< empty: what has happened is forgotten at the end

  LanKind lan_kind = LanKind::Tun;
  TunPortOptions lan;                 ///< when it is that kind, as are the next three
  uint32_t lan_queue_packets = 1000;  ///< that the kernel may keep for a turn
  std::vector<gateway::Prefix> lan_addresses;
  bool sets_routes = true;                  ///< towards the device; as lan.routes says
  std::vector<gateway::Prefix> lan_routes;  ///< these
  FrameLanOptions lan_over_frames;          ///< when it is that kind
  WanKind wan_kind = WanKind::Udp;
  UdpPortOptions wan;               ///< of any kind: addresses, peers, sizes
  FrameWanOptions wan_over_frames;  ///< when it is that kind
  VerbsPortOptions wan_by_rnic;     ///< when it is that kind
  EalOptions eal;                   ///< no devices: DPDK is not started
  std::optional<ImpairedPortOptions> impair;
  Duration rtt, rtt_max;  ///< as the file says
  Rate link_rate;         ///< the fastest from one site to another: what memory is for

  gateway::GatewayOptions gateway;
  sdr::CodingOptions coding;
  OffloadPlan offload;
  ApiPlan api;
  std::vector<ClassPlan> classes;  ///< by QP
  /// Of link 0 to each, and so of its others; without their source of randomness. Places where
  /// there is nobody have peers without a name.
  std::vector<sdr::LinkOptions> peers;
  Bytes
      memory;  ///< of frames and packets and what DPDK takes: the most, all of it reserved at start
  Bytes idle_links_memory;  ///< of that, what is written while all links rest
  std::vector<std::string> warnings;
  std::string exposure;  ///< what of all that crosses is not sealed, for people; empty: nothing
  std::vector<std::string> plugins;       ///< the files of further policies, as written,
  std::vector<std::string> plugin_files;  ///< and where they are

  bool has_peer(size_t place) const { return !gateway.peers[place].name.empty(); }
  size_t peer_count() const {
    return static_cast<size_t>(std::ranges::count_if(
        peers, [](const sdr::LinkOptions& each) { return !each.control.is_vacant; }));
  }

  std::optional<SealPlan> seal;  ///< nothing: pair.key_file
  Secrets secrets;               ///< as they were read, for who reads the plan again

  // What the above points into.
  std::unique_ptr<PairKey> key;
  std::unique_ptr<plugins::Registry> registry;
  std::vector<plugins::PolicyRef> loaded;
};

/// What a file that is read again does not decide.
struct Known {
  /// Then the key file is not read: who reads a file again may have no right to it any more.
  const PairKey* key = nullptr;
  const Secrets* secrets = nullptr;  ///< nor are these
  /// Nor are any, of another site's file: some stand for them.
  bool has_no_secrets = false;
  /// Then it stands for pair.rate: what follows from it is there already.
  Rate link_rate;
};

/// Reads the text of a gateway's file, called `file`. Errors: every mistake in it, one line each,
/// as "file:line:column: sentence". Never throws.
Result<Plan> read_plan(std::string_view file, std::string_view text, const Known& known = {});
/// The same of a tree, whose mistakes are told without their places.
Result<Plan> read_plan(std::string_view file, const config::Node& tree, const Known& known = {});

/// Every key: its default, what it accepts and what it does, as a file that could be edited.
std::string all_keys();

}  // namespace cw::site
