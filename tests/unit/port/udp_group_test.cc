// The port of a group's members, on loopback and without rights: several members on one machine.
#include "dataplane/port/udp/group/udp_group_port.h"

#include <gtest/gtest.h>

#include <numeric>

#include "dataplane/port/udp/group/udp_sources.h"
#include "dataplane/port/udp/udp_port.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

constexpr uint16_t to_group = group_peer_first;

/// A group that no other process of tests has.
std::string own_group() { return "239." + own_address(1).substr(4); }

UdpGroupPortOptions group_options(const std::vector<std::string>& members, uint16_t rank) {
  UdpGroupPortOptions options;
  options.rank = rank;
  options.members = members;
  options.groups = {own_group()};
  options.packets = 512;
  options.crc32 = cw_crc32;
  return options;
}

struct Members {
  explicit Members(const std::vector<std::string>& addresses, IcrcMode icrc = IcrcMode::Exact) {
    for (uint16_t rank = 0; rank < addresses.size(); ++rank) {
      UdpGroupPortOptions options = group_options(addresses, rank);
      options.icrc = icrc;
      auto made = UdpGroupPort::make(options);
      EXPECT_TRUE(made) << made.error().sentence;
      ports.push_back(made ? std::move(*made) : nullptr);
    }
  }
  /// By addresses of their own.
  static Members of_addresses() {
    return Members({own_address(1), own_address(2), own_address(3)});
  }
  UdpGroupPort& operator[](size_t rank) { return *ports[rank]; }
  std::vector<std::unique_ptr<UdpGroupPort>> ports;
};

std::vector<std::string> addresses_by_port(const char* host, uint16_t count) {
  const uint16_t first = free_udp_ports(count);
  std::vector<std::string> all;
  for (uint16_t i = 0; i < count; ++i) all.push_back(host + (":" + std::to_string(first + i)));
  return all;
}

void send(UdpGroupPort& from, uint16_t peer, size_t count, size_t payload_bytes, uint8_t seed) {
  std::vector<Packet*> packets;
  for (size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(from, payload_bytes, static_cast<uint8_t>(seed + i)));
    packets.back()->peer = peer;
  }
  ASSERT_EQ(from.tx_burst(packets, Instant()), count);
}

void expect_come(UdpGroupPort& to, uint16_t source, size_t count, size_t payload_bytes,
                 uint8_t seed) {
  const auto received = receive(to, count);
  ASSERT_EQ(received.size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(is_made_packet(*received[i], payload_bytes, static_cast<uint8_t>(seed + i))) << i;
    EXPECT_EQ(received[i]->peer, source);
  }
  to.give_back(received);
}

void expect_to_all_and_to_one(Members& members) {
  for (const size_t payload_bytes : {0, 1, 3, 64, 1400, 8192}) {
    send(members[1], to_group, 64, payload_bytes, 3);
    // Our own copy comes as from us: whoever reads it knows its rank.
    for (auto& port : members.ports) expect_come(*port, 1, 64, payload_bytes, 3);
    send(members[2], 0, 5, payload_bytes, 9);
    expect_come(members[0], 2, 5, payload_bytes, 9);
  }
  for (auto& port : members.ports) {
    EXPECT_EQ(port->counters().rx_malformed, 0u);
    EXPECT_EQ(port->counters().rx_dropped, 0u);
  }
  EXPECT_TRUE(receive_in_vain(members[1]).empty());
}

TEST(UdpGroupPort, carries_to_all_and_to_one_between_addresses_of_a_machine) {
  Members members = Members::of_addresses();
  expect_to_all_and_to_one(members);
  EXPECT_LT(members[1].status().tx_messages, 6 * 64 / 4u) << "nothing was joined";
}

TEST(UdpGroupPort, carries_to_all_and_to_one_between_udp_ports_of_an_address) {
  for (const IcrcMode icrc : {IcrcMode::Exact, IcrcMode::Pseudo, IcrcMode::None}) {
    Members members(addresses_by_port("127.0.0.1", 3), icrc);
    expect_to_all_and_to_one(members);
  }
}

TEST(UdpGroupPort, sends_payload_from_where_it_lies) {
  Members members = Members::of_addresses();
  std::vector<uint8_t> memory(4096);
  std::iota(memory.begin(), memory.end(), uint8_t{0});
  Packet* const packet = make_packet(members[0], 0, 0);
  packet->peer = to_group;
  packet->payload = memory.data();
  packet->payload_bytes = 4095;  // a pad behind it
  packet->cookie = 77;
  ASSERT_EQ(members[0].tx_burst({&packet, 1}, Instant()), 1u);
  const auto received = receive(members[2], 1);
  ASSERT_EQ(received.size(), 1u);
  const uint8_t* const payload = received[0]->data + received[0]->bytes - 4096;
  EXPECT_TRUE(std::equal(payload, payload + 4095, memory.begin()));
  members[2].give_back(received);
  uint64_t cookie = 0;
  ASSERT_EQ(members[0].take_done({&cookie, 1}), 1u);
  EXPECT_EQ(cookie, 77u);
}

TEST(UdpGroupPort, a_packet_may_be_kept_and_sent_again) {
  Members members = Members::of_addresses();
  expect_kept_and_given_back(members[0], [&](Packet& packet) {
    Packet* const one = &packet;
    one->peer = 1;
    ASSERT_EQ(members[0].tx_burst({&one, 1}, Instant()), 1u);
    expect_come(members[1], 0, 1, 1400, 7);
  });
}

