// Multicast between sites: each frame once at each of them, in circles nowhere, and what it costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;
using namespace literals;

constexpr Duration one_way = Duration::from_ms(10);
constexpr uint64_t packets = 200;
constexpr const char* both_groups =
    "[[group]]\naddress = \"239.1.2.3\"\n[[group]]\naddress = \"ff05::3\"\n";

/// Of sites that know whose hosts are whose, with `groups` at each.
std::vector<std::string> files_with(int count, const std::string& groups, SiteText text = {}) {
  std::vector<std::string> files = site_files(count, text);
  for (int site = 1; site <= count; ++site) {
    std::string& file = files[static_cast<size_t>(site - 1)];
    const std::string s = std::to_string(site), lan = "[lan]\n";
    file.insert(file.find(lan) + lan.size(),
                "prefixes = [\"10." + s + ".0.0/16\", \"fd00:" + s + "::/32\"]\n");
    file += groups;
  }
  return files;
}

/// A LAN that gives back whatever it is given.
class Mirror final : public HostProgram {
 public:
  bool try_take(const Packet& packet, Instant) override {
    seen_.emplace_back(packet.data, packet.data + packet.bytes);
    return false;  // the host counts it, too
  }
  size_t write_next(std::span<uint8_t> ip, Instant) override {
    if (seen_.empty()) return 0;
    const std::vector<uint8_t> packet = seen_.front();
    seen_.pop_front();
    std::ranges::copy(packet, ip.begin());
    return packet.size();
  }
  Instant next_due() const override { return seen_.empty() ? Instant::never() : Instant(); }

 private:
  std::deque<std::vector<uint8_t>> seen_;
};

class Groups : public testing::Test {
 protected:
  void begin(int count, const std::string& groups, const SiteText& text = {}) {
    files_ = files_with(count, groups, text);
    sites_.emplace(
        SitesOptions{.seed = 5, .files = files_, .wan = {.loss = 0.01, .delay = one_way}});
    ASSERT_TRUE(sites_->come_up());
    sites_->run_for(one_way * 4);
  }
  /// From `site`, as flow number `site`; of IPv6 100 more.
  FlowOptions flow(int site, bool is_v6 = false) const {
    FlowOptions options;
    options.number = static_cast<uint16_t>(site + (is_v6 ? 100 : 0));
    options.from = static_cast<uint8_t>(site);
    options.group = 3;
    options.is_v6 = is_v6;
    options.rate = 20_Mbps;
    options.packets = packets;
    options.begin = sites_->now();
    return options;
  }
  void send(const FlowOptions& options) { sites_->host(options.from).add_flow(options); }
  const FlowReport& report(int site, uint16_t number) { return sites_->host(site).report(number); }
  void expect_once(int site, uint16_t number, uint64_t count = packets) {
    SCOPED_TRACE("flow " + std::to_string(number) + " at site " + std::to_string(site));
    EXPECT_EQ(report(site, number).received, count);
    EXPECT_EQ(report(site, number).doubled, 0u);
    EXPECT_EQ(report(site, number).wrong, 0u);
  }
  uint64_t dropped(int site, DropReason reason) { return sites_->state(site).drops[reason]; }
  /// Each packet of the hosts went to each of its sites, or no further for a reason.
  void expect_accounts_balance(int site) {
    const auto state = sites_->state(site);
    uint64_t refused = 0;
    for (const DropReason reason :
         {DropReason::multicast_unknown, DropReason::multicast_looped, DropReason::multicast_source,
          DropReason::ttl_expired, DropReason::no_route}) {
      refused += state.drops[reason];
    }
    EXPECT_EQ(state.rooms[Counter::lan_in] + state.rooms[Counter::lan_copied],
              state.rooms[Counter::lan_sent] + refused);
  }

  std::vector<std::string> files_;
  std::optional<Sites> sites_;
};

TEST_F(Groups, arrive_once_at_each_other_site_whoever_sends) {
  begin(3, both_groups);
  for (const int from : {1, 2, 3}) {
    for (const bool is_v6 : {false, true}) send(flow(from, is_v6));
  }
  sites_->run_for(1_s);
  for (const int from : {1, 2, 3}) {
    for (const bool is_v6 : {false, true}) {
      const uint16_t number = flow(from, is_v6).number;
      for (const int at : {1, 2, 3}) expect_once(at, number, at == from ? 0 : packets);
      const int other = from % 3 + 1;
      EXPECT_EQ(report(other, number).ttl_max, 4) << "of 64, as many as a group's frame may have";
    }
    expect_accounts_balance(from);
    EXPECT_EQ(sites_->state(from).rooms[Counter::lan_copied], 2 * packets);
  }
}

TEST_F(Groups, of_some_sites_go_to_these_alone) {
  begin(3, "");
  const std::string keys = "[[group]]\naddress = \"239.1.2.3\"\nsites = [\"site 3\"]\n";
  sites_->seat(1).take_live_keys(files_[0] + keys, sites_->now());
  send(flow(1));
  sites_->run_for(1_s);
  expect_once(2, 1, 0);
  expect_once(3, 1);
  const auto state = sites_->state(1);
  ASSERT_EQ(state.groups.size(), 1u);
  EXPECT_EQ(state.groups[0].frames, packets);
  EXPECT_EQ(state.groups[0].bytes, packets * 1000);
}

TEST_F(Groups, travel_over_all_links_of_several_cores) {
  begin(2, both_groups, {.site = "cores = [0, 0]\n", .pair = "links = 2\n"});
  for (uint16_t number = 1; number <= 16; ++number) {
    FlowOptions each = flow(1);
    each.number = number;
    send(each);
  }
  sites_->run_for(2_s);
  for (uint16_t number = 1; number <= 16; ++number) expect_once(2, number);
  EXPECT_EQ(sites_->state(1).groups[0].frames, 16 * packets) << "of both cores together";
}

