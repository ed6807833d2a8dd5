#include "tests/lab/sites.h"

#include <signal.h>

#include <stdexcept>

namespace cw::lab {
namespace {

// Fixed, so that everybody can be told beforehand: while a host asks for an address it throws away
// what it cannot queue.
std::string mac_of(const std::string& interface) {
  const std::array<const char*, 6> names{"va", "la", "wa", "vb", "lb", "wb"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (interface == names[i]) return "02:00:00:00:00:0" + std::to_string(i + 1);
  }
  throw std::logic_error("no interface " + interface);
}

// Of this namespace alone: nothing asks for IPv6 routers, and TCP may fill a long link.
constexpr const char* settings = R"(
cd /proc/sys/net
for family in ipv4 ipv6; do
  for what in all default; do
    [ ! -e $family/conf/$what/rp_filter ] || echo 0 > $family/conf/$what/rp_filter
    [ ! -e $family/conf/$what/accept_ra ] || echo 0 > $family/conf/$what/accept_ra
    [ ! -e $family/conf/$what/router_solicitations ] ||
      echo 0 > $family/conf/$what/router_solicitations
    [ ! -e $family/conf/$what/accept_dad ] || echo 0 > $family/conf/$what/accept_dad
  done
done
echo '4096 131072 67108864' > ipv4/tcp_rmem
echo '4096 131072 67108864' > ipv4/tcp_wmem
echo 1 > ipv4/tcp_no_metrics_save
)";

std::string cable(const std::string& near, const std::string& far, const Space& space,
                  uint32_t mtu) {
  const auto mac = [](const std::string& name) {
    return name.starts_with("m") ? std::string() : " address " + mac_of(name);
  };
  // One queue each way: what an XDP program at either end can do with.
  const std::string length = " mtu " + std::to_string(mtu) + " numrxqueues 1 numtxqueues 1";
  return "ip link add name " + near + mac(near) + length + " type veth peer name " + far +
         mac(far) + length + " netns " + space.path() + "; ";
}

/// The emulator and whoever it carries for must see single frames.
std::string single_frames(const std::string& interface) {
  return "ethtool -K " + interface + " tso off gso off gro off tx-udp-segmentation off; ";
}

std::string up(const std::string& interface, const std::string& v4, const std::string& v6) {
  return "ip addr add " + v4 + "/24 dev " + interface + "; ip link set dev " + interface +
         " up; ip addr add " + v6 + "/64 dev " + interface + " nodad; ";
}

std::string knows(const std::string& interface, const std::string& other, const std::string& v4,
                  const std::string& v6) {
  const std::string rest = " lladdr " + mac_of(other) + " dev " + interface + "; ";
  return "ip neigh replace " + v4 + rest + "ip neigh replace " + v6 + rest;
}

std::string host_lines(const std::string& own, const std::string& gateway,
                       const SiteAddresses& site, bool has_offloads) {
  return (has_offloads ? "" : single_frames(own)) + up(own, site.host, site.host_v6) +
         "ip addr add " + site.beside + "/24 dev " + own + "; ip addr add " + site.beside_v6 +
         "/64 dev " + own + " nodad; " + knows(own, gateway, site.gateway, site.gateway_v6) +
         "ip route add default via " + site.gateway + " src " + site.host +
         "; ip -6 route add default via " + site.gateway_v6 + " src " + site.host_v6;
}

struct GatewayNames {
  std::string lan, host, wan, other_wan;
};

/// What a gateway's interface of the LAN needs, also when it is another than before.
std::string lan_lines(const GatewayNames& names, const SiteAddresses& site) {
  return up(names.lan, site.gateway, site.gateway_v6) +
         knows(names.lan, names.host, site.host, site.host_v6) +
         knows(names.lan, names.host, site.beside, site.beside_v6);
}

std::string gateway_lines(const GatewayNames& names, const SiteAddresses& site,
                          const SiteAddresses& other, bool has_offloads) {
  return (has_offloads ? "" : single_frames(names.lan)) + single_frames(names.wan) +
         lan_lines(names, site) + up(names.wan, site.wan, site.wan_v6) +
         knows(names.wan, names.other_wan, other.wan, other.wan_v6) +
         "echo 1 > /proc/sys/net/ipv4/ip_forward; "
         "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding";
}

std::string route(const char* verb, const std::string& v4, const std::string& v6,
                  const SiteAddresses& via) {
  return std::string("ip route ") + verb + " " + v4 + " via " + via.wan + "; ip -6 route " + verb +
         " " + v6 + " via " + via.wan_v6;
}

}  // namespace

Sites::Sites(const SitesOptions& options)
    : spaces_{Space::make(), Space::make(), Space::make(), Space::make(), Space::make()} {
  for (const Space& each : spaces_) each.must(settings);
  const Space &gateway_a = space(At::GatewayA), &gateway_b = space(At::GatewayB);
  // Nobody between the gateways has an address.
  space(At::Between)
      .must("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; " +
            cable("ma", "wa", gateway_a, options.wan_mtu) +
            cable("mb", "wb", gateway_b, options.wan_mtu) + single_frames("ma") +
            single_frames("mb") + "ip link set dev ma up; ip link set dev mb up");
  gateway_a.must(cable("la", "va", space(At::HostA), options.lan_mtu));
  gateway_b.must(cable("lb", "vb", space(At::HostB), options.lan_mtu));
  const bool trains = options.lan_offloads;
  gateway_a.must(gateway_lines({"la", "va", "wa", "wb"}, site_a, site_b, trains));
  gateway_b.must(gateway_lines({"lb", "vb", "wb", "wa"}, site_b, site_a, trains));
  space(At::HostA).must(host_lines("va", "la", site_a, trains));
  space(At::HostB).must(host_lines("vb", "lb", site_b, trains));
}

void Sites::take_lan_away() const { space(At::GatewayA).must("ip link del dev la"); }

void Sites::bring_lan_back() const {
  const Space& gateway = space(At::GatewayA);
  gateway.must(cable("la", "va", space(At::HostA), 1500) + single_frames("la"));
  gateway.must(lan_lines({"la", "va", "wa", "wb"}, site_a));
  space(At::HostA).must(host_lines("va", "la", site_a, false));
}

void Sites::route_plainly() const {
  space(At::GatewayA).must(route("add", site_b.prefix, site_b.prefix_v6, site_b));
  space(At::GatewayB).must(route("add", site_a.prefix, site_a.prefix_v6, site_a));
}

void Sites::unroute() const {
  space(At::GatewayA).must(route("del", site_b.prefix, site_b.prefix_v6, site_b));
  space(At::GatewayB).must(route("del", site_a.prefix, site_a.prefix_v6, site_a));
}

void Sites::route_beside() const {
  space(At::GatewayA).must(route("add", site_b.beside, site_b.beside_v6, site_b));
  space(At::GatewayB).must(route("add", site_a.beside, site_a.beside_v6, site_a));
}

void Sites::join(const std::string& program, const Arguments& options) {
  Arguments arguments{program, "ma", "mb", "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  emulator_.emplace(namespace_of(At::Between), arguments);
  if (!emulator_->wait_for("ready")) throw std::runtime_error(emulator_->finish().err);
}

std::string Sites::part() {
  emulator_->signal(SIGTERM);
  const Outcome outcome = emulator_->finish();
  emulator_.reset();
  if (outcome.status != 0) throw std::runtime_error(outcome.err);
  return outcome.out;
}

}  // namespace cw::lab
