#include "control/command_line/command_line.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cw {
namespace {

/// A line with an option of each kind.
struct Sample {
  std::string host = "here";
  uint32_t rounds = 3;
  std::optional<uint64_t> seed;
  std::vector<std::string> files;
  std::vector<uint32_t> sizes;
  bool is_json = false;
  CommandLine line{"Samples things.", "sample"};

  Sample() {
    line.footer("That is all.");
    line.set_version("1.2");
    line.add_option("HOST", host, "Where.");
    line.add_option("--rounds", rounds, "How often.").type_name("NUMBER").between(1, 9);
    line.add_option("--seed", seed, "Of chance.").group("");
    line.add_option("--file", files, "Which.").one_at_a_time();
    line.add_option("--size", sizes, "How large.").delimiter(',');
    line.add_flag("--json", is_json, "For programs.");
  }
  Result<std::string> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "sample");
    return line.parse(words);
  }
};

TEST(CommandLine, stores_what_is_given_and_leaves_the_rest) {
  Sample it;
  ASSERT_EQ(it.parse({"--file", "a", "there", "--file", "b", "--size", "1,20", "--json"}), "");
  EXPECT_EQ(it.host, "there");
  EXPECT_EQ(it.rounds, 3u);
  EXPECT_EQ(it.seed, std::nullopt);
  EXPECT_EQ(it.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(it.sizes, (std::vector<uint32_t>{1, 20}));
  EXPECT_TRUE(it.is_json);
  EXPECT_TRUE(it.line.has("--json"));
  EXPECT_FALSE(it.line.has("--rounds"));
}

TEST(CommandLine, shows_help_without_what_is_hidden) {
  Sample it;
  const std::string help = it.parse({"--help"}).value();
  for (const char* const each :
       {"Samples things.", "--rounds NUMBER", "How often.", "That is all."})
    EXPECT_NE(help.find(each), std::string::npos) << each;
  EXPECT_EQ(help.find("--seed"), std::string::npos);
  EXPECT_EQ(it.parse({"--version"}), "1.2\n");
}

TEST(CommandLine, tells_a_mistake_with_the_name_of_the_argument) {
  struct Mistake {
    std::vector<const char*> words;
    const char* told;
  };
  const Mistake mistakes[] = {
      {{"there", "else"}, "\"else\" is no option and not expected here"},
      {{"--fast"}, "\"--fast\" is no option"},
      {{"--rounds"}, "--rounds: takes one value and is given once"},
      {{"--rounds", "1", "--rounds", "2"}, "--rounds: takes one value and is given once"},
      {{"--rounds", "10"}, "--rounds"},
      {{"--rounds", "many"}, "--rounds"},
      {{"--file"}, "--file"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto parsed = Sample().parse(mistake.words);
    ASSERT_FALSE(parsed) << mistake.told;
    EXPECT_TRUE(parsed.error().sentence.starts_with(mistake.told)) << parsed.error().sentence;
    EXPECT_TRUE(parsed.error().sentence.ends_with("; --help shows every option"));
  }
}

TEST(CommandLine, wants_one_of_its_subcommands) {
  CommandLine line("Samples things.", "sample");
  CommandLine server = line.add_subcommand("server", "Waits.");
  const CommandLine client = line.add_subcommand("client", "Calls.");
  uint64_t port = 0;
  server.add_option("--port", port, "Of the server.");
  const std::array<const char*, 1> nothing = {"sample"};
  EXPECT_FALSE(line.parse(nothing));
  const std::array<const char*, 4> words = {"sample", "server", "--port", "7"};
  ASSERT_EQ(line.parse(words), "");
  EXPECT_TRUE(server.is_chosen());
  EXPECT_FALSE(client.is_chosen());
  EXPECT_EQ(port, 7u);
}

TEST(CommandLine, has_no_help_for_a_command_that_there_is_not) {
  const auto parse = [](std::vector<const char*> words) {
    CommandLine line("Samples things.", "sample");
    (void)line.add_subcommand("server", "Waits.");
    return line.parse(words);
  };
  EXPECT_TRUE(parse({"sample", "--help"}));
  EXPECT_TRUE(parse({"sample", "server", "--help"}));
  for (const auto& words : {std::vector{"sample", "dance", "--help"}, {"sample", "-h", "dance"}}) {
    const auto parsed = parse(words);
    ASSERT_FALSE(parsed);
    EXPECT_TRUE(parsed.error().sentence.starts_with("\"dance\" is no command"));
  }
}

}  // namespace
}  // namespace cw
