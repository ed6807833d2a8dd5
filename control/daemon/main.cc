// causewayd: a gateway. Exit codes: 0 done; 1 what it needs cannot be had; 2 a mistake in the file
// or the arguments; 3 ended by force.
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/config/policy_keys.h"
#include "control/config/text/file.h"
#include "control/daemon/daemon.h"
#include "control/daemon/log.h"
#include "control/daemon/status.h"
#include "control/dissector/key_log.h"
#include "control/gateway/plan.h"
#include "control/json/json.h"
#include "control/preflight/preflight.h"
#include "policies/policies.h"

namespace {

using namespace cw;
using namespace cw::daemon;

constexpr const char* teaching = R"(
The least that a file needs, where this site's name is the machine's:

    [site]
    private_key_file = "site.key"  # causeway-key generate site.key; says the public key

    [wan]
    rate = "500 Mbit/s"          # what this site sends at most

    [pair]                       # the same at all sites
    rtt = "25 ms"

    [[peer]]
    name = "north"               # its own name: that of the machine, or its site.name
    address = "203.0.113.2"
    routes = ["10.2.0.0/16"]     # what lies behind it
    public_key = "..."           # what causeway-key said there

--list-keys shows every key, --check says whether a file is right and starts nothing, --preflight
says whether this machine is ready for it, or, without a file, for a gateway.
A gateway needs CAP_NET_ADMIN to make its TUN device, and gives it up then. SIGTERM drains.)";

const std::vector<Ending> endings = {
    {exit_done, "Ended as asked."},
    {exit_failed,
     "Something cannot be had, such as a port, a right or a device; or an RNIC is lost."},
    {exit_refused, "Mistakes in the file, all of them, or in the arguments."},
    {exit_forced, "Ended by force."}};

struct Arguments {
  std::string file, key_log;
  bool is_check = false, is_preflight = false, is_json = false;
  bool lists_keys = false, lists_policies = false;
};

int refuse(const std::string& sentences) {
  std::fprintf(stderr, "%s\n", sentences.c_str());
  return exit_refused;
}

int tell_mistakes(const std::string& sentences, bool is_json) {
  if (!is_json) return refuse(sentences);
  Json json = {{"ok", false}, {"mistakes", Json::array()}};
  std::istringstream lines(sentences);
  for (std::string line; std::getline(lines, line);) json["mistakes"].push_back(line);
  std::printf("%s\n", json.dump(2).c_str());
  return exit_refused;
}

int tell_plan(const site::Plan& plan, const Arguments& arguments) {
  if (arguments.is_json) {
    Json json = {{"ok", true}};
    json.update(plan_json(plan));
    std::printf("%s\n", json.dump(2).c_str());
    return exit_done;
  }
  for (const std::string& warning : plan.warnings) std::printf("careful: %s\n", warning.c_str());
  if (!plan.exposure.empty()) std::printf("exposed: %s\n", plan.exposure.c_str());
  for (const site::ClassPlan& each : plan.classes) {
    const std::string policy = each.adapt ? "adaptive, from " + each.policy + " on" : each.policy;
    std::printf("class %s: %s, hold %.1f ms, a loss mended in %.1f ms\n", each.name.c_str(),
                policy.c_str(), each.hold.ms(), each.recovery_worst.ms());
    if (each.others.empty()) continue;
    std::string others;
    for (const site::OtherPolicy& other : each.others) others.append(" ").append(other.ops->name);
    std::printf("  has room besides for%s\n", others.c_str());
  }
  std::printf("%s is right: slots of %u bytes, at most %llu MiB of memory\n",
              arguments.file.c_str(), plan.wan.payload_bytes_max,
              static_cast<unsigned long long>(plan.memory.count() >> 20));
  return exit_done;
}

int tell_preflight(const site::Plan* plan, bool is_json) {
  const auto findings = preflight::look_over(preflight::Machine(), plan);
  const std::string text =
      is_json ? preflight::json_of(findings).dump(2) + "\n" : preflight::text_of(findings);
  std::printf("%s", text.c_str());
  return preflight::has_problem(findings) ? exit_failed : exit_done;
}

