#include "tests/rdma/machine_gateway.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace cw::lab {
namespace {

constexpr auto look_every = std::chrono::milliseconds(50);
constexpr auto patience = std::chrono::seconds(30);

/// An RNIC's path MTU is the next power of two that fits, up to 4096: more is of no use.
constexpr uint32_t longest = 4200;

std::string lan_lines(const MachineSite& site, uint32_t mtu) {
  const std::string length = " mtu " + std::to_string(mtu);
  return "if [[ ! -e /run/netns/lan ]]; then\nset -e\nmkdir -p /run/netns /dev/net\n"
         "modprobe -a veth tun\n[[ -e /dev/net/tun ]] || mknod /dev/net/tun c 10 200\n"
         "ip netns add lan\nip link add h0" +
         length + " type veth peer name l0" + length + " netns lan\nip addr add " + site.host +
         "/24 dev h0\nip link set h0 up\nip -n lan addr add " + site.router +
         "/24 dev l0\nip -n lan link set l0 up\n"
         "ip netns exec lan sh -c 'cd /proc/sys/net/ipv4; echo 1 >ip_forward; "
         "echo 0 >conf/all/rp_filter; echo 0 >conf/default/rp_filter'\n"
         "rdma link add rx1 type rxe netdev h0\nset +e\nfi\n";
}

/// Waits until the gateway's log has `word`, or ends with what it has.
std::string wait_for(const std::string& word) {
  return "until grep -q '" + word +
         "' gw.log; do kill -0 $gateway || { cat gw.log >&2; exit 9; }; sleep 0.1; done\n";
}

}  // namespace

std::string MachineGateway::file(const MachineOrder& order) const {
  const MachineSite &own = is_a_ ? machine_a : machine_b, &other = is_a_ ? machine_b : machine_a;
  const std::string mtu = "mtu = " + std::to_string(order.mtu);
  // The host's own routes lead to the router, and the gateway's begin behind it.
  return std::string("[site]\nstatus = \"/tmp/status.json\"\nname = \"") + own.name +
         "\"\n[api]\nfolder = \"/tmp/api\"\n[lan]\ndevice = \"inside\"\nroutes = false\n" + mtu +
         "\n[wan]\nport = \"verbs\"\ndevice = \"rx0\"\naddress = \"" + own.wan + "\"\nrate = \"" +
         order.rate + "\"\n[pair]\nkey_file = \"pair.key\"\nrtt = \"" + order.rtt + "\"\n" + mtu +
         "\n[[peer]]\nname = \"" + other.name + "\"\naddress = \"" + other.wan +
         "\"\nroutes = [\"" + other.prefix + "\"]\n" + order.classes;
}

std::string MachineGateway::lines(const MachineOrder& order) const {
  const MachineSite &own = is_a_ ? machine_a : machine_b, &other = is_a_ ? machine_b : machine_a;
  return lan_lines(own, order.mtu) + "ip route replace " + other.prefix + " via " + own.router +
         "\ncd /tmp\nprintf %s 'a secret of thirty-two bytes or more, and nobody else' >pair.key\n"
         "chmod 600 pair.key\ncat >gw.toml <<'END'\n" +
         file(order) + "END\n" + daemon_ + " --config gw.toml >gw.log 2>&1 &\ngateway=$!\n" +
         "echo $gateway >gw.pid\n" + wait_for(" ready ") +
         "ip link set inside netns lan && ip -n lan link set inside up &&\n" +
         "ip -n lan route replace " + other.prefix + " dev inside || exit 9\n" +
         wait_for("info up") + "echo up\nwait $gateway\n";
}

void MachineGateway::start(const MachineOrder& order) {
  MachineOrder fitting = order;
  fitting.mtu = std::min(order.mtu, longest);
  script_ = machine_.start(lines(fitting));
}

void MachineGateway::wait_up(std::chrono::seconds most) {
  const auto end = Time::now() + most;
  while (machine_.out_so_far(script_) != "up\n") {
    if (machine_.has_ended(script_) || Time::now() > end) {
      throw std::runtime_error("a gateway over an RNIC does not come up: " +
                               machine_.run("cat /tmp/gw.log", patience).out +
                               machine_.finish(script_, std::chrono::seconds(1)).err);
    }
    std::this_thread::sleep_for(look_every);
  }
}

void MachineGateway::stop() {
  machine_.run("kill $(cat /tmp/gw.pid)", patience);
  const Outcome outcome = machine_.finish(script_, patience);
  if (outcome.status != 0) {
    throw std::runtime_error("a gateway over an RNIC ends with status " +
                             std::to_string(outcome.status) + ": " +
                             machine_.run("cat /tmp/gw.log", patience).out);
  }
}

}  // namespace cw::lab
