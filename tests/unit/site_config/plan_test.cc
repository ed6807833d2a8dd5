// What a gateway's file comes to.
#include <gtest/gtest.h>

#include <cstring>

#include "control/gateway/keys/prefix.h"
#include "control/gateway/plan.h"
#include "tests/unit/site_config/folder.h"

namespace cw::site {
namespace {

using namespace literals;

Plan plan_of(const std::string& text) {
  auto plan = read_plan("f", text);
  EXPECT_TRUE(plan) << plan.error().sentence;
  return plan ? std::move(*plan) : Plan();
}

TEST(Plan, of_the_least_file_has_one_class_for_all_packets) {
  const Folder folder;
  const Plan plan = plan_of(file_with("", ""));
  ASSERT_EQ(plan.classes.size(), 1u);
  EXPECT_EQ(plan.classes[0].policy, "selective_repeat");
  EXPECT_EQ(plan.rtt_max, 80_ms);
  EXPECT_GE(plan.classes[0].hold, 250_ms);
  ASSERT_EQ(plan.gateway.classes.size(), 1u);
  EXPECT_TRUE(plan.gateway.classes[0].matches.empty());
  EXPECT_EQ(plan.peers[0].qps[0].send.hold, plan.classes[0].hold);
  EXPECT_EQ(plan.peers[0].qps[0].policy.params[0], 1);
  EXPECT_EQ(plan.peers[0].pacer.rate, 1_Gbps);
  EXPECT_EQ(plan.gateway.release_rate, Rate::from_mbps(1250));
  ASSERT_EQ(plan.lan_routes.size(), 1u);
  EXPECT_EQ(prefix_text(plan.lan_routes[0]), "10.2.0.0/16");
}

TEST(Plan, has_places_for_peers_that_come_later) {
  const Folder folder;
  const Plan without = plan_of(file_with("", ""));
  const Plan plan = plan_of(file_with("[site]\n", "[site]\nspare_peers = 2\n"));
  ASSERT_EQ(plan.peers.size(), 3u);
  EXPECT_EQ(plan.gateway.peers.size(), 3u);
  EXPECT_EQ(plan.wan.peers.size(), 3u);
  EXPECT_EQ(plan.peer_count(), 1u);
  EXPECT_TRUE(plan.has_peer(0) && !plan.has_peer(1) && !plan.has_peer(2));
  EXPECT_TRUE(plan.peers[1].control.is_vacant);
  EXPECT_GT(plan.memory, without.memory);
  EXPECT_EQ(plan.peers[0].pacer.rate, without.peers[0].pacer.rate) << "nobody takes a share";
  const auto too_many = read_plan("f", file_with("[site]\n", "[site]\nspare_peers = 1024\n"));
  ASSERT_FALSE(too_many);
  EXPECT_NE(too_many.error().sentence.find("1025"), std::string::npos) << too_many.error().sentence;
}

TEST(Plan, has_pseudo_icrcs_over_sockets_unless_the_file_says_exact) {
  const Folder folder;
  const auto icrc_of = [](const char* wan) {
    return plan_of(file_with("[wan]", std::string("[wan]\naddress = '192.0.2.1'\n") + wan))
        .wan.icrc;
  };
  const std::string dpdk = "port = 'dpdk'\ndevice = 'net_null0'\n";
  EXPECT_EQ(icrc_of(""), IcrcMode::Pseudo);
  EXPECT_EQ(icrc_of("icrc = 'pseudo'"), IcrcMode::Pseudo);
  EXPECT_EQ(icrc_of("icrc = 'exact'"), IcrcMode::Exact);
  for (const std::string& wan : {dpdk, dpdk + "icrc = 'exact'"}) {
    const Plan plan = plan_of(file_with("[wan]", "[wan]\naddress = '192.0.2.1'\n" + wan));
    EXPECT_EQ(plan.wan_over_frames.icrc, IcrcMode::Exact);
  }
}

TEST(Plan, knows_from_which_ports_a_peer_sends) {
  const Folder folder;
  const Plan without = plan_of(file_with("", ""));
  EXPECT_EQ(without.wan.peers[0].first_source(), 4791);
  const Plan plan = plan_of(file_with("routes = [", "source_port = 49152\nroutes = ["));
  EXPECT_EQ(plan.wan.peers[0].udp_port, 4791);
  EXPECT_EQ(plan.wan.peers[0].first_source(), 49152);
  const Plan of_cores = plan_of(
      file_with("[wan]", "[wan]\naddress = '192.0.2.1'\nport = 'dpdk'\ndevice = 'net_null0'\n",
                "source_port = 49152\n"));
  EXPECT_EQ(of_cores.wan_over_frames.peers[0].source_port, 49152);
}

TEST(Plan, finds_the_files_that_it_names_beside_itself) {
  const Folder folder;
  const auto status = [&](const char* name) {
    const std::string line = std::string("name = \"south\"\nstatus = \"") + name + "\"";
    auto plan = read_plan(folder.path() + "/gateway.toml", file_with("name = \"south\"", line));
    EXPECT_TRUE(plan) << plan.error().sentence;
    return plan ? plan->status_file : "";
  };
  EXPECT_EQ(status("state.json"), folder.path() + "/state.json");
  EXPECT_EQ(status("/run/state.json"), "/run/state.json");
  EXPECT_EQ(status(""), "");
}

/// Who reads it again may have given up the right to read the key.
TEST(Plan, needs_no_key_file_where_the_key_is_known) {
  const Folder folder;
  const Plan first = plan_of(file_with("", ""));
  const std::string text = file_with("key_file", "key_file = '/nowhere/at.all' #");
  const auto unknown = read_plan("f", text);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().sentence.find("pair.key_file"), std::string::npos)
      << unknown.error().sentence;
  const auto known = read_plan("f", text, {.key = first.key.get()});
  ASSERT_TRUE(known) << known.error().sentence;
  EXPECT_EQ(std::memcmp(&known->key->mac, &first.key->mac, sizeof(cw_mac)), 0);
}

TEST(Plan, fills_packets_as_far_as_the_way_allows) {
  const Folder folder;
  const auto payload = [](const char* mtu, const char* address) {
    std::string text = file_with("rtt =", std::string("mtu = ") + mtu + "\nrtt =");
    text.replace(text.find("192.0.2.2"), 9, address);
    return plan_of(text).wan.payload_bytes_max;
  };
  EXPECT_EQ(payload("1500", "192.0.2.2"), 1500u - 20 - 8 - 32 - 4);
  EXPECT_EQ(payload("1500", "2001:db8::2"), 1500u - 40 - 8 - 32 - 4);
  EXPECT_EQ(payload("1282", "192.0.2.2"), 1280u - 64);
  EXPECT_EQ(payload("9000", "192.0.2.2"), 8192u);
}

// A route may grow to pair.rtt_max: losses are mended there as well, and there is room meanwhile.
TEST(Plan, has_time_and_memory_for_the_longest_route) {
  const Folder folder;
  const auto plan_at = [](const std::string& rtt, const std::string& rtt_max) {
    return plan_of(file_with("rtt = \"20 ms\"", "rtt = " + rtt + "\nrtt_max = " + rtt_max));
  };
  EXPECT_EQ(plan_at("'20 ms'", "'none'").rtt_max, 80_ms);
  EXPECT_EQ(plan_at("'20 ms'", "'20 ms'").classes[0].hold, 250_ms);
  for (const char* rtt_max : {"'100 ms'", "'200 ms'", "'400 ms'"}) {
    const Plan plan = plan_at("'100 ms'", rtt_max);
    const sdr::StreamConfig& stream = plan.classes[0].stream;
    // A loss is asked for after a round trip and a half, and so is the loss of what was sent again.
    EXPECT_GE(plan.classes[0].hold, plan.rtt_max * 5 / 2);
    const Bytes needed = plan.peers[0].pacer.rate.bytes_in(plan.classes[0].hold + plan.rtt_max * 2);
    EXPECT_GE(stream.message_bytes_max() * stream.messages / 2, needed.count());
  }
  EXPECT_GT(plan_at("'20 ms'", "'80 ms'").memory, plan_at("'20 ms'", "'40 ms'").memory);
}

TEST(Plan, cuts_messages_so_that_a_place_is_free_again_in_time) {
  const Folder folder;
  for (const char* rate : {"1 Mbit/s", "500 Mbit/s", "10 Gbit/s"}) {
    const Plan plan = plan_of(file_with("1 Gbit/s", rate, "[[class]]\nname='a'\nhold='400 ms'\n"));
    const sdr::StreamConfig& stream = plan.classes[0].stream;
    const Bytes needed = plan.peers[0].pacer.rate.bytes_in(400_ms + 20_ms * 2);
    EXPECT_GE(stream.message_bytes_max() * stream.messages / 2, needed.count()) << rate;
    EXPECT_EQ(stream.data_slots_max % 64, 0u);
    EXPECT_TRUE(sdr::check(stream));
  }
}

TEST(Plan, shares_the_rate_among_peers_that_do_not_say) {
  const Folder folder;
  const Plan plan = plan_of(file_with(
      "", "",
      "[[peer]]\nname='b'\naddress='192.0.2.3'\nroutes=['10.3.0.0/16']\nrate='400 Mbit/s'\n"
      "[[peer]]\nname='c'\naddress='192.0.2.4'\nroutes=['10.4.0.0/16']\n"));
  ASSERT_EQ(plan.peers.size(), 3u);
  EXPECT_EQ(plan.peers[0].pacer.rate, 300_Mbps);
  EXPECT_EQ(plan.peers[1].pacer.rate, 400_Mbps);
  EXPECT_EQ(plan.peers[2].pacer.rate, 300_Mbps);
  EXPECT_EQ(plan.gateway.peers[2].peer, 2);
}

TEST(Plan, holds_as_long_as_the_hosts_allow) {
  const Folder folder;
  const Plan plan = plan_of(file_with("", "",
                                      "[[class]]\nname='rdma'\nmatch=[{kind='roce'}]\n"
                                      "policy='selective_repeat'\nparams={detect='nack'}\n"
                                      "queue='5 ms'\n"
                                      "[[class]]\nname='all'\nhost_timeout='200 ms'\n"));
  EXPECT_EQ(plan.classes[0].hold, Duration::from_ns(67'108'864) - 20_ms - 5_ms);
  EXPECT_EQ(plan.classes[1].hold, 200_ms - 20_ms - 5_ms);
}

// RC hosts wait in order: what is repaired before anybody asks keeps them waiting least.
TEST(Plan, codes_what_rdma_hosts_send) {
  const Folder folder;
  const Plan plan = plan_of(file_with("", "",
                                      "[[class]]\nname='rdma'\nmatch=[{kind='roce'}]\n"
                                      "[[class]]\nname='all'\n"));
  EXPECT_EQ(plan.classes[0].policy, "hybrid");
  EXPECT_EQ(plan.classes[1].policy, "selective_repeat");
  const sdr::StreamConfig &rdma = plan.classes[0].stream, &all = plan.classes[1].stream;
  EXPECT_EQ(rdma.k, 32);
  EXPECT_EQ(rdma.block_slots_max(), 128u);
  EXPECT_GE(rdma.blocks_max() * rdma.block_slots_max(), rdma.data_slots_max);
  EXPECT_EQ(rdma.codec_count(), 2u);
  EXPECT_EQ(all.repair_slots_max, 0u);
  // A tenth of the round trip of 20 ms.
  EXPECT_EQ(plan.gateway.classes[0].block_age, 2_ms);
  EXPECT_TRUE(sdr::check(rdma));
}

// On a short link a block would hold a packet or two, and cost as many again.
TEST(Plan, closes_no_more_blocks_than_two_thousand_a_second) {
  const Folder folder;
  const auto age_at = [](const std::string& rtt) {
    const Plan plan = plan_of(file_with("rtt =", "rtt = " + rtt + " #",
                                        "[[class]]\nname='rdma'\nmatch=[{kind='roce'}]\n"
                                        "[[class]]\nname='all'\n"));
    return plan.gateway.classes[0].block_age;
  };
  EXPECT_EQ(age_at("'0.6 ms'"), 300_us) << "half an RTT: longer, and asking would be as quick";
  EXPECT_EQ(age_at("'1 ms'"), 500_us);
  EXPECT_EQ(age_at("'10 ms'"), 1_ms);
}

// What gathers waits, and a tenth of a round trip is what may be waited for.
TEST(Plan, lets_packets_gather_as_the_round_trip_allows) {
  const Folder folder;
  const auto gather_at = [](const std::string& rtt) {
    const Plan plan = plan_of(file_with("rtt =", "rtt = " + rtt + " #"));
    EXPECT_GT(plan.peers[0].pacer.horizon, plan.gather) << "else line time is lost";
    return plan.gather;
  };
  EXPECT_EQ(gather_at("'0.1 ms'"), 50_us);
  EXPECT_EQ(gather_at("'1 ms'"), 100_us);
  EXPECT_EQ(gather_at("'20 ms'"), 200_us);
}

TEST(Plan, starts_dpdk_with_the_devices_of_both_sides_and_counts_its_memory) {
  const Folder folder;
  const std::string lan =
      "eal_memory = '96 MiB'\n[lan]\nport = 'dpdk'\nvlan = 7\ndescriptors = 256\n"
      "device = 'net_memif0,role=server'";
  const Plan none = plan_of(file_with("", ""));
  const Plan one = plan_of(file_with("[lan]", lan));
  EXPECT_TRUE(none.eal.devices.empty());
  EXPECT_EQ(one.eal.devices, std::vector<std::string>{"net_memif0,role=server"});
  EXPECT_EQ(one.eal.memory_mib, 96u);
  EXPECT_EQ(one.lan_kind, LanKind::Dpdk);
  EXPECT_EQ(one.lan_over_frames.vlan, 7);
  EXPECT_EQ(one.lan_over_frames.descriptors, 256);
  ASSERT_EQ(one.lan_over_frames.addresses.size(), 1u);
  EXPECT_EQ(text_of(one.lan_over_frames.addresses[0].ip), "10.1.0.1");
  EXPECT_EQ(one.lan_over_frames.addresses[0].bits, 24);
  // The LAN port's packets are in there, and no longer beside it.
  const uint64_t beside = 4096 * limits::frame_bytes_max;
  EXPECT_EQ(one.memory.count(), none.memory.count() - beside + (96 << 20));

  std::string text = file_with("[lan]", lan);
  text.replace(text.find("[wan]"), 5,
               "[wan]\nport = 'dpdk'\naddress = '192.0.2.1'\ndevice = 'net_memif1'\n");
  const Plan both = plan_of(text);
  EXPECT_EQ(both.eal.devices, (std::vector<std::string>{"net_memif0,role=server", "net_memif1"}));
  const uint64_t packets = none.wan.packets * (none.wan.payload_bytes_max + 320);
  EXPECT_EQ(both.memory.count(), none.memory.count() - beside - packets + (96 << 20));
}

TEST(Plan, lets_repair_take_what_the_codes_need) {
  const Folder folder;
  const auto overhead_of = [](const char* wan, const char* policy) {
    return plan_of(file_with("[wan]", std::string("[wan]") + wan,
                             std::string("[[class]]\nname='all'\npolicy='") + policy + "'\n"))
        .peers[0]
        .pacer.overhead_ppm;
  };
  EXPECT_EQ(overhead_of("", "selective_repeat"), 250'000u);
  EXPECT_EQ(overhead_of("", "hybrid"), 500'000u);   // 8 of 32 besides
  EXPECT_EQ(overhead_of("", "erasure"), 750'000u);  // 16 of 32
  EXPECT_EQ(overhead_of("\noverhead_limit = '10 %'", "erasure"), 100'000u);
}

TEST(Plan, matches_ports_of_either_side) {
  const Folder folder;
  const Plan plan = plan_of(file_with("", "",
                                      "[[class]]\nname='a'\n"
                                      "match=[{kind='tcp', ports='80-90', dscp=10}]\n"
                                      "[[class]]\nname='all'\n"));
  const auto& matches = plan.gateway.classes[0].matches;
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].source_ports->last, 90);
  EXPECT_FALSE(matches[0].target_ports);
  EXPECT_EQ(matches[1].target_ports->first, 80);
  EXPECT_FALSE(matches[1].source_ports);
  for (const auto& match : matches) {
    EXPECT_EQ(match.kind, gateway::PacketKind::Tcp);
    EXPECT_EQ(match.dscp, 10);
  }
}

TEST(Plan, impairs_only_when_the_file_says_so) {
  const Folder folder;
  EXPECT_FALSE(plan_of(file_with("", "")).impair);
  const Plan plan =
      plan_of(file_with("[pair]", "[wan.impair]\nloss = '1 %'\ndelay = '10 ms'\n[pair]"));
  ASSERT_TRUE(plan.impair);
  EXPECT_EQ(plan.impair->tx.loss, 0.01);
  EXPECT_EQ(plan.impair->rx.loss, 0);
  EXPECT_GT(plan.wan.packets, plan.impair->held_packets_max);
}

TEST(Plan, finds_a_key_that_everybody_can_read) {
  const Folder folder;
  folder.write("pair.key", std::string(64, 'k'), 0644);
  const Plan plan = plan_of(file_with("", ""));
  ASSERT_EQ(plan.warnings.size(), 1u);
  EXPECT_EQ(plan.warnings[0],
            "pair.key_file: pair.key has mode 0644: everybody on this machine can read the key; "
            "chmod 600 pair.key");
}

TEST(Plan, warns_of_hosts_that_give_up_while_a_gateway_restarts) {
  const Folder folder;
  const auto warnings_of = [](const std::string& classes) {
    return plan_of(file_with("", "") + classes).warnings;
  };
  const std::string roce = "[[class]]\nname = 'rdma'\nmatch = [{ kind = 'roce' }]\n";
  const std::string rest = "[[class]]\nname = 'all'\n";
  EXPECT_TRUE(warnings_of(roce + "host_timeout = '1.07 s'\n" + rest).empty());
  const auto hasty = warnings_of(rest + "host_timeout = '200 ms'\n");
  ASSERT_EQ(hasty.size(), 1u);
  EXPECT_TRUE(
      hasty[0].starts_with("class \"all\": its hosts give up after 200 ms, host_timeout, "
                           "and a restart of a gateway is a silence of up to "))
      << hasty[0];
}

std::vector<std::string> others_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const OtherPolicy& each : plan.classes[0].others) names.emplace_back(each.ops->name);
  return names;
}

std::string class_with(const std::string& keys) {
  return file_with("", "", "[[class]]\nname = 'all'\n" + keys + "\n");
}

TEST(Plan, has_room_for_the_policies_that_cost_none_unless_others_are_named) {
  using Names = std::vector<std::string>;
  const Folder folder;
  const Plan plain = plan_of(class_with(""));
  EXPECT_EQ(others_of(plain), (Names{"passthrough", "go_back_n"}));
  EXPECT_EQ(plain.memory, plan_of(class_with("policies = []")).memory);
  EXPECT_EQ(others_of(plan_of(class_with("policies = []"))), Names());

  const Plan coded = plan_of(class_with("policies = ['selective_repeat', 'hybrid', 'erasure']"));
  EXPECT_EQ(others_of(coded), (Names{"hybrid", "erasure"}));
  EXPECT_GT(coded.memory, plain.memory);
  EXPECT_EQ(coded.peers[0].qps[0].policies.size(), 2u);
  EXPECT_EQ(coded.peers[0].qps[0].policies[0].params.size(),
            coded.peers[0].qps[0].policies[0].ops->param_count);
  EXPECT_EQ(plain.classes[0].stream.k, 0);
  EXPECT_GT(coded.classes[0].stream.k, 0);
}

// Room is what both ends must have alike, and not who uses it.
TEST(Plan, leaves_the_policy_to_each_site_where_there_is_room) {
  const Folder folder;
  const auto keys = [](const std::string& of_class) {
    return plan_of(class_with(of_class)).peers[0].control.pair_keys;
  };
  const std::string all = "policies = ['hybrid', 'erasure']\n";
  EXPECT_EQ(keys(all + "policy = 'hybrid'"), keys(all + "policy = 'selective_repeat'"));
  const std::string hold = "hold = '300 ms'\n";
  EXPECT_EQ(keys(hold + "policy = 'selective_repeat'"), keys(hold + "policy = 'passthrough'"));
  EXPECT_NE(keys("policy = 'selective_repeat'"), keys("policy = 'hybrid'"));
}

// Or a flow's frames would go by another link after a restart, past those that are held there.
TEST(Plan, hashes_flows_by_what_outlives_the_process_and_is_secret) {
  const Folder folder;
  const auto key = [] {
    const Plan plan = plan_of(file_with("", ""));
    return std::pair(plan.gateway.hash_key[0], plan.gateway.hash_key[1]);
  };
  const auto before = key();
  EXPECT_EQ(key(), before);
  folder.write("pair.key", std::string(63, 'k') + "l\n");
  EXPECT_NE(key().first, before.first);
  EXPECT_NE(key().second, before.second);
}

TEST(Plan, has_the_same_pair_values_on_both_sides_only_if_they_are_alike) {
  const Folder folder;
  const auto keys = [](const std::string& text) {
    const Plan plan = plan_of(text);
    return std::pair(plan.peers[0].control.pair_keys, plan.peers[0].control.told_keys);
  };
  const auto here = keys(file_with("", ""));
  EXPECT_EQ(here, keys(file_with("10.1.0.1/24", "10.3.0.1/24")));
  EXPECT_NE(here, keys(file_with("20 ms", "21 ms")));
  EXPECT_EQ(here, keys(file_with("rtt =", "rtt_max = '80 ms'\nrtt =")));
  EXPECT_NE(here, keys(file_with("rtt =", "rtt_max = '81 ms'\nrtt =")));
  EXPECT_NE(here, keys(file_with("1 Gbit/s", "2 Gbit/s")));
  EXPECT_NE(here, keys(file_with("", "", "[[class]]\nname='all'\nhold='300 ms'\n")));
}

}  // namespace
}  // namespace cw::site
