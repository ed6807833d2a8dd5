// Network namespaces without names: they live as long as somebody holds them open or runs in them,
// so that nothing is left behind however this process ends.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/lab/program.h"

namespace cw::lab {

/// Why this machine cannot make a lab; empty when it can.
std::string obstacle();

/// What bind() and connect() are told: an IPv4 address and a port.
sockaddr_in socket_name(const char* address, uint16_t port);

/// Owns a namespace. Thread: any, one at a time.
class Space {
 public:
  /// A new one, with nothing in it but a loopback interface that is up.
  static Space make();
  Space(Space&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Space& operator=(Space&&) = delete;
  ~Space();

  int fd() const { return fd_; }
  /// How `ip link ... netns` finds it.
  std::string path() const;
  /// Runs a program to its end.
  Outcome run(const Arguments& arguments) const;
  /// Runs lines of shell; throws with their standard error when one fails.
  void must(const std::string& lines) const;
  /// Waits until a program there listens; throws when none does within twenty seconds.
  void wait_for_listener(uint16_t tcp_port) const;
  /// A socket that lives there; throws when there is none.
  int socket(int family, int type) const;
  /// One that speaks a protocol below UDP and TCP, or that takes whole frames.
  int raw_socket(int family, int protocol) const;

 private:
  explicit Space(int fd) : fd_(fd) {}
  int open_socket(int family, int type, int protocol) const;
  int fd_ = -1;
};

}  // namespace cw::lab
