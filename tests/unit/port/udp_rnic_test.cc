// The UDP port with exact ICRCs, and peers that are RNICs: data from source ports of their own,
// control packets from any.
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/prng.h"
#include "dataplane/base/shards.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/unit/port/udp_pair.h"
#include "tests/unit/wire/packets.h"

namespace cw::test {
namespace {

// ---- exact ICRCs between two of us ----

void make_exact(UdpPortOptions& options) { options.icrc = IcrcMode::Exact; }

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
  }
  to.give_back(received);
}

TEST(UdpExact, carries_packets_of_every_size_both_ways_joined_or_not) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    for (const bool is_joined : {true, false}) {
      UdpPair pair(address, [&](UdpPortOptions& options) {
        make_exact(options);
        options.gso = options.gro = is_joined;
      });
      EXPECT_EQ(pair.a->facts().icrc, IcrcMode::Exact);
      for (const size_t payload_bytes : {0, 1, 2, 3, 4, 1023, 1400, 4096, 8192}) {
        expect_carried(*pair.a, *pair.b, 64, payload_bytes);
        expect_carried(*pair.b, *pair.a, 3, payload_bytes);
      }
      EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
    }
  }
}

TEST(UdpExact, gathers_external_payload_and_pad) {
  UdpPair pair("127.0.0.1", make_exact);
  for (const size_t payload_bytes : {1, 2, 3, 4, 1400, 8191}) {
    std::vector<Packet*> packets;
    std::vector<std::vector<uint8_t>> elsewhere;
    for (uint8_t i = 0; i < 5; ++i) {
      Packet* packet = make_packet(*pair.a, payload_bytes, i);
      elsewhere.emplace_back(packet->data + 32, packet->data + 32 + payload_bytes);
      packet->bytes = 32;
      packet->payload = elsewhere.back().data();
      packet->payload_bytes = static_cast<uint32_t>(payload_bytes);
      packets.push_back(packet);
    }
    ASSERT_EQ(pair.a->tx_burst(packets, Instant()), packets.size());
    const auto received = receive(*pair.b, packets.size());
    ASSERT_EQ(received.size(), packets.size()) << payload_bytes;
    for (uint8_t i = 0; i < 5; ++i) EXPECT_TRUE(is_made_packet(*received[i], payload_bytes, i));
    pair.b->give_back(received);
  }
}

TEST(UdpExact, takes_no_pseudo_icrc_and_the_other_way_round) {
  bool is_first = true;
  UdpPair pair("127.0.0.1", [&](UdpPortOptions& options) {
    if (std::exchange(is_first, false)) make_exact(options);
  });
  for (UdpPort* const to : {pair.a.get(), pair.b.get()}) {
    UdpPort& from = to == pair.a.get() ? *pair.b : *pair.a;
    Packet* packet = make_packet(from, 100, 1);
    ASSERT_EQ(from.tx_burst({&packet, 1}, Instant()), 1u);
    const auto is_counted = [&] { return to->counters().rx_malformed == 1; };
    EXPECT_TRUE(receive_until(*to, is_counted).empty());
    EXPECT_TRUE(is_counted());
    EXPECT_EQ(to->status().rx_unknown, 0u);
  }
}

// What packets of a way began with is not what those of its next peer do.
TEST(UdpExact, has_peers_that_come_and_go) {
  const uint16_t a_port = free_udp_ports(1), b_port = free_udp_ports(1), c_port = free_udp_ports(1);
  const auto options_of = [](uint16_t own, uint16_t peer) {
    UdpPortOptions options = udp_options(own, peer, "127.0.0.1");
    make_exact(options);
    return options;
  };
  const auto a = UdpPort::make(options_of(a_port, b_port));
  const auto b = UdpPort::make(options_of(b_port, a_port));
  const auto c = UdpPort::make(options_of(c_port, a_port));
  ASSERT_TRUE(a && b && c);
  auto table = (*a)->table_of(options_of(a_port, c_port), options_of(a_port, b_port));
  ASSERT_TRUE(table);
  for (const auto& far : {b->get(), c->get(), b->get()}) {
    expect_carried(**a, *far, 4, 100);
    expect_carried(*far, **a, 4, 100);
    (*a)->exchange(*table);
  }
  EXPECT_EQ((*a)->counters().rx_malformed, 0u);
}

// ---- what an RNIC sends ----

constexpr uint16_t near_port = 11'000, rnic_port = 50'000, stray_port = 61'234, paths = 2;
const std::string near = own_address(1), far = own_address(2);

/// Links 0, 1 and 3 to an RNIC.
UdpPortOptions options_of_near(IcrcMode icrc) {
  UdpPortOptions options = udp_options(near_port, near_port, near.c_str());
  options.peers.clear();
  for (const uint16_t link : {0, 1, 3}) {
    options.peers.push_back({.address = far, .link = link, .source_port = rnic_port});
  }
  options.paths = paths;
  options.icrc = icrc;
  return options;
}

