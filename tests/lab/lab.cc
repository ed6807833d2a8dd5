#include "tests/lab/lab.h"

#include <sys/socket.h>

namespace cw::lab {
namespace {

std::string mac_of(const std::string& name) {
  return name == "va" ? "02:00:00:00:00:0a" : "02:00:00:00:00:0b";
}

std::string cable(const std::string& middle, const std::string& host, const Space& space) {
  return "ip link add name " + middle + " type veth peer name " + host + " address " +
         mac_of(host) + " netns " + space.path() + "; ip link set dev " + middle + " up; ";
}

/// While a host asks for an address it throws away what it cannot queue: it is told beforehand.
std::string host(const std::string& name, const std::string& address, const std::string& other,
                 const std::string& other_address) {
  return "ethtool -K " + name + " tso off gso off gro off tx-udp-segmentation off; ip addr add " +
         address + "/24 dev " + name + "; ip link set dev " + name + " up; ip neigh add " +
         other_address + " lladdr " + mac_of(other) + " dev " + name;
}

}  // namespace

Lab::Lab() : spaces_{Space::make(), Space::make(), Space::make()} {
  // IPv6 would send what no test asked for.
  const std::string ipv6 = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
  for (const Space& space : spaces_) space.must("[ ! -e " + ipv6 + " ] || echo 1 > " + ipv6);
  spaces_[Middle].must(cable("ma", "va", spaces_[HostA]) + cable("mb", "vb", spaces_[HostB]));
  spaces_[HostA].must(host("va", address_of_a, "vb", address_of_b));
  spaces_[HostB].must(host("vb", address_of_b, "va", address_of_a));
}

int Lab::socket(Place place, int type) const { return spaces_[place].socket(AF_INET, type); }

}  // namespace cw::lab
