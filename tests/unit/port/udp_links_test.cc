// The UDP port of several links, and several ports of one site that share a UDP port.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/prng.h"
#include "dataplane/base/shards.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

constexpr uint16_t site_port = 11'000, paths = 2;

const std::string near = own_address(1), far = own_address(2);

std::vector<uint16_t> all_links() {
  std::vector<uint16_t> links(limits::links_max);
  for (size_t i = 0; i < links.size(); ++i) links[i] = static_cast<uint16_t>(i);
  return links;
}

UdpPortOptions options_of(const std::string& own, const std::string& peer,
                          const std::vector<uint16_t>& links) {
  UdpPortOptions options = udp_options(site_port, site_port, own.c_str());
  options.peers.clear();
  for (const uint16_t link : links) {
    options.peers.push_back({.address = peer, .udp_port = site_port, .link = link});
  }
  options.paths = paths;
  options.packets = 1024;
  options.socket_buffer_bytes = 4 << 20;
  return options;
}

std::unique_ptr<UdpPort> make(const UdpPortOptions& options) {
  auto made = UdpPort::make(options);
  if (!made) throw std::runtime_error(made.error().sentence);
  return std::move(*made);
}

std::string sentence_of(const UdpPortOptions& options) {
  const auto made = UdpPort::make(options);
  return made ? "" : made.error().sentence;
}

/// A plain socket, from which a far end looks like what it sends.
class Plain {
 public:
  Plain(const std::string& own, uint16_t udp_port) : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
    const timeval patience{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const SocketName name = name_of(own, udp_port);
    EXPECT_EQ(bind(fd_, &name.any, sizeof name.v4), 0) << strerror(errno);
  }
  ~Plain() { close(fd_); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  void send(const std::string& target, uint16_t udp_port, std::span<const uint8_t> bytes) {
    const SocketName name = name_of(target, udp_port);
    EXPECT_EQ(sendto(fd_, bytes.data(), bytes.size(), 0, &name.any, sizeof name.v4),
              static_cast<ssize_t>(bytes.size()));
  }
  /// The source port of what comes next.
  uint16_t next_source() {
    uint8_t bytes[2048];
    SocketName source{};
    socklen_t size = sizeof source;
    EXPECT_GT(recvfrom(fd_, bytes, sizeof bytes, 0, &source.any, &size), 0) << strerror(errno);
    return read_socket_name(source).udp_port;
  }

 private:
  static SocketName name_of(const std::string& address, uint16_t udp_port) {
    SocketName name{};
    write_socket_name(*parse_udp_address(address, udp_port, ""), AF_INET, name);
    return name;
  }
  int fd_;
};

// ---- several links ----

// [C-63]
TEST(UdpLinks, send_from_source_ports_of_their_own) {
  const std::vector<uint16_t> links = {0, 1, 15};
  const auto port = make(options_of(near, far, links));
  Plain peer(far, site_port);
  for (size_t i = 0; i < links.size(); ++i) {
    for (uint16_t path = 0; path < paths; ++path) {
      Packet* packet = make_packet(*port, 100, 1);
      packet->peer = static_cast<uint16_t>(i), packet->path = path;
      ASSERT_EQ(port->tx_burst({&packet, 1}, Instant()), 1u);
      EXPECT_EQ(peer.next_source(), site_port + 16 * links[i] + path);
    }
  }
}

TEST(UdpLinks, leave_a_mixed_burst_in_one_message_each_and_arrive_as_what_they_are) {
  const std::vector<uint16_t> here = {0, 1, 15}, there = {15, 0, 1};
  const auto a = make(options_of(near, far, here)), b = make(options_of(far, near, there));
  std::vector<Packet*> packets;
  for (uint8_t i = 0; i < 60; ++i) {
    packets.push_back(make_packet(*a, 256, i));
    packets.back()->peer = i % 3, packets.back()->path = i / 3 % paths;
  }
  ASSERT_EQ(a->tx_burst(packets, Instant()), 60u);
  EXPECT_EQ(a->counters().system_calls, 6u);
  EXPECT_EQ(a->status().tx_messages, 6u);
  const auto received = receive(*b, 60);
  ASSERT_EQ(received.size(), 60u);
  std::array<int, 6> last;
  last.fill(-1);
  for (const Packet* packet : received) {
    const auto transport = parse_transport({packet->data, packet->bytes});
    ASSERT_TRUE(transport);
    const auto number = static_cast<int>(*transport->immediate);
    EXPECT_EQ(there[packet->peer], here[static_cast<size_t>(number % 3)]);
    EXPECT_EQ(packet->path, number / 3 % paths);
    int& before = last[static_cast<size_t>(number % 6)];
    EXPECT_GT(number, before) << "in order, on each";
    before = number;
  }
}

TEST(UdpLinks, without_the_first_one_have_a_socket_that_only_receives) {
  const auto port = make(options_of(near, far, {1, 3}));
  {
    Plain peer(far, site_port);
    Packet* packet = make_packet(*port, 100, 1);
    ASSERT_EQ(port->tx_burst({&packet, 1}, Instant()), 1u);
    EXPECT_EQ(peer.next_source(), site_port + 16);
  }
  const auto other = make(options_of(far, near, {3, 1}));
  Packet* packet = make_packet(*other, 100, 1);
  packet->path = 1;
  ASSERT_EQ(other->tx_burst({&packet, 1}, Instant()), 1u);
  const auto received = receive(*port, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0]->peer, 1);
  EXPECT_EQ(received[0]->path, 1);
  Plain stranger(far, 1 + site_port);  // path 1 of link 0, which is not here
  stranger.send(near, site_port, std::vector<uint8_t>(100, 7));
  stranger.send(near, site_port + 16, std::vector<uint8_t>(100, 7));
  const auto are_counted = [&] { return port->status().rx_unknown >= 2; };
  EXPECT_TRUE(receive_until(*port, are_counted).empty());
  EXPECT_EQ(port->status().rx_unknown, 2u);
}