/// Those of the file's plugins too.
int tell_policies(plugins::Registry& registry) {
  const auto refs = registry.all();
  std::vector<const cw_policy_ops*> known;
  known.reserve(refs.size());
  for (const plugins::PolicyRef& each : refs) known.push_back(&each.table());
  std::printf("%s", config::policies_text(known).c_str());
  return exit_done;
}

/// Null: no keys are written.
Result<std::unique_ptr<dissector::KeyLogFile>> begin_key_log(const std::string& file,
                                                             site::Plan& plan, const Log& log) {
  if (file.empty()) return nullptr;
  if (!plan.seal) return failure("--seal-key-log: this file's site has no key, and seals nothing");
  auto opened = dissector::KeyLogFile::open(file);
  if (!opened) return failure("--seal-key-log: " + opened.error().sentence);
  plan.seal->log = opened->get();
  // As an error: no level leaves it out.
  log.error("KEYS_ARE_WRITTEN",
            {{"file", file},
             {"meaning",
              "WHOEVER READS THAT FILE CAN READ WHAT HOSTS SEND AND FORGE IT, NOW AND "
              "FROM RECORDINGS; for debugging alone: start without --seal-key-log, and "
              "destroy the file"}});
  return opened;
}

int run(const Arguments& arguments) {
  const auto text = config::text_of_file(arguments.file);
  if (!text) return refuse(text.error().sentence);
  auto plan = site::read_plan(arguments.file, *text);
  const bool only_looks = arguments.is_check || arguments.is_preflight;
  if (!plan) return tell_mistakes(plan.error().sentence, only_looks && arguments.is_json);
  if (arguments.lists_policies) return tell_policies(*plan->registry);
  if (arguments.is_preflight) return tell_preflight(&*plan, arguments.is_json);
  if (arguments.is_check) return tell_plan(*plan, arguments);
  const Log log(plan->log_level, arguments.is_json ? LogFormat::Json : plan->log_format);
  const auto key_log =
      begin_key_log(arguments.key_log, *plan, log);  // while this is still its user
  if (!key_log) return refuse("causewayd: " + key_log.error().sentence);
  return daemon::run({arguments.file, *text}, std::move(*plan), log);
}

int run_with(int argc, char** argv) {
  Arguments arguments;
  CommandLine app(
      "A gateway between sites: reliability for RDMA and any IP over a lossy long haul.",
      "causewayd");
  app.footer(teaching);
  app.ends_with(endings);
  app.add_option("--config", arguments.file, "the gateway's file").type_name("FILE");
  app.add_flag("--check", arguments.is_check, "say whether the file is right, and end");
  app.add_flag("--preflight", arguments.is_preflight,
               "say what of this machine is in the way, and what to do about it, and end");
  app.add_flag("--json", arguments.is_json, "log lines, or what is said instead, as JSON");
  app.add_flag("--list-keys", arguments.lists_keys, "every key of a file");
  app.add_flag("--list-policies", arguments.lists_policies,
               "every policy and its parameters; with a file, those of its plugins too");
  app.add_option("--seal-key-log", arguments.key_log,
                 "DANGEROUS, for debugging: writes the keys of all sessions there, for "
                 "`causeway-key open`; who has them reads what hosts send")
      .type_name("FILE");
  app.set_version(CW_VERSION);
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  if (arguments.lists_keys) return std::printf("%s", site::all_keys().c_str()), exit_done;
  if (arguments.lists_policies && arguments.file.empty()) {
    return std::printf("%s", config::policies_text(policy::for_streams()).c_str()), exit_done;
  }
  if (arguments.file.empty() && arguments.is_preflight) {
    return tell_preflight(nullptr, arguments.is_json);
  }
  if (arguments.file.empty()) return refuse("which file? try causewayd --help");
  return run(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_with(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causewayd: %s\n", error.what());
    return exit_failed;
  }
}
