#include "dataplane/port/udp/socket/udp_socket.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cw {
namespace {

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

int option_of(int fd, int level, int name) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return getsockopt(fd, level, name, &value, &bytes) == 0 ? value : 0;
}

/// Beyond the limit of net.core.{r,w}mem_max where we may, up to it elsewhere.
void set_buffers(int fd, const UdpSocketOptions& options) {
  const auto wanted = [](uint32_t bytes) {
    return static_cast<int>(std::min<uint32_t>(bytes, INT32_MAX / 2));
  };
  const int rx = wanted(options.rx_buffer_bytes), tx = wanted(options.tx_buffer_bytes);
  if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, rx)) set_option(fd, SOL_SOCKET, SO_RCVBUF, rx);
  if (!set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, tx)) set_option(fd, SOL_SOCKET, SO_SNDBUF, tx);
}

/// A packet is never fragmented, on no way, and never held to be too big for its path because an
/// ICMP packet says so: anybody can send one. Its DSCP and ECN are told; errors of the network are
/// queued, so that they can be counted, and with them goes that a full queue of the interface is
/// told. A socket of AF_INET6 has both families' options, for the IPv4 packets that it carries.
bool set_ip_options(int fd, int family) {
  bool is_done = set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
                 set_option(fd, IPPROTO_IP, IP_RECVTOS, 1) &&
                 set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
  if (family == AF_INET6) {
    is_done = is_done && set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) &&
              set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
              set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
              set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
  }
  return is_done;
}

std::string address_text(const UdpSocketOptions& options) {
  SocketName name{};
  char text[INET6_ADDRSTRLEN] = "";
  write_socket_name(options.local, options.family, name);
  const void* const ip =
      options.family == AF_INET6 ? static_cast<const void*>(&name.v6.sin6_addr) : &name.v4.sin_addr;
  inet_ntop(options.family, ip, text, sizeof(text));
  return text;
}

std::string bind_sentence(const UdpSocketOptions& options, int error) {
  const std::string number = std::to_string(options.local.udp_port);
  switch (error) {
    case EADDRINUSE:
      return "udp_port: " + number +
             " is taken by another program; stop it, or choose another udp_port here and in the "
             "peer's list of peers";
    case EACCES:
      return "udp_port: " + number +
             " is reserved; choose one from 1024 up, or grant CAP_NET_BIND_SERVICE";
    case EADDRNOTAVAIL:
      return "address: " + address_text(options) +
             " is not one of this machine's; leave it out to listen on all of them";
    default:
      return "udp_port: cannot bind " + number + ": " + std::strerror(error);
  }
}

constexpr const char* store_name = "wan";

/// Why a descriptor is no socket of this address and port; empty: it is one. The rest is set anew.
std::string misfit(int fd, const UdpSocketOptions& options) {
  if (option_of(fd, SOL_SOCKET, SO_TYPE) != SOCK_DGRAM ||
      option_of(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_UDP) {
    return "it is no UDP socket";
  }
  if (option_of(fd, SOL_SOCKET, SO_DOMAIN) != options.family) return "it is of another IP version";
  SocketName bound{};
  socklen_t bytes = sizeof(bound);
  if (getsockname(fd, &bound.any, &bytes) != 0) return std::strerror(errno);
  SocketName wanted{};
  write_socket_name(options.local, options.family, wanted);
  const UdpAddress has = read_socket_name(bound), wants = read_socket_name(wanted);
  const bool fits =
      has.ip == wants.ip && has.udp_port == wants.udp_port && has.scope == wants.scope;
  return fits ? "" : "it is bound to another address or port, " + std::to_string(has.udp_port);
}

}  // namespace

