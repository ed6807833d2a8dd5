#include "tests/demo/gateways.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "control/config/quantity.h"
#include "control/ctl/ask/client.h"
#include "control/json/json.h"
#include "dataplane/seal/keys.h"
#include "tests/lab/enclosure.h"

namespace cw::demo {
namespace {

using std::chrono::milliseconds;

const std::string folder = lab::enclosure_folder;
constexpr auto link_patience = std::chrono::seconds(30);
constexpr auto look_every = milliseconds(50);
constexpr auto status_every = milliseconds(1000);
// The link's rate is of whole Ethernet frames, and so is a gateway's; a little stays free, lest a
// queue builds up in front of a line that both fill to the last bit.
constexpr double share_of_link = 0.98;

void write_file(const std::string& name, const std::string& text) {
  std::ofstream(folder + "/" + name) << text;
}

Json status_of(const char* name) {
  std::ifstream stream(folder + "/" + name + ".json");
  std::ostringstream text;
  text << stream.rdbuf();
  return Json::parse_or_null(text.str());
}

bool is_up(const char* name) {
  const Json status = status_of(name);
  if (!status.is_object() || !status.contains("peers")) return false;
  for (const Json& peer : status["peers"]) {
    if (peer.value("link", "") != "up") return false;
  }
  return true;
}

/// The frames of a cable in a ring that is shared with the kernel, one queue. Such a ring's places
/// are equal powers of two, so that a link of jumbo frames costs eight times the memory.
std::string dpdk_keys(const char* interface, uint32_t mtu) {
  constexpr uint32_t around = 14 + 82, small = 2048;  // Ethernet's header; the ring's own
  const bool is_small = mtu + around <= small;
  return std::string("port = \"dpdk\"\ndevice = \"net_af_packet0,iface=") + interface +
         ",blocksz=65536,framecnt=2048,framesz=" + (is_small ? "2048" : "16384") + "\"\n";
}

std::string wan_keys(const lab::SiteAddresses& own, const Options& options) {
  if (options.wan == Wan::Dpdk) return dpdk_keys(own.wan_interface, options.mtu);
  if (options.wan == Wan::Xdp) {
    return std::string("port = \"xdp\"\ndevice = \"") + own.wan_interface + "\"\n";
  }
  return {};
}

std::string lan_keys(const lab::SiteAddresses& own, const Options& options) {
  if (options.lan == Lan::Tun) return "device = \"causeway0\"\n";
  return std::string("port = \"xdp\"\ndevice = \"") + own.lan_interface + "\"\naddresses = [\"" +
         own.gateway + "/24\", \"" + own.gateway_v6 + "/64\"]\n";
}

/// Over AF_XDP one host: what is beside it goes by the kernel, to be compared with.
std::string routes_key(const lab::SiteAddresses& other, const Options& options) {
  const auto row = [](const std::string& v4, const std::string& v6) {
    return "routes = [\"" + v4 + "\", \"" + v6 + "\"]\n";
  };
  if (options.lan == Lan::Tun) return row(other.prefix, other.prefix_v6);
  return row(std::string(other.host) + "/32", std::string(other.host_v6) + "/128");
}

std::string eal_memory(uint16_t cores) {
  return "eal_memory = \"" + std::to_string(320 * cores) + " MiB\"\n";
}

/// The first ones, which both gateways share; nothing: one thread, bound to none.
std::string cores_key(uint16_t cores) {
  if (cores == 1) return {};
  std::string row;
  for (uint16_t core = 0; core < cores; ++core)
    row += (core == 0 ? "" : ", ") + std::to_string(core);
  return "cores = [" + row + "]\n";
}

/// Of a site's gateway, as long as this process lives.
const seal::Identity& identity_of(const std::string& name) {
  static std::map<std::string, seal::Identity> all;
  return all.try_emplace(name, seal::Identity::random()).first->second;
}

/// Long enough for two repairs over the longest round trip that there is room for, whoever repairs.
Duration hold_of_wander(Duration rtt) { return std::max(Duration::from_ms(250), rtt * 20); }

/// Room for what it is swapped to while hosts send. Of a line that wanders the fixed policies keep
/// their frames as long as the one that may change, or they would be others.
std::string policy_keys(const Options& options) {
  std::string keys = "policy = \"" + options.policy + "\"\n";
  if (options.may_adapt()) {
    const auto hold = static_cast<double>(hold_of_wander(options.rtt).ns());
    keys += "hold = \"" + config::quantity_text(config::Quantity::Duration, hold) + "\"\n";
    if (options.policy != adaptive_policy) return keys;
    return keys +
           "policies = [\"selective_repeat\", \"erasure\"]\naim = \"tail\"\n"
           "transfer = \"64 KiB\"\n";
  }
  keys += "policies = [";
  for (const std::string& each : swap_targets(options)) keys += "\"" + each + "\", ";
  return keys + "]\n";
}

/// "2026-11-21T12:00:00.000Z", as a daemon's log tells it.
std::chrono::system_clock::time_point time_of(const std::string& text) {
  std::tm utc{};
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  const double fraction = rest == nullptr ? 0 : std::strtod(rest, nullptr);
  return std::chrono::system_clock::from_time_t(timegm(&utc)) +
         milliseconds(static_cast<int64_t>(fraction * 1000 + 0.5));
}

}  // namespace

std::string config_of(const lab::SiteAddresses& own, const lab::SiteAddresses& other,
                      const char* name, const char* other_name, const Options& options) {
  const auto text = [](config::Quantity quantity, double value) {
    return "\"" + config::quantity_text(quantity, value) + "\"\n";
  };
  const Rate rate = options.rate.scaled(share_of_link);
  const std::string mtu = "mtu = " + std::to_string(options.mtu) + "\n";
  std::ostringstream file;
  file << "[site]\nname = \"" << name << "\"\nprivate_key_file = \"" << name
       << ".key\"\nstatus = \"" << folder << "/" << name << ".json\"\n"
       << (options.wan == Wan::Dpdk ? eal_memory(options.cores) : std::string())
       << cores_key(options.cores) << (options.may_adapt() ? "log_format = \"json\"\n" : "")
       << "\n[api]\nfolder = \"" << folder << "/api\"\n\n[lan]\n"
       << lan_keys(own, options) << mtu << "\n[wan]\n"
       << wan_keys(own, options) << "address = \"" << own.wan
       << "\"\nrate = " << text(config::Quantity::Rate, static_cast<double>(rate.bps()))
       << "\n[pair]\nrtt = "
       << text(config::Quantity::Duration, static_cast<double>(options.rtt.ns())) << mtu
       << "links = " << options.cores << "\n"
       << "\n[[peer]]\nname = \"" << other_name << "\"\naddress = \"" << other.wan << "\"\n"
       << routes_key(other, options) << "public_key = \""
       << seal::text_of(identity_of(other_name).public_key)
       << "\"\n\n[[class]]\nname = \"everything\"\n"
       << policy_keys(options);
  return file.str();
}

std::vector<std::string> swap_targets(const Options& options) {
  std::vector<std::string> targets;
  for (const char* each : {"hybrid", "erasure", "selective_repeat"}) {
    if (each != options.policy && targets.size() < 2) targets.emplace_back(each);
  }
  targets.push_back(options.policy);
  return targets;
}

GatewayCounts GatewayCounts::since(const GatewayCounts& earlier) const {
  GatewayCounts added{.repaired = repaired - earlier.repaired,
                      .given_up = given_up - earlier.given_up};
  for (const auto& [name, count] : drops) {
    const auto before = earlier.drops.find(name);
    const uint64_t more = count - (before == earlier.drops.end() ? 0 : before->second);
    if (more > 0) added.drops[name] = more;
  }
  return added;
}

Gateways::Gateways(const lab::Sites& sites, const Options& options, const std::string& program)
    : options_(options) {
  umask(077);
  for (const char* name : {"a", "b"}) {
    // What gateways before these have left would say that the link is up.
    std::filesystem::remove(folder + "/" + name + ".json");
    write_file(std::string(name) + ".key",
               seal::text_of(identity_of(name).private_key.bytes()) + "\n");
  }
  write_file("a.toml", config_of(lab::site_a, lab::site_b, "a", "b", options));
  write_file("b.toml", config_of(lab::site_b, lab::site_a, "b", "a", options));
  a_.emplace(sites.namespace_of(lab::At::GatewayA),
             lab::Arguments{program, "--config", folder + "/a.toml"});
  b_.emplace(sites.namespace_of(lab::At::GatewayB),
             lab::Arguments{program, "--config", folder + "/b.toml"});
  wait_for_link();
}

void Gateways::wait_for_link() {
  const auto end = lab::Time::now() + link_patience;
  while (!is_up("a") || !is_up("b")) {
    check();
    if (lab::Time::now() > end) {
      throw std::runtime_error("the gateways' link does not come up:\n" + a_->err_so_far() +
                               b_->err_so_far());
    }
    std::this_thread::sleep_for(look_every);
  }
}

void Gateways::check() {
  for (std::optional<lab::Program>* each : {&a_, &b_}) {
    if ((*each)->has_ended()) {
      const lab::Outcome outcome = (*each)->finish();
      throw std::runtime_error("a gateway has ended, status " + std::to_string(outcome.status) +
                               ":\n" + outcome.err);
    }
  }
}

GatewayCounts Gateways::counts() const {
  std::this_thread::sleep_for(status_every + status_every / 5);
  GatewayCounts counts;
  uint64_t sent = 0, arrived = 0;  // frames
  for (const char* name : {"a", "b"}) {
    const Json status = status_of(name);
    if (!status.is_object()) throw std::runtime_error("a gateway's status cannot be read");
    const Json& counters = status.at("counters");
    counts.repaired += counters.value("resends_sent", uint64_t{0});
    counts.repaired += counters.value("slots_rebuilt", uint64_t{0});
    for (const Json& lane : status.at("classes")) {
      const Json& received = lane.at("received");
      sent += lane.value("sent", uint64_t{0});
      arrived += received.value("seen", uint64_t{0}) - received.value("duplicate", uint64_t{0});
    }
    for (const auto& [reason, drop] : status.at("drops").items()) {
      counts.drops[reason] += drop.value("count", uint64_t{0});
    }
  }
  counts.given_up = sent > arrived ? sent - arrived : 0;
  return counts;
}

Carried Carried::since(const Carried& earlier) const {
  return {.host_bytes = host_bytes - earlier.host_bytes,
          .wan_bytes = wan_bytes - earlier.wan_bytes,
          .resends = resends - earlier.resends,
          .repairs = repairs - earlier.repairs};
}

Carried Gateways::carried() const {
  Carried all;
  for (const char* name : {"a", "b"}) {
    ctl::Client client(ctl::place_of_socket(folder + "/api/" + name + "/read.sock"));
    const ctl::Answer answer = client.get("/v1/status");
    if (!answer.is_good()) throw std::runtime_error("a gateway does not answer: " + answer.why);
    const auto count = [&answer](const char* table, const char* key) {
      return answer.json.at(table).at(key).get<uint64_t>();
    };
    all.host_bytes += count("lan", "rx_bytes");
    all.wan_bytes += count("wan", "tx_bytes");
    all.resends += count("counters", "resends_sent");
    all.repairs += count("counters", "repairs_sent");
  }
  return all;
}

std::vector<Adapted> adapted_in(const std::string& log) {
  std::vector<Adapted> all;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse_or_null(line);
    if (!event.is_object() || event.value("event", "") != "adapted") continue;
    all.push_back({time_of(event.value("time", "")), event.value("what", "")});
  }
  return all;
}

