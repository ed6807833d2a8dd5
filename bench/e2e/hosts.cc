#include "bench/e2e/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace cw::bench {
namespace {

using lab::At;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint16_t udp_port = 7007;
constexpr auto stragglers = milliseconds(200);
constexpr auto stream_step = milliseconds(1);
constexpr size_t datagram_bytes = 1358;  // frames of 1400 bytes

/// Owns a socket.
class Socket {
 public:
  Socket(const lab::Space& space, const char* own, const char* other)
      : fd_(space.socket(AF_INET, SOCK_DGRAM)) {
    const auto own_name = name_of(own), other_name = name_of(other);
    const int on = 1, room = 4 << 20;
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    const bool is_ready =
        bind(fd_, reinterpret_cast<const sockaddr*>(&own_name), sizeof(own_name)) == 0 &&
        connect(fd_, reinterpret_cast<const sockaddr*>(&other_name), sizeof(other_name)) == 0 &&
        setsockopt(fd_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0;
    if (!is_ready) throw std::runtime_error("no socket for a host");
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  operator int() const { return fd_; }

 private:
  static sockaddr_in name_of(const char* address) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(udp_port);
    inet_pton(AF_INET, address, &name.sin_addr);
    return name;
  }
  int fd_;
};

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Probe {
  int64_t sent_ns = 0;
  uint8_t filling[92] = {};
};

void receive(int socket, std::vector<double>& times_us) {
  Probe probe;
  iovec piece{&probe, sizeof(probe)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
  while (true) {
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket, &message, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof(probe))) return;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec arrived{};
    std::memcpy(&arrived, CMSG_DATA(header), sizeof(arrived));
    const int64_t ns = int64_t{arrived.tv_sec} * 1'000'000'000 + arrived.tv_nsec;
    times_us.push_back(static_cast<double>(ns - probe.sent_ns) * 1e-3);
  }
}

}  // namespace

double Latencies::quantile(double q) const {
  if (us.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(us.size())));
  return us[std::clamp<size_t>(rank, 1, us.size()) - 1];
}

// Frames bear checksums that are finished, since no kernel would do it on the way.
Hosts::Hosts() : sites_({.lan_offloads = false}) {
  sites_.space(At::HostA).must("ethtool -K va tx off");
  sites_.space(At::HostB).must("ethtool -K vb tx off");
}

// sites.cc numbers the interfaces' addresses: va, la, wa, vb, lb, wb.
void Hosts::aim_at_each_other() const {
  sites_.space(At::HostA).must("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:00:04 dev va");
  sites_.space(At::HostB).must("ip neigh replace 10.2.0.1 lladdr 02:00:00:00:00:01 dev vb");
}

void Hosts::aim_at_gateways() const {
  sites_.space(At::HostA).must("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:00:02 dev va");
  sites_.space(At::HostB).must("ip neigh replace 10.2.0.1 lladdr 02:00:00:00:00:05 dev vb");
}

Ends Hosts::ends() const {
  const auto device = [](const char* interface) {
    return "net_af_packet0,iface=" + std::string(interface) +
           ",blocksz=65536,framesz=2048,framecnt=2048,qpairs=1";
  };
  return {.space_a = sites_.namespace_of(At::GatewayA),
          .space_b = sites_.namespace_of(At::GatewayB),
          .lan_a = device("la"),
          .lan_b = device("lb")};
}

Latencies Hosts::probe(microseconds interval, milliseconds time) const {
  const Socket from(sites_.space(At::HostA), lab::site_a.host, lab::site_b.host);
  const Socket to(sites_.space(At::HostB), lab::site_b.host, lab::site_a.host);
  Latencies all;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += interval, ++all.sent) {
    std::this_thread::sleep_until(next);
    Probe probe;
    probe.sent_ns = now_ns();
    // One that cannot be sent is one that does not arrive.
    [[maybe_unused]] const ssize_t count = send(from, &probe, sizeof(probe), 0);
    receive(to, all.us);
  }
  std::this_thread::sleep_for(stragglers);
  receive(to, all.us);
  std::ranges::sort(all.us);
  return all;
}

uint64_t Hosts::stream(uint64_t bits_per_second, milliseconds time) const {
  const Socket from(sites_.space(At::HostA), lab::site_a.host, lab::site_b.host);
  const Socket to(sites_.space(At::HostB), lab::site_b.host, lab::site_a.host);
  const std::array<uint8_t, datagram_bytes> bytes{};
  uint64_t sent = 0, due = 0;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += stream_step) {
    std::this_thread::sleep_until(next);
    due += bits_per_second / 8 / 1000;
    while (sent < due) {
      if (send(from, bytes.data(), bytes.size(), 0) < 0) break;
      sent += bytes.size();
    }
  }
  return sent;
}

}  // namespace cw::bench
