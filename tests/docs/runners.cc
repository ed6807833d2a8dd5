#include "tests/docs/runners.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace cw::docs {
namespace {

namespace fs = std::filesystem;

/// A test of ctest and the file that makes it one; the files in one of which each line of a block
/// must be, word by word. None: the test reads the block in the document and runs that.
struct Runner {
  std::string name, made_by;
  std::vector<std::string> files;
};

const std::vector<Runner>& runners() {
  static const std::vector<Runner> table = {
      {"docs_test", "tests/docs/CMakeLists.txt", {"tests/docs/machines.h"}},
      {"demo_test", "tests/integration/CMakeLists.txt", {}},
      {"installed_test", "tests/packages/CMakeLists.txt", {}},
      {"rdma_test", "tests/rdma/CMakeLists.txt", {}},
  };
  return table;
}

std::string wrong_lines(const std::string& tree, const Runner& runner, const Block& block) {
  if (runner.files.empty()) return {};
  for (const std::string& line : commands_of(block)) {
    const auto has = [&](const std::string& file) {
      return text_of(tree + "/" + file).find(line) != std::string::npos;
    };
    if (std::ranges::none_of(runner.files, has)) return runner.name + " does not run: " + line;
  }
  return {};
}

std::string wrong_runner(const std::string& tree, const Block& block) {
  const auto runner = std::ranges::find(runners(), block.by, &Runner::name);
  if (runner == runners().end()) {
    return "no test " + block.by + " runs blocks: give it a row in tests/docs/runners.cc";
  }
  const std::string list = text_of(tree + "/" + runner->made_by);
  if (list.find("cw_test(" + block.by) == std::string::npos) {
    return runner->made_by + " makes no test " + block.by;
  }
  return wrong_lines(tree, *runner, block);
}

}  // namespace

std::vector<std::string> documents_of(const std::string& tree) {
  std::vector<std::string> paths = {"README.md", "policies/authors-guide.md"};
  for (const char* part : {"", "-groups", "-messages", "-plugins"}) {
    paths.push_back(std::string("dataplane/sdr/sdk-reference") + part + ".md");
  }
  const fs::path guide = fs::path(tree) / "control/guide";
  if (fs::exists(guide)) {
    for (const auto& entry : fs::directory_iterator(guide)) {
      if (entry.path().extension() == ".md") {
        paths.push_back("control/guide/" + entry.path().filename().string());
      }
    }
  }
  std::erase_if(paths, [&](const std::string& path) { return !fs::exists(fs::path(tree) / path); });
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> commands_of(const Block& block) {
  std::vector<std::string> commands;
  for (std::string line : lines_in(block.text)) {
    if (line.starts_with('#')) continue;
    line.resize(std::min(line.size(), line.find("  #")));
    line.resize(line.find_last_not_of(' ') + 1);
    if (!line.empty()) commands.push_back(line);
  }
  return commands;
}

std::vector<Block> blocks_by(const std::string& test, const Document& document) {
  std::vector<Block> blocks = document.blocks;
  std::erase_if(blocks, [&](const Block& block) { return block.by != test; });
  return blocks;
}

std::vector<std::string> wrong_runners(const std::string& tree, const Document& document) {
  std::vector<std::string> wrong;
  for (const Block& block : document.blocks) {
    if (block.by.empty()) continue;
    const std::string sentence = wrong_runner(tree, block);
    if (sentence.empty()) continue;
    wrong.push_back(document.path + ":" + std::to_string(block.line) + ": " + sentence);
  }
  return wrong;
}

}  // namespace cw::docs
