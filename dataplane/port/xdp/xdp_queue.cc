#include "dataplane/port/xdp/xdp_queue.h"

#include <bpf/bpf.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/base/limits.h"

namespace cw {
namespace {

constexpr uint32_t fill_at_least = 32;  // free frames are handed over in rows
/// Frames that the kernel sends in one call where it copies (TX_BATCH_SIZE).
constexpr uint32_t sent_by_call = 32;

}  // namespace

Result<std::unique_ptr<XdpQueue>> XdpQueue::make(OwnedFd socket, uint32_t number, XdpFrames& frames,
                                                 uint8_t holder, uint32_t descriptors) {
  std::unique_ptr<XdpQueue> it(new XdpQueue(number, frames, holder));
  if (const int reason = it->socket_.make(std::move(socket), descriptors)) {
    return failure("device: no rings of AF_XDP for queue " + std::to_string(number) + ": " +
                   std::strerror(reason));
  }
  it->fill();
  return it;
}

Result<void> XdpQueue::join(const std::string& interface, int sockets_map) {
  const bool in_chunks = frames_.has_chunks();
  int reason = socket_.bind_to(interface, number_, in_chunks);
  const int socket = fd();
  if (reason == 0 && bpf_map_update_elem(sockets_map, &number_, &socket, BPF_ANY) != 0) {
    reason = errno;
  }
  is_joined_ = reason == 0;
  is_taken_ = reason == EBUSY;
  if (is_joined_) return {};
  if (in_chunks && (reason == EINVAL || reason == EOPNOTSUPP)) {
    return failure("device: the kernel or the driver of " + interface +
                   " gives sockets of AF_XDP frames of a page and no longer (Linux 6.6 does, where "
                   "the driver can); an MTU of " +
                   std::to_string(limits::af_xdp_mtu_max) + " fits: `ip link set dev " + interface +
                   " mtu " + std::to_string(limits::af_xdp_mtu_max) + "`");
  }
  return failure("device: queue " + std::to_string(number_) + " of " + interface +
                 " takes no socket of AF_XDP: " + std::strerror(reason));
}

XdpQueue::~XdpQueue() {
  socket_.close();
  if (arriving_ != nullptr) frames_.put(frames_.frame_of(*arriving_));
  for (uint32_t frame = 0; frame < frames_.count(); ++frame) {
    if (frames_.holder(frame) == holder_) free_packet(frame);
  }
}

/// One that has left; whoever shares it has it still.
void XdpQueue::free_packet(uint32_t frame) {
  frames_.hold(frame, 0);
  if (!try_leave(frames_.packet(frame))) frames_.put(frame);
}

/// Gives the kernel free frames, as many as it takes.
void XdpQueue::fill() {
  const auto room = xsk_prod_nb_free(&fill_, fill_at_least);
  const auto count = static_cast<uint32_t>(std::min<size_t>(room, frames_.free_count()));
  if (count < fill_at_least) return;
  uint32_t at = 0;
  xsk_ring_prod__reserve(&fill_, count, &at);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t frame = frames_.take();
    frames_.hold(frame, holder_);
    *xsk_ring_prod__fill_addr(&fill_, at + i) = frames_.offset_at(frame);
  }
  xsk_ring_prod__submit(&fill_, count);
}

size_t XdpQueue::rx_burst(std::span<Packet*> out) {
  uint32_t at = 0;
  const uint32_t count = xsk_ring_cons__peek(&rx_, static_cast<uint32_t>(out.size()), &at);
  size_t packets = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const xdp_desc& arrived = *xsk_ring_cons__rx_desc(&rx_, at + i);
    if (arriving_ == nullptr) {
      arriving_ = &frames_.make_packet(arrived.addr);
      __builtin_prefetch(arriving_->data);
      arriving_->bytes = arrived.len;
      frames_.hold(frames_.frame_of(*arriving_), 0);
    } else {
      append(arrived);
    }
    if ((arrived.options & xdp_goes_on) != 0) continue;
    out[packets] = std::exchange(arriving_, nullptr);
    packets += take_whole(*out[packets]) ? 1 : 0;
  }
  if (count > 0) xsk_ring_cons__release(&rx_, count);
  received_ += packets;
  fill();
  return packets;
}

