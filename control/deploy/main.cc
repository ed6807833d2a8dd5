// causeway-deploy: a deployment in one file. How it ends: 0 done, 1 failed, 2 mistakes.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/deploy/commands.h"
#include "control/deploy/file/deployment.h"

namespace {

using namespace cw;
using namespace cw::deploy;

constexpr const char* summary =
    "All sites of a deployment from one file: checked, written, changed.";

constexpr const char* lesson = R"(
The file has a [[site]] for each site (name, address, routes, and what its gateway's file has in
[site], [lan], [wan], [api]), [pair] and [[class]] as in that file, [defaults] of all sites, and a
[[link]] where something is known of the way between two:

  [pair]
  rtt = "25 ms"
  [defaults]
  private_key_file = "site.key"       # at each site: causeway-key generate site.key
  [[site]]
  name = "north"
  address = "198.51.100.1"
  routes = ["10.1.0.0/16"]
  public_key = "..."                  # what that says there
  wan.rate = "1 Gbit/s"
  lan.addresses = ["10.1.255.254/32"]

  causeway-deploy plan deployment.toml --out sites      # what is wrong; else what would change
  causeway-deploy render deployment.toml --out sites    # writes sites/north.toml and the others
  causeway-deploy apply deployment.toml --out sites     # the steps, where gateways read these files
  causeway-deploy --list-keys                           # every key, as a file to edit

A plan compares with what each gateway says that it runs by, where it is reached and lets who asks
order; else with its file in --out, and with the gateway's name, state, peers, links and
policies.)";

const std::vector<Ending> endings = {
    {exit_done, "Done."},
    {exit_failed, "A step could not be taken, or a file not be written."},
    {exit_mistakes, "Mistakes in the file, all of them, or in the arguments."}};

void add_own(CommandLine& command, Options& options, bool writes) {
  command.add_option("FILE", options.file, "the deployment's").type_name("FILE").required();
  command.add_option("--out", options.folder, "the folder of the sites' files")
      .type_name("DIR")
      .shows_default();
  command.add_flag("--offline", options.is_offline, "ask no gateway");
  command.add_option("--certificate", options.papers.certificate, "for those asked over TLS: ours")
      .type_name("FILE");
  command.add_option("--key", options.papers.key, "and its key").type_name("FILE");
  command.add_option("--ca", options.papers.ca, "and who signed theirs").type_name("FILE");
  if (writes) {
    command.add_flag("--force", options.is_forced, "write over files that somebody has changed");
  }
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list-keys") {
    std::fputs(all_keys().c_str(), stdout);
    return exit_done;
  }
  Options options;
  bool lists_keys = false;
  CommandLine app(summary, "causeway-deploy");
  app.footer(lesson);
  app.ends_with(endings);
  app.set_version(CW_VERSION);
  app.add_flag("--json", options.is_json, "for programs");
  app.add_flag("--list-keys", lists_keys, "every key of the file, and nothing else");
  CommandLine planning = app.add_subcommand("plan", "What is wrong, or what would change and how.");
  CommandLine rendering =
      app.add_subcommand("render", "Writes each site's file, and shows the same.");
  CommandLine applying =
      app.add_subcommand("apply", "Takes the steps of a plan, as far as gateways are reached.");
  add_own(planning, options, false);
  add_own(rendering, options, true);
  add_own(applying, options, true);
  applying.add_option("--wait", options.wait, "for what comes of each step")
      .type_name("TIME")
      .shows_default();
  if (const auto end = app.parse_or_end(argc, argv, exit_mistakes)) return *end;
  if (planning.is_chosen()) return plan(options);
  return rendering.is_chosen() ? render(options) : apply(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causeway-deploy: %s\n", error.what());
    return exit_failed;
  }
}
