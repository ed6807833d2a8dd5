// The files of configs/: each is right, and the complete ones have every key.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "control/gateway/plan.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {
namespace {

namespace fs = std::filesystem;

const fs::path configs = fs::path(CW_SOURCE_DIR) / "configs";

TEST(Configs, are_without_a_mistake) {
  const Folder folder;
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto plan = read_plan(entry.path().filename().string(), text_of(entry.path()));
    EXPECT_TRUE(plan) << plan.error().sentence;
    EXPECT_TRUE(plan && plan->warnings.empty());
  }
  EXPECT_EQ(count, 13u);
}

/// What a line of the list of keys is about; empty: not a key.
std::string key_of(const std::string& line) {
  const size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return end != line.npos && line.substr(end).starts_with(" = ") ? line.substr(0, end) : "";
}

/// Whether `key` stands first in a line, a comment or a table, or after another one's value.
bool has_key(const std::string& text, const std::string& key) {
  const std::string use = key + " = ";
  for (size_t at = text.find(use); at != text.npos; at = text.find(use, at + 1)) {
    const size_t before = at == 0 ? text.npos : text.find_last_not_of(' ', at - 1);
    if (before == text.npos || std::string_view("\n#{,").contains(text[before])) return true;
  }
  return false;
}

TEST(Configs, complete_ones_have_every_key) {
  for (const char* name : {"two-sites-a.toml", "two-sites-b.toml"}) {
    const std::string text = text_of(configs / name);
    std::istringstream lines(all_keys());
    size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("[class.params]")) break;  // those are a policy's own
      const std::string key = key_of(line);
      if (key.empty()) continue;
      ++count;
      EXPECT_TRUE(has_key(text, key)) << name << " has no " << key;
    }
    EXPECT_GT(count, 60u);
  }
}

TEST(Configs, of_one_lab_agree_on_what_they_must) {
  const Folder folder;
  for (const char* pair : {"lab", "two-sites", "dpdk-memif", "dpdk-lan"}) {
    const auto read = [&](const char* end) {
      const std::string name = std::string(pair) + end;
      return read_plan(name, text_of(configs / name));
    };
    const auto a = read("-a.toml"), b = read("-b.toml");
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->peers[0].control.pair_keys, b->peers[0].control.pair_keys);
    EXPECT_EQ(a->wan.peers[0].address, b->wan.address);
    EXPECT_EQ(b->wan.peers[0].address, a->wan.address);
    EXPECT_EQ(a->peers[0].control.peer_site, b->site);
    EXPECT_EQ(b->peers[0].control.peer_site, a->site);
  }
}

}  // namespace
}  // namespace cw::site
