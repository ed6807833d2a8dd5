// The manual pages and completions as they are installed: each program has one, with all that its
// help shows.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/command.h"

namespace cw {
namespace {

namespace fs = std::filesystem;

/// Both streams.
std::string said_by(const std::string& command) { return test::output_of(command + " 2>&1").out; }

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> programs() {
  std::istringstream names(CW_SHIPPED);
  std::vector<std::string> programs;
  for (std::string name; names >> name;) programs.push_back(name);
  return programs;
}

fs::path page_of(const std::string& program) {
  const fs::path pages = CW_BUILD_DIR "/man";
  const fs::path first = pages / (program + ".1");
  return fs::exists(first) ? first : pages / (program + ".8");
}

/// The first words of the lines below a heading of help.
std::set<std::string> words_below(const std::string& help, const std::string& heading) {
  std::set<std::string> words;
  const size_t at = help.find(heading);
  if (at == std::string::npos) return words;
  std::istringstream lines(help.substr(at + heading.size()));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    if (line[2] != ' ') words.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return words;
}

std::set<std::string> options_of(const std::string& help) {
  std::set<std::string> options;
  for (size_t at = help.find("\n  --"); at != std::string::npos; at = help.find("\n  --", at + 1)) {
    options.insert(help.substr(at + 3, help.find_first_of(" ,\n", at + 5) - at - 3));
  }
  return options;
}

class Shipped : public testing::TestWithParam<std::string> {
 protected:
  std::string program() const { return std::string(CW_BUILD_DIR "/bin/") + GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(, Shipped, testing::ValuesIn(programs()), [](const auto& it) {
  std::string name = it.param;
  for (char& each : name) each = each == '-' ? '_' : each;
  return name;
});

TEST_P(Shipped, has_a_manual_page_with_all_that_help_shows) {
  const std::string page = text_of(page_of(GetParam()));
  ASSERT_TRUE(page.starts_with(".Dd ")) << page;
  const std::string zsh = text_of(fs::path(CW_BUILD_DIR "/completions/zsh") / ("_" + GetParam()));
  std::string help = said_by(program() + " --help");
  std::set<std::string> options = options_of(help);
  for (const std::string& command : words_below(help, "Subcommands:")) {
    EXPECT_NE(page.find(".Ss " + command.substr(0, command.find('-'))), std::string::npos);
    EXPECT_NE(zsh.find("'" + command + ":"), std::string::npos) << command;
    options.merge(options_of(said_by(program() + " " + command + " --help")));
  }
  for (const std::string& option : options) {
    std::string written = ".Fl ";
    for (const char each : option.substr(1)) written += each == '-' ? "\\-" : std::string(1, each);
    EXPECT_NE(page.find(written.substr(1)), std::string::npos) << option;
    EXPECT_NE(zsh.find("'" + option + ":"), std::string::npos) << option;
  }
  EXPECT_GE(options.size(), 1u) << help;
}

TEST_P(Shipped, has_a_page_without_warnings) {
  const std::string page = page_of(GetParam()).string();
  EXPECT_EQ(said_by("mandoc -T lint -W warning " + page), "");
}

TEST_P(Shipped, is_known_to_bash) {
  const std::string script = CW_BUILD_DIR "/completions/bash/" + GetParam();
  EXPECT_EQ(said_by("bash -c '. " + script + " && complete -p " + GetParam() + "' | cut -c-12"),
            "complete -F \n");
}

}  // namespace
}  // namespace cw
