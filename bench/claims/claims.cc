// claims: what is said of the project's speed and thrift, measured on this machine, in one table.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "bench/claims/figures.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/space.h"

namespace {

using namespace cw::claims;

constexpr int exit_refused = 2, exit_failed = 3, exit_skipped = 77;

int run(const Effort& effort, const std::string& folder, bool is_json) {
  if (const std::string why_not = cw::lab::obstacle(); !why_not.empty()) {
    std::fprintf(stderr, "claims: skipped: %s\n", why_not.c_str());
    return exit_skipped;
  }
  Figures figures;
  const auto add = [&](const char* name, const Figures& more) {
    std::fprintf(stderr, "%s\n", name);
    figures.insert(figures.end(), more.begin(), more.end());
  };
  add("rooms measured", of_rooms(folder, effort));
  add("waking measured", of_waking(effort));
  add("gateways measured", of_gateways(effort));
  std::printf("%s", (is_json ? json_of(figures).dump(1) + "\n" : table_of(figures)).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_json = false, is_quick = false;
  cw::CommandLine app(
      "What is said of the project's speed and thrift, measured. Needs root, and a machine that "
      "does nothing else for two minutes.",
      "claims");
  app.add_flag("--json", is_json, "A JSON array instead of a table.");
  app.add_flag("--quick", is_quick, "A little of everything: to see that it works.");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    // In there the path is one of mounts outside, and in a chroot leads nowhere.
    const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return cw::lab::run_enclosed([&] { return run(is_quick ? quick : Effort(), folder, is_json); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "claims: %s\n", error.what());
    return exit_failed;
  }
}
