#include "dataplane/kernel/kernel_interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "dataplane/kernel/owned_fd.h"

namespace cw {
namespace {

bool try_ask(unsigned long what, ifreq& request) {
  const OwnedFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return fd.get() >= 0 && ioctl(fd.get(), what, &request) == 0;
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

}  // namespace

uint32_t kernel_mtu(const std::string& interface) {
  ifreq request = request_for(interface);
  return try_ask(SIOCGIFMTU, request) ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

uint32_t kernel_rx_queues(const std::string& interface) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = request_for(interface);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  return try_ask(SIOCETHTOOL, request) ? channels.combined_count + channels.rx_count : 1;
}

}  // namespace cw
