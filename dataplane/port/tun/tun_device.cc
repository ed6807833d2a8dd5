#include "dataplane/port/tun/tun_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/limits.h"
#include "dataplane/port/tun/tun_steering.h"

namespace cw {
namespace {

constexpr char tun_file[] = "/dev/net/tun";
constexpr uint32_t mtu_min = 576;
constexpr uint32_t mtu_max = limits::frame_bytes_max;
// Segmentation of UDP, Linux 6.2; older headers do not name it.
constexpr unsigned long offload_uso = 0x20 | 0x40;
constexpr unsigned long offload_tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;

std::unexpected<Error> fail(const std::string& what, int error) {
  return failure(what + ": " + std::strerror(error));
}

std::string no_right_to(const std::string& name) {
  return "name: no right to make or use the TUN device \"" + name +
         "\"; grant CAP_NET_ADMIN, or have it made for this user: ip tuntap add dev " +
         (name.empty() ? "NAME" : name) + " mode tun user USER";
}

Result<void> attach_failure(const TunDeviceOptions& options, int error) {
  switch (error) {
    case EPERM:
      return failure(no_right_to(options.name));
    case EBUSY:
      return failure("name: the TUN device \"" + options.name +
                     "\" is in use by another program; stop it, or choose another name");
    case EINVAL:
      return failure("name: \"" + options.name +
                     "\" is an interface that is no TUN device, or one with " +
                     (options.multi_queue ? "one queue" : "several queues") +
                     "; choose another name or remove it");
    default:
      return fail("name: cannot attach to the TUN device \"" + options.name + "\"", error);
  }
}

/// A socket to ask about interfaces.
class Inquiry {
 public:
  explicit Inquiry(const std::string& name) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::copy_n(name.begin(), std::min<size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
  }
  ~Inquiry() {
    if (fd_ >= 0) close(fd_);
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  bool ask(unsigned long what) { return ioctl(fd_, what, &request) == 0; }

  ifreq request{};

 private:
  int fd_;
};

constexpr const char* store_name = "lan";
constexpr int kind_flags = IFF_TUN | IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE;

int flags_of(const TunDeviceOptions& options) {
  return IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | (options.multi_queue ? IFF_MULTI_QUEUE : 0);
}

/// Why a descriptor is no queue of that device; empty: it is one.
std::string misfit(int fd, const TunDeviceOptions& options) {
  ifreq request{};
  if (ioctl(fd, TUNGETIFF, &request) != 0) return "it is no TUN device, or one that is gone";
  const std::string name = request.ifr_name;
  if (!options.name.empty() && name != options.name) return "it is the TUN device \"" + name + "\"";
  if ((request.ifr_flags & kind_flags) != flags_of(options))
    return "\"" + name + "\" is of another kind";
  return if_nametoindex(name.c_str()) != 0 ? "" : "\"" + name + "\" is in another namespace";
}

}  // namespace

Result<TunDevice> TunDevice::make(const TunDeviceOptions& options) {
  if (options.name.size() >= IFNAMSIZ || options.name.find_first_of("/ %") != std::string::npos) {
    return failure("name: \"" + options.name +
                   "\" is no name for an interface: 1 to 15 characters "
                   "without space, / and %");
  }
  if (options.mtu != 0 && (options.mtu < mtu_min || options.mtu > mtu_max)) {
    return failure("mtu: " + std::to_string(options.mtu) + " given, " + std::to_string(mtu_min) +
                   " to " + std::to_string(mtu_max) + " accepted");
  }
  auto device = open_one(options);
  if (!device) return device;
  if (auto done = device->agree(options); !done) return std::unexpected(done.error());
  if (auto done = device->set_up(options); !done) return std::unexpected(done.error());
  if (options.store != nullptr && !device->is_taken_) {
    options.store->keep(queue_name(store_name, options.queue, options.queues), device->fd_);
  }
  return device;
}

Result<TunDevice> TunDevice::open_one(const TunDeviceOptions& options) {
  if (options.store != nullptr) {
    if (options.queue == 0) {
      admit_queues(*options.store, store_name, options.queues,
                   [&](int fd) { return misfit(fd, options); });
    }
    TunDevice taken(options.store->take(queue_name(store_name, options.queue, options.queues)));
    ifreq request{};
    if (taken.fd_ >= 0 && ioctl(taken.fd_, TUNGETIFF, &request) == 0) {
      taken.name_ = request.ifr_name;
      taken.is_taken_ = true;
      fcntl(taken.fd_, F_SETFL, fcntl(taken.fd_, F_GETFL) | O_NONBLOCK);
      return taken;
    }
  }
  TunDevice device(open(tun_file, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (device.fd_ < 0) {
    const int error = errno;
    if (error == EPERM) return failure(no_right_to(options.name));
    if (error == EACCES) {
      return failure(std::string("no right to open ") + tun_file + "; chmod 666 " + tun_file +
                     ", as most systems have it: the kernel asks for CAP_NET_ADMIN all the same");
    }
    return fail(std::string("cannot open ") + tun_file + " (does the kernel have TUN?)", error);
  }
  if (auto attached = device.attach(options); !attached) {
    return std::unexpected(attached.error());
  }
  return device;
}

Result<void> TunDevice::attach(const TunDeviceOptions& options) {
  ifreq request{};
  std::copy(options.name.begin(), options.name.end(), request.ifr_name);
  request.ifr_flags = static_cast<short>(flags_of(options));
  if (ioctl(fd_, TUNSETIFF, &request) != 0) return attach_failure(options, errno);
  name_ = request.ifr_name;
  return {};
}

/// On what comes before packets, and what of them is ours to do.
Result<void> TunDevice::agree(const TunDeviceOptions& options) {
  const int header_bytes = 10;  // virtio_net_hdr without what later versions added
  if (ioctl(fd_, TUNSETVNETHDRSZ, &header_bytes) != 0) {
    return fail("cannot agree with the kernel on the header before packets", errno);
  }
  const unsigned long wanted = options.offload ? offload_tcp : 0;
  has_offload_ = options.offload && (ioctl(fd_, TUNSETOFFLOAD, wanted | offload_uso) == 0 ||
                                     ioctl(fd_, TUNSETOFFLOAD, wanted) == 0);
  // A device that others made may come with offloads; without them it must be.
  if (!has_offload_ && ioctl(fd_, TUNSETOFFLOAD, 0UL) != 0) {
    return fail("cannot switch off the offloads of \"" + name_ + "\"", errno);
  }
  return options.multi_queue ? steer_by_flow(fd_) : Result<void>();
}

/// A device made for an unprivileged user is set up already; only a difference needs a right.
Result<void> TunDevice::set_up(const TunDeviceOptions& options) {
  Inquiry inquiry(name_);
  if (!inquiry.ask(SIOCGIFMTU)) return fail("cannot read the MTU of \"" + name_ + "\"", errno);
  if (options.mtu != 0 && static_cast<uint32_t>(inquiry.request.ifr_mtu) != options.mtu) {
    inquiry.request.ifr_mtu = static_cast<int>(options.mtu);
    if (!inquiry.ask(SIOCSIFMTU)) {
      return fail("mtu: cannot set " + std::to_string(options.mtu) + " on \"" + name_ +
                      "\" (it takes CAP_NET_ADMIN)",
                  errno);
    }
  }
  mtu_ = static_cast<uint32_t>(inquiry.request.ifr_mtu);
  if (mtu_ > mtu_max) {
    return failure("mtu: \"" + name_ + "\" has " + std::to_string(mtu_) + ", at most " +
                   std::to_string(mtu_max) + " accepted");
  }
  if (!options.up) return {};
  if (!inquiry.ask(SIOCGIFFLAGS)) return fail("cannot read the flags of \"" + name_ + "\"", errno);
  if ((inquiry.request.ifr_flags & IFF_UP) != 0) return {};
  inquiry.request.ifr_flags |= IFF_UP;
  if (inquiry.ask(SIOCSIFFLAGS)) return {};
  return fail("cannot set \"" + name_ + "\" up (it takes CAP_NET_ADMIN)", errno);
}

TunDevice::~TunDevice() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace cw
