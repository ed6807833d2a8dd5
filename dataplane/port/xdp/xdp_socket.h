// The four rings of a socket of AF_XDP, as libxdp's functions use them, over a socket that somebody
// else may have opened and given memory: libxdp 1.3 does both itself, which takes rights that a
// gateway has given up once it runs.
#pragma once

#include <xdp/xsk.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port/xdp/xdp_frames.h"

namespace cw {

/// Since Linux 6.6; Debian 12's headers do not know it.
constexpr uint16_t xdp_use_chunks = 1 << 4;  // XDP_USE_SG: packets may have several
constexpr uint32_t xdp_goes_on = 1 << 0;     // XDP_PKT_CONTD: the next descriptor has more of it

struct XdpRings {
  xsk_ring_prod fill{}, tx{};
  xsk_ring_cons rx{}, done{};
};

/// Thread: one. Its rings are the caller's to use while it lives.
class XdpSocket {
 public:
  XdpSocket() = default;
  ~XdpSocket();
  XdpSocket(const XdpSocket&) = delete;
  XdpSocket& operator=(const XdpSocket&) = delete;

  /// Gives the kernel the frames' memory by a new socket of AF_XDP, which takes the right to lock
  /// it. Zero, or the kernel's reason not to.
  static int give_memory(int fd, XdpFrames& frames);

  /// Rings of `descriptors`, a power of two, over a socket that has the memory. Zero, or a reason.
  int make(OwnedFd fd, uint32_t descriptors);
  /// To a queue of an interface; `in_chunks`: packets may have several.
  int bind_to(const std::string& interface, uint32_t queue, bool in_chunks) const;

  /// The kernel has none of the frames then.
  void close() { const OwnedFd gone = std::move(fd_); }

  XdpRings& rings() { return rings_; }
  int fd() const { return fd_.get(); }

 private:
  struct Area {
    void* start = nullptr;
    size_t bytes = 0;
  };
  template <class Ring, class Offsets>
  int map(Ring& ring, Area& area, const Offsets& offsets, uint64_t page, size_t entry_bytes,
          uint32_t entries);

  OwnedFd fd_;
  XdpRings rings_;
  Area fill_, done_, rx_, tx_;
};

}  // namespace cw
