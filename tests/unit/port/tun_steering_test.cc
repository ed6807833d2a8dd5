// Which queue of a TUN device the kernel hands a host's packet to.
#include "dataplane/port/tun/tun_steering.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "dataplane/port/tun/tun_device.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"
#include "tests/unit/port/network_space.h"

namespace cw::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t tcp = 6, udp = 17, icmp = 1, icmp_v6 = 58, fragment_v6 = 44, sctp = 132;
constexpr size_t flows = 256;

/// Between a host of the site, which this kernel is not, and one far away. Nothing answers.
struct FlowShape {
  bool is_v6 = false;
  uint8_t protocol = udp;
  uint16_t host = 1, far_host = 1;
  uint16_t port = 1000, far_port = 2000;
  uint16_t fragment = 0;     // IPv4's field
  uint8_t option_words = 0;  // of IPv4
  uint8_t content = 0;       // what differs in one flow
};

void append_address(Bytes& bytes, bool is_v6, uint8_t net, uint16_t host) {
  if (is_v6) {
    bytes.insert(bytes.end(), {0xfd, net, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  } else {
    bytes.insert(bytes.end(), {10, net});
  }
  bytes.push_back(static_cast<uint8_t>(host >> 8));
  bytes.push_back(static_cast<uint8_t>(host));
}

Bytes packet_of(const FlowShape& flow) {
  const auto header_bytes = static_cast<uint8_t>(20 + 4 * flow.option_words);
  const uint8_t content_bytes = 40;
  Bytes packet;
  if (flow.is_v6) {
    packet = {0x60, 0, 0, flow.content, 0, content_bytes, flow.protocol, 64};
  } else {
    packet = {static_cast<uint8_t>(0x40 | header_bytes / 4),
              flow.content,
              0,
              static_cast<uint8_t>(header_bytes + content_bytes),
              0,
              flow.content,
              static_cast<uint8_t>(flow.fragment >> 8),
              static_cast<uint8_t>(flow.fragment),
              64,
              flow.protocol,
              0,
              0};
  }
  append_address(packet, flow.is_v6, 8, flow.host);
  append_address(packet, flow.is_v6, 9, flow.far_host);
  packet.resize(packet.size() + (flow.is_v6 ? 0u : 4u * flow.option_words), flow.content);
  for (const uint16_t port : {flow.port, flow.far_port}) {
    packet.push_back(static_cast<uint8_t>(port >> 8));
    packet.push_back(static_cast<uint8_t>(port));
  }
  packet.resize(packet.size() + content_bytes - 4, flow.content);
  return packet;
}

/// What answers: the same the other way.
Bytes reply_to(const FlowShape& flow) {
  Bytes packet = packet_of(flow);
  const size_t addresses = flow.is_v6 ? 8 : 12, bytes = flow.is_v6 ? 16 : 4;
  const auto at = [&](size_t offset) { return packet.begin() + static_cast<ptrdiff_t>(offset); };
  std::swap_ranges(at(addresses), at(addresses + bytes), at(addresses + bytes));
  const size_t ports = addresses + 2 * bytes + (flow.is_v6 ? 0u : 4u * flow.option_words);
  std::swap_ranges(at(ports), at(ports + 2), at(ports + 2));
  if (!flow.is_v6) {
    const auto header = std::span(packet).first(ports);
    ip_layout::store16(&packet[10], static_cast<uint16_t>(~sum_of(header)));
  }
  return packet;
}

/// A device with so many queues in a namespace of its own, and a socket that sends into it.
class Queues {
 public:
  explicit Queues(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto made = TunDevice::make({.name = "cw0", .multi_queue = true, .offload = false});
      if (!made) throw std::runtime_error(made.error().sentence);
      devices_.push_back(std::move(*made));
    }
    set_ipv4("cw0", "10.8.255.1");
    set_ipv6("cw0", "fd08::1:1");
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  }
  ~Queues() { close(fd_); }
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  size_t count() const { return devices_.size(); }

  /// Has the kernel send the packet; returns by which queue it came.
  size_t queue_of(const Bytes& packet) {
    sockaddr_ll name{};
    name.sll_family = AF_PACKET;
    name.sll_protocol = htons(packet[0] >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP);
    name.sll_ifindex = static_cast<int>(if_nametoindex("cw0"));
    EXPECT_EQ(sendto(fd_, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&name),
                     sizeof name),
              static_cast<ssize_t>(packet.size()))
        << strerror(errno);
    for (int tries = 0; tries < 10'000; ++tries) {
      for (size_t i = 0; i < count(); ++i) {
        if (comes_by(i, packet)) return i;
      }
      usleep(1000);
    }
    ADD_FAILURE() << "the packet never came";
    return 0;
  }
  size_t queue_of(const FlowShape& flow) { return queue_of(packet_of(flow)); }

  /// Writes it by a queue, as a gateway does what comes from other sites.
  void write(size_t queue, const Bytes& packet) {
    Bytes with_header(header_bytes);  // of virtio_net: nothing to say
    with_header.insert(with_header.end(), packet.begin(), packet.end());
    EXPECT_EQ(::write(devices_[queue].fd(), with_header.data(), with_header.size()),
              static_cast<ssize_t>(with_header.size()));
  }

 private:
  static constexpr size_t header_bytes = 10;

  /// Reads the queue until this has come or it is empty; the kernel has packets of its own, too.
  bool comes_by(size_t queue, const Bytes& packet) {
    uint8_t bytes[4096];
    for (ssize_t size; (size = read(devices_[queue].fd(), bytes, sizeof bytes)) > 0;) {
      const auto got = std::span(bytes).first(static_cast<size_t>(size)).subspan(header_bytes);
      if (std::ranges::equal(got, packet)) return true;
    }
    return false;
  }

  NetworkSpace space_;
  std::vector<TunDevice> devices_;
  int fd_;
};

