// The UDP port whose sockets are full: behind a cable to a neighbour that the kernel does not know
// yet, so that what is sent stays in its socket's buffer.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/unit/port/network_space.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

constexpr uint16_t udp_port = 4791, paths = 3;
constexpr size_t payload_bytes = 1024;

UdpPortOptions options_of(const char* own, const char* peer) {
  UdpPortOptions options = udp_options(udp_port, udp_port, own);
  options.peers[0].address = peer;
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

  /// `count` packets more, on these paths in turn, in a row that each path numbers by itself.
  std::vector<Packet*> next_burst(size_t count, std::span<const uint16_t> on) {
    std::vector<Packet*> packets;
    for (size_t i = 0; i < count; ++i) {
      const uint16_t path = on[i % on.size()];
      packets.push_back(make_packet(near(), payload_bytes, made_[path]++));
      packets.back()->path = path;
    }
    return packets;
  }

  /// From now on the kernel knows its neighbour, and everything leaves.
  void open_the_way() {
    near_->enter();
    run_ip("neigh replace 10.9.0.2 lladdr 02:00:00:00:00:02 dev near");
  }

  /// Takes what has come, which must be the next packet of its path each time.
  void receive_in_order() {
    std::array<Packet*, limits::burst_packets_max> burst;
    const size_t count = far_port_->rx_burst(burst, Instant());
    for (size_t i = 0; i < count; ++i) {
      const uint16_t path = burst[i]->path;
      EXPECT_TRUE(is_made_packet(*burst[i], payload_bytes, come_[path])) << path;
      ++come_[path];
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
  std::array<uint8_t, paths> made_{}, come_{};
};

TEST_F(UdpPortFull, keeps_what_one_path_has_no_room_for_and_every_paths_order) {
  constexpr uint16_t all[] = {0, 1, 2};
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

TEST_F(UdpPortFull, lets_the_other_paths_go_on) {
  constexpr uint16_t first[] = {0}, second[] = {1};
  const auto many = next_burst(limits::burst_packets_max, first);
  ASSERT_EQ(near().tx_burst(many, Instant()), many.size());
  const uint64_t sent = near().counters().tx_packets;
  ASSERT_LT(sent, many.size());
  const auto one = next_burst(1, second);
  ASSERT_EQ(near().tx_burst(one, Instant()), 1u);
  EXPECT_EQ(near().counters().tx_packets, sent + 1);
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

}  // namespace
}  // namespace cw::test
