// The TUN port against the kernel, in network namespaces of the test's own.
#include "dataplane/port/tun/tun_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "tests/unit/port/network_space.h"
#include "tests/unit/port/segments.h"

namespace cw::test {
namespace {

using Burst = std::array<Packet*, limits::burst_packets_max>;

std::unique_ptr<TunPort> make_tun(const TunDeviceOptions& device) {
  auto port = TunPort::make({.device = device, .packets = 1024});
  if (!port) throw std::runtime_error(port.error().sentence);
  return std::move(*port);
}

void wait_for(std::span<TunPort* const> ports) {
  std::vector<pollfd> ready;
  for (const TunPort* port : ports) ready.push_back({port->facts().wait_fd, POLLIN, 0});
  poll(ready.data(), ready.size(), 10);
}

/// A packet of TCP or UDP must have right lengths and checksums, by the plain reading of them.
void expect_right(const Packet& packet) {
  const uint8_t protocol = packet.data[0] >> 4 == 4 ? packet.data[9] : packet.data[6];
  if (protocol != 6 && protocol != 17) return;
  EXPECT_EQ(fault_of({packet.data, packet.bytes}), "");
}

/// Moves what one port has received to the other; returns how many packets.
size_t carry(TunPort& from, TunPort& to) {
  Burst received, sent;
  const size_t count = from.rx_burst(received, Instant());
  const size_t taken = to.take_burst({sent.data(), count});
  EXPECT_EQ(taken, count);
  for (size_t i = 0; i < count; ++i) {
    expect_right(*received[i]);
    std::memcpy(sent[i]->data, received[i]->data, received[i]->bytes);
    sent[i]->bytes = received[i]->bytes;
  }
  EXPECT_EQ(to.tx_burst({sent.data(), count}, Instant()), count);
  from.give_back({received.data(), count});
  return count;
}

/// Two namespaces with a TUN device each, and a thread that carries packets between them.
class TwoSites {
 public:
  explicit TwoSites(bool offload, uint32_t mtu = 1500) {
    a_space_ = std::make_unique<NetworkSpace>();
    a = make_site("10.9.0.1", "fd09::1", offload, mtu);
    b_space_ = std::make_unique<NetworkSpace>();
    b = make_site("10.9.0.2", "fd09::2", offload, mtu);
    carrier_ = std::thread([this] { run(); });
  }
  ~TwoSites() { stop(); }

  /// The ports may be looked at afterwards.
  void stop() {
    is_stopped_ = true;
    if (carrier_.joinable()) carrier_.join();
  }
  void enter_a() const { a_space_->enter(); }
  void enter_b() const { b_space_->enter(); }

  std::unique_ptr<TunPort> a, b;

 private:
  static std::unique_ptr<TunPort> make_site(const char* v4, const char* v6, bool offload,
                                            uint32_t mtu) {
    auto port = make_tun({.name = "cw0", .mtu = mtu, .offload = offload});
    set_ipv4("cw0", v4);
    set_ipv6("cw0", v6);
    return port;
  }
  void run() {
    TunPort* const both[] = {a.get(), b.get()};
    while (!is_stopped_) {
      if (carry(*a, *b) + carry(*b, *a) == 0) wait_for(both);
    }
  }

