// Two network namespaces and a cable between them, v0 to v1; at v0's end ports over AF_XDP stand
// beside a kernel.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/unit/port/network_space.h"

namespace cw::test {

inline void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

/// Of a process with one child.
inline pid_t child_of(pid_t process) {
  const std::string number = std::to_string(process);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

/// The thread is in `near` when it is made.
struct Veth {
  explicit Veth(int queues = 1, int mtu = 1500) : queues_(queues), mtu_(mtu) { connect(); }

  /// Also anew, once v0 is gone.
  void connect() const {
    const int far_fd = open(far.path().c_str(), O_RDONLY | O_CLOEXEC);
    near.enter();
    const std::string spread = " numrxqueues " + std::to_string(queues_) + " numtxqueues " +
                               std::to_string(queues_) + " mtu " + std::to_string(mtu_) + " ";
    run("ip link add v0 address 02:00:00:00:00:01" + spread +
        "type veth peer name v1 address 02:00:00:00:00:02" + spread + "netns " + far.path());
    close(far_fd);
    run("ip addr add 192.0.2.1/24 dev v0; ip addr add 2001:db8::1/64 dev v0 nodad; "
        "ip link set v0 up; ip link set lo up");
    far.enter();
    run("ip addr add 192.0.2.2/24 dev v1; ip addr add 2001:db8::2/64 dev v1 nodad; "
        "ip link set v1 up; ip link set lo up; "
        "ethtool -K v1 tx off tso off gso off > /dev/null");
    near.enter();
  }

  /// A kernel speaks of its IPv6 groups and asks for routers when it likes, which a program that
  /// counts every frame sees.
  void silence_far_end() const {
    far.enter();
    run("echo 1 > /proc/sys/net/ipv6/conf/v1/disable_ipv6");
    near.enter();
  }

  NetworkSpace far, near;

 private:
  int queues_, mtu_;
};

}  // namespace cw::test
