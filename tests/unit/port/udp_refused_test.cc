// What the kernel does not take, or says of what it took.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "dataplane/port/tun/tun_device.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "tests/unit/port/network_space.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

// ---- udp full ----
// The UDP port whose sockets are full: behind a cable to a neighbour that the kernel does not know
// yet, so that what is sent stays in its socket's buffer.

constexpr uint16_t udp_port = 4791, paths = 3, ways = 2 * paths;  // of two links, a socket each
constexpr size_t payload_bytes = 1024;

UdpPortOptions options_of(const char* own, const char* peer) {
  UdpPortOptions options = udp_options(udp_port, udp_port, own);
  options.peers[0].address = peer;
  options.peers.push_back(options.peers[0]);
  options.peers[1].link = 2;
  options.paths = paths;
  options.packets = 2048;
  options.gso = false;  // a joined message is taken as a whole
  return options;
}

class UdpPortFull : public testing::Test {
 protected:
  void SetUp() override {
    CW_NEEDS_NETWORK_SPACE();
    near_.emplace();
    set_up("lo");
    far_.emplace();
    run_ip("link add far type veth peer name near netns " + near_->path());
    run_ip("link set far address 02:00:00:00:00:02 arp off up");
    set_ipv4("far", "10.9.0.2");
    far_port_ = make(options_of("10.9.0.2", "10.9.0.1"));
    near_->enter();
    run_ip("link set near up");
    set_ipv4("near", "10.9.0.1");
    UdpPortOptions options = options_of("10.9.0.1", "10.9.0.2");
    options.socket_buffer_bytes = 4096;
    near_port_ = make(options);
  }

  static std::unique_ptr<UdpPort> make(const UdpPortOptions& options) {
    auto made = UdpPort::make(options);
    if (!made) throw std::runtime_error(made.error().sentence);
    return std::move(*made);
  }

  /// `count` packets more, on these ways in turn, in a row that each way numbers by itself.
  std::vector<Packet*> next_burst(size_t count, std::span<const uint16_t> on) {
    std::vector<Packet*> packets;
    for (size_t i = 0; i < count; ++i) {
      const uint16_t way = on[i % on.size()];
      packets.push_back(make_packet(near(), payload_bytes, made_[way]++));
      packets.back()->peer = way / paths;
      packets.back()->path = way % paths;
    }
    return packets;
  }

  /// From now on the kernel knows its neighbour, and everything leaves.
  void open_the_way() {
    near_->enter();
    run_ip("neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev near");
  }

  /// Takes what has come, which must be the next packet of its way each time.
  void receive_in_order() {
    std::array<Packet*, limits::burst_packets_max> burst;
    const size_t count = far_port_->rx_burst(burst, Instant());
    for (size_t i = 0; i < count; ++i) {
      const auto way = static_cast<size_t>(burst[i]->peer * paths + burst[i]->path);
      EXPECT_TRUE(is_made_packet(*burst[i], payload_bytes, come_[way])) << way;
      ++come_[way];
    }
    far_port_->give_back({burst.data(), count});
  }
  /// Until all that was made has come; false: ten seconds were not enough.
  bool receive_all() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::array<Packet*, limits::burst_packets_max> none;
    while (come_ != made_ && std::chrono::steady_clock::now() < end) {
      EXPECT_EQ(near().rx_burst(none, Instant()), 0u);
      receive_in_order();
    }
    return come_ == made_;
  }

  UdpPort& near() { return *near_port_; }

 private:
  std::optional<NetworkSpace> near_, far_;
  std::unique_ptr<UdpPort> near_port_, far_port_;
  std::array<uint8_t, ways> made_{}, come_{};
};

TEST_F(UdpPortFull, keeps_what_one_path_has_no_room_for_and_every_paths_order) {
  constexpr uint16_t all[] = {0, 1, 2, 3, 4, 5};
  const auto packets = next_burst(60, all);
  ASSERT_EQ(near().tx_burst(packets, Instant()), packets.size());
  EXPECT_GT(near().status().tx_kept, 0u);
  EXPECT_LT(near().counters().tx_packets, packets.size());
  EXPECT_EQ(near().status().tx_lost, 0u);
  EXPECT_EQ(near().next_due(), Instant());
  open_the_way();
  EXPECT_TRUE(receive_all());
  EXPECT_EQ(near().next_due(), Instant::never());
  EXPECT_EQ(near().counters().tx_packets, packets.size());
}

TEST_F(UdpPortFull, lets_the_other_paths_and_links_go_on) {
  constexpr uint16_t first[] = {0}, others[] = {1, paths};
  const auto many = next_burst(limits::burst_packets_max, first);
  ASSERT_EQ(near().tx_burst(many, Instant()), many.size());
  const uint64_t sent = near().counters().tx_packets;
  ASSERT_LT(sent, many.size());
  const auto two = next_burst(2, others);
  ASSERT_EQ(near().tx_burst(two, Instant()), 2u);
  EXPECT_EQ(near().counters().tx_packets, sent + 2);
  open_the_way();
  EXPECT_TRUE(receive_all());
}

