// The UDP port, on loopback and without rights: what one end sends, the other must have.
#include "dataplane/port/udp/udp_port.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

/// Sends `count` packets in one burst and checks that the other end has them, unharmed.
void expect_carried(UdpPort& from, UdpPort& to, size_t count, size_t payload_bytes) {
  std::vector<Packet*> packets;
  for (size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(from, payload_bytes, static_cast<uint8_t>(i)));
  }
  ASSERT_EQ(from.tx_burst(packets, Instant()), count);
  const auto received = receive(to, count);
  ASSERT_EQ(received.size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(is_made_packet(*received[i], payload_bytes, static_cast<uint8_t>(i))) << i;
    EXPECT_EQ(received[i]->peer, 0);
  }
  to.give_back(received);
}

void expect_refused(UdpPortOptions options, const std::string& key) {
  const auto port = UdpPort::make(options);
  ASSERT_FALSE(port.has_value()) << key;
  EXPECT_TRUE(port.error().sentence.starts_with(key)) << port.error().sentence;
}

TEST(UdpPort, carries_packets_of_every_size_both_ways_over_ipv4_and_ipv6) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    UdpPair pair(address);
    for (const size_t payload_bytes : {0, 1, 2, 3, 4, 1023, 1400, 4096, 8192}) {
      expect_carried(*pair.a, *pair.b, 64, payload_bytes);
      expect_carried(*pair.b, *pair.a, 3, payload_bytes);
    }
    EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
    EXPECT_EQ(pair.b->counters().rx_packets, pair.a->counters().tx_packets);
    EXPECT_EQ(pair.b->counters().rx_bytes, pair.a->counters().tx_bytes);
  }
}

TEST(UdpPort, a_packet_may_be_kept_and_sent_again) {
  UdpPair pair;
  expect_kept_and_given_back(*pair.a, [&](Packet& packet) {
    Packet* const one = &packet;
    ASSERT_EQ(pair.a->tx_burst({&one, 1}, Instant()), 1u);
    const auto received = receive(*pair.b, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_TRUE(is_made_packet(*received[0], 1400, 7));
    pair.b->give_back(received);
  });
}

TEST(UdpPort, serves_peers_of_both_ip_versions_at_once) {
  const uint16_t a_port = free_udp_ports(1), b_port = free_udp_ports(1), c_port = free_udp_ports(1);
  UdpPortOptions options = udp_options(a_port, b_port, "127.0.0.1");
  options.address.clear();
  options.peers.push_back({.address = "::1", .udp_port = c_port});
  const auto a = UdpPort::make(options);
  const auto b = UdpPort::make(udp_options(b_port, a_port, "127.0.0.1"));
  const auto c = UdpPort::make(udp_options(c_port, a_port, "::1"));
  ASSERT_TRUE(a && b && c);
  for (UdpPort* other : {b->get(), c->get()}) {
    Packet* packet = make_packet(*other, 100, 1);
    packet->dscp = 46;
    ASSERT_EQ(other->tx_burst({&packet, 1}, Instant()), 1u);
    const auto received = receive(**a, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0]->peer, other == c->get());
    EXPECT_EQ(received[0]->dscp, 46);
    ASSERT_EQ((*a)->tx_burst(received, Instant()), 1u);  // and back, from where it came
    const auto returned = receive(*other, 1);
    ASSERT_EQ(returned.size(), 1u);
    EXPECT_TRUE(is_made_packet(*returned[0], 100, 1));
    EXPECT_EQ(returned[0]->dscp, 46);
    other->give_back(returned);
  }
}

