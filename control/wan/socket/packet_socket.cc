#include "control/wan/socket/packet_socket.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "control/wan/socket/frame.h"

namespace cw::wan {
namespace {

constexpr size_t ring_frames = 8192;  // 40 ms of 200,000 frames per second
constexpr size_t ring_block_bytes = size_t{1} << 18;
constexpr size_t mtu_max = 9216;
constexpr size_t ring_overhead_bytes = 160;  // the kernel's header, its alignment, Ethernet, a tag
constexpr int send_buffer_bytes = 8 << 20;

/// struct virtio_net_hdr, whose own header is no C++: what the sender of a frame left undone.
struct LeftUndone {
  static constexpr uint8_t checksum_flag = 1;
  uint8_t flags, segments_type;  // the latter is 0 for a frame that is one packet
  uint16_t header_bytes, segment_bytes, checksum_start, checksum_offset;
};
static_assert(sizeof(LeftUndone) == 10);

std::unexpected<Error> system_failure(const std::string& what) {
  return failure(what + ": " + std::strerror(errno));
}

template <class T>
bool try_set(const Descriptor& socket, int level, int option, const T& value) {
  return setsockopt(socket.get(), level, option, &value, sizeof(value)) == 0;
}

bool try_bind(const Descriptor& socket, const Interface& interface, uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = interface.index;
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

bool try_be_promiscuous(const Descriptor& socket, const Interface& interface) {
  packet_mreq request{};
  request.mr_ifindex = interface.index;
  request.mr_type = PACKET_MR_PROMISC;
  return try_set(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request);
}

tpacket_req ring_request(size_t frame_bytes) {
  tpacket_req request{};
  request.tp_block_size = ring_block_bytes;
  request.tp_frame_size = static_cast<unsigned>(frame_bytes);
  request.tp_frame_nr = ring_frames;
  request.tp_block_nr = static_cast<unsigned>(ring_frames * frame_bytes / ring_block_bytes);
  return request;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<Interface> Interface::find(const std::string& name) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (name.empty() || name.size() >= sizeof(request.ifr_name)) {
    return failure("\"" + name + "\" is no name of an interface: 1 to 15 characters");
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  Interface interface { .name = name };
  if (ioctl(socket.get(), SIOCGIFINDEX, &request) != 0) {
    return failure("there is no interface \"" + name + "\" here; `ip link` shows those there are");
  }
  interface.index = request.ifr_ifindex;
  ioctl(socket.get(), SIOCGIFHWADDR, &request);
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return failure("interface " + name + " carries no Ethernet frames");
  }
  ioctl(socket.get(), SIOCGIFMTU, &request);
  interface.mtu = static_cast<size_t>(request.ifr_mtu);
  if (interface.mtu > mtu_max) {
    return failure("the MTU of " + name + " is " + std::to_string(interface.mtu) + "; at most " +
                   std::to_string(mtu_max) + " is carried");
  }
  ioctl(socket.get(), SIOCGIFFLAGS, &request);
  if ((request.ifr_flags & IFF_UP) == 0) {
    return failure("interface " + name + " is down; `ip link set " + name + " up` mends it");
  }
  return interface;
}

Result<FrameInput> FrameInput::open(const Interface& interface) {
  // Of protocol 0: nothing is queued before the ring stands and the socket is bound.
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return system_failure("a packet socket (needs the right CAP_NET_RAW)");
  const size_t frame_bytes =
      std::bit_ceil(std::max<size_t>(2048, interface.mtu + ring_overhead_bytes));
  const tpacket_req request = ring_request(frame_bytes);
  const bool is_ready = try_set(socket, SOL_PACKET, PACKET_VERSION, int{TPACKET_V2}) &&
                        try_set(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) &&
                        try_set(socket, SOL_PACKET, PACKET_VNET_HDR, 1) &&
                        try_set(socket, SOL_PACKET, PACKET_RX_RING, request);
  if (!is_ready) return system_failure("the receive ring of " + interface.name);
  void* const ring =
      mmap(nullptr, ring_frames * frame_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket.get(), 0);
  if (ring == MAP_FAILED) return system_failure("the receive ring of " + interface.name);
  FrameInput input(std::move(socket), static_cast<uint8_t*>(ring), frame_bytes);
  if (!try_be_promiscuous(input.socket_, interface) ||
      !try_bind(input.socket_, interface, ETH_P_ALL)) {
    return system_failure("listening at " + interface.name);
  }
  return input;
}

FrameInput::FrameInput(Descriptor socket, uint8_t* ring, size_t frame_bytes)
    : socket_(std::move(socket)), ring_(ring), frame_bytes_(frame_bytes) {}

FrameInput::FrameInput(FrameInput&& other) noexcept
    : socket_(std::move(other.socket_)),
      ring_(std::exchange(other.ring_, nullptr)),
      frame_bytes_(other.frame_bytes_),
      next_(other.next_) {}

FrameInput::~FrameInput() {
  if (ring_ != nullptr) munmap(ring_, ring_frames * frame_bytes_);
}

bool FrameInput::try_front(Arrival& arrival, int64_t& wall_ns) const {
  uint8_t* const frame = front();
  auto& header = *reinterpret_cast<tpacket2_hdr*>(frame);
  const uint32_t status = std::atomic_ref(header.tp_status).load(std::memory_order_acquire);
  if ((status & TP_STATUS_USER) == 0) return false;
  LeftUndone undone;
  std::memcpy(&undone, frame + header.tp_mac - sizeof(undone), sizeof(undone));
  arrival.bytes = {frame + header.tp_mac, header.tp_snaplen};
  arrival.is_truncated = header.tp_snaplen < header.tp_len || undone.segments_type != 0;
  arrival.has_vlan_tag = (status & TP_STATUS_VLAN_VALID) != 0;
  arrival.vlan_tag = header.tp_vlan_tci;
  arrival.vlan_type = (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? header.tp_vlan_tpid : ETH_P_8021Q;
  arrival.is_checksum_unfinished = (undone.flags & LeftUndone::checksum_flag) != 0;
  arrival.checksum_start = undone.checksum_start;
  arrival.checksum_offset = undone.checksum_offset;
  wall_ns = int64_t{header.tp_sec} * 1'000'000'000 + header.tp_nsec;
  return true;
}

void FrameInput::pop() {
  auto& header = *reinterpret_cast<tpacket2_hdr*>(front());
  std::atomic_ref(header.tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
  next_ = (next_ + 1) % ring_frames;
}

uint64_t FrameInput::take_missed() {
  tpacket_stats stats{};
  socklen_t bytes = sizeof(stats);
  if (getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) != 0) return 0;
  return stats.tp_drops;
}

Result<FrameOutput> FrameOutput::open(const Interface& interface) {
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || !try_bind(socket, interface, 0)) {
    return system_failure("sending at " + interface.name);
  }
  // Both are for speed; without them it works as well.
  try_set(socket, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
  try_set(socket, SOL_SOCKET, SO_SNDBUFFORCE, send_buffer_bytes);
  return FrameOutput(std::move(socket));
}

FrameOutput::Sent FrameOutput::send(std::span<const Direction::Due> frames) {
  std::array<iovec, burst_frames_max> bytes;
  std::array<mmsghdr, burst_frames_max> messages{};
  const size_t count = std::min(frames.size(), burst_frames_max);
  for (size_t i = 0; i < count; ++i) {
    // sendmmsg() only reads what an iovec points to.
    bytes[i] = {const_cast<uint8_t*>(frames[i].bytes.data()), frames[i].bytes.size()};
    messages[i].msg_hdr.msg_iov = &bytes[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const int sent =
      sendmmsg(socket_.get(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
  if (sent >= 0) return {.count = static_cast<size_t>(sent)};
  const bool is_full = errno == EAGAIN || errno == EINTR;
  return {.is_refused = !is_full};
}

}  // namespace cw::wan
