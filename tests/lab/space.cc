#include "tests/lab/space.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace cw::lab {
namespace {

/// Runs `body` in a thread of its own, whose namespaces then are no one else's business.
template <class Body>
void aside(Body body) {
  std::thread(body).join();
}

int make_namespace() {
  int fd = -1;
  aside([&] {
    if (unshare(CLONE_NEWNET) == 0) fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  });
  return fd;
}

}  // namespace

std::string obstacle() {
  if (geteuid() != 0) return "needs root";
  const int fd = make_namespace();
  if (fd < 0) return "needs the right to make network namespaces";
  close(fd);
  return {};
}

sockaddr_in socket_name(const char* address, uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  inet_pton(AF_INET, address, &name.sin_addr);
  return name;
}

Space Space::make() {
  Space space(make_namespace());
  if (space.fd() < 0) throw std::runtime_error("no network namespace: " + obstacle());
  space.must("ip link set dev lo up");
  return space;
}

Space::~Space() {
  if (fd_ >= 0) close(fd_);
}

std::string Space::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

Outcome Space::run(const Arguments& arguments) const { return Program(fd_, arguments).finish(); }

void Space::must(const std::string& lines) const {
  const Outcome outcome = run({"sh", "-ec", lines});
  if (outcome.status != 0) throw std::runtime_error(lines + ": " + outcome.err);
}

void Space::wait_for_listener(uint16_t tcp_port) const {
  const Arguments look{"ss", "-Hltn", "sport = :" + std::to_string(tcp_port)};
  const auto end = Time::now() + std::chrono::seconds(20);
  while (run(look).out.empty()) {
    if (Time::now() > end) {
      throw std::runtime_error("nobody listens on TCP port " + std::to_string(tcp_port));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int Space::socket(int family, int type) const { return open_socket(family, type, 0); }

int Space::raw_socket(int family, int protocol) const {
  return open_socket(family, SOCK_RAW, protocol);
}

int Space::open_socket(int family, int type, int protocol) const {
  int fd = -1;
  aside([&] {
    if (setns(fd_, CLONE_NEWNET) == 0) fd = ::socket(family, type | SOCK_CLOEXEC, protocol);
  });
  if (fd < 0) throw std::runtime_error("no socket in a namespace");
  return fd;
}

}  // namespace cw::lab