TEST_F(UdpPortFull, leaves_the_caller_what_it_has_no_place_for) {
  constexpr uint16_t mixed[] = {0, 0, 0, 0, 0, 1};
  std::vector<Packet*> left;
  for (int i = 0; i < 20 && left.empty(); ++i) {
    const auto packets = next_burst(limits::burst_packets_max, mixed);
    const size_t taken = near().tx_burst(packets, Instant());
    left.assign(packets.begin() + static_cast<ptrdiff_t>(taken), packets.end());
  }
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.front()->path, 0);
  EXPECT_EQ(near().counters().tx_refused, left.size());
  open_the_way();
  while (!left.empty()) {
    const size_t taken = near().tx_burst(left, Instant());
    left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(taken));
    receive_in_order();
  }
  EXPECT_TRUE(receive_all());
  EXPECT_EQ(near().status().tx_lost, 0u);
}

TEST_F(UdpPortFull, says_once_that_it_reads_a_lent_payload_no_more) {
  constexpr uint16_t first[] = {0};
  const auto packets = next_burst(40, first);
  std::vector<uint8_t> elsewhere(packets.size() * payload_bytes);
  for (size_t i = 0; i < packets.size(); ++i) {
    uint8_t* const payload = elsewhere.data() + i * payload_bytes;
    std::memcpy(payload, packets[i]->data + 32, payload_bytes);
    std::memset(packets[i]->data + 32, 0, payload_bytes);
    packets[i]->bytes = 32;
    packets[i]->payload = payload;
    packets[i]->payload_bytes = payload_bytes;
    packets[i]->cookie = i + 1;
  }
  std::vector<uint64_t> done;
  const auto take_done = [&] {
    std::array<uint64_t, 64> cookies;
    const size_t count = near().take_done(cookies);
    for (size_t i = 0; i < count; ++i) {
      done.push_back(cookies[i]);
      std::memset(elsewhere.data() + (cookies[i] - 1) * payload_bytes, 0xee, payload_bytes);
    }
  };
  ASSERT_EQ(near().tx_burst(packets, Instant()), packets.size());
  take_done();
  EXPECT_LT(done.size(), packets.size()) << "of those that wait for the socket";
  open_the_way();
  EXPECT_TRUE(receive_all());
  take_done();
  ASSERT_EQ(done.size(), packets.size());
  for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i + 1);
}
using Bytes = std::vector<uint8_t>;

// ---- udp icmp ----
// The UDP port and what strangers say of its packets by ICMP: behind a TUN device, whose other end
// the test reads and writes.

constexpr uint16_t own_port = 4791, own_paths = 4;
constexpr size_t told_payload_bytes = 1400;
constexpr uint8_t protocol_icmp = 1, protocol_icmp_v6 = 58;

struct Ends {
  const char *own, *peer, *stranger;
};
constexpr Ends v4_ends{"10.9.0.1", "10.9.0.2", "10.9.0.77"};
constexpr Ends v6_ends{"fd00:9::1", "fd00:9::2", "fd00:9::77"};

void append_address(Bytes& bytes, const char* text) {
  const bool is_v6 = std::string(text).find(':') != std::string::npos;
  uint8_t address[16];
  inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address);
  bytes.insert(bytes.end(), address, address + (is_v6 ? 16 : 4));
}

Bytes ip_packet(const char* from, const char* to, uint8_t protocol, const Bytes& body) {
  Bytes packet;
  if (std::string(from).find(':') == std::string::npos) {
    const size_t bytes = 20 + body.size();
    packet = {0x45,
              0,
              static_cast<uint8_t>(bytes >> 8),
              static_cast<uint8_t>(bytes),
              0,
              0,
              0x40,
              0,
              64,
              protocol,
              0,
              0};
    append_address(packet, from);
    append_address(packet, to);
    ip_layout::store16(&packet[10], static_cast<uint16_t>(~sum_of(packet)));
  } else {
    packet = {0x60,
              0,
              0,
              0,
              static_cast<uint8_t>(body.size() >> 8),
              static_cast<uint8_t>(body.size()),
              protocol,
              64};
    append_address(packet, from);
    append_address(packet, to);
  }
  packet.insert(packet.end(), body.begin(), body.end());
  return packet;
}

/// What an ICMP packet begins with.
struct Complaint {
  const char* name;
  uint8_t type, code;
  uint32_t rest = 0;  // behind the checksum: an MTU, say
};
constexpr Complaint needs_576{"fragmentation needed", 3, 4, 576};
constexpr Complaint too_big_1280{"packet too big", 2, 0, 1280};