TEST(UdpPort, has_peers_that_come_and_go) {
  const uint16_t a_port = free_udp_ports(1), b_port = free_udp_ports(1), c_port = free_udp_ports(1);
  UdpPortOptions options = udp_options(a_port, b_port, "127.0.0.1");
  options.peers.emplace_back();
  const auto a = UdpPort::make(options);
  const auto b = UdpPort::make(udp_options(b_port, a_port, "127.0.0.1"));
  const auto c = UdpPort::make(udp_options(c_port, a_port, "127.0.0.1"));
  ASSERT_TRUE(a && b && c);
  const auto send = [](UdpPort& port, uint16_t peer) {
    Packet* packet = make_packet(port, 100, 1);
    packet->peer = peer;
    ASSERT_EQ(port.tx_burst({&packet, 1}, Instant()), 1u);
  };
  send(**a, 1);  // to nobody
  EXPECT_EQ((*a)->status().tx_unrouted, 1u);
  send(**c, 0);
  EXPECT_TRUE(receive_until(**a, [&] { return (*a)->status().rx_unknown == 1; }).empty());

  const UdpPortOptions before = options;
  options.peers[1] = {.address = "127.0.0.1", .udp_port = c_port};
  auto table = (*a)->table_of(options, before);
  ASSERT_TRUE(table);
  (*a)->exchange(*table);
  for (const uint16_t peer : {0, 1}) {
    UdpPort& other = peer == 0 ? **b : **c;
    send(other, 0);
    const auto received = receive(**a, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0]->peer, peer);
    ASSERT_EQ((*a)->tx_burst(received, Instant()), 1u);
    const auto returned = receive(other, 1);
    ASSERT_EQ(returned.size(), 1u);
    other.give_back(returned);
  }
  (*a)->exchange(*table);  // and back
  send(**a, 1);
  EXPECT_EQ((*a)->status().tx_unrouted, 2u);

  options.peers[1].address = "::1";
  EXPECT_EQ((*a)->table_of(options, before).error().sentence,
            "address: 127.0.0.1 and the peer ::1 are not of one IP version; leave address out to "
            "have both");
}

TEST(UdpPort, sends_equal_packets_of_a_burst_in_one_message) {
  UdpPair pair;
  expect_carried(*pair.a, *pair.b, 32, 1024);
  EXPECT_EQ(pair.a->status().tx_messages, 1u);
  EXPECT_EQ(pair.a->counters().system_calls, 1u);
  expect_carried(*pair.a, *pair.b, 64, 8192);  // 64 KiB is the most a message can have
  EXPECT_EQ(pair.a->status().tx_messages, 1u + 10);
  EXPECT_EQ(pair.a->counters().system_calls, 2u);
}

TEST(UdpPort, closes_a_message_at_a_packet_of_another_size) {
  UdpPair pair;
  std::vector<Packet*> packets;
  // Two, a shorter one that ends the message; one longer; one with another mark.
  const size_t sizes[] = {1000, 1000, 500, 1000, 2000, 2000};
  for (const size_t size : sizes) packets.push_back(make_packet(*pair.a, size, 7));
  packets[5]->ecn = 3;
  ASSERT_EQ(pair.a->tx_burst(packets, Instant()), 6u);
  EXPECT_EQ(pair.a->status().tx_messages, 4u);
  const auto received = receive(*pair.b, 6);
  ASSERT_EQ(received.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(is_made_packet(*received[i], sizes[i], 7));
    EXPECT_EQ(received[i]->ecn, i == 5 ? 3 : 0);
  }
}

TEST(UdpPort, works_without_segmentation_offloads) {
  UdpPair pair("::1", [](UdpPortOptions& o) { o.gso = o.gro = false; });
  expect_carried(*pair.a, *pair.b, 64, 1400);
  EXPECT_EQ(pair.a->status().tx_messages, 64u);
  EXPECT_EQ(pair.a->counters().system_calls, 1u);
  EXPECT_FALSE(pair.b->status().has_gro);
}

TEST(UdpPort, carries_dscp_and_ecn) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    UdpPair pair(address);
    for (uint8_t tos = 0; tos < 255; tos += 5) {
      Packet* packet = make_packet(*pair.a, 64, tos);
      packet->dscp = tos >> 2, packet->ecn = tos & 3;
      ASSERT_EQ(pair.a->tx_burst({&packet, 1}, Instant()), 1u);
      const auto received = receive(*pair.b, 1);
      ASSERT_EQ(received.size(), 1u);
      EXPECT_EQ(received[0]->dscp, tos >> 2);
      EXPECT_EQ(received[0]->ecn, tos & 3);
      pair.b->give_back(received);
    }
  }
}

