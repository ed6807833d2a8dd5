// Multicast at the LAN port over DPDK: whose frames it takes, where they leave for, what it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/port_dpdk/lan_wire.h"

namespace cw::test {
namespace {
using namespace literals;

const char* const groups[] = {"239.1.2.3", "ff05::1:2"};
const char* const senders[] = {"10.1.0.2", "2001:db8::2"};
const char* const far_senders[] = {"10.2.0.2", "2001:db8:2::2"};

void join_both(FrameLanOptions& options) {
  for (const char* each : groups) options.groups.push_back(host(each));
}

/// To the routers' groups.
bool is_report(const Bytes& frame) {
  const auto goes_to = [&frame](const char* group) {
    return lan_frame::is_mac_at(frame, 0, mac_of_group(host(group)));
  };
  return goes_to("224.0.0.22") || goes_to("ff02::16");
}

/// What the port has put on the wire for the gateway.
std::vector<Bytes> frames_of_gateway(const Wire& wire) {
  std::vector<Bytes> frames;
  std::ranges::copy_if(wire.sent, std::back_inserter(frames),
                       [](const Bytes& each) { return !is_report(each); });
  return frames;
}
std::vector<Bytes> reports(const Wire& wire) {
  std::vector<Bytes> frames;
  std::ranges::copy_if(wire.sent, std::back_inserter(frames), is_report);
  return frames;
}

TEST(DpdkLanGroups, are_carried_both_ways_to_and_from_the_macs_of_the_groups) {
  for (const uint16_t vlan : {0, 100}) {
    Wire wire([vlan](auto& options) {
      join_both(options);
      options.vlan = vlan;
    });
    for (const size_t version : {0, 1}) {
      const HostAddress group = host(groups[version]);
      for (const size_t round : {0, 1}) {  // the second time the pair is known
        const Bytes in = ip_packet(host(senders[version]), group, {1, 2, 3});
        wire.put(frame_of(mac_of_group(group), host_mac, in, vlan));
        const size_t count = 2 * version + round + 1;
        ASSERT_TRUE(wire.turn_until([&] { return wire.taken.size() == count; }));
        EXPECT_EQ(wire.taken_bytes(count - 1), in);
        const Bytes out = ip_packet(host(far_senders[version]), group, {4, 5});
        ASSERT_TRUE(wire.send(out));
        ASSERT_TRUE(wire.turn_until([&] { return frames_of_gateway(wire).size() == count; }));
        EXPECT_EQ(frames_of_gateway(wire)[count - 1],
                  frame_of(mac_of_group(group), wire.mac(), out, vlan));
      }
    }
    EXPECT_EQ(wire.status().rx_group, 0u);
    EXPECT_EQ(wire.status().tx_unrouted, 0u);
  }
}

TEST(DpdkLanGroups, that_are_not_ours_are_counted_and_go_no_further) {
  Wire wire(join_both);
  const HostAddress other = host("239.129.2.3");  // of the same MAC
  wire.put_and_pass(
      frame_of(mac_of_group(other), host_mac, ip_packet(host(senders[0]), other, {1})));
  wire.put_and_pass(
      frame_of(other_mac, host_mac, ip_packet(host(senders[0]), host(groups[0]), {1})));
  const MacAddress all = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  wire.put_and_pass(frame_of(all, host_mac, ip_packet(host(senders[0]), host(groups[0]), {1})));
  // Our own, given back by a LAN that reflects.
  wire.put_and_pass(frame_of(mac_of_group(host(groups[0])), wire.mac(),
                             ip_packet(host(far_senders[0]), host(groups[0]), {1})));
  EXPECT_EQ(wire.taken.size(), 4u) << "those that passed behind them";
  EXPECT_EQ(wire.status().rx_group, 2u);
  EXPECT_EQ(wire.status().rx_not_ours, 2u);
  ASSERT_TRUE(wire.send(ip_packet(host(far_senders[0]), other, {1})));
  EXPECT_EQ(wire.status().tx_unrouted, 1u) << "nobody here wants it";
}

/// A question about all groups, or one, that is to be answered at once.
Bytes igmp_query(const HostAddress& group) {
  Bytes message = {0x11, 0, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0};
  std::copy_n(group.ip.begin(), 4, message.begin() + 4);
  ip_layout::store16(&message[2], static_cast<uint16_t>(~sum_of(message)));
  Bytes packet = ip_packet(host("10.1.0.254"), host("224.0.0.1"), message, 2);
  packet[ip_layout::v4::ttl] = 1;
  ip_layout::store16(&packet[ip_layout::v4::checksum], 0);
  ip_layout::store16(&packet[ip_layout::v4::checksum],
                     static_cast<uint16_t>(~sum_of(std::span(packet).first(20))));
  return frame_of({1, 0, 0x5e, 0, 0, 1}, host_mac, packet);
}

TEST(DpdkLanGroups, are_reported_at_the_start_and_when_asked) {
  Wire wire(join_both);
  // Each twice, of which the far end may not have seen the first.
  ASSERT_TRUE(wire.turn_until([&] { return wire.status().reports >= 4; }));
  ASSERT_TRUE(wire.turn_until([&] { return reports(wire).size() >= 2; }));
  wire.sent.clear();
  wire.put(igmp_query(host("0.0.0.0")));
  ASSERT_TRUE(wire.turn_until([&] { return !reports(wire).empty(); }));
  const Bytes answer = reports(wire).front();
  EXPECT_EQ(answer[38], 0x22);
  EXPECT_EQ(answer[46], 2) << "is a member";
  EXPECT_EQ(wire.status().rx_query, 1u);
}

TEST(DpdkLanGroups, of_nobody_are_not_spoken_of) {
  Wire wire;
  wire.put_and_pass(igmp_query(host("0.0.0.0")));
  EXPECT_EQ(wire.status().rx_query, 1u);
  EXPECT_TRUE(reports(wire).empty());
}

}  // namespace
}  // namespace cw::test
