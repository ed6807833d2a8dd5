#include "tests/lab/multicast_routes.h"

#include <arpa/inet.h>
#include <linux/mroute.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace cw::lab {
namespace {

constexpr unsigned hosts = 0, beyond = 1;

in_addr address_of(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) throw std::runtime_error(text);
  return address;
}

}  // namespace

MulticastRoutes::MulticastRoutes(const Space& space, const std::string& lan,
                                 const std::string& device)
    : fd_(space.raw_socket(AF_INET, IPPROTO_IGMP)) {
  set(MRT_INIT, 1);
  add_interface(hosts, lan);
  add_interface(beyond, device);
}

MulticastRoutes::~MulticastRoutes() { close(fd_); }

void MulticastRoutes::add(const std::string& group, const std::string& own_host,
                          const std::string& far_host) {
  add_route(group, own_host, hosts, beyond);
  add_route(group, far_host, beyond, hosts);
}

template <class Value>
void MulticastRoutes::set(int option, const Value& value) {
  if (setsockopt(fd_, IPPROTO_IP, option, &value, sizeof value) == 0) return;
  throw std::runtime_error(std::string("multicast routing: ") + std::strerror(errno));
}

void MulticastRoutes::add_interface(unsigned number, const std::string& name) {
  ifreq found{};
  std::strncpy(found.ifr_name, name.c_str(), sizeof found.ifr_name - 1);
  if (ioctl(fd_, SIOCGIFINDEX, &found) != 0) throw std::runtime_error(name + ": no interface");
  vifctl it{};
  it.vifc_vifi = static_cast<vifi_t>(number);
  it.vifc_flags = VIFF_USE_IFINDEX;
  it.vifc_threshold = 1;
  it.vifc_lcl_ifindex = found.ifr_ifindex;
  set(MRT_ADD_VIF, it);
}

void MulticastRoutes::add_route(const std::string& group, const std::string& source, unsigned from,
                                unsigned to) {
  mfcctl it{};
  it.mfcc_origin = address_of(source);
  it.mfcc_mcastgrp = address_of(group);
  it.mfcc_parent = static_cast<vifi_t>(from);
  it.mfcc_ttls[to] = 1;
  set(MRT_ADD_MFC, it);
}

}  // namespace cw::lab