TEST(UdpPort, tells_paths_by_source_port_and_sends_a_mixed_burst_once_per_path) {
  UdpPair pair("127.0.0.1", [](UdpPortOptions& o) { o.paths = 3; });
  std::vector<Packet*> packets;
  for (uint8_t i = 0; i < 60; ++i) {
    packets.push_back(make_packet(*pair.a, 256, i));
    packets.back()->path = i % 3;
  }
  ASSERT_EQ(pair.a->tx_burst(packets, Instant()), 60u);
  EXPECT_EQ(pair.a->counters().system_calls, 3u);
  const auto received = receive(*pair.b, 60);
  ASSERT_EQ(received.size(), 60u);
  for (const Packet* packet : received) {
    const auto transport = parse_transport({packet->data, packet->bytes});
    ASSERT_TRUE(transport);
    EXPECT_EQ(packet->path, *transport->immediate % 3);
  }
}

TEST(UdpPort, gathers_external_payload_pad_and_icrc) {
  UdpPair pair;
  ASSERT_TRUE(pair.a->facts().external_payload);
  for (const size_t payload_bytes : {1, 2, 3, 4, 1400, 4096, 8191}) {
    Packet* packet = make_packet(*pair.a, payload_bytes, 9);
    std::vector<uint8_t> elsewhere(packet->data + 32, packet->data + 32 + payload_bytes);
    packet->bytes = 32;
    packet->payload = elsewhere.data();
    packet->payload_bytes = static_cast<uint32_t>(payload_bytes);
    ASSERT_EQ(pair.a->tx_burst({&packet, 1}, Instant()), 1u);
    const auto received = receive(*pair.b, 1);
    ASSERT_EQ(received.size(), 1u) << payload_bytes;
    EXPECT_TRUE(is_made_packet(*received[0], payload_bytes, 9));
    pair.b->give_back(received);
  }
}

