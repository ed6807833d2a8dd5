#include "tests/lab/one_way.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace cw::lab {
namespace {

constexpr uint16_t udp_port = 7007;
constexpr int send_room = 4 << 20;

struct Probe {
  int64_t sent_ns = 0;
  uint8_t filling[92] = {};
};

int64_t ns_of(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

bool has_arrival(const cmsghdr* header) {
  return header != nullptr && header->cmsg_level == SOL_SOCKET &&
         header->cmsg_type == SCM_TIMESTAMPNS;
}

}  // namespace

double nearest_rank(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double Latencies::quantile(double q) const { return nearest_rank(us, q); }

StampedSockets::StampedSockets(const Sites& sites, const Options& options)
    : from_(sites.space(At::HostA).socket(AF_INET, SOCK_DGRAM)),
      to_(sites.space(At::HostB).socket(AF_INET, SOCK_DGRAM)) {
  const auto own = socket_name(options.source, options.port),
             other = socket_name(options.target, options.port);
  const int on = 1, for_sends = options.send_room, for_arrivals = options.receive_room;
  setsockopt(from_, SOL_SOCKET, SO_SNDBUFFORCE, &for_sends, sizeof(for_sends));
  if (for_arrivals > 0) {
    setsockopt(to_, SOL_SOCKET, SO_RCVBUFFORCE, &for_arrivals, sizeof(for_arrivals));
  }
  const bool is_ready =
      bind(from_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) == 0 &&
      bind(to_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)) == 0 &&
      connect(from_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)) == 0 &&
      setsockopt(to_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0;
  if (is_ready) return;
  close(from_);
  close(to_);
  throw std::runtime_error("no sockets between the hosts");
}

StampedSockets::~StampedSockets() {
  close(from_);
  close(to_);
}

int64_t StampedSockets::now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return ns_of(time);
}

bool StampedSockets::send(std::span<const uint8_t> bytes) const {
  return ::send(from_, bytes.data(), bytes.size(), 0) >= 0;
}

std::optional<StampedSockets::Stamped> StampedSockets::receive(std::span<uint8_t> room) const {
  iovec piece{room.data(), room.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t count = recvmsg(to_, &message, MSG_DONTWAIT | MSG_TRUNC);
  if (count < 0) return std::nullopt;
  Stamped stamped{.bytes = static_cast<size_t>(count), .arrived_ns = {}};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (!has_arrival(header)) return stamped;
  timespec arrived{};
  std::memcpy(&arrived, CMSG_DATA(header), sizeof(arrived));
  stamped.arrived_ns = ns_of(arrived);
  return stamped;
}

OneWay::OneWay(const Sites& sites, const char* source, const char* target)
    : sockets_(sites,
               {.source = source, .target = target, .port = udp_port, .send_room = send_room}) {}

void OneWay::send_probe() const {
  Probe probe;
  probe.sent_ns = StampedSockets::now_ns();
  sockets_.send({reinterpret_cast<const uint8_t*>(&probe), sizeof(probe)});
}

bool OneWay::send(std::span<const uint8_t> bytes) const { return sockets_.send(bytes); }

void OneWay::receive() {
  Probe probe;
  const std::span room(reinterpret_cast<uint8_t*>(&probe), sizeof(probe));
  while (const auto stamped = sockets_.receive(room)) {
    if (stamped->bytes != sizeof(probe) || !stamped->arrived_ns) continue;
    times_us_.push_back(static_cast<double>(*stamped->arrived_ns - probe.sent_ns) * 1e-3);
  }
}

Latencies OneWay::latencies() const {
  Latencies sorted{times_us_};
  std::ranges::sort(sorted.us);
  return sorted;
}

}  // namespace cw::lab
