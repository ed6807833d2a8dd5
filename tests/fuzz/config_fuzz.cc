// A gateway's file of any content, through the whole way of the daemon's: TOML, schema, checks and
// the plan. Every mistake stands at a place of the file and says something; a plan keeps its
// promises.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "control/gateway/plan.h"
#include "dataplane/base/assert.h"

namespace {
using namespace cw;

/// Of the file that is read: a key beside it, and no plugin to be loaded.
std::string make_folder() {
  std::string name = std::filesystem::temp_directory_path() / "config_fuzz_XXXXXX";
  CW_ASSERT(mkdtemp(name.data()) != nullptr);
  std::ofstream(name + "/pair.key") << std::string(64, 'k') << "\n";
  return name;
}

struct Folder {
  const std::string path = make_folder();
  ~Folder() { std::filesystem::remove_all(path); }
};

/// "name:line:column: sentence"; a sentence may quote line ends of the file.
void check_mistakes(const std::string& mistakes, const std::string& file, const std::string& text) {
  const auto lines = std::ranges::count(text, '\n') + 1;
  CW_ASSERT(mistakes.starts_with(file + ":"));
  std::istringstream place(mistakes.substr(file.size() + 1));
  long line = -1;
  char colon = 0;
  place >> line >> colon;
  CW_ASSERT(line >= 0 && line <= lines + 1 && colon == ':');
  CW_ASSERT(mistakes.size() > file.size() + 8);
}

void check_plan(const site::Plan& plan) {
  CW_ASSERT(!plan.classes.empty() && !plan.peers.empty() && plan.key);
  CW_ASSERT(plan.peers.size() <= limits::peers_max && plan.classes.size() <= limits::qps_max);
  CW_ASSERT(plan.gateway.peers.size() == plan.peers.size());
  CW_ASSERT(plan.gateway.classes.size() == plan.classes.size());
  for (const auto& each : plan.classes) CW_ASSERT(sdr::check(each.stream));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  const std::string file = folder.path + "/gateway.toml";
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto plan = site::read_plan(file, text);
  if (!plan) {
    check_mistakes(plan.error().sentence, file, text);
  } else {
    check_plan(*plan);
  }
  return 0;
}