/// A socket that is nobody's peer, or stands where the peer should.
class Stranger {
 public:
  Stranger(uint16_t own, uint16_t target) : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
    SocketName name;
    const socklen_t bytes =
        write_socket_name(*parse_udp_address("127.0.0.1", own, ""), AF_INET, name);
    EXPECT_EQ(bind(fd_, &name.any, bytes), 0);
    target_bytes_ =
        write_socket_name(*parse_udp_address("127.0.0.1", target, ""), AF_INET, target_);
  }
  ~Stranger() { close(fd_); }
  void send(std::span<const uint8_t> bytes) {
    EXPECT_EQ(sendto(fd_, bytes.data(), bytes.size(), 0, &target_.any, target_bytes_),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  int fd_;
  SocketName target_;
  socklen_t target_bytes_;
};

TEST(UdpPort, drops_and_counts_what_unknown_senders_send) {
  UdpPair pair;
  Stranger stranger(free_udp_ports(1), pair.b_port);
  for (int i = 0; i < 5; ++i) stranger.send(std::vector<uint8_t>(100, 7));
  const auto are_counted = [&] { return pair.b->status().rx_unknown >= 5; };
  EXPECT_TRUE(receive_until(*pair.b, are_counted).empty());
  expect_carried(*pair.a, *pair.b, 2, 100);
  EXPECT_EQ(pair.b->status().rx_unknown, 5u);
  EXPECT_EQ(pair.b->counters().rx_malformed, 5u);
}

TEST(UdpPort, refuses_garbage_from_the_peer_itself) {
  const uint16_t own = free_udp_ports(1), peer = free_udp_ports(1);
  const auto port = UdpPort::make(udp_options(own, peer, "127.0.0.1"));
  ASSERT_TRUE(port);
  Stranger stranger(peer, own);
  const size_t sizes[] = {0, 1, 15, 16, 100, 8193, 20000, 65507};
  for (const size_t size : sizes) stranger.send(std::vector<uint8_t>(size, 7));
  const auto are_counted = [&] { return (*port)->counters().rx_malformed >= std::size(sizes); };
  EXPECT_TRUE(receive_until(**port, are_counted).empty());
  EXPECT_EQ((*port)->counters().rx_malformed, std::size(sizes));
}

TEST(UdpPort, counts_messages_longer_than_a_packet_as_truncated) {
  for (const bool has_gro : {false, true}) {
    const uint16_t own = free_udp_ports(1), peer = free_udp_ports(1);
    UdpPortOptions options = udp_options(own, peer, "127.0.0.1");
    options.gro = has_gro;
    options.payload_bytes_max = 1024;
    const auto port = UdpPort::make(options);
    ASSERT_TRUE(port);
    Stranger stranger(peer, own);
    stranger.send(std::vector<uint8_t>(3000, 7));
    const auto is_counted = [&] { return (*port)->counters().rx_malformed > 0; };
    EXPECT_TRUE(receive_until(**port, is_counted).empty());
    EXPECT_EQ((*port)->status().rx_truncated, 1u);
    EXPECT_EQ((*port)->counters().rx_malformed, 1u);
  }
}

TEST(UdpPort, checks_nothing_in_mode_none) {
  const uint16_t own = free_udp_ports(1), peer = free_udp_ports(1);
  UdpPortOptions options = udp_options(own, peer, "127.0.0.1");
  options.icrc = IcrcMode::None;
  const auto port = UdpPort::make(options);
  ASSERT_TRUE(port);
  EXPECT_EQ((*port)->facts().icrc, IcrcMode::None);
  Stranger stranger(peer, own);
  stranger.send(std::vector<uint8_t>(100, 7));
  EXPECT_EQ(receive(**port, 1).size(), 1u);
}

TEST(UdpPort, counts_icmp_errors_and_goes_on_when_the_peer_appears) {
  const uint16_t own = free_udp_ports(1), peer = free_udp_ports(1);
  const auto port = UdpPort::make(udp_options(own, peer, "127.0.0.1"));
  ASSERT_TRUE(port);
  for (int i = 0; i < 3; ++i) {
    Packet* packet = make_packet(**port, 100, 1);
    ASSERT_EQ((*port)->tx_burst({&packet, 1}, Instant()), 1u);
  }
  const auto is_told = [&] { return (*port)->status().icmp_errors > 0; };
  EXPECT_TRUE(receive_until(**port, is_told).empty());
  EXPECT_GT((*port)->status().icmp_errors, 0u);
  const auto other = UdpPort::make(udp_options(peer, own, "127.0.0.1"));
  ASSERT_TRUE(other);
  expect_carried(**port, **other, 10, 100);
}

TEST(UdpPort, errors_do_not_keep_an_idle_port_awake) {
  UdpPair pair("127.0.0.1", [](UdpPortOptions& o) { o.paths = 3; });
  pair.b.reset();
  for (uint16_t path = 0; path < 3; ++path) {
    Packet* packet = make_packet(*pair.a, 100, 1);
    packet->path = path;
    ASSERT_EQ(pair.a->tx_burst({&packet, 1}, Instant()), 1u);
  }
  Stranger stranger(free_udp_ports(1), static_cast<uint16_t>(pair.a_port + 2));
  stranger.send(std::vector<uint8_t>(10, 7));
  const auto are_told = [&] {
    return pair.a->status().icmp_errors >= 3 && pair.a->status().rx_unknown >= 1;
  };
  EXPECT_TRUE(receive_until(*pair.a, are_told).empty());
  EXPECT_EQ(pair.a->status().icmp_errors, 3u);
  EXPECT_EQ(pair.a->status().rx_unknown, 1u);
  const uint64_t calls = pair.a->counters().system_calls;
  EXPECT_TRUE(receive_in_vain(*pair.a).empty());
  EXPECT_LT(pair.a->counters().system_calls - calls, 200u);
}

// Memory of the kernel, which all sockets of a machine share.
TEST(UdpPort, keeps_little_of_what_strangers_send_where_nothing_should_come) {
  UdpPair pair("127.0.0.1", [](UdpPortOptions& o) { o.paths = 2; });
  Stranger stranger(free_udp_ports(1), static_cast<uint16_t>(pair.b_port + 1));
  constexpr int many = 2000;
  for (int i = 0; i < many; ++i) stranger.send(std::vector<uint8_t>(1000, 7));
  EXPECT_TRUE(receive_in_vain(*pair.b).empty());
  EXPECT_GT(pair.b->status().rx_unknown, 0u);
  EXPECT_LT(pair.b->status().rx_unknown, many / 5);
  expect_carried(*pair.a, *pair.b, 64, 1024);
}

TEST(UdpPort, loses_packets_for_nobody_with_a_count) {
  UdpPair pair;
  std::array<Packet*, 3> packets;
  for (Packet*& packet : packets) packet = make_packet(*pair.a, 100, 3);
  packets[0]->peer = 1, packets[2]->path = 9;
  ASSERT_EQ(pair.a->tx_burst(packets, Instant()), 3u);
  EXPECT_EQ(pair.a->status().tx_unrouted, 2u);
  EXPECT_EQ(receive(*pair.b, 1).size(), 1u);
}

TEST(UdpPort, lends_no_more_packets_than_it_has_and_drops_what_has_no_packet) {
  UdpPair pair;
  std::vector<Packet*> all(300);
  EXPECT_EQ(pair.b->take_burst(all), 256u);
  Packet* packet = make_packet(*pair.a, 100, 3);
  ASSERT_EQ(pair.a->tx_burst({&packet, 1}, Instant()), 1u);
  const auto is_dropped = [&] { return pair.b->counters().rx_dropped > 0; };
  EXPECT_TRUE(receive_until(*pair.b, is_dropped).empty());
  EXPECT_EQ(pair.b->counters().rx_dropped, 1u);
  pair.b->give_back(std::span(all).first(256));
  expect_carried(*pair.a, *pair.b, 64, 100);
}

TEST(UdpPort, states_what_the_route_can_carry) {
  UdpPair pair;
  EXPECT_EQ(pair.a->facts().payload_max, 8192u);
  EXPECT_STREQ(pair.a->facts().name, "udp");
  EXPECT_EQ(pair.a->facts().icrc, IcrcMode::Pseudo);
  EXPECT_GT(pair.a->status().rx_buffer_bytes, 0u);
}

TEST(UdpPort, names_the_taken_udp_port_and_the_key) {
  UdpPair pair;
  const auto second = UdpPort::make(udp_options(pair.a_port, pair.b_port, "127.0.0.1"));
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().sentence.starts_with("udp_port: " + std::to_string(pair.a_port) +
                                                  " is taken"));
}

