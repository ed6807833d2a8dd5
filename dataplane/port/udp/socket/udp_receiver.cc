#include "dataplane/port/udp/socket/udp_receiver.h"

#include <cerrno>

#include "dataplane/base/limits.h"
#include "dataplane/port/udp/socket/udp_sender.h"

namespace cw {

UdpReceiver::UdpReceiver(bool gro, uint32_t datagram_bytes_max, PortCounters& counters,
                         UdpPortStatus& status)
    : counters_(counters),
      status_(status),
      recvs_(gro ? UdpRecvBatch::joined_messages : limits::burst_packets_max,
             gro ? UdpRecvBatch::joined_bytes : datagram_bytes_max) {}

bool UdpReceiver::try_receive(const UdpSocket& socket) {
  constexpr int tries_max = 4;  // as often as a complaint comes between
  next_ = count_ = 0;
  for (int i = 0; i < tries_max; ++i) {
    ++counters_.system_calls;
    const int count = recvs_.receive(socket.fd());
    if (count > 0) {
      count_ = static_cast<size_t>(count);
      return true;
    }
    if (count == -EAGAIN) break;
    drain_complaints(socket, counters_, status_);
  }
  return false;
}

}  // namespace cw