TEST(UdpLinks, need_room_for_their_udp_ports) {
  const UdpPortOptions good = options_of(near, far, {0, 15});
  auto options = good;
  options.udp_port = UINT16_MAX - 15 * 16;  // one path would fit
  EXPECT_EQ(sentence_of(options),
            "udp_port: 65295 given, 1 to 65294 accepted with 2 paths of link 15");
  options = good, options.peers[1].udp_port = UINT16_MAX - 15 * 16;
  EXPECT_EQ(sentence_of(options),
            "peers: the udp_port of " + far + " leaves no room for 2 paths of link 15");
  options = good, options.peers[1].link = 16;
  EXPECT_EQ(sentence_of(options), "peers: link 16 of " + far + " named, 0 to 15 accepted");
  options = good, options.peers.assign(limits::peers_max + 1, {.address = far, .link = 3});
  EXPECT_EQ(sentence_of(options), "peers: 1025 named, 1 to 1024 accepted");
}

// ---- several shards ----

std::vector<uint16_t> links_of_shard(uint16_t shard, uint16_t shards) {
  auto links = all_links();
  std::erase_if(links, [&](uint16_t it) { return shard_of_link(it, shards) != shard; });
  return links;
}

UdpPortOptions shard_options(uint16_t shard, uint16_t shards) {
  UdpPortOptions options = options_of(far, near, links_of_shard(shard, shards));
  options.shard = shard, options.shards = shards;
  return options;
}

using Ports = std::vector<std::unique_ptr<UdpPort>>;

Ports make_site(uint16_t shards) {
  Ports ports;
  for (uint16_t i = 0; i < shards; ++i) ports.push_back(make(shard_options(i, shards)));
  return ports;
}

constexpr size_t rest_bytes = 60;

Packet* make_to(UdpPort& port, uint8_t opcode, uint32_t qp) {
  Packet* packet = nullptr;
  if (port.take_burst({&packet, 1}) != 1) return nullptr;
  Transport transport;
  transport.opcode = opcode;
  transport.target_qp = qp;
  transport.rdma = RdmaTarget{.bytes = rest_bytes};
  const size_t headers = encode_transport_headers(transport, {packet->data, packet->bytes_max});
  std::memset(packet->data + headers, 0, rest_bytes);
  packet->bytes = static_cast<uint32_t>(headers + rest_bytes);
  return packet;
}

/// By each path of the link control, and a row of longer data, which leave as a message each.
size_t send_of_link(UdpPort& port, uint16_t link) {
  std::vector<Packet*> packets;
  const uint32_t last = first_qpn_of(link) + qpns_per_link - 1;
  for (uint16_t path = 0; path < paths; ++path) {
    packets.push_back(make_to(port, opcode_ud_send_only, control_qpn_of(link)));
    for (uint32_t i = 0; i < 4; ++i) {
      packets.push_back(make_to(port, opcode_uc_write_only_immediate, first_qpn_of(link) + i));
      packets.push_back(make_to(port, opcode_uc_write_only_immediate, last - i));
    }
    for (size_t i = packets.size() - 9; i < packets.size(); ++i) {
      packets[i]->peer = link % limits::links_max, packets[i]->path = path;
    }
  }
  EXPECT_EQ(port.tx_burst(packets, Instant()), packets.size());
  return packets.size();
}

uint16_t link_of(const Transport& transport) {
  return static_cast<uint16_t>(transport.opcode == opcode_ud_send_only
                                   ? transport.target_qp - control_qpn_default
                                   : link_of_qpn(transport.target_qp));
}

class UdpShards : public testing::TestWithParam<uint16_t> {};

