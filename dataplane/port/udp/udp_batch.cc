#include "dataplane/port/udp/udp_batch.h"

#include <netinet/udp.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

template <class T>
T value_of(const cmsghdr& control) {
  T value;
  std::memcpy(&value, CMSG_DATA(&control), sizeof value);
  return value;
}

template <class T>
void append_control(msghdr& header, cmsghdr*& next, int level, int type, T value) {
  next->cmsg_level = level;
  next->cmsg_type = type;
  next->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(next), &value, sizeof value);
  header.msg_controllen += CMSG_SPACE(sizeof value);
  next = reinterpret_cast<cmsghdr*>(reinterpret_cast<uint8_t*>(next) + CMSG_SPACE(sizeof value));
}

/// IPv4 packets have a type of service, also when they travel through a socket of AF_INET6.
bool is_ipv4(const SocketName& name) {
  return name.any.sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&name.v6.sin6_addr);
}

}  // namespace

// ---- out ----------------------------------------------------------------------------------------

UdpSendBatch::UdpSendBatch() {
  for (size_t i = 0; i < headers_.size(); ++i) {
    headers_[i].msg_hdr.msg_control = controls_[i].bytes;
  }
}

bool UdpSendBatch::fits_last(const UdpDatagram& datagram) const {
  if (count_ == 0) return false;
  const Shape& last = shapes_[count_ - 1];
  return last.target == datagram.target && last.tos == datagram.tos && !last.is_closed &&
         datagram.bytes() <= last.segment_bytes && last.packets < segments_max &&
         last.bytes + datagram.bytes() <= message_bytes_max;
}

void UdpSendBatch::open_message(const UdpDatagram& datagram) {
  CW_ASSERT(count_ < headers_.size());
  msghdr& header = headers_[count_].msg_hdr;
  header.msg_name = const_cast<SocketName*>(datagram.target);
  header.msg_namelen = datagram.target_bytes;
  header.msg_iov = &iovecs_[iovec_count_];
  header.msg_iovlen = 0;
  shapes_[count_] = {.target = datagram.target,
                     .iovec_first = static_cast<uint32_t>(iovec_count_),
                     .bytes = 0,
                     .segment_bytes = static_cast<uint32_t>(datagram.bytes()),
                     .packets = 0,
                     .tos = datagram.tos,
                     .is_closed = false};
  ++count_;
}

size_t UdpSendBatch::append(const UdpDatagram& datagram, bool may_join) {
  if (!may_join || !fits_last(datagram)) open_message(datagram);
  Shape& shape = shapes_[count_ - 1];
  for (const auto piece : {datagram.headers, datagram.payload, datagram.trailer}) {
    if (piece.empty()) continue;
    iovecs_[iovec_count_++] = {const_cast<uint8_t*>(piece.data()), piece.size()};
  }
  headers_[count_ - 1].msg_hdr.msg_iovlen = iovec_count_ - shape.iovec_first;
  shape.bytes += static_cast<uint32_t>(datagram.bytes());
  shape.is_closed = datagram.bytes() < shape.segment_bytes;
  return shape.packets++;
}

void UdpSendBatch::write_control(size_t message) {
  const Shape& shape = shapes_[message];
  msghdr& header = headers_[message].msg_hdr;
  header.msg_controllen = 0;
  auto* next = reinterpret_cast<cmsghdr*>(controls_[message].bytes);
  if (shape.tos != 0) {
    const bool v4 = is_ipv4(*shape.target);
    append_control<int>(header, next, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS,
                        shape.tos);
  }
  if (shape.packets > 1) {
    append_control(header, next, IPPROTO_UDP, UDP_SEGMENT,
                   static_cast<uint16_t>(shape.segment_bytes));
  }
}

std::span<mmsghdr> UdpSendBatch::messages_from(size_t first) {
  for (size_t i = first; i < count_; ++i) write_control(i);
  return std::span(headers_).subspan(first, count_ - first);
}

// ---- in -----------------------------------------------------------------------------------------

UdpRecvBatch::UdpRecvBatch(size_t messages, size_t message_bytes)
    : message_bytes_(message_bytes),
      buffers_(messages, message_bytes),
      headers_(messages),
      iovecs_(messages),
      sources_(messages),
      controls_(messages) {
  for (size_t i = 0; i < messages; ++i) {
    iovecs_[i] = {buffers_.at(i), message_bytes_};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &sources_[i];
    header.msg_iov = &iovecs_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes;
  }
}

int UdpRecvBatch::receive(int fd) {
  for (mmsghdr& message : headers_) {
    message.msg_hdr.msg_namelen = sizeof(SocketName);
    message.msg_hdr.msg_controllen = sizeof(Control);
  }
  const int count =
      recvmmsg(fd, headers_.data(), static_cast<unsigned>(headers_.size()), MSG_DONTWAIT, nullptr);
  return count < 0 ? -errno : count;
}

UdpArrival UdpRecvBatch::arrival(size_t index) const {
  // CMSG_NXTHDR wants a header it may write to.
  msghdr header = headers_[index].msg_hdr;
  const size_t bytes = headers_[index].msg_len;
  UdpArrival arrival{.source = &sources_[index],
                     .bytes = {buffers_.at(index), bytes},
                     .segment_bytes = bytes,
                     .is_truncated = (header.msg_flags & MSG_TRUNC) != 0};
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) arrival.tos = value_of<uint8_t>(*c);
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      arrival.tos = static_cast<uint8_t>(value_of<int>(*c));
    }
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      arrival.segment_bytes = static_cast<size_t>(value_of<int>(*c));
    }
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
      arrival.overflow_drops = value_of<uint32_t>(*c);
    }
  }
  return arrival;
}

}  // namespace cw