TEST(UdpGroupPort, takes_nothing_from_strangers_and_nothing_damaged) {
  Members members = Members::of_addresses();
  UdpPortOptions stranger = udp_options(roce_udp_port + 1, roce_udp_port, "127.0.0.1");
  stranger.peers[0].address = own_address(1);
  const auto from = UdpPort::make(stranger);
  ASSERT_TRUE(from) << from.error().sentence;
  Packet* packet = make_packet(**from, 100, 1);
  ASSERT_EQ((*from)->tx_burst({&packet, 1}, Instant()), 1u);
  receive_until(members[0], [&] { return members[0].status().rx_unknown > 0; });
  EXPECT_EQ(members[0].status().rx_unknown, 1u);
  EXPECT_EQ(members[0].counters().rx_malformed, 1u);

  // One whose ICRC is of another kind.
  members.ports[1].reset();
  UdpGroupPortOptions other = group_options({own_address(1), own_address(2), own_address(3)}, 1);
  other.icrc = IcrcMode::Pseudo;
  const auto wrong = UdpGroupPort::make(other);
  ASSERT_TRUE(wrong) << wrong.error().sentence;
  send(**wrong, to_group, 1, 100, 1);
  receive_until(members[0], [&] { return members[0].counters().rx_malformed > 1; });
  EXPECT_EQ(members[0].counters().rx_malformed, 2u);
  EXPECT_EQ(members[0].counters().rx_packets, 0u);
}

TEST(UdpGroupPort, counts_what_has_no_target_and_sends_the_rest) {
  Members members = Members::of_addresses();
  std::vector<Packet*> packets;
  for (uint16_t peer : {0x0003, 0xf001, 0x0001, 0xffff}) {
    packets.push_back(make_packet(members[0], 10, 5));
    packets.back()->peer = peer;
  }
  ASSERT_EQ(members[0].tx_burst(packets, Instant()), 4u);
  EXPECT_EQ(members[0].status().tx_unrouted, 3u);
  expect_come(members[1], 0, 1, 10, 5);
}

// What a member that has not begun yet, or has gone, makes the kernel complain of stops nobody.
TEST(UdpGroupPort, goes_on_where_a_member_is_not_there) {
  Members members = Members::of_addresses();
  members.ports[2].reset();
  for (int i = 0; i < 20; ++i) send(members[0], 2, 1, 100, 1);
  send(members[0], 1, 20, 100, 4);
  expect_come(members[1], 0, 20, 100, 4);
  EXPECT_EQ(members[0].status().tx_lost, 0u);
}

TEST(UdpGroupPort, mistakes_are_named_by_their_keys) {
  const std::vector<std::string> sound = {own_address(1), own_address(2)};
  const auto refused = [&](auto change, const char* part) {
    UdpGroupPortOptions options = group_options(sound, 0);
    change(options);
    const auto made = UdpGroupPort::make(options);
    ASSERT_FALSE(made) << part;
    EXPECT_TRUE(made.error().sentence.find(part) != std::string::npos) << made.error().sentence;
  };
  refused([](auto& o) { o.members.resize(1); }, "members: 1 named, 2 to 16384");
  refused([](auto& o) { o.members[1] = "here"; }, "members: \"here\" is not an IP address");
  refused([](auto& o) { o.members[1] += ":0"; }, "ends in no UDP port");
  refused([](auto& o) { o.members[1] += ":5x"; }, "ends in no UDP port");
  refused([](auto& o) { o.members[1] = o.members[0]; }, "stands there twice");
  refused([](auto& o) { o.members[1] = "::1"; }, "of another IP version");
  refused([](auto& o) { o.rank = 2; }, "rank: 2 given");
  refused([](auto& o) { o.groups = {"10.0.0.1"}; }, "group: 10.0.0.1 is no multicast address");
  refused([](auto& o) { o.groups = {"ff02::1"}; }, "group: ff02::1 is no multicast address");
  refused([](auto& o) { o.groups.clear(); }, "group: 0 named, 1 to 16");
  refused([](auto& o) { o.hops = 5; }, "ttl: 5 given, 1 to 4");
  refused([](auto& o) { o.hops = 0; }, "ttl: 0 given");
  refused([](auto& o) { o.interface = "eth99"; }, "interface: there is none called \"eth99\"");
  refused([](auto& o) { o.members[0] = "198.51.100.77"; }, "interface: none has the address");
  refused([](auto& o) { o.udp_port = 0; }, "udp_port: 0");
}

TEST(UdpSources, tells_thousands_of_members_apart) {
  std::vector<UdpAddress> members(16384);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i] = *parse_udp_address("10.7.0.1", roce_udp_port, "members");
    members[i].ip[14] = static_cast<uint8_t>(i >> 6);
    members[i].ip[15] = static_cast<uint8_t>(i & 63);
    members[i].udp_port = static_cast<uint16_t>(4791 + i / 16000);
  }
  const UdpSources sources(members);
  for (size_t i = 0; i < members.size(); ++i) {
    ASSERT_EQ(sources.find(members[i]), static_cast<uint16_t>(i));
    UdpAddress other = members[i];
    other.udp_port += 7;
    ASSERT_EQ(sources.find(other), std::nullopt);
    other = members[i];
    other.scope = 1;
    ASSERT_EQ(sources.find(other), std::nullopt);
  }
}

}  // namespace
}  // namespace cw::test