constexpr Complaint v4_complaints[] = {needs_576,
                                       {"net unreachable", 3, 0},
                                       {"host unreachable", 3, 1},
                                       {"no protocol", 3, 2},
                                       {"port unreachable", 3, 3},
                                       {"source route", 3, 5},
                                       {"prohibited", 3, 13},
                                       {"source quench", 4, 0},
                                       {"redirect", 5, 1, 0x0a09004d},
                                       {"time exceeded", 11, 0},
                                       {"parameter problem", 12, 0}};
constexpr Complaint v6_complaints[] = {
    too_big_1280,     {"no route", 1, 0}, {"prohibited", 1, 1}, {"address", 1, 3}, {"port", 1, 4},
    {"source", 1, 5}, {"rejected", 1, 6}, {"hop limit", 3, 0},  {"unknown", 4, 1}};

class UdpPortIcmp : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!NetworkSpace::may_unshare()) GTEST_SKIP() << "needs root and /dev/net/tun";
    space_.emplace();
    auto made = TunDevice::make({.name = "wan", .mtu = 1500, .offload = false});
    ASSERT_TRUE(made) << made.error().sentence;
    device_.emplace(std::move(*made));
    set_ipv4("wan", v4_ends.own);
    set_ipv6("wan", v6_ends.own);
    open_port();
  }

  void open_port() {
    port_.reset();
    UdpPortOptions options = udp_options(own_port, own_port, ends().own);
    options.peers[0].address = ends().peer;
    options.paths = own_paths;
    options.packets = 1024;
    auto made = UdpPort::make(options);
    ASSERT_TRUE(made) << made.error().sentence;
    port_ = std::move(*made);
  }

  bool is_v6() const { return GetParam(); }
  const Ends& ends() const { return is_v6() ? v6_ends : v4_ends; }
  std::span<const Complaint> complaints() const {
    return is_v6() ? std::span<const Complaint>(v6_complaints) : v4_complaints;
  }
  UdpPort& port() { return *port_; }

  void write(const Bytes& packet) {
    Bytes with_header(10);  // of virtio_net: nothing to say
    with_header.insert(with_header.end(), packet.begin(), packet.end());
    ASSERT_EQ(::write(device_->fd(), with_header.data(), with_header.size()),
              static_cast<ssize_t>(with_header.size()));
  }

  /// Somebody says of a packet of every path of ours what he knows of nothing but the addresses.
  void complain(const Complaint& complaint) {
    for (uint16_t path = 0; path < own_paths; ++path) {
      Bytes udp(8 + 40);
      ip_layout::store16(&udp[0], own_port + path);
      ip_layout::store16(&udp[2], own_port);
      ip_layout::store16(&udp[4], told_payload_bytes);
      const Bytes quoted = ip_packet(ends().own, ends().peer, ip_layout::protocol_udp, udp);
      Bytes icmp = {complaint.type, complaint.code, 0, 0, 0, 0, 0, 0};
      ip_layout::store32(&icmp[4], complaint.rest);
      icmp.insert(icmp.end(), quoted.begin(), quoted.end());
      uint16_t sum = sum_of(icmp);
      Bytes addresses;
      append_address(addresses, ends().stranger);
      append_address(addresses, ends().own);
      if (is_v6()) {
        sum = add_sums(sum, pseudo_header_sum(addresses, protocol_icmp_v6, icmp.size()));
      }
      ip_layout::store16(&icmp[2], static_cast<uint16_t>(~sum));
      write(
          ip_packet(ends().stranger, ends().own, is_v6() ? protocol_icmp_v6 : protocol_icmp, icmp));
    }
  }

  /// The UDP packets that have left, whole.
  std::vector<Bytes> read_packets() {
    std::vector<Bytes> all;
    Bytes bytes(65536);
    for (ssize_t size; (size = read(device_->fd(), bytes.data(), bytes.size())) > 10;) {
      const Bytes packet(bytes.begin() + 10, bytes.begin() + size);
      if (packet[is_v6() ? 6 : 9] == ip_layout::protocol_udp) all.push_back(packet);
    }
    return all;
  }

  /// A burst over all paths, every packet of which leaves as it is.
  void expect_sent(const std::string& what) {
    (void)read_packets();
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 8 * own_paths; ++i) {
      packets.push_back(make_packet(port(), told_payload_bytes, i));
      packets.back()->path = i % own_paths;
    }
    ASSERT_EQ(port().tx_burst(packets, Instant()), packets.size()) << what;
    const auto left = read_packets();
    EXPECT_EQ(left.size(), packets.size()) << what;
    const size_t headers = (is_v6() ? 40 : 20) + 8;
    for (const Bytes& each : left) {
      EXPECT_EQ(each.size(), headers + 32 + told_payload_bytes + 4) << what;
      const bool may_be_cut = !is_v6() && (each[6] & 0x40) == 0;
      EXPECT_FALSE(may_be_cut) << what;
    }
  }
  void expect_nothing_lost() {
    EXPECT_EQ(port().status().tx_lost, 0u);
    EXPECT_EQ(port().status().tx_too_big, 0u);
    EXPECT_EQ(port().counters().tx_refused, 0u);
  }

  /// What path 0 has sent, as if the peer had.
  void reflect() {
    Packet* packet = make_packet(port(), told_payload_bytes, 3);
    (void)read_packets();
    ASSERT_EQ(port().tx_burst({&packet, 1}, Instant()), 1u);
    auto left = read_packets();
    ASSERT_EQ(left.size(), 1u);
    const size_t addresses = is_v6() ? 8 : 12, bytes = is_v6() ? 16 : 4;
    const auto first = left[0].begin() + static_cast<ptrdiff_t>(addresses);
    std::swap_ranges(first, first + static_cast<ptrdiff_t>(bytes),
                     first + static_cast<ptrdiff_t>(bytes));
    write(left[0]);
  }

 private:
  std::optional<NetworkSpace> space_;
  std::optional<TunDevice> device_;
  std::unique_ptr<UdpPort> port_;
};

