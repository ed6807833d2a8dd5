// What the kernel grants: the TUN device, rights, UDP ports, room for packets that wait.
#include <algorithm>
#include <string>
#include <vector>

#include "control/preflight/checks/checks.h"
#include "control/preflight/routes.h"
#include "dataplane/port/udp/udp_address.h"
#include "dataplane/wire/outer/source_index.h"

namespace cw::preflight {
namespace {

bool has_lan_device(const Machine& machine, const Needs& needs) {
  return machine.has("sys/class/net/" + needs.lan_device);
}

bool has_driver(const Needs& needs, const char* driver) {
  return std::ranges::find(needs.drivers, driver) != needs.drivers.end();
}

void check_tun(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.over_tun && !has_driver(needs, "net_tap")) {
    findings.push_back(
        {"tun", Status::Ok, "not needed: lan.port is \"" + needs.lan_port + "\"", ""});
    return;
  }
  if (machine.has("dev/net/tun")) {
    findings.push_back({"tun", Status::Ok, "/dev/net/tun is there", ""});
    return;
  }
  findings.push_back({"tun", Status::Problem, "/dev/net/tun is not there: no way to the hosts",
                      "`modprobe tun`; in a container, give it the device /dev/net/tun"});
}

struct Wanted {
  Right right;
  const char *name, *what;
  bool is_wanted;
};

void check_rights(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  const bool shares_by_xdp = has_driver(needs, "net_af_xdp") || has_driver(needs, af_xdp);
  const bool shares = shares_by_xdp || has_driver(needs, "net_af_packet");
  const bool has_device = needs.over_tun && has_lan_device(machine, needs);
  const Wanted all[] = {
      {Right::NetAdmin, "CAP_NET_ADMIN",
       needs.over_tun ? "make the LAN device and its routes" : "have an interface for the hosts",
       true},
      {Right::Bpf, "CAP_BPF",
       shares_by_xdp ? "load a program for XDP" : "keep flows on one core each (site.cores)",
       shares_by_xdp || (needs.over_tun && needs.cores.size() > 1)},
      {Right::SysAdmin, "CAP_SYS_ADMIN", "get an XDP program by its number, as libxdp does",
       has_driver(needs, af_xdp)},
      {Right::IpcLock, "CAP_IPC_LOCK", "lock the memory of packets", has_driver(needs, af_xdp)},
      {Right::NetRaw, "CAP_NET_RAW", "share an interface with the kernel", shares},
      {Right::SysNice, "CAP_SYS_NICE", "go before other programs (site.nice)", needs.nice < 0}};
  size_t missing = 0;
  for (const Wanted& each : all) {
    if (!each.is_wanted || has_right(machine, each.right)) continue;
    ++missing;
    const bool can_do_without =
        each.right == Right::SysNice || (each.right == Right::NetAdmin && has_device);
    const std::string name = each.name;
    findings.push_back(
        {"rights", can_do_without ? Status::Note : Status::Problem,
         name + " is missing: no right to " + each.what,
         "run as root, or AmbientCapabilities=" + name + " in the unit" +
             (each.right == Right::NetAdmin && needs.over_tun && !has_device
                  ? ", or `ip tuntap add dev " + needs.lan_device + " mode tun user USER`"
                  : "")});
  }
  if (missing == 0) findings.push_back({"rights", Status::Ok, "all that is needed", ""});
}

std::vector<uint16_t> udp_ports_of(const Needs& needs) {
  std::vector<uint16_t> ports;
  for (uint16_t link = 0; link < needs.links; ++link) {
    for (uint16_t path = 0; path < needs.paths; ++path) {
      ports.push_back(static_cast<uint16_t>(first_source_port(needs.udp_port, link) + path));
    }
  }
  return ports;
}

void check_udp_ports(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (needs.by_rnic()) {
    findings.push_back({"udp port", Status::Ok, "not needed: an RNIC has its own", ""});
    return;
  }
  const std::vector<uint16_t> ports = udp_ports_of(needs);
  size_t taken = 0;
  for (const uint16_t number : ports) {
    if (!is_udp_port_taken(machine, needs.address, number)) continue;
    ++taken;
    const std::string text = std::to_string(number);
    findings.push_back({"udp port", needs.has_file ? Status::Problem : Status::Note,
                        text + " is another program's, or a gateway runs here already",
                        "`ss -ulpn sport = :" + text + "` names it; stop it, or set wan.udp_port"});
  }
  if (taken > 0) return;
  const std::string last = std::to_string(ports.back());
  const std::string which = needs.links > 1 ? " of " + std::to_string(needs.links) + " links" : "";
  findings.push_back({"udp port", Status::Ok,
                      std::to_string(needs.udp_port) +
                          (ports.size() > 1 ? " to " + last + which + " are free" : " is free"),
                      ""});
}

void check_buffers(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.over_udp) {
    findings.push_back(
        {"socket buffers", Status::Ok, "not needed: wan.port is \"" + needs.wan_port + "\"", ""});
    return;
  }
  if (has_right(machine, Right::NetAdmin)) {
    findings.push_back({"socket buffers", Status::Ok, "as large as wanted, by CAP_NET_ADMIN", ""});
    return;
  }
  size_t short_ones = 0;
  for (const char* name : {"rmem_max", "wmem_max"}) {
    const auto most = machine.number(std::string("proc/sys/net/core/") + name);
    if (!most || static_cast<uint64_t>(*most) >= needs.socket_bytes) continue;
    ++short_ones;
    const std::string key = std::string("net.core.") + name;
    findings.push_back({"socket buffers", Status::Note,
                        key + " is " + std::to_string(*most) + ", and " +
                            std::to_string(needs.socket_bytes) + " are wanted: bursts are lost",
                        "`sysctl -w " + key + "=" + std::to_string(needs.socket_bytes) + "`"});
  }
  if (short_ones == 0) findings.push_back({"socket buffers", Status::Ok, "large enough", ""});
}

void check_lan_queue(const Machine& machine, const Needs& needs, std::vector<Finding>& findings) {
  if (!needs.over_tun) {
    findings.push_back(
        {"lan queue", Status::Ok, "not needed: lan.port is \"" + needs.lan_port + "\"", ""});
    return;
  }
  const auto length = machine.number("sys/class/net/" + needs.lan_device + "/tx_queue_len");
  if (!length || has_right(machine, Right::NetAdmin)) {
    findings.push_back(
        {"lan queue", Status::Ok, needs.lan_device + " gets the queue it needs", ""});
    return;
  }
  const bool is_long = *length >= needs.lan_queue_packets;
  const std::string wanted = std::to_string(needs.lan_queue_packets);
  findings.push_back(
      {"lan queue", is_long ? Status::Ok : Status::Note,
       needs.lan_device + " keeps " + std::to_string(*length) + " packets for us; " + wanted +
           " are wanted",
       is_long ? "" : "`ip link set dev " + needs.lan_device + " txqueuelen " + wanted + "`"});
}

}  // namespace

std::span<const Check> kernel_checks() {
  static constexpr Check all[] = {check_tun, check_rights, check_udp_ports, check_buffers,
                                  check_lan_queue};
  return all;
}

}  // namespace cw::preflight
