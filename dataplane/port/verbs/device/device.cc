#include "dataplane/port/verbs/device/device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/port/verbs/verbs_options.h"

namespace cw::verbs {
namespace {

constexpr uint8_t hop_limit = 64;
constexpr std::array<uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

using DeviceList = std::unique_ptr<ibv_device*[], decltype([](ibv_device** devices) {
                                     if (devices != nullptr) ibv_free_device_list(devices);
                                   })>;

std::string reason(int error) { return std::strerror(error); }

std::string names_of(ibv_device* const* devices, int count) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    names += (i > 0 ? ", " : "") + std::string(ibv_get_device_name(devices[i]));
  }
  return names.empty() ? "this machine has none that programs may use (rdma link show)"
                       : "there are " + names;
}

Result<Context> open_context(const std::string& name) {
  int count = 0;
  const DeviceList devices(ibv_get_device_list(&count));
  if (devices == nullptr) count = 0;
  for (int i = 0; i < count; ++i) {
    if (name != ibv_get_device_name(devices[i])) continue;
    Context context(ibv_open_device(devices[i]));
    if (context != nullptr) return context;
    return failure("device \"" + name + "\" cannot be opened (" + reason(errno) +
                   "): the user needs /dev/infiniband/uverbs* of it");
  }
  return failure("there is no RDMA device \"" + name + "\": " + names_of(devices.get(), count));
}

}  // namespace

void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

Result<ibv_gid> parse_gid(const std::string& address, const char* key) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1) return gid;
  std::memcpy(gid.raw, v4_prefix.data(), v4_prefix.size());
  if (inet_pton(AF_INET, address.c_str(), &gid.raw[v4_prefix.size()]) == 1) return gid;
  return failure(std::string(key) + " is \"" + address + "\" and must be an IPv4 or IPv6 address");
}

bool is_v4(const ibv_gid& gid) {
  return std::memcmp(gid.raw, v4_prefix.data(), v4_prefix.size()) == 0;
}

std::string text_of(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_short = is_v4(gid);
  inet_ntop(is_short ? AF_INET : AF_INET6, is_short ? &gid.raw[v4_prefix.size()] : gid.raw,
            text.data(), text.size());
  return text.data();
}

ibv_mtu path_mtu_of(uint32_t bytes) {
  return bytes >= 4096   ? IBV_MTU_4096
         : bytes >= 2048 ? IBV_MTU_2048
         : bytes >= 1024 ? IBV_MTU_1024
         : bytes >= 512  ? IBV_MTU_512
                         : IBV_MTU_256;
}

Result<std::unique_ptr<Device>> Device::open(const std::string& name, const std::string& address) {
  auto gid = parse_gid(address, "address");
  if (!gid) return std::unexpected(gid.error());
  auto context = open_context(name);
  if (!context) return std::unexpected(context.error());
  std::unique_ptr<Device> device(new Device);
  device->name_ = name;
  device->address_ = address;
  device->gid_ = *gid;
  device->context_ = std::move(*context);
  if (const auto read = device->read_limits(); !read) return std::unexpected(read.error());
  if (const auto read = device->read_port(); !read) return std::unexpected(read.error());
  device->domain_.reset(ibv_alloc_pd(device->context()));
  if (device->domain_ == nullptr) {
    return failure("device \"" + name + "\" gives no protection domain: " + reason(errno));
  }
  make_nonblocking(device->event_fd());
  return device;
}

Result<void> Device::read_limits() {
  if (const int error = ibv_query_device(context(), &limits_); error != 0) {
    return failure("device \"" + name_ + "\" does not say what it can do: " + reason(error));
  }
  return {};
}

Result<void> Device::read_port() {
  ibv_port_attr port;
  if (const int error = ibv_query_port(context(), port_number, &port); error != 0) {
    return failure("device \"" + name_ + "\" does not describe its port: " + reason(error));
  }
  if (port.link_layer != IBV_LINK_LAYER_ETHERNET) {
    return failure("device \"" + name_ + "\" is not of an Ethernet: RoCEv2 needs one");
  }
  const auto gid_index = find_gid();
  if (!gid_index) {
    return failure("device \"" + name_ + "\" has no RoCEv2 GID of address " + address_ +
                   ": does its interface have this address (ip address show)?");
  }
  payload_max_ = 128u << port.active_mtu;
  interface_mtu_ = read_interface_mtu();
  return {};
}

std::optional<uint8_t> Device::find_gid() const {
  ibv_port_attr port;
  if (ibv_query_port(context(), port_number, &port) != 0) return std::nullopt;
  for (int i = 0; i < port.gid_tbl_len && i <= UINT8_MAX; ++i) {
    ibv_gid_entry entry;
    if (ibv_query_gid_ex(context(), port_number, static_cast<uint32_t>(i), &entry, 0) != 0)
      continue;
    const bool is_ours = entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
                         std::memcmp(entry.gid.raw, gid_.raw, sizeof gid_.raw) == 0;
    if (is_ours) return static_cast<uint8_t>(i);
  }
  return std::nullopt;
}

bool Device::is_port_up() const {
  ibv_port_attr port;
  return ibv_query_port(context(), port_number, &port) == 0 && port.state == IBV_PORT_ACTIVE;
}

uint32_t Device::find_interface() const {
  const auto gid_index = find_gid();
  ibv_gid_entry entry;
  if (!gid_index || ibv_query_gid_ex(context(), port_number, *gid_index, &entry, 0) != 0) return 0;
  return entry.ndev_ifindex;
}

/// Zero: unknown.
uint32_t Device::read_interface_mtu() const {
  ifreq request{};
  if (if_indextoname(find_interface(), request.ifr_name) == nullptr) return 0;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  const bool is_known = ioctl(fd, SIOCGIFMTU, &request) == 0;
  close(fd);
  return is_known ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

// The kernel makes the UDP source port of the flow label's bits: of one below 2^14 just those.
ibv_ah_attr Device::way_to(const ibv_gid& peer, uint8_t gid_index, uint16_t source_port) const {
  constexpr uint32_t same_as_zero = 0x4001;  // which would leave the choice to the kernel
  ibv_ah_attr way{};
  way.is_global = 1;
  way.port_num = port_number;
  way.grh.dgid = peer;
  way.grh.sgid_index = gid_index;
  way.grh.hop_limit = hop_limit;
  const uint32_t label = source_port - uint32_t{rnic_source_port_min};
  way.grh.flow_label = label == 0 ? same_as_zero : label;
  return way;
}

std::optional<ibv_event_type> Device::take_event() const {
  ibv_async_event event;
  if (ibv_get_async_event(context(), &event) != 0) return std::nullopt;
  const ibv_event_type type = event.event_type;
  ibv_ack_async_event(&event);
  return type;
}

}  // namespace cw::verbs