Transport data(uint32_t qpn) {
  Transport packet;
  packet.opcode = opcode_uc_write_only;
  packet.target_qp = qpn;
  packet.rdma = RdmaTarget();
  return packet;
}
Transport control(uint32_t qpn) {
  Transport packet;
  packet.opcode = opcode_ud_send_only;
  packet.target_qp = qpn;
  packet.datagram = {control_qkey, 17};
  return packet;
}

/// A queue pair of the far end, by a plain socket.
class QueuePair {
 public:
  explicit QueuePair(uint16_t udp_port, IcrcMode icrc = IcrcMode::Exact)
      : fd_(socket(AF_INET, SOCK_DGRAM, 0)), udp_port_(udp_port), icrc_(icrc) {
    const SocketName name = name_of(far, udp_port);
    EXPECT_EQ(bind(fd_, &name.any, sizeof name.v4), 0) << strerror(errno);
  }
  ~QueuePair() { close(fd_); }
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// With the ICRC for an identification that the kernel does not give it.
  ByteVector datagram_of(const Transport& packet) {
    FrameAddress address;
    address.source_ip = ip_of(far), address.target_ip = ip_of(near);
    address.source_udp_port = udp_port_, address.target_udp_port = near_port;
    address.identification = identification_ += 77;
    const ByteVector frame = make_frame(address, packet, FrameStart::Ip);
    ByteVector datagram(frame.begin() + 28, frame.end());
    if (icrc_ == IcrcMode::Exact) return datagram;
    const std::span bytes(datagram);
    const uint32_t icrc = Icrc(icrc_, cw_crc32, 0).of({}, bytes.first(bytes.size() - icrc_bytes));
    Icrc::write(icrc, bytes.last<icrc_bytes>());
    return datagram;
  }
  void send(const Transport& packet) { send(datagram_of(packet)); }
  void send(std::span<const uint8_t> datagram) {
    const SocketName name = name_of(near, near_port);
    EXPECT_EQ(sendto(fd_, datagram.data(), datagram.size(), 0, &name.any, sizeof name.v4),
              static_cast<ssize_t>(datagram.size()));
  }
  /// What follows in one piece is segments of `bytes`.
  void join(size_t bytes) {
    const auto value = static_cast<int>(bytes);
    EXPECT_EQ(setsockopt(fd_, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof value), 0);
  }

 private:
  static SocketName name_of(const std::string& address, uint16_t udp_port) {
    SocketName name{};
    write_socket_name(*parse_udp_address(address, udp_port, ""), AF_INET, name);
    return name;
  }
  static IpAddress ip_of(const std::string& address) {
    return ipv4_at(parse_udp_address(address, 0, "")->ip.data() + 12);
  }

  int fd_;
  uint16_t udp_port_, identification_ = 1;
  IcrcMode icrc_;
};

std::unique_ptr<UdpPort> make(const UdpPortOptions& options) {
  auto made = UdpPort::make(options);
  if (!made) throw std::runtime_error(made.error().sentence);
  return std::move(*made);
}

/// What has come is of this peer and path.
void expect_one(UdpPort& port, uint16_t peer, uint16_t path) {
  const auto received = receive(port, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0]->peer, peer);
  EXPECT_EQ(received[0]->path, path);
  port.give_back(received);
}

void expect_unknown(UdpPort& port, uint64_t count) {
  const auto are_counted = [&] { return port.status().rx_unknown >= count; };
  EXPECT_TRUE(receive_until(port, are_counted).empty());
  EXPECT_EQ(port.status().rx_unknown, count);
  EXPECT_EQ(port.counters().rx_malformed, count);
}

class UdpRnic : public testing::TestWithParam<IcrcMode> {
 protected:
  std::unique_ptr<UdpPort> port_ = make(options_of_near(GetParam()));
};

// [C-63]
TEST_P(UdpRnic, sends_data_from_source_ports_of_its_own) {
  for (const uint16_t peer : {0, 1, 2}) {
    for (uint16_t path = 0; path < paths; ++path) {
      const uint16_t link = peer == 2 ? 3 : peer;
      QueuePair pair(static_cast<uint16_t>(rnic_port + 16 * link + path), GetParam());
      pair.send(data(first_qpn_of(link)));
      expect_one(*port_, peer, path);
    }
  }
  QueuePair(near_port, GetParam()).send(data(0));
  expect_unknown(*port_, 1);
}

// [C-65]
TEST_P(UdpRnic, sends_control_packets_from_any_port) {
  for (const uint16_t from : {rnic_source_port_min, stray_port, uint16_t{UINT16_MAX}}) {
    QueuePair pair(from, GetParam());
    pair.send(control(control_qpn_of(0)));
    expect_one(*port_, 0, 0);
    pair.send(control(control_qpn_of(3)));
    expect_one(*port_, 2, 0);
  }
  QueuePair(rnic_port + 1, GetParam()).send(control(control_qpn_of(0)));
  expect_one(*port_, 0, 1);
  EXPECT_EQ(port_->counters().rx_malformed, 0u);
}

