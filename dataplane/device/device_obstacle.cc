#include "dataplane/device/device_obstacle.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/limits.h"
#include "dataplane/device/device_text.h"
#include "dataplane/kernel/kernel_interface.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw {
namespace {

/// Zero, or why the kernel does not give us such a socket.
int socket_error(int family) {
  const OwnedFd fd(socket(family, SOCK_RAW | SOCK_CLOEXEC, 0));
  return fd.get() < 0 ? errno : 0;
}

std::string obstacle_to_socket(const std::string& name, int family) {
  const int error = socket_error(family);
  if (error == 0) return {};
  if (error == EPERM || error == EACCES) {
    return name +
           " needs rights that this process lacks; run as root, or grant CAP_NET_RAW, "
           "CAP_NET_ADMIN and, for net_af_xdp, CAP_BPF";
  }
  if (error == EAFNOSUPPORT) {
    return name +
           " may not open its sockets: this kernel lacks them, or the unit that this runs in "
           "restricts them; configs/causewayd@.service.d has a drop-in for it";
  }
  return name + " is not to be had from this kernel: " + std::strerror(error) +
         "; net_af_packet asks for least";
}

std::string obstacle_to_xdp(const std::string& device, uint16_t queues) {
  const std::string interface = device_argument(device, "iface");
  if (const uint32_t mtu = kernel_mtu(interface); mtu > limits::af_xdp_mtu_max) {
    return interface + " has an MTU of " + std::to_string(mtu) +
           ", and net_af_xdp takes at most 3498; `ip link set dev " + interface +
           " mtu 3498`, at the other end of a veth too, and lower the MTU in the file";
  }
  const uint32_t spread = kernel_rx_queues(interface);
  const bool is_steered = !device_argument(device, "queue_count").empty();
  if (spread <= queues || is_steered) return {};
  return interface + " spreads packets over " + std::to_string(spread) +
         " queues, and net_af_xdp would hear " + std::to_string(queues) + "; `ethtool -L " +
         interface + " combined " + std::to_string(queues) + "` (a veth: rx 1 tx 1, at both ends)";
}

std::string obstacle_to_tap(const std::string& name) {
  const OwnedFd fd(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  const int error = fd.get() < 0 ? errno : 0;
  if (error == 0) return {};
  if (error == ENOENT) return name + " needs /dev/net/tun, which is not there; `modprobe tun`";
  return name + " cannot open /dev/net/tun: " + std::strerror(error) +
         "; run as root, or grant CAP_NET_ADMIN";
}

/// Waits for what a memif's server says first. One that says it to somebody who has hung up already
/// ends its whole process: DPDK 22.11 closes a descriptor there that the EAL still waits for.
void hear_greeting(int fd) {
  const timeval patience = {.tv_sec = 2, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char greeting;
  recv(fd, &greeting, sizeof greeting, 0);
}

}  // namespace

uint32_t shared_mtu(const std::string& device) {
  const std::string driver = device_driver(device);
  const bool is_shared = driver == "net_af_packet" || driver == "net_af_xdp";
  const uint32_t mtu = is_shared ? kernel_mtu(device_argument(device, "iface")) : 0;
  return mtu == 0 ? UINT32_MAX : mtu;
}

std::string obstacle_to_device(const std::string& device, uint16_t queues) {
  const std::string name = device_name(device), driver = device_driver(device);
  if (driver == "net_tap") return obstacle_to_tap(name);
  const bool is_xdp = driver == "net_af_xdp";
  if (!is_xdp && driver != "net_af_packet") return {};
  const std::string interface = device_argument(device, "iface");
  if (if_nametoindex(interface.c_str()) == 0) {
    return "the kernel has no interface " + interface +
           " here; `ip link` lists them, those of this network namespace";
  }
  const std::string obstacle = obstacle_to_socket(name, is_xdp ? AF_XDP : AF_PACKET);
  return obstacle.empty() && is_xdp ? obstacle_to_xdp(device, queues) : obstacle;
}

std::string advice_for_device(const std::string& device) {
  const std::string driver = device_driver(device);
  if (driver == "net_af_xdp") {
    return "; it takes CAP_BPF and CAP_NET_ADMIN, and an interface without another's XDP program: "
           "`ip link set dev " +
           device_argument(device, "iface") + " xdp off`";
  }
  if (driver == "net_af_packet") {
    return "; it takes CAP_NET_RAW; where PACKET_FANOUT is refused, another process of this "
           "network namespace has the same fanout group (process id XOR interface index): start "
           "again";
  }
  if (driver == "net_tap") {
    return "; it takes CAP_NET_ADMIN, and an interface that exists already must be made by `ip "
           "tuntap add dev NAME mode tap multi_queue` and be no other program's";
  }
  if (driver == "net_memif") {
    return "; socket= must lie in a folder that is there and that we may write to, and be no other "
           "program's";
  }
  if (copies_packets(driver)) return {};
  return "; `ls /usr/lib/*/dpdk/pmds-*` lists the drivers that there are";
}

void remove_stale_socket(const std::string& device) {
  const std::string path = device_argument(device, "socket");
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path) return;
  path.copy(name.sun_path, path.size());
  const OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) {
    hear_greeting(fd.get());
  } else if (errno == ECONNREFUSED) {
    unlink(path.c_str());
  }
}

}  // namespace cw
