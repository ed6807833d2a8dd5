// Network namespaces made and entered by the test itself, for tests that need interfaces of their
// own. It takes root; tests ask may_unshare() and say so when they are skipped.
#pragma once

#include <cstdint>
#include <string>

namespace cw::test {

/// A network namespace; gone with the last socket, device queue or thread inside it.
class NetworkSpace {
 public:
  /// Makes one and moves the calling thread into it.
  NetworkSpace();
  ~NetworkSpace();
  NetworkSpace(const NetworkSpace&) = delete;
  NetworkSpace& operator=(const NetworkSpace&) = delete;

  static bool may_unshare();
  /// Moves the calling thread into it.
  void enter() const;
  /// How `ip link .. netns` finds it.
  std::string path() const;

 private:
  int fd_ = -1;
};

// On an interface of the namespace that the thread is in:
void set_up(const std::string& interface);
void run_ip(const std::string& arguments);  ///< the program of iproute2
void set_mtu(const std::string& interface, uint32_t mtu);
void set_ipv4(const std::string& interface, const char* address);  ///< with a mask of 24 bits
void set_ipv6(const std::string& interface, const char* address);  ///< with a prefix of 64 bits

}  // namespace cw::test

#define CW_NEEDS_NETWORK_SPACE()              \
  if (!cw::test::NetworkSpace::may_unshare()) \
  GTEST_SKIP() << "needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN) and /dev/net/tun"
