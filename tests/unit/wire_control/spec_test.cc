// SPEC.md, the golden packets and the code tell the same story.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/wire/envelope.h"
#include "tests/golden_packets.h"

namespace cw::test {
namespace {

constexpr const char* spec_path = CW_SOURCE_DIR "/dataplane/wire/SPEC.md";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The hex blocks of the specification fenced as "```KIND NAME", by name.
std::map<std::string, std::vector<uint8_t>> blocks_of(const std::string& kind) {
  std::map<std::string, std::vector<uint8_t>> blocks;
  std::istringstream lines(text_of(spec_path));
  std::vector<uint8_t>* block = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      const bool is_ours = line.starts_with("```" + kind + " ");
      block = is_ours ? &blocks[line.substr(4 + kind.size())] : nullptr;
      continue;
    }
    std::istringstream words(line);
    for (std::string word; block != nullptr && words >> word;) append_hex(*block, word);
  }
  return blocks;
}

/// Numbers n of all "[C-n]" in a text, in its order.
std::vector<int> citations_in(const std::string& text) {
  static const std::regex citation(R"(\[C-(\d+)\])");
  std::vector<int> numbers;
  for (std::sregex_iterator hit(text.begin(), text.end(), citation), end; hit != end; ++hit) {
    numbers.push_back(std::stoi((*hit)[1]));
  }
  return numbers;
}

TEST(Spec, its_worked_examples_are_the_golden_packets) {
  auto records = blocks_of("golden");
  auto envelopes = blocks_of("envelope");
  EXPECT_EQ(envelopes.size(), 1u);
  size_t found = 0;
  for (const auto& packet : load_golden_packets(CW_SOURCE_DIR "/tests/data/packets/control.txt")) {
    if (envelopes.contains(packet.name)) {
      EXPECT_EQ(envelopes[packet.name], packet.bytes);
    }
    if (!records.contains(packet.name)) continue;
    // An item lies behind the header of its only description part.
    const size_t begin = envelope_header_bytes + (packet.name.starts_with("item_") ? 12 : 0);
    const std::vector<uint8_t> record(packet.bytes.begin() + static_cast<ptrdiff_t>(begin),
                                      packet.bytes.end() - ptrdiff_t{envelope_mac_bytes});
    EXPECT_EQ(records[packet.name], record) << packet.name;
    ++found;
  }
  EXPECT_EQ(found, records.size());
  EXPECT_EQ(found, 17u + 5u) << "one example of every record and item";
}

TEST(Spec, every_must_is_numbered_and_the_numbers_have_no_gap) {
  const std::string spec = text_of(spec_path);
  const auto numbers = citations_in(spec);
  std::vector<int> expected(numbers.size());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i) + 1;
  EXPECT_EQ(numbers, expected);

  // Sections 1 to 3 number all their rules n.m.
  const auto control = spec.substr(spec.find("\n## 4."));
  static const std::regex item_end(R"(\n(?=\* |\n|#))");
  const std::sregex_token_iterator items(control.begin(), control.end(), item_end, -1);
  for (auto item = items; item != std::sregex_token_iterator(); ++item) {
    const std::string text = *item;
    const bool is_definition = text.find("RFC 2119") != text.npos;
    if (text.find("MUST") == text.npos || is_definition) continue;
    EXPECT_FALSE(citations_in(text).empty()) << "a MUST without a number: " << text;
  }
}

TEST(Spec, the_code_cites_rules_that_exist_and_all_that_it_enforces) {
  const auto last = citations_in(text_of(spec_path)).size();
  std::set<int> cited;
  for (const auto& entry : std::filesystem::directory_iterator(CW_SOURCE_DIR "/dataplane/wire")) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cc") continue;
    for (const int number : citations_in(text_of(entry.path()))) {
      EXPECT_LE(static_cast<size_t>(number), last) << entry.path();
      cited.insert(number);
    }
  }
  // The other rules bind those who keep state between packets.
  const std::set<int> enforced = {1,  2,  4,  5,  6,  7,  10, 11, 12, 13, 14,
                                  15, 17, 19, 21, 24, 25, 40, 45, 48, 50, 52};
  EXPECT_TRUE(std::ranges::includes(cited, enforced)) << ::testing::PrintToString(cited);
}

}  // namespace
}  // namespace cw::test