TEST_P(UdpShards, have_what_is_sent_to_their_links_and_nothing_else) {
  const uint16_t shards = GetParam();
  const Ports site = make_site(shards);
  const auto peer = make(options_of(near, far, all_links()));
  std::vector<size_t> wanted(shards);
  for (uint16_t link = 0; link < limits::link_numbers_max; ++link) {
    wanted[shard_of_link(link, shards)] += send_of_link(*peer, link);
  }
  EXPECT_EQ(peer->status().tx_messages, size_t{2} * paths * limits::link_numbers_max);
  for (uint16_t shard = 0; shard < shards; ++shard) {
    EXPECT_TRUE(site[shard]->status().has_gro);
    const auto links = links_of_shard(shard, shards);
    const auto received = receive(*site[shard], wanted[shard]);
    ASSERT_EQ(received.size(), wanted[shard]);
    for (const Packet* packet : received) {
      const auto transport = parse_transport({packet->data, packet->bytes});
      ASSERT_TRUE(transport);
      EXPECT_EQ(shard_of_link(link_of(*transport), shards), shard);
      EXPECT_EQ(links[packet->peer], link_of(*transport) % limits::links_max);
    }
    EXPECT_EQ(site[shard]->counters().rx_malformed, 0u);
  }
}

TEST_P(UdpShards, answer_from_the_source_ports_of_their_links) {
  const uint16_t shards = GetParam();
  const Ports site = make_site(shards);
  const auto peer = make(options_of(near, far, all_links()));
  for (uint16_t shard = 0; shard < shards; ++shard) {
    const auto links = links_of_shard(shard, shards);
    for (size_t i = 0; i < links.size(); ++i) {
      Packet* packet = make_packet(*site[shard], 100, 1);
      packet->peer = static_cast<uint16_t>(i), packet->path = 1;
      ASSERT_EQ(site[shard]->tx_burst({&packet, 1}, Instant()), 1u);
      const auto received = receive(*peer, 1);
      ASSERT_EQ(received.size(), 1u);
      EXPECT_EQ(received[0]->peer, links[i]);
      EXPECT_EQ(received[0]->path, 1);
      peer->give_back(received);
    }
  }
}

uint64_t malformed_of(const Ports& site) {
  uint64_t sum = 0;
  for (const auto& port : site) sum += port->counters().rx_malformed;
  return sum;
}

TEST_P(UdpShards, refuse_garbage_and_the_first_has_what_is_too_short) {
  const Ports site = make_site(GetParam());
  Plain peer(near, site_port);
  uint64_t sent = 0;
  for (const uint8_t fill : {uint8_t{0xff}, opcode_ud_send_only}) {
    for (size_t size = 0; size < 8; ++size) {
      peer.send(far, site_port, std::vector<uint8_t>(size, fill));
      ++sent;
    }
  }
  const auto are_first = [&] { return site[0]->counters().rx_malformed >= sent; };
  EXPECT_TRUE(receive_until(*site[0], are_first).empty());
  EXPECT_EQ(site[0]->counters().rx_malformed, sent);
  EXPECT_EQ(malformed_of(site), sent);

  Prng random(7);
  std::vector<uint8_t> bytes(200);
  for (int i = 0; i < 200; ++i, ++sent) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    peer.send(far, site_port, std::span(bytes).first(8 + random.next() % 192));
  }
  const auto are_all = [&] {
    for (const auto& port : site) {
      std::array<Packet*, limits::burst_packets_max> none;
      EXPECT_EQ(port->rx_burst(none, Instant()), 0u);
    }
    return malformed_of(site) >= sent;
  };
  EXPECT_TRUE(receive_until(*site[0], are_all).empty());
  EXPECT_EQ(malformed_of(site), sent);
}

TEST_P(UdpShards, tell_a_second_gateway_that_the_udp_port_is_taken) {
  const Ports site = make_site(GetParam());
  const std::string taken = "udp_port: " + std::to_string(site_port) + " is taken";
  EXPECT_TRUE(sentence_of(shard_options(0, GetParam())).starts_with(taken));
  EXPECT_TRUE(sentence_of(options_of(far, near, {0})).starts_with(taken));
}

INSTANTIATE_TEST_SUITE_P(All, UdpShards, testing::Values(2, 3, 16),
                         [](const auto& p) { return "of_" + std::to_string(p.param); });

// A socket of each family would have been a row of its own, and IPv4 packets all the second's.
TEST(UdpShard, shares_with_others_whose_peers_have_another_ip_version) {
  const uint16_t udp_port = free_udp_ports(17);
  UdpPortOptions options = udp_options(udp_port, site_port, near.c_str());
  options.address.clear();
  options.shards = 2;
  options.peers.push_back({.address = "::1", .udp_port = site_port});
  const auto first = make(options);
  options.shard = 1;
  options.peers.resize(1);
  options.peers[0].link = 1;
  const auto second = make(options);

  UdpPortOptions peer_options = udp_options(site_port, udp_port, near.c_str());
  peer_options.peers.push_back(peer_options.peers[0]);
  peer_options.peers[1].link = 1;
  const auto peer = make(peer_options);
  for (const uint16_t link : {1, 0}) {
    Packet* packet = make_to(*peer, opcode_ud_send_only, control_qpn_of(link));
    packet->peer = link;
    ASSERT_EQ(peer->tx_burst({&packet, 1}, Instant()), 1u);
    UdpPort& shard = link == 0 ? *first : *second;
    const auto received = receive(shard, 1);
    EXPECT_EQ(received.size(), 1u) << link;
    shard.give_back(received);
  }
}

}  // namespace
}  // namespace cw::test