TEST(UdpPort, says_which_option_is_wrong) {
  const UdpPortOptions good = udp_options(4000, 4001, "127.0.0.1");
  auto options = good;
  options.peers.clear();
  expect_refused(options, "peers: ");
  options = good, options.peers[0].address = "gateway.example";
  expect_refused(options, "peers: \"gateway.example\"");
  options = good, options.peers[0].address = "::1";
  expect_refused(options, "address: 127.0.0.1 and the peer ::1");
  options = good, options.peers[0].udp_port = 0;
  expect_refused(options, "peers: ");
  options = good, options.paths = 0;
  expect_refused(options, "paths: ");
  options = good, options.paths = 17;
  expect_refused(options, "paths: ");
  options = good, options.udp_port = 65535, options.paths = 2;
  expect_refused(options, "udp_port: ");
  options = good, options.payload_bytes_max = 9000;
  expect_refused(options, "payload_bytes_max: ");
  options = good, options.icrc = IcrcMode::Hardware;
  expect_refused(options, "icrc: ");
  for (const char* const any : {"", "0.0.0.0", "::"}) {
    options = good, options.icrc = IcrcMode::Exact, options.address = any;
    options.peers[0].address = std::string(any) == "::" ? "::1" : "127.0.0.1";
    expect_refused(options, "address: an exact ICRC covers it");
  }
  options = good, options.address = "203.0.113.7", options.peers[0].address = "203.0.113.8";
  expect_refused(options, "address: ");
}

}  // namespace
}  // namespace cw::test