void Gateways::order(const std::string& policy) {
  told_before_ = swaps_told().size();
  // Room for blocks follows from `policies`, which stays.
  std::string file = config_of(lab::site_a, lab::site_b, "a", "b", options_);
  const std::string before = "policy = \"" + options_.policy + "\"";
  file.replace(file.find(before), before.size(), "policy = \"" + policy + "\"");
  write_file("a.toml", file);
  a_->signal(SIGHUP);
}

/// Lines of its log: what left by another policy from then on.
std::vector<std::string> Gateways::swaps_told() const {
  std::vector<std::string> told;
  std::istringstream lines(a_->err_so_far());
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" swapped ") != line.npos && line.find(" direction=out ") != line.npos) {
      told.push_back(line);
    }
  }
  return told;
}

bool Gateways::has_swapped(double& took_ms) const {
  const std::vector<std::string> told = swaps_told();
  if (told.size() < told_before_ + options_.cores) return false;  // a link for each core
  for (size_t i = told_before_; i < told.size(); ++i) {
    const std::string key = " after_ms=";
    took_ms = std::max(took_ms, std::stod(told[i].substr(told[i].find(key) + key.size())));
  }
  return true;
}

std::string Gateways::why_not(const std::string& policy) const {
  return "no swap to " + policy + ":\n" + a_->err_so_far() + b_->err_so_far();
}

std::chrono::nanoseconds Gateways::processor_time() const {
  return a_->processor_time() + b_->processor_time();
}

}  // namespace cw::demo
