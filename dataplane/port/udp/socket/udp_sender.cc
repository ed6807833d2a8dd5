#include "dataplane/port/udp/socket/udp_sender.h"

#include <ctime>  // for the next, which does not say so

#include <linux/errqueue.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/limits.h"

namespace cw {
namespace {

constexpr int complaints_max = 4096;  // looked at in one call; more are told the next time

}  // namespace

size_t drain_complaints(const UdpSocket& socket, PortCounters& counters, UdpPortStatus& status) {
  alignas(cmsghdr) uint8_t control[256];
  size_t complaints = 0;
  for (int i = 0; i < complaints_max; ++i) {
    msghdr header{};
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ++counters.system_calls;
    if (recvmsg(socket.fd(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      const bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                            (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!is_error) continue;
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      complaints += error.ee_origin != SO_EE_ORIGIN_LOCAL;
    }
  }
  status.icmp_errors += complaints;
  return complaints;
}

/// Returns minus the count of messages that the kernel took, or its errno.
int UdpSender::send_messages(const UdpSocket& socket, std::span<mmsghdr> messages) {
  ++counters_.system_calls;
  const int count =
      sendmmsg(socket.fd(), messages.data(), static_cast<unsigned>(messages.size()), 0);
  if (count < 0) return errno;
  status_.tx_messages += static_cast<uint64_t>(count);
  return -count;
}

/// Judges why the kernel did not take `message`. All: it is lost, which has been counted.
///
/// What the network, or who plays it, has complained of stops the next send, whatever that is; so a
/// message is meant only when nobody has complained. Errors without a complaint come twice, since
/// one may have been read before the socket was marked with it.
UdpSender::End UdpSender::on_error(const UdpSocket& socket, int error, size_t message,
                                   Tries& tries) {
  constexpr int tries_max = 64, unexplained_max = 2;
  if (error == EAGAIN || error == ENOBUFS) return End::Full;
  if (drain_complaints(socket, counters_, status_) == 0) ++tries.unexplained;
  if (++tries.count < tries_max && tries.unexplained < unexplained_max) return End::Again;
  const size_t packets = batch_.packet_count(message);
  if (packets > 1 && (error == EIO || error == EMSGSIZE || error == EINVAL)) {
    // EIO: the device cannot cut messages, nor will it learn to. The others: a segment is too big
    // (EINVAL in older kernels); the shorter one that may be the last must not be lost with it.
    if (error == EIO) status_.has_gso = false;
    return End::OneByOne;
  }
  (error == EMSGSIZE ? status_.tx_too_big : status_.tx_lost) += packets;
  return End::All;
}

}  // namespace cw