TEST_F(Groups, do_not_go_in_circles_between_lans_that_reflect) {
  begin(2, both_groups);
  Mirror mirrors[2];
  for (const int site : {1, 2}) sites_->host(site).run(mirrors[site - 1]);
  for (const int site : {1, 2}) send(flow(site));
  sites_->run_for(1_s);
  for (const int site : {1, 2}) {
    expect_once(3 - site, static_cast<uint16_t>(site));
    expect_once(site, static_cast<uint16_t>(site), 0);
    EXPECT_EQ(dropped(site, DropReason::multicast_looped), packets);
    expect_accounts_balance(site);
  }
}

TEST_F(Groups, that_nobody_named_and_hosts_of_nowhere_are_dropped_for_a_reason) {
  begin(2, both_groups);
  FlowOptions unknown = flow(1), stranger = flow(1), near = flow(1);
  unknown.group = 4;
  stranger.from = 9;
  near.ttl = 1;
  unknown.number = 11, stranger.number = 12, near.number = 13;
  for (const FlowOptions& each : {unknown, stranger, near}) sites_->host(1).add_flow(each);
  sites_->run_for(1_s);
  EXPECT_EQ(sites_->host(2).received_count(), 0u);
  EXPECT_EQ(dropped(1, DropReason::multicast_unknown), packets);
  EXPECT_EQ(dropped(1, DropReason::multicast_source), packets);
  EXPECT_EQ(dropped(1, DropReason::ttl_expired), packets);
  EXPECT_EQ(sites_->state(1).rooms[Counter::icmp_sent], 0u) << "nobody is told of a group's packet";
  expect_accounts_balance(1);
}

TEST_F(Groups, come_change_and_go_while_traffic_flows) {
  begin(3, "");
  FlowOptions endless = flow(1);
  endless.packets = UINT64_MAX;
  send(endless);
  const auto change = [this](const std::string& groups) {
    sites_->seat(1).take_live_keys(files_[0] + groups, sites_->now());
    sites_->run_for(one_way * 10);
    const uint64_t before[] = {report(2, 1).received, report(3, 1).received};
    sites_->run_for(100_ms);
    return std::pair(report(2, 1).received > before[0], report(3, 1).received > before[1]);
  };
  const std::string group = "[[group]]\naddress = \"239.1.2.3\"\n";
  EXPECT_EQ(change(""), std::pair(false, false));
  EXPECT_EQ(change(group), std::pair(true, true));
  const uint64_t frames = sites_->state(1).groups.at(0).frames;
  EXPECT_EQ(change(group + "sites = [\"site 2\"]\n"), std::pair(true, false));
  EXPECT_GT(sites_->state(1).groups.at(0).frames, frames) << "it goes on counting";
  EXPECT_EQ(change(""), std::pair(false, false));
  EXPECT_EQ(report(2, 1).doubled + report(3, 1).doubled, 0u);
  EXPECT_EQ(sites_->state(1).rooms[Counter::epochs], 2u);
}

/// S sites of n hosts, each of which sends B bytes to all others: out of each site go (S - 1) n B,
/// with repair (1 + m/k) times that.
TEST_F(Groups, cost_the_long_line_what_the_formula_says) {
  constexpr int sites = 2;
  constexpr uint16_t hosts = 4;
  constexpr uint64_t shard_packets = 4000;
  constexpr double k = 32, m = 8;
  begin(sites, "[[group]]\naddress = \"239.1.2.3\"\nclass = \"coded\"\n",
        {.rate = "2 Gbit/s",
         .classes = "[[class]]\nname = \"coded\"\npolicy = \"erasure\"\n"
                    "params = { k = 32, m = 8 }\n"});
  const auto line = [this](int site) { return sites_->state(site); };
  const site::SiteState before = line(1);
  for (int site = 1; site <= sites; ++site) {
    for (uint16_t host = 1; host <= hosts; ++host) {
      FlowOptions each = flow(site);
      each.number = static_cast<uint16_t>(site * 10 + host);
      each.packets = shard_packets;
      each.bytes = 1400;
      each.rate = 300_Mbps;
      send(each);
    }
  }
  sites_->run_for(1_s);
  for (int site = 1; site <= sites; ++site) {
    for (uint16_t host = 1; host <= hosts; ++host) {
      expect_once(sites + 1 - site, static_cast<uint16_t>(site * 10 + host), shard_packets);
    }
  }
  const site::SiteState after = line(1);
  constexpr double shards = (sites - 1) * hosts * shard_packets * 1400.0;
  EXPECT_EQ(after.groups.at(0).bytes, static_cast<uint64_t>(shards));
  const auto added = [&](Counter counter) {
    return static_cast<double>(after.rooms[counter] - before.rooms[counter]);
  };
  const double data = added(Counter::data_sent), repair = added(Counter::repairs_sent);
  EXPECT_NEAR((data + repair) / data, 1 + m / k, 0.02 * (1 + m / k))
      << "slots sent for each filled";
  // All that leaves the port, headers and control included, for each byte of the hosts' packets.
  const auto sent = static_cast<double>(after.wan_port.tx_bytes - before.wan_port.tx_bytes);
  RecordProperty("line_bytes_per_byte", std::to_string(sent / shards));
  EXPECT_NEAR(sent / shards, 1 + m / k, 0.06 * (1 + m / k));
}

}  // namespace
}  // namespace cw::sim
