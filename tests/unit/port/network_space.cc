#include "tests/unit/port/network_space.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace cw::test {
namespace {

void must(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

void ask(int family, unsigned long what, void* request, const char* text) {
  const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  must(fd, "socket");
  const int result = ioctl(fd, what, request);
  const int error = errno;
  close(fd);
  errno = error;
  must(result, text);
}

}  // namespace

bool NetworkSpace::may_unshare() {
  return geteuid() == 0 && access("/dev/net/tun", R_OK | W_OK) == 0;
}

NetworkSpace::NetworkSpace() {
  must(unshare(CLONE_NEWNET), "unshare");
  fd_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  must(fd_, "open the namespace");
}

NetworkSpace::~NetworkSpace() { close(fd_); }

void NetworkSpace::enter() const { must(setns(fd_, CLONE_NEWNET), "setns"); }

std::string NetworkSpace::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

void run_ip(const std::string& arguments) {
  if (std::system(("ip " + arguments).c_str()) != 0) {
    throw std::runtime_error("ip " + arguments + " failed");
  }
}

void set_up(const std::string& interface) {
  ifreq request = request_for(interface);
  ask(AF_INET, SIOCGIFFLAGS, &request, "flags");
  request.ifr_flags |= IFF_UP;
  ask(AF_INET, SIOCSIFFLAGS, &request, "up");
}

void set_mtu(const std::string& interface, uint32_t mtu) {
  ifreq request = request_for(interface);
  request.ifr_mtu = static_cast<int>(mtu);
  ask(AF_INET, SIOCSIFMTU, &request, "mtu");
}

void set_ipv4(const std::string& interface, const char* address) {
  const auto set = [&](unsigned long what, const char* value) {
    ifreq request = request_for(interface);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    inet_pton(AF_INET, value, &name.sin_addr);
    std::memcpy(&request.ifr_addr, &name, sizeof name);
    ask(AF_INET, what, &request, value);
  };
  set(SIOCSIFADDR, address);
  set(SIOCSIFNETMASK, "255.255.255.0");
}

void set_ipv6(const std::string& interface, const char* address) {
  struct {  // in6_ifreq of <linux/ipv6.h>
    in6_addr address;
    uint32_t prefix_bits;
    int index;
  } request{};
  inet_pton(AF_INET6, address, &request.address);
  request.prefix_bits = 64;
  request.index = static_cast<int>(if_nametoindex(interface.c_str()));
  ask(AF_INET6, SIOCSIFADDR, &request, address);
  // The kernel takes a moment to let it be used.
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = request.address;
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (int i = 0; i < 1000; ++i) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) break;
    usleep(10'000);
  }
  close(fd);
}

}  // namespace cw::test