class TunSteering : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    CW_NEEDS_NETWORK_SPACE();
    queues_.emplace(GetParam());
  }

  /// Every queue has its part of many flows, at least half of an equal one.
  void expect_spread(const std::function<FlowShape(uint16_t)>& flow, const char* what) {
    std::vector<size_t> counts(queues().count());
    for (uint16_t i = 0; i < flows; ++i) ++counts[queues().queue_of(flow(i))];
    for (const size_t count : counts) EXPECT_GE(count, flows / counts.size() / 2) << what;
  }
  Queues& queues() { return *queues_; }

 private:
  std::optional<Queues> queues_;
};

TEST_P(TunSteering, keeps_a_flow_on_its_queue_whoever_writes_what_answers_it) {
  for (const bool is_v6 : {false, true}) {
    for (const uint8_t protocol : {tcp, udp, sctp, is_v6 ? icmp_v6 : icmp}) {
      for (uint16_t i = 0; i < 16; ++i) {
        FlowShape flow{.is_v6 = is_v6, .protocol = protocol, .host = i, .port = i};
        const size_t queue = queues().queue_of(flow);
        for (size_t other = 0; other < queues().count(); ++other) {
          for (int times = 0; times < 3; ++times) queues().write(other, reply_to(flow));
          ++flow.content;
          ASSERT_EQ(queues().queue_of(flow), queue) << is_v6 << ' ' << int{protocol};
        }
      }
    }
  }
}

TEST_P(TunSteering, spreads_flows_by_each_port_and_each_address) {
  for (const bool is_v6 : {false, true}) {
    for (const uint8_t protocol : {tcp, udp, sctp}) {
      const FlowShape plain{.is_v6 = is_v6, .protocol = protocol};
      const auto with = [&](uint16_t FlowShape::*field, uint16_t value) {
        FlowShape flow = plain;
        flow.*field = value;
        return flow;
      };
      expect_spread([&](uint16_t i) { return with(&FlowShape::port, i); }, "port");
      expect_spread([&](uint16_t i) { return with(&FlowShape::far_port, i); }, "far port");
      expect_spread([&](uint16_t i) { return with(&FlowShape::host, i); }, "host");
      expect_spread([&](uint16_t i) { return with(&FlowShape::far_host, i); }, "far host");
    }
  }
}

