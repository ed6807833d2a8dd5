// Every command of every document, as a stranger would type it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/docs/reader.h"
#include "tests/docs/runners.h"
#include "tests/lab/space.h"

namespace cw::docs {
namespace {

class Documents : public testing::TestWithParam<std::string> {};

TEST_P(Documents, do_what_they_say) {
  const std::string why_not = lab::obstacle();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  Reader reader(CW_SOURCE_DIR, CW_PROGRAMS, CW_IS_NIGHT);
  const std::string wrong = reader.follow(GetParam());
  if (!wrong.empty()) FAIL() << wrong;
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// What a program of ours says of itself, or of one of its commands; nothing when it knows none
/// such.
std::string help_of(const std::string& program, const std::string& command) {
  const std::string line = std::string(CW_PROGRAMS "/") + program + " " + command + " --help 2>&1";
  FILE* const pipe = popen(line.c_str(), "r");
  std::string text;
  std::array<char, 4096> bytes;
  while (std::fgets(bytes.data(), bytes.size(), pipe) != nullptr) text += bytes.data();
  const std::string usage = "Usage: " + program + " " + command;
  return pclose(pipe) == 0 && text.find(usage) != std::string::npos ? text : "";
}

/// What is between backticks within lines, of programs of ours.
std::vector<std::string> mentions_in(const std::string& path) {
  const std::string text = text_of(std::string(CW_SOURCE_DIR "/") + path);
  std::vector<std::string> mentions;
  for (size_t at = 0; (at = text.find("`causeway", at)) != std::string::npos; ++at) {
    const size_t end = text.find('`', at + 1);
    const std::string mention = text.substr(at + 1, end - at - 1);
    if (mention.starts_with("causewayd") || mention.starts_with("causewayctl") ||
        mention.starts_with("causeway-")) {
      mentions.push_back(mention);
    }
  }
  return mentions;
}

TEST(Mentions, are_of_commands_and_options_that_exist) {
  size_t count = 0;
  for (const std::string& path : documents_of(CW_SOURCE_DIR)) {
    for (const std::string& mention : mentions_in(path)) {
      std::istringstream stream(mention);
      std::vector<std::string> words;
      for (std::string word; stream >> word;) words.push_back(word);
      const std::string program = words[0];
      const bool is_package = program == "causeway-dev" || program == "causeway-doc";
      if (is_package || program.find_first_of("@_*") != std::string::npos) continue;  // or a unit
      const bool has_command = program == "causewayctl" || program == "causeway-key";
      const bool is_of_command = has_command && words.size() > 1 && !words[1].starts_with('-');
      const std::string help = help_of(program, is_of_command ? words[1] : "");
      EXPECT_NE(help, "") << path << ": " << mention;
      for (const std::string& word : words) {
        if (!word.starts_with("--")) continue;
        EXPECT_NE(help.find(word), std::string::npos) << path << ": " << mention;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 20u);
}

/// By day all; in the night those that have more to run then.
std::vector<std::string> documents() {
  std::vector<std::string> paths = documents_of(CW_SOURCE_DIR);
  if (CW_IS_NIGHT) {
    std::erase_if(paths, [](const std::string& path) {
      const Document document = read_document(CW_SOURCE_DIR, path);
      return std::ranges::none_of(document.blocks, &Block::is_for_night);
    });
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(, Documents, testing::ValuesIn(documents()), name_of);

}  // namespace
}  // namespace cw::docs
