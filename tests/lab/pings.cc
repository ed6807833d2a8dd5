#include "tests/lab/pings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace cw::lab {
namespace {

constexpr uint8_t request_v6 = 128, reply_v6 = 129;
constexpr size_t icmp_bytes = 8;

uint16_t checksum(const std::vector<uint8_t>& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace

Pings::Pings(const Space& from, const char* target)
    : is_v6_(std::strchr(target, ':') != nullptr),
      fd_(is_v6_ ? from.raw_socket(AF_INET6, IPPROTO_ICMPV6)
                 : from.raw_socket(AF_INET, IPPROTO_ICMP)) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  const bool is_read = is_v6_ ? inet_pton(AF_INET6, target, &v6.sin6_addr) == 1
                              : inet_pton(AF_INET, target, &v4.sin_addr) == 1;
  const int is_connected = is_v6_ ? connect(fd_, reinterpret_cast<sockaddr*>(&v6), sizeof(v6))
                                  : connect(fd_, reinterpret_cast<sockaddr*>(&v4), sizeof(v4));
  if (!is_read || is_connected != 0) throw std::runtime_error("no way to ping");
}

Pings::~Pings() { close(fd_); }

void Pings::set_hops(int hops) {
  const int status = is_v6_ ? setsockopt(fd_, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof(hops))
                            : setsockopt(fd_, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
  if (status != 0) throw std::runtime_error("no ping of " + std::to_string(hops) + " hops");
}

std::optional<Time::duration> Pings::ping(size_t bytes, std::chrono::milliseconds most) {
  const size_t ip_bytes = is_v6_ ? 40 : 20;
  std::vector<uint8_t> request(bytes - ip_bytes), answer(65536);
  ++number_;
  request[0] = is_v6_ ? request_v6 : uint8_t{ICMP_ECHO};
  request[4] = static_cast<uint8_t>(getpid() >> 8);
  request[5] = static_cast<uint8_t>(getpid());
  request[6] = static_cast<uint8_t>(number_ >> 8);
  request[7] = static_cast<uint8_t>(number_);
  for (size_t i = icmp_bytes; i < request.size(); ++i) request[i] = static_cast<uint8_t>(i * 7);
  const uint16_t sum = checksum(request);  // that of ICMPv6 is the kernel's
  if (!is_v6_) request[2] = static_cast<uint8_t>(sum >> 8), request[3] = static_cast<uint8_t>(sum);
  const auto sent = Time::now();
  if (send(fd_, request.data(), request.size(), 0) < 0) return std::nullopt;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(sent + most - Time::now());
    pollfd waiting{fd_, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) {
      return std::nullopt;
    }
    const ssize_t size = recv(fd_, answer.data(), answer.size(), MSG_DONTWAIT);
    const size_t skipped = is_v6_ ? 0 : ip_bytes;  // raw sockets of IPv4 show the header
    if (size != static_cast<ssize_t>(request.size() + skipped)) continue;
    if (answer[skipped] != (is_v6_ ? reply_v6 : uint8_t{ICMP_ECHOREPLY})) continue;
    // All but type, code and checksum come back as they were.
    if (std::memcmp(&answer[skipped + 4], &request[4], request.size() - 4) == 0) {
      return Time::now() - sent;
    }
  }
}

}  // namespace cw::lab
