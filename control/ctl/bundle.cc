// What somebody who is to find a mistake needs to see, in one file.
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "control/config/text/file.h"
#include "control/config/text/tree.h"
#include "control/ctl/commands.h"
#include "control/ctl/exits.h"
#include "control/units/text.h"

namespace cw::ctl {
namespace {

constexpr const char* parts[] = {"status", "policies", "swaps", "adaptive",
                                 "bars",   "config",   "log"};

std::string stamp() { return utc_text("%Y%m%dT%H%M%SZ", std::time(nullptr)); }

Json machine() {
  utsname its{};
  uname(&its);
  Json json = {{"kernel", std::string(its.sysname) + " " + its.release},
               {"architecture", its.machine}};
  if (const auto text = config::text_of_file("/proc/cpuinfo")) json["cpuinfo"] = *text;
  if (const auto text = config::text_of_file("/proc/meminfo")) json["meminfo"] = *text;
  return json;
}

}  // namespace

int bundle(Client& client, const Options& options) {
  Json all = {{"made", stamp()}, {"causewayctl", CW_VERSION}, {"machine", machine()}};
  // First, so that what the log says of it is in the log.
  if (!options.trace.class_name.empty()) {
    const Answer answer = ask_for_trace(client, options);
    all["trace"] = answer.is_good() ? answer.json : Json({{"why", answer.why}});
    if (!answer.is_good()) std::fprintf(stderr, "causewayctl: no trace: %s\n", answer.why.c_str());
  }
  for (const char* const part : parts) {
    const Answer answer = client.get(std::string("/v1/") + part);
    if (!answer.is_good()) return tell_failure(answer, options);
    all[part] = answer.json;
  }
  // A file names keys and has none in it; what is read here is the file alone.
  if (!options.config.empty()) {
    const auto text = config::text_of_file(options.config);
    const bool is_one = text && config::parse_toml(*text);
    all["config_file"] = is_one ? *text : options.config + " is no gateway's file";
  }
  std::string site = all["status"]["site"].get<std::string>();
  std::ranges::replace(site, '/', '_');
  const std::string file =
      options.file.empty() ? "causeway-" + site + "-" + stamp() + ".json" : options.file;
  if (!try_write(file, all.dump(2) + "\n")) return exit_failed;
  std::printf("%s\n", options.is_json ? Json({{"file", file}}).dump().c_str() : file.c_str());
  return exit_done;
}

}  // namespace cw::ctl