TEST_P(UdpPortIcmp, of_strangers_stops_no_packet) {
  expect_sent("at first");
  for (const Complaint& complaint : complaints()) {
    complain(complaint);
    expect_sent(complaint.name);
  }
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, by_the_hundred_stops_no_packet) {
  for (const Complaint& complaint : complaints()) {
    for (int i = 0; i < 100; ++i) complain(complaint);
    expect_sent(complaint.name);
  }
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, by_the_hundred_keeps_nothing_from_coming_in) {
  reflect();
  for (int i = 0; i < 100; ++i) complain(complaints()[4]);
  std::array<Packet*, limits::burst_packets_max> burst;
  ASSERT_EQ(port().rx_burst(burst, Instant()), 1u);
  EXPECT_TRUE(is_made_packet(*burst[0], told_payload_bytes, 3));
}

TEST_P(UdpPortIcmp, that_the_kernel_believed_before_the_start_is_worth_nothing) {
  complain(complaints()[0]);
  open_port();
  EXPECT_EQ(port().facts().payload_max, is_v6() ? 1416u : 1436u);
  expect_sent("with an exception in the kernel's routes");
  expect_nothing_lost();
}

TEST_P(UdpPortIcmp, wakes_an_idle_port_for_a_moment_only) {
  for (int i = 0; i < 100; ++i) complain(complaints()[4]);
  EXPECT_TRUE(receive_in_vain(port()).empty());
  const uint64_t calls = port().counters().system_calls;
  EXPECT_TRUE(receive_in_vain(port()).empty());
  EXPECT_LT(port().counters().system_calls - calls, 200u);
}

INSTANTIATE_TEST_SUITE_P(Over, UdpPortIcmp, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

// ---- udp mtu ----
// The UDP port where the MTU is small or becomes so, in a network namespace of the test's own.

TEST(UdpPortMtu, bounds_the_payload) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  set_mtu("lo", 1500);
  set_up("lo");
  // 20 or 40 of IP, 8 of UDP, 32 of BTH, RETH and immediate, 4 of ICRC; a multiple of four.
  EXPECT_EQ(UdpPair("127.0.0.1").a->facts().payload_max, 1436u);
  EXPECT_EQ(UdpPair("::1").a->facts().payload_max, 1416u);
}

TEST(UdpPortMtu, counts_packets_that_have_become_too_big_and_sends_the_others) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  set_up("lo");
  for (const char* address : {"127.0.0.1", "::1"}) {
    set_mtu("lo", 9000);
    UdpPair pair(address);
    set_mtu("lo", 1500);
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 12; ++i) {
      packets.push_back(make_packet(*pair.a, i % 6 < 3 ? 4096 : 1400, i));
    }
    ASSERT_EQ(pair.a->tx_burst(packets, Instant()), 12u);
    EXPECT_EQ(pair.a->status().tx_too_big, 6u);
    EXPECT_EQ(pair.a->status().icmp_errors, 0u);
    EXPECT_TRUE(pair.a->status().has_gso);
    const auto received = receive(*pair.b, 6);
    ASSERT_EQ(received.size(), 6u);
    for (const Packet* packet : received) EXPECT_EQ(packet->bytes, 1432u);
    EXPECT_TRUE(receive_in_vain(*pair.a).empty());
    const uint64_t calls = pair.a->counters().system_calls;
    receive_in_vain(*pair.a);
    EXPECT_LT(pair.a->counters().system_calls - calls, 200u) << "errors keep waking the port";
  }
}

}  // namespace

}  // namespace cw::test
