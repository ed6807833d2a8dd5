#include "tests/lab/triangle.h"

#include <stdexcept>

namespace cw::lab {
namespace {

/// The emulator and whoever it carries for must see single frames.
std::string single_frames(const std::string& interface) {
  return "ethtool -K " + interface + " tso off gso off gro off tx-udp-segmentation off; ";
}

std::string up(const std::string& interface, const std::string& address) {
  return "ip addr add " + address + "/24 dev " + interface + "; ip link set dev " + interface +
         " up; ";
}

constexpr const char* no_checks = R"(
for what in all default; do echo 0 > /proc/sys/net/ipv4/conf/$what/rp_filter; done
)";

}  // namespace

Triangle::Triangle(const std::string& program, const Arguments& line, int sites,
                   const std::map<int, Arguments>& more)
    : switch_(Space::make()) {
  for (int site = 1; site <= sites; ++site) {
    hosts_.push_back(Space::make());
    gateways_.push_back(Space::make());
  }
  switch_.must(
      "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; "
      "ip link add name middle type bridge; ip link set dev middle up");
  for (int site = 1; site <= sites; ++site) add_site(site);
  for (int site = 1; site <= sites; ++site) {
    const std::string number = std::to_string(site);
    Arguments arguments{program, "m" + number, "e" + number, "--json"};
    arguments.insert(arguments.end(), line.begin(), line.end());
    if (const auto its = more.find(site); its != more.end()) {
      arguments.insert(arguments.end(), its->second.begin(), its->second.end());
    }
    Program& emulator = lines_.emplace_back(switch_.fd(), arguments);
    if (!emulator.wait_for("ready")) throw std::runtime_error(emulator.finish().err);
  }
}

void Triangle::add_site(int site) const {
  const std::string number = std::to_string(site);
  const std::string cable = "m" + number, end = "e" + number, plug = "p" + number;
  switch_.must("ip link add name " + cable + " type veth peer name wan netns " +
               gateway(site).path() + "; ip link add name " + end + " type veth peer name " + plug +
               "; ip link set dev " + plug + " master middle; " + single_frames(cable) +
               single_frames(end) + single_frames(plug) + "for each in " + cable + " " + end + " " +
               plug + "; do ip link set dev $each up; done");
  gateway(site).must(std::string(no_checks) +
                     "ip link add name lan type veth peer name eth netns " + host(site).path() +
                     "; " + single_frames("wan") + up("wan", wan_address(site)) +
                     up("lan", "10." + number + ".0.1") + "echo 1 > /proc/sys/net/ipv4/ip_forward");
  host(site).must(up("eth", host_address(site)) + "ip route add default via 10." + number + ".0.1");
}

}  // namespace cw::lab