TEST_P(TunSteering, reads_ports_behind_the_options_of_ipv4) {
  const auto flow = [](uint16_t i) { return FlowShape{.port = i, .option_words = 3}; };
  expect_spread(flow, "with options");
  for (uint16_t i = 0; i < 16; ++i) {
    FlowShape one = flow(i);
    const size_t queue = queues().queue_of(one);
    one.content = static_cast<uint8_t>(i + 1), one.option_words = 10;
    EXPECT_EQ(queues().queue_of(one), queue);
  }
}

TEST_P(TunSteering, reads_no_ports_where_there_are_none) {
  for (const bool is_v6 : {false, true}) {
    for (uint16_t host = 0; host < 16; ++host) {
      FlowShape flow{.is_v6 = is_v6, .protocol = is_v6 ? icmp_v6 : icmp, .host = host};
      const size_t queue = queues().queue_of(flow);
      for (int i = 0; i < 16; ++i) {
        ++flow.port, flow.far_port = static_cast<uint16_t>(flow.far_port * 3);
        ASSERT_EQ(queues().queue_of(flow), queue);
      }
    }
  }
}

// What lies where the ports of the first fragment do is content in the others.
TEST_P(TunSteering, keeps_the_fragments_of_a_datagram_together) {
  constexpr uint16_t more = 0x2000;
  for (const bool is_v6 : {false, true}) {
    const auto fragment = [&](uint16_t host, uint16_t field) {
      return FlowShape{.is_v6 = is_v6,
                       .protocol = is_v6 ? fragment_v6 : udp,
                       .host = host,
                       .port = static_cast<uint16_t>(field * 7),
                       .fragment = field};
    };
    expect_spread([&](uint16_t host) { return fragment(host, more); }, "fragments");
    for (uint16_t host = 0; host < 32; ++host) {
      const size_t queue = queues().queue_of(fragment(host, more));
      EXPECT_EQ(queues().queue_of(fragment(host, more | 5)), queue) << "in the middle";
      EXPECT_EQ(queues().queue_of(fragment(host, 10)), queue) << "the last";
    }
  }
}

TEST_P(TunSteering, takes_what_is_too_short_to_the_first_queue) {
  for (uint16_t i = 0; i < 32; ++i) {
    Bytes packet = packet_of({.host = i, .port = i});
    packet.resize(22);  // in the middle of its ports
    EXPECT_EQ(queues().queue_of(packet), 0u);
    packet = packet_of({.is_v6 = true, .host = i});
    packet.resize(30);  // in the middle of its addresses
    EXPECT_EQ(queues().queue_of(packet), 0u);
  }
}

TEST_P(TunSteering, has_one_queue_for_what_is_no_ip) {
  Bytes packet = packet_of({});
  packet[0] = 0x55;
  const size_t queue = queues().queue_of(packet);
  packet.back() = packet[13] = 7;
  EXPECT_EQ(queues().queue_of(packet), queue);
}

INSTANTIATE_TEST_SUITE_P(All, TunSteering, testing::Values(2, 3, 4),
                         [](const auto& p) { return "of_" + std::to_string(p.param); });

/// In a thread to which the kernel refuses this system call, as it would without the right to it.
template <class Call>
void run_without(int number, int error, const Call& call) {
  std::thread([&] {
    sock_filter steps[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(number)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog program{.len = std::size(steps), .filter = steps};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    call();
  }).join();
}

TEST(TunSteeringRight, that_is_missing_is_named_with_the_way_out) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  std::string sentence, without_bpf, of_one_queue;
  const auto sentence_of = [](bool multi_queue) {
    const auto made = TunDevice::make({.name = "cw0", .multi_queue = multi_queue});
    return made ? "" : made.error().sentence;
  };
  run_without(SYS_bpf, EPERM, [&] {
    sentence = sentence_of(true);
    of_one_queue = sentence_of(false);
  });
  EXPECT_NE(sentence.find("CAP_BPF (CAP_SYS_ADMIN"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("have one core"), std::string::npos) << sentence;
  EXPECT_EQ(of_one_queue, "") << "takes no such right";
  run_without(SYS_bpf, ENOSYS, [&] { without_bpf = sentence_of(true); });
  EXPECT_NE(without_bpf.find("this kernel cannot"), std::string::npos) << without_bpf;
}

}  // namespace
}  // namespace cw::test
