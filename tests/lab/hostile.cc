#include "tests/lab/hostile.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>

#include "dataplane/wire/icrc.h"
#include "offload/crc32.h"

namespace cw::lab {
namespace {

constexpr size_t ip_at = 14;
constexpr size_t length_max = 1514;
constexpr int socket_bytes = 64 << 20;

/// Hears nothing before it is bound: a frame of another interface, or one that leaves.
int packet_socket(const Space& space, const std::string& interface) {
  const int fd = space.raw_socket(AF_PACKET, 0);
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  sockaddr_ll name{};
  name.sll_family = AF_PACKET;
  name.sll_protocol = htons(ETH_P_ALL);
  const bool is_found = ioctl(fd, SIOCGIFINDEX, &request) == 0;
  name.sll_ifindex = request.ifr_ifindex;
  const int on = 1;
  setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
  if (!is_found || bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    close(fd);
    throw std::runtime_error("no packet socket at " + interface);
  }
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &socket_bytes, sizeof(socket_bytes));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &socket_bytes, sizeof(socket_bytes));
  return fd;
}

void put16(Frame& frame, size_t at, size_t value) {
  frame[at] = static_cast<uint8_t>(value >> 8);
  frame[at + 1] = static_cast<uint8_t>(value);
}

bool is_v6(const Frame& frame) { return frame[ip_at] >> 4 == 6; }
size_t udp_at(const Frame& frame) { return ip_at + (is_v6(frame) ? 40 : 20); }
size_t payload_at(const Frame& frame) { return udp_at(frame) + 8; }

uint32_t sum_of(const Frame& frame, size_t first, size_t end) {
  uint32_t sum = 0;
  for (size_t at = first; at < end; ++at) sum += frame[at] << (at % 2 == first % 2 ? 8 : 0);
  return sum;
}

uint16_t folded(uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

/// Lengths and checksums as they must be: over IPv4 without one of UDP, over IPv6 with it.
void finish(Frame& frame) {
  const size_t udp = udp_at(frame), udp_bytes = frame.size() - udp;
  put16(frame, udp + 4, udp_bytes);
  put16(frame, udp + 6, 0);
  if (is_v6(frame)) {
    put16(frame, ip_at + 4, udp_bytes);
    const auto pseudo = static_cast<uint32_t>(udp_bytes + IPPROTO_UDP);
    const uint16_t sum = folded(sum_of(frame, ip_at + 8, frame.size()) + pseudo);
    return put16(frame, udp + 6, sum == 0 ? 0xffff : sum);
  }
  put16(frame, ip_at + 2, frame.size() - ip_at);
  put16(frame, ip_at + 10, 0);
  put16(frame, ip_at + 10, folded(sum_of(frame, ip_at, udp)));
}

bool is_udp(const Frame& frame) {
  if (frame.size() < ip_at + 40 + 8 + 16) return false;
  const bool is_first_v6 = frame[12] == 0x86 && frame[13] == 0xdd && is_v6(frame);
  if (is_first_v6) return frame[ip_at + 6] == IPPROTO_UDP;
  return frame[12] == 0x08 && frame[13] == 0x00 && frame[ip_at] == 0x45 &&
         frame[ip_at + 9] == IPPROTO_UDP;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Frame make(size_t kind, const Frame& heard) {
    Frame frame = heard;
    const auto begin = static_cast<ptrdiff_t>(payload_at(frame));
    switch (kind % 6) {
      case 0:
        scramble_source(frame);
        [[fallthrough]];
      case 1:
        frame.resize(payload_at(frame) + random_() % (length_max - payload_at(frame)));
        std::generate(frame.begin() + begin, frame.end(), [this] { return random_(); });
        break;
      case 2:
        frame.resize(payload_at(frame) + random_() % (frame.size() - payload_at(frame)));
        break;
      case 3:
      case 4:
        frame[payload_at(frame) + random_() % (frame.size() - payload_at(frame))] ^=
            1 << random_() % 8;
        if (kind % 6 == 4) write_crc(frame);
        break;
      default:
        break;
    }
    finish(frame);
    return frame;
  }

 private:
  void scramble_source(Frame& frame) {
    put16(frame, udp_at(frame), 1024 + random_() % 60000);
    if (random_() % 2 == 0) frame[ip_at + (is_v6(frame) ? 23 : 15)] ^= 0x40;
  }
  void write_crc(Frame& frame) {
    const std::span<uint8_t> transport(frame.data() + payload_at(frame),
                                       frame.size() - payload_at(frame) - icrc_bytes);
    Icrc::write(icrc_.of({}, transport),
                std::span<uint8_t, icrc_bytes>(transport.data() + transport.size(), icrc_bytes));
  }

  std::mt19937_64 random_;
  Icrc icrc_{IcrcMode::Pseudo, cw_crc32, 1024};
};

struct Complaint {
  uint8_t type, code;
  uint16_t mtu = 0;
};
constexpr std::array<Complaint, 6> complaints_v4{
    {{3, 4, 576}, {3, 1}, {3, 3}, {3, 13}, {4, 0}, {11, 0}}};
constexpr std::array<Complaint, 6> complaints_v6{
    {{2, 0, 1280}, {1, 0}, {1, 1}, {1, 4}, {3, 0}, {4, 0}}};

/// Quotes the IP header and that of UDP; comes from the sender's own prefix, host part 77.
Frame complaint_about(const Frame& frame, const Complaint& kind) {
  const bool v6 = is_v6(frame);
  const size_t ip_bytes = v6 ? 40 : 20, address_bytes = v6 ? 16 : 4, source_at = v6 ? 8 : 12;
  const auto ip = frame.begin() + ip_at;
  Frame made(frame.begin() + 6, frame.begin() + 12);  // to who sent it
  made.insert(made.end(), {2, 0, 0, 0, 0, 77});
  made.insert(made.end(), frame.begin() + 12, ip + static_cast<ptrdiff_t>(ip_bytes));
  made.insert(made.end(), {kind.type, kind.code, 0, 0, 0, 0, 0, 0});
  put16(made, made.size() - 2, kind.mtu);
  made.insert(made.end(), ip, ip + static_cast<ptrdiff_t>(ip_bytes + 8));
  const size_t source = ip_at + source_at, icmp = ip_at + ip_bytes;
  std::copy_n(ip + static_cast<ptrdiff_t>(source_at), address_bytes,
              made.begin() + static_cast<ptrdiff_t>(source + address_bytes));
  made[source + address_bytes - 1] = 77;
  uint32_t pseudo = 0;
  if (v6) {
    made[ip_at + 6] = IPPROTO_ICMPV6;
    put16(made, ip_at + 4, made.size() - icmp);
    pseudo =
        sum_of(made, source, icmp) + static_cast<uint32_t>(made.size() - icmp) + IPPROTO_ICMPV6;
  } else {
    made[ip_at + 9] = IPPROTO_ICMP;
    put16(made, ip_at + 2, made.size() - ip_at);
    put16(made, ip_at + 10, 0);
    put16(made, ip_at + 10, folded(sum_of(made, ip_at, icmp)));
  }
  put16(made, icmp + 2, folded(sum_of(made, icmp, made.size()) + pseudo));
  return made;
}

}  // namespace