bool has_ipv6() {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

Result<UdpSocket> UdpSocket::make(const UdpSocketOptions& options) {
  const UdpShare& share = options.share;
  const std::string name = queue_name(store_name, share.shard, share.shards);
  if (options.store != nullptr) {
    // They were bound in their order, and one that left would have the kernel number them anew.
    if (share.shard == 0) {
      admit_queues(*options.store, store_name, share.shards,
                   [&](int fd) { return misfit(fd, options); });
    }
    UdpSocket taken(options.store->take(name));
    if (taken.fd_ >= 0) {
      if (auto done = taken.set_up(options); !done) return std::unexpected(done.error());
      return taken;
    }
  }
  auto made = open_one(options);
  if (!made) return made;
  if (auto done = made->set_up(options); !done) return std::unexpected(done.error());
  if (auto done = made->bind_to(options); !done) return std::unexpected(done.error());
  if (options.store != nullptr) options.store->keep(name, made->fd_);
  return made;
}

Result<UdpSocket> UdpSocket::open_one(const UdpSocketOptions& options) {
  UdpSocket made(socket(options.family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.fd_ >= 0) return made;
  const bool is_v6 = options.family == AF_INET6;
  return failure(std::string("cannot open an ") + (is_v6 ? "IPv6" : "IPv4") +
                 " UDP socket: " + std::strerror(errno));
}

Result<void> UdpSocket::set_up(const UdpSocketOptions& options) const {
  if (!set_ip_options(fd_, options.family)) {
    return failure(std::string("cannot set up a UDP socket (path MTU, DSCP, errors): ") +
                   std::strerror(errno));
  }
  set_buffers(fd_, options);
  set_option(fd_, SOL_SOCKET, SO_RXQ_OVFL, 1);  // without it, rx_dropped knows less
  set_option(fd_, IPPROTO_UDP, UDP_GRO, options.gro ? 1 : 0);
  const bool takes_zeros = options.family == AF_INET6 && options.zero_checksums;
  if (!set_option(fd_, IPPROTO_UDP, UDP_NO_CHECK6_RX, takes_zeros ? 1 : 0) && takes_zeros) {
    return failure(std::string("icrc: this kernel takes no IPv6 packets without a UDP checksum: ") +
                   std::strerror(errno));
  }
  return {};
}

Result<void> UdpSocket::bind_to(const UdpSocketOptions& options) const {
  SocketName name;
  const socklen_t bytes = write_socket_name(options.local, options.family, name);
  if (auto done = prepare_share(fd_, options.share); !done) return done;
  if (options.shares_address) set_option(fd_, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd_, &name.any, bytes) != 0) return failure(bind_sentence(options, errno));
  return begin_share(fd_, options.share);
}

UdpSocket::~UdpSocket() {
  if (fd_ >= 0) close(fd_);
}

bool UdpSocket::has_gso() const { return set_option(fd_, IPPROTO_UDP, UDP_SEGMENT, 0); }
bool UdpSocket::has_gro() const { return option_of(fd_, IPPROTO_UDP, UDP_GRO) != 0; }

uint32_t UdpSocket::overflow_drops() const {
  std::array<uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t bytes = sizeof(values);
  if (getsockopt(fd_, SOL_SOCKET, SO_MEMINFO, values.data(), &bytes) != 0) return 0;
  return values[SK_MEMINFO_DROPS];
}

uint32_t UdpSocket::rx_buffer_bytes() const {
  return static_cast<uint32_t>(option_of(fd_, SOL_SOCKET, SO_RCVBUF)) / 2;
}
uint32_t UdpSocket::tx_buffer_bytes() const {
  return static_cast<uint32_t>(option_of(fd_, SOL_SOCKET, SO_SNDBUF)) / 2;
}

void note_socket(const UdpSocket& socket, uint32_t wanted, bool gso, UdpPortStatus& status) {
  status.has_gso = gso && socket.has_gso();
  status.has_gro = socket.has_gro();
  status.rx_buffer_bytes = socket.rx_buffer_bytes();
  status.tx_buffer_bytes = socket.tx_buffer_bytes();
  status.has_capped_buffers = std::min(status.rx_buffer_bytes, status.tx_buffer_bytes) < wanted;
}

Result<int> make_wait_fd(std::span<const int> fds) {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return failure(std::string("cannot make an epoll descriptor: ") + strerror(errno));
  for (const int each : fds) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(fd, EPOLL_CTL_ADD, each, &event) == 0) continue;
    const int error = errno;
    close(fd);
    return failure(std::string("cannot wait for UDP sockets: ") + strerror(error));
  }
  return fd;
}

}  // namespace cw
