// The keys of [site].
#include <pwd.h>
#include <unistd.h>

#include <set>
#include <string_view>

#include "control/config/policy_keys.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/seal/seal_keys.h"
#include "control/units/text.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "policies/policies.h"

namespace cw::site {

using config::KeyKind;
using config::Section;

namespace {

void load_plugins(Section& section, Config& config) {
  for (const cw_policy_ops* each : policy::for_streams()) {
    if (const auto added = config.registry->add(*each); !added) {
      section.complain("plugins", added.error().sentence);
    }
  }
  for (const std::string& file : config.site.plugins) {
    auto loaded = config.registry->load(config.path_of(file));
    if (!loaded) {
      section.complain("plugins", "site.plugins: " + loaded.error().sentence);
      continue;
    }
    const cw_policy_ops& table = loaded->table();
    if (sdr::serves_endpoints_only({&table, config::default_params(table)})) {
      section.complain("plugins", "site.plugins: " + std::string(table.name) +
                                      " serves endpoints only, and what a class has is streams");
    }
  }
  // The newest of each name: a file may replace what is built in.
  config.loaded = config.registry->all();
  for (const auto& ref : config.loaded) config.policies.push_back(&ref.table());
}

void check_core(Section& section, const char* key, uint32_t core) {
  const std::string why = why_no_core(core);
  if (why.empty()) return;
  const bool is_list = std::string_view(key) == "cores";
  section.complain(key, std::string("site.") + key + (is_list ? " has " : " is ") +
                            std::to_string(core) + "; " + why);
}

void check_site(Section& section, const SiteConfig& site, std::vector<std::string>& warnings) {
  if (site.core) check_core(section, "core", *site.core);
  for (const uint32_t core : site.cores) check_core(section, "cores", core);
  if (site.core && !site.cores.empty()) {
    section.complain("cores",
                     "site.core and site.cores are both there; one core is site.core, "
                     "several are site.cores");
  }
  if (site.cores.size() > limits::links_max) {
    section.complain("cores", "site.cores has " + std::to_string(site.cores.size()) +
                                  " cores; at most " + std::to_string(limits::links_max) +
                                  " are accepted, as many as pair.links may be");
  }
  if (std::set(site.cores.begin(), site.cores.end()).size() < site.cores.size()) {
    warnings.push_back("site.cores names a core twice, whose threads wait for each other");
  }
  if (!site.user.empty() && getpwnam(site.user.c_str()) == nullptr) {
    section.complain("user", "site.user \"" + site.user +
                                 "\" does not exist here; `useradd --system " + site.user +
                                 "` makes it");
  }
  if (site.name.empty() || site.name.size() > site_name_bytes_max) {
    section.complain("name", "site.name must have 1 to 63 characters");
  }
}

/// Which processor cores, and how they are shared.
void declare_cores(Section& section, SiteConfig& site) {
  section
      .add({"core", config::Type::Integer,
            [&site](const config::Value& value) {
              site.core.reset();
              if (!value.is_none) site.core = static_cast<uint32_t>(value.number);
            },
            "none", "The processor core that the packets' thread is bound to."})
      .range(0, 4095)
      .or_none();
  section
      .add({"cores", config::Type::Integer,
            [&site](const config::Value& value) {
              site.cores.push_back(static_cast<uint32_t>(value.number));
            },
            "",
            "In place of core: several, such as [2, 3]. Each has a thread, queues of the ports and "
            "links of its own; pair.links must be as many at least."})
      .range(0, 4095)
      .list([&site] { site.cores.clear(); });
  section.choice("idle", site.idle, {"poll", "adaptive"},
                 "With nothing to do: turn on, or sleep until a packet comes.");
  section
      .add({"nice", config::Type::Integer,
            [&site](const config::Value& value) { site.nice = static_cast<int>(value.number); },
            std::to_string(site.nice),
            "How it gives way to other programs, below 0: they to it; where that is allowed."})
      .range(-20, 19);
}

}  // namespace

std::string why_no_core(uint32_t core) {
  const auto cores = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF));
  return core < cores ? "" : "this machine has cores 0 to " + std::to_string(cores - 1);
}

void declare_site(Section& section, const ConfigPtr& config) {
  SiteConfig& site = config->site;
  site.name = host_name();
  section.all_are(KeyKind::Restart);
  section.key("name", site.name, "What the other sites call this one, as their peer.name.");
  declare_site_key(section, config);
  declare_cores(section, site);
  section.choice("log", site.log, {"debug", "info", "warning", "error"}, "The least that is told.")
      .kind(KeyKind::Live);
  section
      .choice("log_format", site.log_format, {"text", "json"},
              "Lines of key=value, or of one JSON object each.")
      .kind(KeyKind::Live);
  section.key("user", site.user, "Become this user when the ports are open; empty: do not.");
  section
      .key(
          "status", site.status,
          "A file, named from this one's folder, that says how the gateway is, as JSON, anew every "
          "second; empty: none.")
      .kind(KeyKind::Live);
  section.key("state_folder", site.state_folder,
              "A folder, named from this one's, for what the next start is to know: which policies "
              "were put in quarantine. Empty: it is forgotten.");
  section.key("memory", site.memory, "The most that frames and packets may need.")
      .range("16 MiB", "1024 GiB");
  section
      .key("spare_peers", site.spare_peers,
           "Of port udp: room for so many peers more, which come and go while traffic flows.")
      .range(0, limits::peers_max);
  section
      .key("coding_threads", site.coding_threads,
           "Threads for coding that exceeds a turn; 0: it waits for further turns.")
      .range(0, 16);
  section
      .key("plugins", site.plugins,
           "Files of further policies, loaded at start; `policy` may name them.")
      .kind(KeyKind::Swap);
  section.key("eal", site.eal, "Further arguments for DPDK, where a port is over it.");
  section
      .key("eal_memory", site.eal_memory, "What DPDK takes for packets; none: what its ports need.")
      .range("32 MiB", "64 GiB")
      .or_none();
  section.then([config](Section& here) {
    load_plugins(here, *config);
    check_site(here, config->site, config->warnings);
  });
}

}  // namespace cw::site
