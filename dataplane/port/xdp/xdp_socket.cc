#include "dataplane/port/xdp/xdp_socket.h"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

template <class Value>
int set(int fd, int option, const Value& value) {
  return setsockopt(fd, SOL_XDP, option, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace

XdpSocket::~XdpSocket() {
  for (const Area& area : {fill_, done_, rx_, tx_}) {
    if (area.start != nullptr) munmap(area.start, area.bytes);
  }
}

/// Maps a ring of the kernel's, in which all is free or nothing has come.
template <class Ring, class Offsets>
int XdpSocket::map(Ring& ring, Area& area, const Offsets& offsets, uint64_t page,
                   size_t entry_bytes, uint32_t entries) {
  const size_t bytes = offsets.desc + entries * entry_bytes;
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                           fd_.get(), static_cast<off_t>(page));
  if (start == MAP_FAILED) return errno;
  area = {start, bytes};
  auto* const base = static_cast<uint8_t*>(start);
  ring.mask = entries - 1;
  ring.size = entries;
  ring.producer = reinterpret_cast<uint32_t*>(base + offsets.producer);
  ring.consumer = reinterpret_cast<uint32_t*>(base + offsets.consumer);
  ring.flags = reinterpret_cast<uint32_t*>(base + offsets.flags);
  ring.ring = base + offsets.desc;
  ring.cached_prod = *ring.producer;
  ring.cached_cons = *ring.consumer;
  return 0;
}

int XdpSocket::give_memory(int fd, XdpFrames& frames) {
  const xdp_umem_reg memory = {.addr = reinterpret_cast<uint64_t>(frames.area()),
                               .len = frames.area_bytes(),
                               .chunk_size = frames.chunk_bytes(),
                               .headroom = 0,
                               .flags = 0};
  return set(fd, XDP_UMEM_REG, memory);
}

int XdpSocket::make(OwnedFd fd, uint32_t descriptors) {
  fd_ = std::move(fd);
  for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING}) {
    if (const int reason = set(fd_.get(), ring, descriptors)) return reason;
  }
  xdp_mmap_offsets offsets{};
  socklen_t bytes = sizeof offsets;
  if (getsockopt(fd_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0) return errno;
  const auto entries = descriptors;
  int reason =
      map(rings_.fill, fill_, offsets.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t), entries);
  if (reason == 0) {
    reason = map(rings_.done, done_, offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t),
                 entries);
  }
  if (reason == 0) {
    reason = map(rings_.rx, rx_, offsets.rx, XDP_PGOFF_RX_RING, sizeof(xdp_desc), entries);
  }
  if (reason == 0) {
    reason = map(rings_.tx, tx_, offsets.tx, XDP_PGOFF_TX_RING, sizeof(xdp_desc), entries);
  }
  // What libxdp keeps of a consumer here is a ring's length ahead of it.
  rings_.fill.cached_cons += entries;
  rings_.tx.cached_cons += entries;
  return reason;
}

int XdpSocket::bind_to(const std::string& interface, uint32_t queue, bool in_chunks) const {
  sockaddr_xdp place{};
  place.sxdp_family = AF_XDP;
  place.sxdp_flags = XDP_USE_NEED_WAKEUP | (in_chunks ? xdp_use_chunks : 0);
  place.sxdp_ifindex = kernel_index(interface);
  place.sxdp_queue_id = queue;
  return bind(fd_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 ? 0 : errno;
}

}  // namespace cw
