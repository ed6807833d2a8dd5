#include "dataplane/kernel/kernel_interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/kernel/owned_fd.h"

namespace cw {
namespace {

bool try_ask(unsigned long what, ifreq& request) {
  return ioctl(kernel_questions().get(), what, &request) == 0;
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

bool try_ask_channels(uint32_t command, const std::string& interface, ethtool_channels& channels) {
  channels.cmd = command;
  ifreq request = request_for(interface);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  return try_ask(SIOCETHTOOL, request);
}

}  // namespace

OwnedFd kernel_questions() { return OwnedFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

uint32_t kernel_index(const std::string& interface) { return if_nametoindex(interface.c_str()); }

uint32_t kernel_mtu(const std::string& interface) {
  ifreq request = request_for(interface);
  return try_ask(SIOCGIFMTU, request) ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

uint32_t kernel_rx_queues(const std::string& interface) {
  ethtool_channels channels{};
  if (!try_ask_channels(ETHTOOL_GCHANNELS, interface, channels)) return 1;
  return channels.combined_count + channels.rx_count;
}

int set_kernel_rx_queues(const std::string& interface, uint32_t queues) {
  ethtool_channels channels{};
  if (!try_ask_channels(ETHTOOL_GCHANNELS, interface, channels)) return errno;
  if (channels.max_combined > 0) {
    channels.combined_count = queues - std::min(queues, channels.rx_count);
  } else {
    channels.rx_count = queues;
    // A socket is of a queue in both directions.
    channels.tx_count = std::max(channels.tx_count, std::min(queues, channels.max_tx));
  }
  return try_ask_channels(ETHTOOL_SCHANNELS, interface, channels) ? 0 : errno;
}

MacAddress kernel_mac(const std::string& interface) {
  ifreq request = request_for(interface);
  MacAddress mac{};
  if (try_ask(SIOCGIFHWADDR, request))
    std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  return mac;
}

bool is_kernel_link_up(const std::string& interface, const OwnedFd& questions) {
  ifreq request = request_for(interface);
  constexpr int all = IFF_UP | IFF_RUNNING;
  return ioctl(questions.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & all) == all;
}

}  // namespace cw
