// Whether the manual page has what the program says of itself.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace cw::ctl {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  char part[512];
  while (std::fgets(part, sizeof(part), pipe) != nullptr) text += part;
  pclose(pipe);
  return text;
}

std::string manual() {
  std::ostringstream text;
  text << std::ifstream(CW_SOURCE_DIR "/control/ctl/man/causewayctl.1").rdbuf();
  return text.str();
}

/// The first words of the lines of help's last list.
std::set<std::string> commands_of(const std::string& help) {
  std::set<std::string> commands;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    if (line[2] != ' ') commands.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return commands;
}

/// "--wait" is ".Fl -wait" there.
std::set<std::string> options_of(const std::string& help) {
  std::set<std::string> options;
  for (size_t at = help.find("  --"); at != std::string::npos; at = help.find("  --", at + 4)) {
    const size_t end = help.find_first_of(" ,\n", at + 4);
    options.insert(help.substr(at + 3, end - at - 3));
  }
  return options;
}

TEST(Manual, has_every_command_and_option) {
  const std::string program = CW_CTL_PROGRAM, man = manual();
  const std::string help = output_of(program + " --help");
  const std::set<std::string> commands = commands_of(help);
  EXPECT_GE(commands.size(), 18u) << help;
  for (const std::string& command : commands) {
    EXPECT_NE(man.find("Cm " + command), std::string::npos) << command;
    for (const std::string& option : options_of(output_of(program + " " + command + " --help"))) {
      if (option == "-help") continue;
      EXPECT_NE(man.find("Fl " + option), std::string::npos) << command << " -" << option;
    }
  }
  for (const std::string& option : options_of(help)) {
    EXPECT_NE(man.find("Fl " + option), std::string::npos) << "-" << option;
  }
}

TEST(Manual, is_written_as_manuals_are) {
  EXPECT_EQ(output_of("mandoc -T lint -W warning " CW_SOURCE_DIR "/control/ctl/man/causewayctl.1"),
            "");
}

}  // namespace
}  // namespace cw::ctl
