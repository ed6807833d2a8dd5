#include "tests/rdma/machine_gateway.h"

#include <stdexcept>
#include <string_view>
#include <thread>

#include "dataplane/seal/keys.h"
#include "tests/made_identity.h"

namespace cw::lab {
namespace {

constexpr auto look_every = std::chrono::milliseconds(50);
constexpr auto patience = std::chrono::seconds(30);

std::string lan_lines(const Inside& site, uint32_t mtu) {
  const std::string length = " mtu " + std::to_string(mtu);
  return "if [[ ! -e /run/netns/lan ]]; then\nset -e\nmkdir -p /run/netns\nmodprobe veth\n"
         "ip netns add lan\nip link add h0" +
         length + " type veth peer name l0" + length + " netns lan\nip addr add " + site.host +
         "/24 dev h0\nip link set h0 up\nip -n lan addr add " + site.lan +
         "/24 dev l0\nip -n lan link set l0 up\n"
         "ip netns exec lan sh -c 'cd /proc/sys/net/ipv4; echo 1 >ip_forward; "
         "echo 0 >conf/all/rp_filter; echo 0 >conf/default/rp_filter'\n"
         "rdma link add rx1 type rxe netdev h0\nset +e\nfi\n";
}

/// Waits until the gateway's log has `word`, or ends with what it has.
std::string wait_for(const std::string& word) {
  return "until grep -qs '" + word +
         "' gw.log; do kill -0 $gateway || { cat gw.log >&2; exit 9; }; sleep 0.1; done\n";
}

seal::Identity identity_of(const Inside& own) {
  return test::made_identity(own.name == std::string_view("a") ? 1 : 2);
}

}  // namespace

std::string private_key_of(const Inside& own) {
  return seal::text_of(identity_of(own).private_key.bytes());
}

std::string InsideFile::text(const Inside& own, const Inside& other) const {
  const std::string public_key = seal::text_of(identity_of(other).public_key);
  return std::string("[site]\nname = \"") + own.name + "\"\nprivate_key_file = \"" + own.name +
         ".key\"\n" + site + "[lan]\ndevice = \"inside\"\n" + lan + "[wan]\n" + wan +
         "address = \"" + own.wan + "\"\nrate = \"" + rate + "\"\n[pair]\nrtt = \"" + rtt +
         "\"\nmtu = " + std::to_string(mtu) + "\n[[peer]]\nname = \"" + other.name +
         "\"\npublic_key = \"" + public_key + "\"\naddress = \"" + other.wan + "\"\n" + peer +
         "routes = [\"" + other.prefix + "\"]\n" + classes;
}

std::string rnic_options(const Inside& own, const Inside& other) {
  return std::string(" --port verbs --device rx0 --address ") + own.wan + " --peer " + other.wan;
}

std::string start_lines(const std::string& daemon, const std::string& file) {
  return "modprobe tun; mkdir -p /dev/net; [[ -e /dev/net/tun ]] || mknod /dev/net/tun c 10 200\n"
         "cd /tmp; rm -f gw.log status.json; umask 077; echo " +
         private_key_of(inside_a) + " >a.key; echo " + private_key_of(inside_b) +
         " >b.key; umask 022\ncat >gw.toml <<'END'\n" + file + "END\n" + daemon +
         " --config gw.toml >gw.log 2>&1 &\ngateway=$!; echo $gateway >gw.pid\n";
}

// The host's own routes lead to the gateway, and the gateway's begin behind it.
void MachineGateway::start(InsideFile order) {
  const Inside &own = is_a_ ? inside_a : inside_b, &other = is_a_ ? inside_b : inside_a;
  order.mtu = rnic_mtu(order.mtu);
  order.site = site_rows;
  order.lan = "routes = false\nmtu = " + std::to_string(order.mtu) + "\n";
  order.wan = rnic_rows;
  script_ = machine_.start(lan_lines(own, order.mtu) + "ip route replace " + other.prefix +
                           " via " + own.lan + "\n" + start_lines(daemon_, order.text(own, other)) +
                           wait_for(" ready ") +
                           "ip link set inside netns lan && ip -n lan link set inside up &&\n" +
                           "ip -n lan route replace " + other.prefix + " dev inside || exit 9\n" +
                           wait_for("info up") + "echo up\nwait $gateway\n");
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