Recorder::Recorder(const Space& space, const std::string& interface)
    : fd_(packet_socket(space, interface)) {}

Recorder::~Recorder() { close(fd_); }

std::vector<Frame> Recorder::take() {
  std::vector<Frame> frames;
  std::array<uint8_t, 65536> bytes;
  for (ssize_t size; (size = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT)) >= 0;) {
    frames.emplace_back(bytes.data(), bytes.data() + size);
  }
  return frames;
}

std::vector<Frame> make_hostile(const std::vector<Frame>& heard, size_t count, uint64_t seed) {
  std::vector<Frame> usable, made;
  std::ranges::copy_if(heard, std::back_inserter(usable), is_udp);
  if (usable.empty()) throw std::runtime_error("nothing was heard");
  Maker maker(seed);
  for (size_t i = 0; i < count; ++i) made.push_back(maker.make(i, usable[i % usable.size()]));
  return made;
}

std::vector<Frame> make_replay(const std::vector<Frame>& heard) {
  std::vector<Frame> usable;
  std::ranges::copy_if(heard, std::back_inserter(usable), is_udp);
  for (Frame& frame : usable) finish(frame);
  return usable;
}

std::vector<Frame> make_complaints(const std::vector<Frame>& heard) {
  std::vector<Frame> first_of_port, made;
  for (const Frame& frame : heard) {
    if (!is_udp(frame)) continue;
    const bool is_known = std::ranges::any_of(first_of_port, [&](const Frame& known) {
      return std::equal(known.begin() + udp_at(known), known.begin() + udp_at(known) + 2,
                        frame.begin() + udp_at(frame));
    });
    if (!is_known) first_of_port.push_back(frame);
  }
  for (const Frame& frame : first_of_port) {
    const auto& kinds = is_v6(frame) ? complaints_v6 : complaints_v4;
    for (const Complaint& kind : kinds) made.push_back(complaint_about(frame, kind));
  }
  if (made.empty()) throw std::runtime_error("nothing was heard");
  return made;
}

Flood::Flood(const Space& space, const std::string& interface, std::vector<Frame> frames,
             uint32_t per_second)
    : fd_(packet_socket(space, interface)), frames_(std::move(frames)), per_second_(per_second) {
  const int on = 1;
  setsockopt(fd_, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
  thread_ = std::thread([this] { run(); });
}

Flood::~Flood() {
  stop();
  close(fd_);
}

void Flood::stop() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
}

void Flood::run() {
  constexpr size_t burst_max = 256;
  constexpr std::chrono::milliseconds pause(1);
  std::array<mmsghdr, burst_max> headers{};
  std::array<iovec, burst_max> pieces{};
  const auto begin = Time::now();
  uint64_t passed = 0;  // due so far: sent, or too late
  for (size_t next = 0; !is_over_;) {
    const std::chrono::duration<double> time = Time::now() - begin;
    const auto due = static_cast<uint64_t>(time.count() * per_second_);
    const size_t count = std::min<uint64_t>(due - passed, burst_max);
    passed = due - passed > 4 * burst_max ? due : passed + count;
    for (size_t i = 0; i < count; ++i, next = (next + 1) % frames_.size()) {
      pieces[i] = {frames_[next].data(), frames_[next].size()};
      headers[i] = {};
      headers[i].msg_hdr.msg_iov = &pieces[i];
      headers[i].msg_hdr.msg_iovlen = 1;
    }
    const int taken = count == 0 ? 0 : sendmmsg(fd_, headers.data(), count, 0);
    if (taken > 0) sent_ += static_cast<uint64_t>(taken);
    if (count < burst_max) std::this_thread::sleep_for(pause);
  }
}

}  // namespace cw::lab
