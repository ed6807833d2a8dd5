// Files that are shipped, and one that is given back.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "control/config/text/tree.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/valve.h"
#include "tests/unit/core/loop_port.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {
namespace {

// ---- The files of configs/: each is right, and the complete ones have every key ----

namespace fs = std::filesystem;

const fs::path configs = fs::path(CW_SOURCE_DIR) / "configs";

TEST(Configs, are_without_a_mistake) {
  const Folder folder;
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    // That of several sites is unit/deploy's.
    if (entry.path().extension() != ".toml" || entry.path().stem() == "deployment") continue;
    ++count;
    const auto plan = read_plan(entry.path().filename().string(), text_of(entry.path()));
    EXPECT_TRUE(plan) << plan.error().sentence;
    EXPECT_TRUE(plan && plan->warnings.empty());
  }
  EXPECT_EQ(count, 15u);
}

TEST(Configs, all_keys_as_they_are_listed_are_a_file) {
  EXPECT_TRUE(config::parse_toml(all_keys()));
}

TEST(Configs, that_of_the_packages_is_refused_with_a_sentence_for_each_value_to_write) {
  const auto plan =
      read_plan("gateway.toml", text_of(fs::path(CW_SOURCE_DIR) / "control/install/gateway.toml"));
  ASSERT_FALSE(plan);
  std::istringstream lines(plan.error().sentence);
  std::string line;
  size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line.find(" is yours to say: ") != line.npos ||
                line.find("`causeway-key generate gateway.key` makes one") != line.npos)
        << line;
  }
  EXPECT_EQ(count, 9u) << plan.error().sentence;
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
    EXPECT_EQ(a->peers[0].control.told_keys, b->peers[0].control.told_keys);
    EXPECT_EQ(a->wan.peers[0].address, b->wan.address);
    EXPECT_EQ(b->wan.peers[0].address, a->wan.address);
    EXPECT_EQ(a->peers[0].control.peer_site, b->site);
    EXPECT_EQ(b->peers[0].control.peer_site, a->site);
  }
}

// ---- The valve before the hosts: shut, it lets through what was there, and no more ----

/// Puts so many packets where the port's next bursts find them.
void wait_at(LoopPort& port, size_t count) {
  std::array<Packet*, 200> packets;
  const std::span<Packet*> some(packets.data(), count);
  ASSERT_EQ(port.take_burst(some), count);
  ASSERT_EQ(port.tx_burst(some, Instant()), count);
}

size_t burst_of(Valve& valve, size_t most) {
  std::array<Packet*, 200> packets;
  const size_t count = valve.rx_burst({packets.data(), most}, Instant());
  valve.give_back({packets.data(), count});
  return count;
}

TEST(Valve, shuts_behind_what_was_waiting) {
  LoopPort port;
  Valve valve(port);
  wait_at(port, 100);
  valve.shut();
  EXPECT_FALSE(valve.is_shut());
  EXPECT_EQ(burst_of(valve, 64), 64u);
  EXPECT_FALSE(valve.is_shut());
  EXPECT_EQ(burst_of(valve, 64), 36u);
  EXPECT_TRUE(valve.is_shut());
  wait_at(port, 10);
  EXPECT_EQ(burst_of(valve, 64), 0u);
}

TEST(Valve, shuts_at_last_before_packets_that_go_on_coming) {
  LoopPort port;
  Valve valve(port);
  valve.shut();
  size_t count = 0;
  while (!valve.is_shut()) {
    wait_at(port, 64);
    count += burst_of(valve, 64);
    ASSERT_LE(count, Valve::behind_max + 64);
  }
  EXPECT_GE(count, Valve::behind_max);
}

}  // namespace

}  // namespace cw::site