/// The chunk of another frame goes where the packet's own next one is.
void XdpQueue::append(const xdp_desc& more) {
  Packet& packet = *arriving_;
  is_too_long_ |= more.len > packet.bytes_max - packet.bytes;
  if (!is_too_long_) {
    std::memcpy(packet.data + packet.bytes, frames_.area() + more.addr, more.len);
    packet.bytes += more.len;
  }
  const uint32_t frame = frames_.frame_at(more.addr);
  frames_.hold(frame, 0);
  frames_.put(frame);
}

/// False: it was longer than a packet may be, and is gone.
bool XdpQueue::take_whole(const Packet& packet) {
  if (!std::exchange(is_too_long_, false)) return true;
  frames_.put(frames_.frame_of(packet));
  ++rx_errors_;
  return false;
}

size_t XdpQueue::tx_burst(std::span<Packet* const> packets) {
  if (!is_joined_) return 0;
  take_done();
  // A packet has no more chunks than its frame.
  const uint32_t wanted = static_cast<uint32_t>(packets.size()) * frames_.chunks_max();
  const uint32_t room = xsk_prod_nb_free(&tx_, wanted);
  uint32_t chunks = 0;
  size_t count = 0;
  for (; count < packets.size(); ++count) {
    const uint32_t more = frames_.chunks_of(*packets[count]);
    if (chunks + more > room) break;
    chunks += more;
  }
  uint32_t at = 0;
  if (chunks > 0 && xsk_ring_prod__reserve(&tx_, chunks, &at) == chunks) {
    for (const Packet* const packet : packets.first(count)) at = put_chunks(*packet, at);
    xsk_ring_prod__submit(&tx_, chunks);
    sending_ += chunks;
  }
  kick();
  return count;
}

/// Where the next packet's go.
uint32_t XdpQueue::put_chunks(const Packet& packet, uint32_t at) {
  uint64_t offset = frames_.offset_of(packet);
  const uint64_t stop = offset + packet.bytes;
  frames_.hold(frames_.frame_of(packet), holder_);
  do {
    const uint64_t end = std::min(stop, frames_.chunk_end(offset));
    *xsk_ring_prod__tx_desc(&tx_, at++) = {.addr = offset,
                                           .len = static_cast<uint32_t>(end - offset),
                                           .options = end < stop ? xdp_goes_on : 0};
    offset = end;
  } while (offset < stop);
  return at;
}

void XdpQueue::settle() {
  if (sending_ == 0) return;
  take_done();
  kick();
}

/// Has the kernel send what is in the ring, where it waits for that.
void XdpQueue::kick() {
  for (uint32_t left = sending_; left > 0 && xsk_ring_prod__needs_wakeup(&tx_);) {
    ++system_calls_;
    const bool is_over = sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0 || errno != EAGAIN;
    left -= std::min(left, sent_by_call);
    if (is_over) break;
  }
}

void XdpQueue::take_done() {
  uint32_t at = 0;
  const uint32_t count = xsk_ring_cons__peek(&done_, sending_, &at);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = *xsk_ring_cons__comp_addr(&done_, at + i);
    if (frames_.is_first_chunk(offset)) free_packet(frames_.frame_at(offset));
  }
  if (count == 0) return;
  xsk_ring_cons__release(&done_, count);
  sending_ -= count;
}

FrameDeviceCounters XdpQueue::counters() const {
  xdp_statistics told{};
  socklen_t bytes = sizeof told;
  if (getsockopt(fd(), SOL_XDP, XDP_STATISTICS, &told, &bytes) != 0) {
    return {.system_calls = system_calls_};
  }
  // Where the kernel copies, a packet that finds no free frame counts as dropped, too; where it
  // does not, a ring found empty is no packet.
  const uint64_t no_buffer = std::min(told.rx_dropped, told.rx_fill_ring_empty_descs);
  return {.rx_missed = told.rx_dropped - no_buffer + told.rx_ring_full,
          .rx_no_buffer = no_buffer,
          .rx_errors = rx_errors_,
          .tx_errors = told.tx_invalid_descs,
          .system_calls = system_calls_};
}

}  // namespace cw