  std::unique_ptr<NetworkSpace> a_space_, b_space_;
  std::atomic<bool> is_stopped_ = false;
  std::thread carrier_;
};

sockaddr_storage name_of(const char* address, uint16_t number, socklen_t& bytes) {
  sockaddr_storage name{};
  if (strchr(address, ':') == nullptr) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET, v4.sin_port = htons(number);
    inet_pton(AF_INET, address, &v4.sin_addr);
    std::memcpy(&name, &v4, bytes = sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6, v6.sin6_port = htons(number);
    inet_pton(AF_INET6, address, &v6.sin6_addr);
    std::memcpy(&name, &v6, bytes = sizeof v6);
  }
  return name;
}

/// A socket in the thread's namespace that gives up waiting after twenty seconds.
int open_socket(const sockaddr_storage& name, int type) {
  const int fd = socket(name.ss_family, type, 0);
  const timeval patience{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return fd;
}
const sockaddr* plain(const sockaddr_storage& name) {
  return reinterpret_cast<const sockaddr*>(&name);
}

uint8_t byte_at(uint64_t offset) { return static_cast<uint8_t>(offset * 0x9e3779b97f4a7c15 >> 56); }

void send_stream(int fd, uint64_t bytes) {
  std::vector<uint8_t> piece(256 << 10);
  for (uint64_t offset = 0; offset < bytes;) {
    const size_t count = std::min<uint64_t>(piece.size(), bytes - offset);
    for (size_t i = 0; i < count; ++i) piece[i] = byte_at(offset + i);
    for (size_t sent = 0; sent < count;) {
      const ssize_t n = send(fd, piece.data() + sent, count - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
    offset += count;
  }
  shutdown(fd, SHUT_WR);
}

/// How many bytes came, all of them right.
uint64_t receive_stream(int fd) {
  std::vector<uint8_t> piece(256 << 10);
  uint64_t offset = 0;
  for (;;) {
    const ssize_t n = recv(fd, piece.data(), piece.size(), 0);
    if (n <= 0) return offset;
    for (ssize_t i = 0; i < n; ++i) {
      if (piece[static_cast<size_t>(i)] != byte_at(offset++)) return 0;
    }
  }
}

/// Sends `bytes` from A to B by TCP; returns how many arrived as they were.
uint64_t transfer(const TwoSites& sites, const char* target, uint64_t bytes) {
  socklen_t name_bytes;
  const sockaddr_storage name = name_of(target, 5001, name_bytes);
  sites.enter_b();
  const int listener = open_socket(name, SOCK_STREAM);
  EXPECT_EQ(bind(listener, plain(name), name_bytes), 0) << strerror(errno);
  EXPECT_EQ(listen(listener, 1), 0);
  sites.enter_a();
  const int sender = open_socket(name, SOCK_STREAM);
  EXPECT_EQ(connect(sender, plain(name), name_bytes), 0) << strerror(errno);
  const int receiver = accept(listener, nullptr, nullptr);
  EXPECT_GE(receiver, 0);
  uint64_t received = 0;
  std::thread reader([&] { received = receive_stream(receiver); });
  send_stream(sender, bytes);
  reader.join();
  for (const int fd : {listener, sender, receiver}) close(fd);
  return received;
}

constexpr uint64_t megabyte = 1'000'000;

TEST(TunPort, carries_tcp_between_two_kernels_with_joined_packets) {
  CW_NEEDS_NETWORK_SPACE();
  for (const char* target : {"10.9.0.2", "fd09::2"}) {
    TwoSites sites(true);
    const uint64_t bytes = 24 * megabyte;
    EXPECT_EQ(transfer(sites, target, bytes), bytes);
    sites.stop();
    const uint64_t calls = sites.a->counters().system_calls + sites.b->counters().system_calls;
    std::printf("%s: %llu system calls per MB, %.1f segments per joined packet in, %.1f out\n",
                target, static_cast<unsigned long long>(calls * megabyte / bytes),
                double(sites.a->status().rx_pieces) / double(sites.a->status().rx_joined),
                double(sites.b->status().tx_pieces) / double(sites.b->status().tx_joined));
    // One by one, a megabyte is 690 packets, each read and written, and half as many answers.
    EXPECT_LT(calls * megabyte / bytes, 700u);
    EXPECT_GT(sites.a->status().rx_joined, 0u);
    EXPECT_GT(sites.b->status().tx_joined, 0u);
    for (const TunPort* port : {sites.a.get(), sites.b.get()}) {
      EXPECT_EQ(port->counters().rx_malformed, 0u);
      EXPECT_EQ(port->status().tx_lost, 0u);
    }
  }
}

/// Starts a program in the namespace that `enter` leads to, its output thrown away.
template <class Enter>
pid_t start_program(Enter enter, std::vector<const char*> words) {
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  enter();
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO), dup2(nowhere, STDERR_FILENO);
  execvp(words[0], const_cast<char* const*>(words.data()));
  _exit(127);
}
/// The exit code; 127: there is no such program.
int wait_for_end(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TunPort, needs_few_system_calls_per_megabyte_of_iperf3) {
  CW_NEEDS_NETWORK_SPACE();
  for (const bool offload : {false, true}) {
    TwoSites sites(offload);
    const pid_t server = start_program([&] { sites.enter_b(); }, {"iperf3", "-s", "-1"});
    int code = 1;  // until the server listens
    for (int i = 0; i < 100 && code == 1; ++i) {
      usleep(100'000);
      code = wait_for_end(
          start_program([&] { sites.enter_a(); }, {"iperf3", "-c", "10.9.0.2", "-t", "2"}));
    }
    kill(server, SIGTERM);
    wait_for_end(server);
    if (code == 127) GTEST_SKIP() << "needs iperf3";
    EXPECT_EQ(code, 0);
    sites.stop();
    const uint64_t calls = sites.a->counters().system_calls + sites.b->counters().system_calls;
    const uint64_t bytes = sites.b->counters().tx_bytes;
    ASSERT_GT(bytes, megabyte);
    std::printf("iperf3, offload %d: %llu Mbit/s, %llu system calls per MB\n", offload,
                static_cast<unsigned long long>(bytes * 8 / 2 / megabyte),
                static_cast<unsigned long long>(calls * megabyte / bytes));
    EXPECT_LT(calls * megabyte / bytes, offload ? 700u : 5000u);
  }
}

TEST(TunPort, carries_tcp_without_offloads_and_over_other_mtus) {
  CW_NEEDS_NETWORK_SPACE();
  for (const uint32_t mtu : {1280, 9000}) {
    for (const bool offload : {false, true}) {
      TwoSites sites(offload, mtu);
      EXPECT_EQ(transfer(sites, "10.9.0.2", 4 * megabyte), 4 * megabyte) << mtu;
      sites.stop();
      EXPECT_EQ(sites.a->facts().payload_max, mtu);
      EXPECT_EQ(sites.a->status().rx_joined > 0, offload);
      EXPECT_EQ(sites.b->status().tx_joined > 0, offload);
      EXPECT_EQ(sites.a->counters().rx_malformed, 0u);
    }
  }
}

TEST(TunPort, splits_joined_udp_into_the_datagrams_that_were_sent) {
  CW_NEEDS_NETWORK_SPACE();
  for (const char* target : {"10.9.0.2", "fd09::2"}) {
    TwoSites sites(true);
    socklen_t name_bytes;
    const sockaddr_storage name = name_of(target, 5001, name_bytes);
    sites.enter_b();
    const int receiver = open_socket(name, SOCK_DGRAM);
    ASSERT_EQ(bind(receiver, plain(name), name_bytes), 0);
    sites.enter_a();
    const int sender = open_socket(name, SOCK_DGRAM);
    const int segment = 1000;
    ASSERT_EQ(setsockopt(sender, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment), 0);
    std::vector<uint8_t> bytes(20500);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(i);
    ASSERT_EQ(sendto(sender, bytes.data(), bytes.size(), 0, plain(name), name_bytes),
              static_cast<ssize_t>(bytes.size()));
    std::vector<uint8_t> datagram(2000);
    for (size_t i = 0; i < 21; ++i) {
      const ssize_t expected = i < 20 ? segment : 500;
      ASSERT_EQ(recv(receiver, datagram.data(), datagram.size(), 0), expected) << i;
      EXPECT_EQ(std::memcmp(datagram.data(), bytes.data() + i * 1000, size_t(expected)), 0);
    }
    close(sender), close(receiver);
  }
}

TEST(TunPort, reflects_a_ping) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  const auto port = make_tun({.name = "cw0"});
  set_ipv4("cw0", "10.9.0.1");
  socklen_t name_bytes;
  const sockaddr_storage name = name_of("10.9.0.2", 0, name_bytes);
  const int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
  icmphdr echo{};
  echo.type = ICMP_ECHO;
  echo.un.echo.id = 4711;
  echo.checksum = htons(
      static_cast<uint16_t>(~plain_sum({reinterpret_cast<const uint8_t*>(&echo), sizeof echo})));
  ASSERT_EQ(sendto(fd, &echo, sizeof echo, 0, plain(name), name_bytes), ssize_t(sizeof echo));

  // We stand for 10.9.0.2 by turning addresses round: our kernel answers itself, through us.
  TunPort* const only = port.get();
  bool has_answer = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!has_answer && std::chrono::steady_clock::now() < end) {
    Burst burst;
    const size_t count = port->rx_burst(burst, Instant());
    for (size_t p = 0; p < count; ++p) {
      if (burst[p]->data[0] >> 4 == 4) {
        std::swap_ranges(burst[p]->data + 12, burst[p]->data + 16, burst[p]->data + 16);
      }
    }
    EXPECT_EQ(port->tx_burst({burst.data(), count}, Instant()), count);
    uint8_t answer[128];
    while (recv(fd, answer, sizeof answer, MSG_DONTWAIT) >= 28) {
      has_answer = has_answer || answer[20] == ICMP_ECHOREPLY;
    }
    if (count == 0) wait_for({&only, 1});
  }
  EXPECT_TRUE(has_answer);
  close(fd);
}

TEST(TunPort, shares_a_device_by_queues) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  const auto first = make_tun({.name = "cw0", .multi_queue = true});
  const auto second = make_tun({.name = "cw0", .multi_queue = true});
  EXPECT_EQ(second->status().name, "cw0");
  EXPECT_NE(first->facts().wait_fd, second->facts().wait_fd);
}

TEST(TunPort, reads_nothing_without_a_free_packet_and_loses_nothing_by_it) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  const auto port = make_tun({.name = "cw0"});
  set_ipv4("cw0", "10.9.0.1");
  socklen_t name_bytes;
  const sockaddr_storage name = name_of("10.9.0.2", 9, name_bytes);
  const int fd = open_socket(name, SOCK_DGRAM);
  std::vector<Packet*> all(1024);
  ASSERT_EQ(port->take_burst(all), all.size());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(sendto(fd, "x", 1, 0, plain(name), name_bytes), 1);
  Burst burst;
  EXPECT_EQ(port->rx_burst(burst, Instant()), 0u);
  port->give_back(all);
  size_t datagrams = 0;
  TunPort* const only = port.get();
  for (int i = 0; i < 2000 && datagrams < 10; ++i) {
    const size_t count = port->rx_burst(burst, Instant());
    for (size_t p = 0; p < count; ++p) datagrams += burst[p]->bytes == 29;
    port->give_back({burst.data(), count});
    if (count == 0) wait_for({&only, 1});
  }
  EXPECT_EQ(datagrams, 10u);
  close(fd);
}

TEST(TunPort, loses_what_is_no_ip_packet_with_a_count) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  const auto port = make_tun({.name = "cw0"});
  Packet* packet = nullptr;
  ASSERT_EQ(port->take_burst({&packet, 1}), 1u);
  std::memset(packet->data, 0, 40);
  packet->bytes = 40;
  EXPECT_EQ(port->tx_burst({&packet, 1}, Instant()), 1u);
  EXPECT_EQ(port->status().tx_lost, 1u);
  EXPECT_EQ(port->counters().tx_packets, 0u);
}

std::string sentence_of(const TunDeviceOptions& options) {
  const auto port = TunPort::make({.device = options});
  return port ? "" : port.error().sentence;
}

TEST(TunPort, says_what_is_in_its_way) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  const auto taken = make_tun({.name = "cw0"});
  EXPECT_NE(sentence_of({.name = "cw0"}).find("\"cw0\" is in use"), std::string::npos);
  EXPECT_NE(sentence_of({.name = "lo"}).find("no TUN device"), std::string::npos);
  EXPECT_NE(sentence_of({.name = "a_name_of_sixteen"}).find("1 to 15"), std::string::npos);
  EXPECT_NE(sentence_of({.name = "cw/0"}).find("no name"), std::string::npos);
  EXPECT_NE(sentence_of({.name = "cw1", .mtu = 100}).find("mtu: 100"), std::string::npos);
  EXPECT_NE(sentence_of({.name = "cw1", .mtu = 10000}).find("mtu: 10000"), std::string::npos);
  ASSERT_EQ(seteuid(65534), 0);
  const std::string unprivileged = sentence_of({.name = "cw1"});
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_NE(unprivileged.find("CAP_NET_ADMIN"), std::string::npos) << unprivileged;
}

}  // namespace
}  // namespace cw::test
