// What a multicast routing daemon, such as smcrouted, does at a gateway over TUN: the kernel hands
// a group's frames from the hosts' interface to the device, and from it to the hosts.
#pragma once

#include <string>

#include "tests/lab/space.h"

namespace cw::lab {

/// As long as it lives. Thread: one.
class MulticastRoutes {
 public:
  /// Throws what the kernel says, as add() does.
  MulticastRoutes(const Space& space, const std::string& lan, const std::string& device);
  ~MulticastRoutes();
  MulticastRoutes(const MulticastRoutes&) = delete;
  MulticastRoutes& operator=(const MulticastRoutes&) = delete;

  /// IPv4: a host of this site, and one of another, which send to the group.
  void add(const std::string& group, const std::string& own_host, const std::string& far_host);

 private:
  void add_interface(unsigned number, const std::string& name);
  void add_route(const std::string& group, const std::string& source, unsigned from, unsigned to);
  template <class Value>
  void set(int option, const Value& value);
  int fd_;
};

}  // namespace cw::lab
