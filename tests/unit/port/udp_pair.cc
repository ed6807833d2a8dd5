#include "tests/unit/port/udp_pair.h"

#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cw::test {
namespace {

using std::chrono::milliseconds;

/// What has been sent over loopback is there at once, unless this machine is busy.
constexpr auto patience = milliseconds(10'000);

void read_into(std::vector<Packet*>& all, Port& port, milliseconds most,
               const std::function<bool()>& is_over) {
  std::array<Packet*, limits::burst_packets_max> burst;
  const auto end = std::chrono::steady_clock::now() + most;
  while (!is_over() && std::chrono::steady_clock::now() < end) {
    const size_t got = port.rx_burst(burst, Instant());
    all.insert(all.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(got));
    if (got > 0 || is_over()) continue;
    pollfd ready{port.facts().wait_fd, POLLIN, 0};
    poll(&ready, 1, 10);
  }
}

bool is_free(uint16_t number) {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(number);
  const bool is_bound = bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  close(fd);
  return is_bound;
}

// Below the kernel's own, which begin at 32768.
constexpr uint16_t udp_port_first = 20000, udp_ports_each = 40, places = 300;

/// Tests run side by side, other trees' too: each process has UDP ports of its own as long as it
/// lives, by a name that the kernel gives to one of them.
uint16_t own_place() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (uint16_t i = 0; i < places; ++i) {
    const auto place = static_cast<uint16_t>((getpid() + i) % places);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "causeway_test_udp_ports_" + std::to_string(place);
    text.copy(name.sun_path + 1, sizeof name.sun_path - 1);  // behind a zero: in no folder
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (bind(fd, reinterpret_cast<const sockaddr*>(&name), bytes) == 0) return place;
  }
  throw std::runtime_error("no UDP ports for this test");
}

}  // namespace

uint16_t free_udp_ports(uint16_t count) {
  static const auto first = static_cast<uint16_t>(udp_port_first + own_place() * udp_ports_each);
  static uint16_t next = first;
  for (uint16_t free_count = 0; free_count < count;) {
    if (next >= first + udp_ports_each) next = first, free_count = 0;
    free_count = is_free(next++) ? static_cast<uint16_t>(free_count + 1) : uint16_t{0};
  }
  return static_cast<uint16_t>(next - count);
}

std::string own_address(int place) {
  const int id = getpid();
  return "127." + std::to_string(64 * place + (id >> 16 & 63)) + "." +
         std::to_string(id >> 8 & 255) + "." + std::to_string(id & 255);
}

UdpPair::UdpPair(const char* address, const Change& change) {
  a_port = free_udp_ports(4);
  b_port = free_udp_ports(4);
  UdpPortOptions a_options = udp_options(a_port, b_port, address);
  UdpPortOptions b_options = udp_options(b_port, a_port, address);
  change(a_options), change(b_options);
  auto a_made = UdpPort::make(a_options), b_made = UdpPort::make(b_options);
  if (!a_made) throw std::runtime_error(a_made.error().sentence);
  if (!b_made) throw std::runtime_error(b_made.error().sentence);
  a = std::move(*a_made), b = std::move(*b_made);
}

std::vector<Packet*> receive_in_vain(Port& port) {
  std::vector<Packet*> all;
  read_into(all, port, milliseconds(500), [] { return false; });
  return all;
}

}  // namespace cw::test
