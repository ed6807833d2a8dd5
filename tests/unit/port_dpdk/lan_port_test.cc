// The LAN port over DPDK, against a wire that whole frames are put on and read from.
#include "dataplane/port/frame/frame_lan_port.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/wire/outer/checksum.h"
#include "tests/property/property.h"
#include "tests/unit/port_dpdk/lan_wire.h"

namespace cw::test {
namespace {
using namespace literals;
const char* const own[] = {"10.1.0.1", "2001:db8::1"};
const char* const hosts[] = {"10.1.0.2", "2001:db8::2"};
const char* const remotes[] = {"10.2.0.2", "2001:db8:2::2"};

void expect_carried_both_ways(uint16_t vlan) {
  Wire wire([vlan](auto& options) { options.vlan = vlan; });
  size_t count = 0;
  for (const size_t version : {0, 1}) {
    for (const size_t content_bytes : {0, 1, 2, 63, 1000, 1400}) {
      const Bytes content(content_bytes, static_cast<uint8_t>(content_bytes));
      const Bytes out = ip_packet(host(hosts[version]), host(remotes[version]), content);
      Bytes frame = frame_of(wire.mac(), host_mac, out, vlan);
      if (frame.size() < ethernet_bytes_min) frame.resize(ethernet_bytes_min);  // as NICs pad
      wire.put(frame);
      ASSERT_TRUE(wire.turn_until([&] { return wire.taken.size() > count; }));
      EXPECT_EQ(wire.taken_bytes(count), out);
      // And back, to the MAC that was just heard of.
      const Bytes back = ip_packet(host(remotes[version]), host(hosts[version]), content);
      ASSERT_TRUE(wire.send(back));
      ASSERT_TRUE(wire.turn_until([&] { return wire.sent.size() > count; }));
      EXPECT_EQ(wire.sent[count], frame_of(host_mac, wire.mac(), back, vlan));
      ++count;
    }
  }
  EXPECT_EQ(wire.port->counters().rx_packets, count);
  EXPECT_EQ(wire.port->counters().tx_packets, count);
  EXPECT_EQ(wire.port->counters().tx_bytes, wire.port->counters().rx_bytes);
  EXPECT_EQ(wire.status().questions, 0u);
}

TEST(FrameLanPort, carries_ip_packets_both_ways_byte_by_byte) { expect_carried_both_ways(0); }

TEST(FrameLanPort, speaks_with_the_tag_of_its_vlan_and_hears_no_other) {
  expect_carried_both_ways(100);
  Wire wire([](auto& options) { options.vlan = 100; });
  const Bytes ip = ip_packet(host(hosts[0]), host(remotes[0]), {1});
  wire.put(frame_of(wire.mac(), host_mac, ip, 101));
  wire.put(frame_of(wire.mac(), host_mac, ip));
  ASSERT_TRUE(wire.turn_until([&] { return wire.status().rx_vlan == 2; }));
  EXPECT_TRUE(wire.taken.empty());
}

TEST(FrameLanPort, answers_who_has_our_address_and_pings) {
  Wire wire;
  for (const size_t version : {0, 1}) {
    const NeighbourSelf self = {host(hosts[version]), host_mac};
    Bytes question(neighbour_message_bytes_max);
    question.resize(encode_neighbour_question(self, host(own[version]), question));
    wire.put(question);
    ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
    const auto answer = parse_neighbour_message(wire.sent[0]);
    ASSERT_TRUE(answer && !answer->is_question);
    EXPECT_EQ(answer->sender, host(own[version]));
    EXPECT_EQ(answer->sender_mac, wire.mac());
    wire.sent.clear();

    const uint8_t request = version == 0 ? 8 : 128, reply = version == 0 ? 0 : 129;
    const Bytes ping = ip_packet(host(hosts[version]), host(own[version]),
                                 {request, 0, 1, 2, 3, 4, 5, 6}, version == 0 ? 1 : 58);
    wire.put(frame_of(wire.mac(), host_mac, ping));
    ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
    EXPECT_EQ(lan_frame::mac_at(wire.sent[0], 0), host_mac);
    EXPECT_EQ(wire.sent[0][14 + ping.size() - 8], reply);
    wire.sent.clear();
  }
  EXPECT_EQ(wire.status().echoes_answered, 2u);
  EXPECT_EQ(wire.status().rx_local, 2u);
  EXPECT_TRUE(wire.taken.empty());
}

TEST(FrameLanPort, loses_what_has_no_known_next_hop_and_asks_once_a_second) {
  Wire wire;
  for (const size_t version : {0, 1}) {
    const Bytes ip = ip_packet(host(remotes[version]), host(hosts[version]), {1, 2, 3});
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(wire.send(ip));
    ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
    const auto question = parse_neighbour_message(wire.sent[0]);
    ASSERT_TRUE(question && question->is_question);
    EXPECT_EQ(question->target, host(hosts[version]));
    EXPECT_EQ(question->sender, host(own[version]));
    EXPECT_LE(wire.sent.size(), 2u);  // a slow machine may have come to the next second

    Bytes answer(neighbour_message_bytes_max);
    answer.resize(encode_neighbour_answer({host(hosts[version]), host_mac}, *question, answer));
    wire.put_and_pass(answer);
    wire.sent.clear();
    ASSERT_TRUE(wire.send(ip));
    ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
    EXPECT_EQ(wire.sent[0], frame_of(host_mac, wire.mac(), ip));
    wire.sent.clear();
  }
  EXPECT_EQ(wire.status().tx_unresolved, 20u);
  ASSERT_TRUE(wire.send(ip_packet(host(remotes[0]), host("10.9.9.9"), {})));
  EXPECT_EQ(wire.status().tx_unrouted, 1u);  // behind a router that nobody has heard of
}

TEST(FrameLanPort, asks_for_a_bounded_number_of_hosts_in_a_second) {
  Wire wire;
  for (int i = 2; i < 202; ++i) {
    const std::string target = "10.1.0." + std::to_string(i);
    ASSERT_TRUE(wire.send(ip_packet(host(remotes[0]), host(target.c_str()), {})));
  }
  const FrameLanStatus status = wire.status();
  EXPECT_EQ(status.tx_unresolved, 200u);
  // Nobody turned meanwhile: what one look allows.
  EXPECT_EQ(status.questions, limits::questions_per_second_max / 10);
}

TEST(FrameLanPort, sends_the_others_of_a_burst_and_counts_who_was_lost_once) {
  Wire wire;
  wire.put_and_pass(
      frame_of(wire.mac(), host_mac, ip_packet(host(hosts[0]), host(remotes[0]), {})));
  const char* const targets[] = {"0.0.0.0",  hosts[0],   "10.1.0.77", hosts[0],
                                 "10.9.9.9", "10.9.9.9", hosts[0]};
  std::vector<Packet*> burst(std::size(targets));
  ASSERT_EQ(wire.port->take_burst(burst), burst.size());
  std::vector<Bytes> expected;
  for (size_t i = 0; i < burst.size(); ++i) {
    const Bytes ip = ip_packet(host(remotes[0]), host(targets[i]), Bytes(40, uint8_t(i)));
    std::ranges::copy(ip, burst[i]->data);
    burst[i]->bytes = static_cast<uint32_t>(ip.size());
    if (targets[i] == hosts[0]) expected.push_back(frame_of(host_mac, wire.mac(), ip));
  }
  EXPECT_EQ(wire.port->tx_burst(burst, clock_now()), burst.size());
  std::vector<Bytes> ips;
  ASSERT_TRUE(wire.turn_until([&] {
    ips.clear();
    std::ranges::copy_if(wire.sent, std::back_inserter(ips),
                         [](const Bytes& f) { return lan_frame::type_of(f) == 0x0800; });
    return ips.size() == 3;
  }));
  EXPECT_EQ(ips, expected);
  EXPECT_EQ(wire.status().tx_unresolved, 1u);
  EXPECT_EQ(wire.status().tx_unrouted, 3u);
  EXPECT_EQ(wire.port->counters().tx_packets, 3u);
}

TEST(FrameLanPort, sends_each_of_a_burst_to_its_own_host) {
  Wire wire;
  const auto mac_of = [](size_t i) { return MacAddress{2, 0, 0, 0, 1, uint8_t(i)}; };
  const char* const targets[] = {"10.1.0.5", "10.1.0.5", "10.1.0.6", "2001:db8::5", "10.1.0.5"};
  for (size_t i = 0; i < std::size(targets); ++i) {
    const size_t version = host(targets[i]).is_v4() ? 0 : 1;
    const size_t first = std::ranges::find(targets, std::string(targets[i])) - targets;
    wire.put_and_pass(frame_of(wire.mac(), mac_of(first),
                               ip_packet(host(targets[i]), host(remotes[version]), {})));
  }
  std::vector<Packet*> burst(std::size(targets));
  ASSERT_EQ(wire.port->take_burst(burst), burst.size());
  std::vector<Bytes> expected;
  for (size_t i = 0; i < burst.size(); ++i) {
    const size_t version = host(targets[i]).is_v4() ? 0 : 1;
    const size_t first = std::ranges::find(targets, std::string(targets[i])) - targets;
    const Bytes ip = ip_packet(host(remotes[version]), host(targets[i]), Bytes(40, uint8_t(i)));
    std::ranges::copy(ip, burst[i]->data);
    burst[i]->bytes = static_cast<uint32_t>(ip.size());
    expected.push_back(frame_of(mac_of(first), wire.mac(), ip));
  }
  wire.sent.clear();
  EXPECT_EQ(wire.port->tx_burst(burst, clock_now()), burst.size());
  ASSERT_TRUE(wire.turn_until([&] { return wire.sent.size() >= expected.size(); }));
  EXPECT_EQ(wire.sent, expected);
}

TEST(FrameLanPort, reaches_who_is_behind_a_router_by_whom_it_heard_it_from) {
  Wire wire;
  wire.put_and_pass(
      frame_of(wire.mac(), host_mac, ip_packet(host("10.5.5.5"), host(remotes[0]), {})));
  const Bytes ip = ip_packet(host(remotes[0]), host("10.5.5.5"), {1});
  ASSERT_TRUE(wire.send(ip));
  ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
  EXPECT_EQ(wire.sent[0], frame_of(host_mac, wire.mac(), ip));
}

TEST(FrameLanPort, does_not_believe_a_packet_against_what_was_heard_lately) {
  Wire wire;
  const Bytes ip = ip_packet(host(hosts[0]), host(remotes[0]), {});
  wire.put_and_pass(frame_of(wire.mac(), host_mac, ip));
  wire.put_and_pass(frame_of(wire.mac(), other_mac, ip));  // in its name
  const Bytes back = ip_packet(host(remotes[0]), host(hosts[0]), {1});
  ASSERT_TRUE(wire.send(back));
  ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
  EXPECT_EQ(wire.sent[0], frame_of(host_mac, wire.mac(), back));
}

TEST(FrameLanPort, counts_by_name_what_is_not_for_it) {
  Wire wire;
  const Bytes ip = ip_packet(host(hosts[0]), host(remotes[0]), {1});
  const auto frame = [&](const MacAddress& target, const MacAddress& source) {
    return frame_of(target, source, ip);
  };
  const MacAddress all = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  wire.put_and_pass(frame(other_mac, host_mac));
  wire.put_and_pass(frame(wire.mac(), wire.mac()));
  wire.put_and_pass(frame(wire.mac(), all));
  EXPECT_EQ(wire.status().rx_not_ours, 3u);
  wire.put_and_pass(frame(all, host_mac));
  EXPECT_EQ(wire.status().rx_group, 1u);
  wire.put_and_pass(frame_of(wire.mac(), host_mac, ip, 7));
  EXPECT_EQ(wire.status().rx_vlan, 1u);
  Bytes other = frame(wire.mac(), host_mac);
  other[12] = 0x88;
  wire.put_and_pass(other);
  EXPECT_EQ(wire.status().rx_other, 1u);
  wire.put_and_pass(frame_of(wire.mac(), host_mac, ip_packet(host(hosts[0]), host(own[0]), {1})));
  EXPECT_EQ(wire.status().rx_local, 1u);
  Bytes cut = frame(wire.mac(), host_mac);
  cut.pop_back();
  wire.put_and_pass(cut);
  EXPECT_EQ(wire.port->counters().rx_malformed, 1u);
  wire.put_and_pass(Bytes(13, 0));
  EXPECT_EQ(wire.port->counters().rx_malformed, 2u);
}

/// Some frame that is nearly right, or not at all.
Bytes any_frame(const MacAddress& mac) {
  const Bytes good[] = {
      frame_of(mac, host_mac, ip_packet(host(hosts[0]), host(remotes[0]), Bytes(30))),
      frame_of(mac, host_mac, ip_packet(host(hosts[1]), host(remotes[1]), Bytes(30))),
      frame_of(mac, host_mac, ip_packet(host(hosts[1]), host(own[1]), Bytes(30), 58), 5)};
  Bytes frame = good[*rc::gen::inRange<size_t>(0, std::size(good))];
  const auto noise = *rc::gen::arbitrary<Bytes>();
  for (size_t i = 0; i < noise.size() && i < frame.size(); ++i) {
    if (noise[i] % 3 == 0) frame[(noise[i] * 7 + i) % frame.size()] = noise[i];
  }
  frame.resize(*rc::gen::inRange<size_t>(1, frame.size() + 20));
  return frame;
}

std::vector<uint64_t> fates_of(const Wire& wire) {
  const FrameLanStatus s = wire.status();
  const PortCounters c = wire.port->counters();
  return {c.rx_packets, c.rx_malformed, s.rx_not_ours, s.rx_vlan,  s.rx_group,
          s.rx_other,   s.rx_neighbour, s.rx_local,    s.rx_joined};
}
/// What becomes of a frame: which fate, and the packet that the gateway gets, if any.
std::pair<size_t, Bytes> fate_of(Wire& wire, const Bytes& frame) {
  const std::vector<uint64_t> before = fates_of(wire);
  wire.put(frame);
  RC_ASSERT(wire.turn_until([&] { return fates_of(wire) != before; }));
  std::vector<uint64_t> after = fates_of(wire);
  const auto changed = std::ranges::mismatch(before, after).in2;
  const auto fate = static_cast<size_t>(changed - after.begin());
  --*changed;
  RC_ASSERT((after == before));
  const Bytes packet = wire.taken.empty() ? Bytes() : wire.taken_bytes(0);
  wire.port->give_back(wire.taken);
  wire.taken.clear();
  wire.sent.clear();
  return {fate, packet};
}

TEST(FrameLanPort, gives_each_hostile_frame_one_fate_the_second_time_as_the_first) {
  Wire wire;
  EXPECT_TRUE(rc::check("one fate", [&] {
    const Bytes frame = any_frame(wire.mac());
    const auto first = fate_of(wire, frame);
    RC_ASSERT((fate_of(wire, frame) == first));
  }));
  EXPECT_LE(wire.status().neighbours, limits::neighbours_max);
}

// An untagged frame of zeros is what a free place of a table of zeros would hold.
TEST(FrameLanPort, knows_no_pair_that_it_has_not_heard) {
  Wire wire;
  Bytes frame(60);
  for (const uint8_t version : {0x40, 0x60}) {
    frame[14] = version;
    frame[17] = 46;  // IPv4: the length, which would be right
    EXPECT_EQ(fate_of(wire, frame).first, 2u) << "not ours";
  }
}

// More hosts than there is room for, and then one of the first again.
TEST(FrameLanPort, learns_anew_who_has_lost_its_place) {
  Wire wire;
  const Bytes hello =
      frame_of(wire.mac(), host_mac, ip_packet(host(hosts[0]), host(remotes[0]), {}));
  wire.put_and_pass(hello);
  for (uint32_t i = 0; i < 16 * limits::neighbours_max; ++i) {
    HostAddress crowd = host("10.9.0.0");
    crowd.ip[1] = static_cast<uint8_t>(16 + (i >> 16));
    crowd.ip[2] = static_cast<uint8_t>(i >> 8);
    crowd.ip[3] = static_cast<uint8_t>(i);
    wire.put(frame_of(wire.mac(), other_mac, ip_packet(crowd, host(remotes[0]), {})));
    if (i % 64 != 63) continue;
    wire.turn();
    wire.port->give_back(wire.taken);
    wire.taken.clear();
  }
  const Bytes back = ip_packet(host(remotes[0]), host(hosts[0]), {1});
  EXPECT_TRUE(wire.send(back));
  EXPECT_EQ(wire.status().tx_unresolved, 1u) << "forgotten";
  wire.put_and_pass(hello);
  wire.sent.clear();
  EXPECT_TRUE(wire.send(back));
  ASSERT_TRUE(wire.turn_until([&] { return !wire.sent.empty(); }));
  EXPECT_EQ(wire.sent[0], frame_of(host_mac, wire.mac(), back));
}

TEST(FrameLanPort, says_in_a_sentence_what_it_cannot_have) {
  start_small_eal();
  const auto sentence = [](const Wire::Change& change) {
    auto options = lan_options("net_null0");
    change(options);
    const auto made = FrameLanPort::make(dpdk_driver(), options);
    return made ? "" : made.error().sentence;
  };
  EXPECT_EQ(sentence([](auto& o) { o.device = ""; }),
            "device: missing; such as \"0000:3b:00.0\" or \"net_af_packet0,iface=eth1\"");
  EXPECT_EQ(
      sentence([](auto& o) { o.addresses.clear(); }),
      "addresses: 0 given, 1 to 16 accepted: hosts need one of ours to send their packets to");
  EXPECT_EQ(sentence([](auto& o) { o.vlan = 4095; }), "vlan: 4095 given, 0 to 4094 accepted");
  EXPECT_EQ(
      sentence([](auto& o) {
        o.device =
            "net_memif9,role=server,bsize=2048,socket-abstract=no,socket=" + own_path("short");
        o.mtu = 4000;
      }),
      "mtu: 4000 given, and net_memif9 carries 2026; lower it, or raise that of the interface "
      "(memif: bsize)");
}

}  // namespace
}  // namespace cw::test