// [C-65] Joined on the way, each is still its own link's.
TEST_P(UdpRnic, may_send_control_packets_of_several_links_from_one_port) {
  QueuePair pair(stray_port, GetParam());
  ByteVector joined;
  for (const uint16_t link : {3, 0, 9, 1}) {
    const ByteVector one = pair.datagram_of(control(control_qpn_of(link)));
    joined.insert(joined.end(), one.begin(), one.end());
  }
  pair.join(joined.size() / 4);
  pair.send(joined);
  const auto received = receive(*port_, 3);
  ASSERT_EQ(received.size(), 3u);
  for (const size_t i : {0, 1, 2}) EXPECT_EQ(received[i]->peer, (std::array{2, 0, 1}[i]));
  EXPECT_EQ(port_->status().rx_unknown, 1u);
}

// [C-65]
TEST_P(UdpRnic, has_all_else_from_such_ports_dropped_and_counted) {
  uint64_t count = 0;
  const auto send = [&](uint16_t from, const Transport& packet) {
    QueuePair(from, GetParam()).send(packet);
    ++count;
  };
  send(stray_port, data(0));
  send(stray_port, data(control_qpn_of(0)));
  send(stray_port, control(17));
  send(stray_port, control(control_qpn_default - 1));
  send(stray_port, control(control_qpn_default + 16));
  send(stray_port, control(control_qpn_of(7)));  // a link that is not there
  send(rnic_source_port_min - 1, control(control_qpn_of(0)));
  QueuePair pair(stray_port, GetParam());
  const ByteVector whole = pair.datagram_of(control(control_qpn_of(0)));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes, ++count) {
    pair.send(std::span(whole).first(bytes));
  }
  Prng prng(7);
  for (int i = 0; i < 200; ++i, ++count) {
    ByteVector garbage(prng.below(300));
    for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(prng.next());
    if (!garbage.empty() && garbage[0] == opcode_ud_send_only) garbage[0] = 0;
    pair.send(garbage);
  }
  expect_unknown(*port_, count);
  pair.send(whole);
  expect_one(*port_, 0, 0);
}

// [C-65] A control packet that is forged is no stranger's, but wrong.
TEST_P(UdpRnic, has_each_wrong_bit_of_control_packets_found) {
  QueuePair pair(stray_port, GetParam());
  const ByteVector whole = pair.datagram_of(control(control_qpn_of(0)));
  uint64_t count = 0;
  for (size_t i = sizeof(Bth); i < whole.size(); ++i, ++count) {
    ByteVector forged = whole;
    forged[i] ^= static_cast<uint8_t>(1 << i % 8);
    pair.send(forged);
  }
  const auto are_counted = [&] { return port_->counters().rx_malformed >= count; };
  EXPECT_TRUE(receive_until(*port_, are_counted).empty());
  EXPECT_EQ(port_->counters().rx_malformed, count);
  EXPECT_EQ(port_->status().rx_unknown, 0u);
}

// [C-65]
TEST_P(UdpRnic, beside_another_gateway_at_its_address_is_not_told_from_it) {
  port_.reset();
  UdpPortOptions options = options_of_near(GetParam());
  options.peers.push_back({.address = far, .udp_port = 6000, .link = 0});
  const auto port = make(options);
  QueuePair pair(stray_port, GetParam());
  pair.send(control(control_qpn_of(0)));
  expect_unknown(*port, 1);
  pair.send(control(control_qpn_of(3)));  // which the other does not have
  expect_one(*port, 2, 0);
}

// [C-60] [C-65]
TEST_P(UdpRnic, is_heard_by_the_shard_of_its_link) {
  port_.reset();
  constexpr uint16_t shards = 3;
  std::vector<std::unique_ptr<UdpPort>> site;
  for (uint16_t shard = 0; shard < shards; ++shard) {
    UdpPortOptions options = options_of_near(GetParam());
    options.peers.clear();
    for (uint16_t link = shard; link < limits::links_max; link += shards) {
      options.peers.push_back({.address = far, .link = link, .source_port = rnic_port});
    }
    options.shard = shard, options.shards = shards;
    site.push_back(make(options));
  }
  QueuePair pair(stray_port, GetParam());
  for (uint16_t link = 0; link < limits::links_max; ++link) {
    pair.send(control(control_qpn_of(link)));
    UdpPort& port = *site[shard_of_link(link, shards)];
    expect_one(port, static_cast<uint16_t>(link / shards), 0);
    EXPECT_EQ(port.counters().rx_malformed, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Icrc, UdpRnic, testing::Values(IcrcMode::Exact, IcrcMode::Pseudo),
                         [](const auto& each) {
                           return each.param == IcrcMode::Exact ? "exact" : "pseudo";
                         });

TEST(UdpRnicPeer, needs_room_for_its_source_ports) {
  UdpPortOptions options = options_of_near(IcrcMode::Exact);
  options.peers[2].source_port = UINT16_MAX - 16 * 3;
  const auto made = UdpPort::make(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().sentence,
            "peers: the source_port of " + far + " leaves no room for 2 paths of link 3");
}

}  // namespace
}  // namespace cw::test
