#include "tests/demo/probes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace cw::demo {
namespace {

using lab::At;
using std::chrono::milliseconds;

constexpr uint16_t udp_port = 7007;
constexpr auto interval = std::chrono::microseconds(1000);  // between datagrams, in turn
constexpr auto stragglers = milliseconds(500);

struct Probe {
  int64_t sent_ns = 0;
  uint8_t filling[92] = {};
};

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

sockaddr_in name_of(const char* address) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(udp_port);
  inet_pton(AF_INET, address, &name.sin_addr);
  return name;
}

/// One way: a socket at each host.
class Way {
 public:
  Way(const lab::Sites& sites, const char* source, const char* target)
      : from_(sites.space(At::HostA).socket(AF_INET, SOCK_DGRAM)),
        to_(sites.space(At::HostB).socket(AF_INET, SOCK_DGRAM)) {
    const auto own = name_of(source), other = name_of(target);
    const int on = 1;
    const bool is_ready =
        bind(from_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) == 0 &&
        bind(to_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)) == 0 &&
        connect(from_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)) == 0 &&
        setsockopt(to_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0;
    if (!is_ready) throw std::runtime_error("no sockets for probes");
  }
  ~Way() {
    close(from_);
    close(to_);
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  void send() const {
    Probe probe;
    probe.sent_ns = now_ns();
    // One that cannot be sent is one that does not arrive.
    [[maybe_unused]] const ssize_t count = ::send(from_, &probe, sizeof(probe), 0);
  }

  /// Takes all that has arrived.
  void receive(std::vector<double>& times_us) const {
    Probe probe;
    iovec piece{&probe, sizeof(probe)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
    while (true) {
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      if (recvmsg(to_, &message, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof(probe))) return;
      const cmsghdr* const header = CMSG_FIRSTHDR(&message);
      if (header == nullptr || header->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec arrived{};
      std::memcpy(&arrived, CMSG_DATA(header), sizeof(arrived));
      const int64_t ns = int64_t{arrived.tv_sec} * 1'000'000'000 + arrived.tv_nsec;
      times_us.push_back(static_cast<double>(ns - probe.sent_ns) * 1e-3);
    }
  }

 private:
  int from_, to_;
};

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

double Probes::added_us(double q) const { return quantile(through, q) - quantile(beside, q); }

Probes probe(const lab::Sites& sites, milliseconds time) {
  const Way through(sites, lab::site_a.host, lab::site_b.host);
  const Way beside(sites, lab::site_a.beside, lab::site_b.beside);
  Probes probes;
  const auto start = lab::Time::now();
  for (auto next = start; next < start + time; next += interval, ++probes.sent) {
    std::this_thread::sleep_until(next);
    through.send();
    std::this_thread::sleep_until(next + interval / 2);
    beside.send();
    through.receive(probes.through);
    beside.receive(probes.beside);
  }
  std::this_thread::sleep_for(stragglers);
  through.receive(probes.through);
  beside.receive(probes.beside);
  std::ranges::sort(probes.through);
  std::ranges::sort(probes.beside);
  return probes;
}

}  // namespace cw::demo
