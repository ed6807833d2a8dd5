#include "control/wan/socket/offloads.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "control/wan/socket/packet_socket.h"

namespace cw::wan {
namespace {

/// An offload is one bit of what a pair of ethtool's commands gets and sets.
struct Offload {
  const char* name;
  uint32_t get, set, bit;
};

constexpr Offload joining[] = {
    {"gro", ETHTOOL_GGRO, ETHTOOL_SGRO, 1},
    {"lro", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_LRO},
};

/// One ethtool command; the value it left, or nothing when the interface does not know it.
std::optional<uint32_t> ask(const std::string& interface, uint32_t command, uint32_t data) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_value value{command, data};
  ifreq request{};
  interface.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;
  return value.data;
}

bool try_switch(const std::string& interface, const Offload& offload, bool is_on) {
  const auto before = ask(interface, offload.get, 0);
  if (!before) return false;
  const uint32_t wanted = is_on ? *before | offload.bit : *before & ~offload.bit;
  return ask(interface, offload.set, wanted).has_value();
}

}  // namespace

std::vector<std::string> joining_offloads(const std::string& interface) {
  std::vector<std::string> names;
  for (const Offload& offload : joining) {
    if ((ask(interface, offload.get, 0).value_or(0) & offload.bit) != 0) {
      names.push_back(offload.name);
    }
  }
  return names;
}

std::string ethtool_command(const std::string& interface,
                            const std::vector<std::string>& offloads) {
  std::string command = "ethtool -K " + interface;
  for (const std::string& offload : offloads) command += " " + offload + " off";
  return command;
}

Result<OffloadsOff> OffloadsOff::make(const std::string& interface) {
  OffloadsOff off(interface);
  for (const std::string& name : joining_offloads(interface)) {
    const Offload& offload = *std::ranges::find(joining, name, &Offload::name);
    if (!try_switch(interface, offload, false)) {
      const std::string command = ethtool_command(interface, {name});
      return failure("`" + command + "` was refused: " + std::strerror(errno));
    }
    off.turned_off_.push_back(name);
  }
  return off;
}

OffloadsOff::~OffloadsOff() {
  for (const std::string& name : turned_off_) {
    try_switch(interface_, *std::ranges::find(joining, name, &Offload::name), true);
  }
}

}  // namespace cw::wan
