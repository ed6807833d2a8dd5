// The doors in plain C keep their layout, and their golden files are complete.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/plugins/layout.h"

namespace cw::plugins_test {
namespace {

std::string in_tree(const char* path) { return std::string(CW_SOURCE_DIR) + "/" + path; }

class Abi : public testing::TestWithParam<Door (*)()> {};
INSTANTIATE_TEST_SUITE_P(Doors, Abi, testing::Values(&policy_door, &codec_door),
                         [](const auto& door) { return door.index == 0 ? "policy" : "codec"; });

TEST_P(Abi, is_what_the_golden_file_says) {
  const Door door = GetParam()();
  const std::string golden = read_text(in_tree(door.golden));
  EXPECT_EQ(golden, door.layout)
      << objection(golden, door.layout).value_or("write the golden file anew: bin/abi_golden");
}

TEST_P(Abi, lists_every_struct_and_every_value_of_the_header) {
  const Door door = GetParam()();
  const std::string header = read_text(in_tree(door.header));
  const std::regex named("struct (cw_\\w+) \\{|\\b(CW_\\w+) = ");
  size_t count = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), named), end; at != end;
       ++at, ++count) {
    const std::string name = (*at)[1].matched ? (*at)[1] : (*at)[2];
    EXPECT_NE(door.layout.find("\n" + name + " "), std::string::npos) << name;
  }
  EXPECT_GT(count, 5u);
}

// Holes would be left uninitialized by one compiler and filled by another; and a field missing from
// the list would show here as a hole.
TEST_P(Abi, has_structs_without_holes) {
  std::istringstream lines(GetParam()().layout);
  std::string owner;
  size_t bytes = 0, end = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cw_")) continue;
    std::istringstream words(line);
    std::string name;
    size_t first, second;
    words >> name >> first;
    if (name.find('.') == std::string::npos) {
      EXPECT_EQ(end, bytes) << "behind the last field of " << owner;
      owner = name, bytes = first, end = 0;
      continue;
    }
    words >> second;
    EXPECT_EQ(first, end) << "before " << name;
    end = first + second;
  }
  EXPECT_EQ(end, bytes) << owner;
}

// ---- the rule of growth -------------------------------------------------------------------------

const std::string before = "abi 1.3\ncw_a 8\ncw_a.x 0 8\ncw_b 8 in arrays\ncw_b.x 0 8\nCW_C 4\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(AbiRule, lets_nothing_change_within_a_version) {
  EXPECT_FALSE(objection(before, before));
  EXPECT_TRUE(objection(before, with(before, "cw_a 8", "cw_a 16")));
  EXPECT_TRUE(objection(before, before + "CW_D 5\n"));
}

TEST(AbiRule, lets_structs_and_values_grow_with_the_minor_version) {
  const std::string next = with(before, "abi 1.3", "abi 1.4");
  EXPECT_FALSE(objection(before, with(next, "cw_a 8\n", "cw_a 16\ncw_a.y 8 8\n") + "CW_D 5\n"));
}

TEST(AbiRule, asks_for_a_major_version_when_something_moves_or_goes) {
  const std::string minor = with(before, "abi 1.3", "abi 1.4");
  const std::string major = with(before, "abi 1.3", "abi 2.0");
  const std::pair<const char*, const char*> changes[] = {
      {"cw_a.x 0 8", "cw_a.x 0 4"},  {"cw_a.x 0 8", "cw_a.x 8 8"},
      {"cw_a 8", "cw_a 4"},          {"CW_C 4\n", ""},
      {"CW_C 4", "CW_C 5"},          {"cw_b 8 in", "cw_b 16 in"},
      {"cw_b 8 in arrays", "cw_b 8"}};
  for (const auto& [from, to] : changes) {
    EXPECT_TRUE(objection(before, with(minor, from, to))) << from << " -> " << to;
    EXPECT_FALSE(objection(before, with(major, from, to))) << from << " -> " << to;
  }
}

TEST(AbiRule, never_goes_back) {
  EXPECT_TRUE(objection(before, with(before, "abi 1.3", "abi 1.2")));
  EXPECT_TRUE(objection(before, with(before, "abi 1.3", "abi 0.9")));
}

TEST(AbiRule, keeps_the_golden_file_from_being_written_over) {
  const std::string path = testing::TempDir() + "/abi_rule.txt";
  std::remove(path.c_str());
  ASSERT_TRUE(write_golden(path, before));
  const auto refused = write_golden(path, before + "CW_D 5\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sentence,
            path + ": the layout changed: raise the minor version if it only grew, else the major");
  EXPECT_EQ(read_text(path), before);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cw::plugins_test
