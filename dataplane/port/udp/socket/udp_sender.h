// Rows of packets to one socket, in as few messages and system calls as the kernel takes, and what
// is made of a kernel that does not take some of them.
#pragma once

#include <cstddef>
#include <span>

#include "dataplane/port.h"
#include "dataplane/port/udp/socket/udp_socket.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/port/udp/udp_batch.h"

namespace cw {

/// Counts what the network has complained about; returns how often. While something is left the
/// socket stays marked, so that the next call on it fails and leads here.
size_t drain_complaints(const UdpSocket& socket, PortCounters& counters, UdpPortStatus& status);

/// Thread: one. Nothing allocates once it is made.
class UdpSender {
 public:
  /// The port's own, which outlive it.
  UdpSender(PortCounters& counters, UdpPortStatus& status) : counters_(counters), status_(status) {}

  /// Returns how many packets, from the front, have left or are lost for a reason that is counted;
  /// for the others the socket has no room. `append(packet, batch, may_join)` adds one to the
  /// batch, `settle(packets, has_left)` hears what became of those that are done with.
  template <class Append, class Settle>
  size_t send(const UdpSocket& socket, std::span<Packet* const> packets, const Append& append,
              const Settle& settle) {
    size_t done = 0;
    bool may_join = status_.has_gso;
    while (done < packets.size()) {
      const auto rest = packets.subspan(done);
      batch_.clear();
      for (Packet* packet : rest) append(*packet, batch_, may_join);
      size_t sent = 0;
      const End end = send_batch(socket, [&](size_t count, bool has_left) {
        settle(rest.subspan(sent, count), has_left);
        sent += count;
      });
      done += sent;
      if (end == End::OneByOne) may_join = false;
      if (end == End::Full) break;
    }
    return done;
  }

 private:
  enum class End { All, Again, Full, OneByOne };
  /// Of one message.
  struct Tries {
    int count = 0;
    int unexplained = 0;  ///< that no complaint of the network was found for
  };

  /// `settle(count, has_left)`: so many more packets of the batch are done with.
  template <class Settle>
  End send_batch(const UdpSocket& socket, const Settle& settle) {
    Tries tries;
    for (size_t message = 0; message < batch_.message_count();) {
      const auto messages = batch_.messages_from(message);
      const int error = send_messages(socket, messages);
      if (error <= 0) {
        for (const size_t end = message + static_cast<size_t>(-error); message < end; ++message) {
          settle(batch_.packet_count(message), true);
        }
        tries = {};
        // The kernel forgets the error that ended a row; it may have been one of the network.
        if (message < batch_.message_count()) drain_complaints(socket, counters_, status_);
        continue;
      }
      const End end = on_error(socket, error, message, tries);
      if (end == End::Again) continue;
      if (end != End::All) return end;
      settle(batch_.packet_count(message++), false);
      tries = {};
    }
    return End::All;
  }
  int send_messages(const UdpSocket& socket, std::span<mmsghdr> messages);
  End on_error(const UdpSocket& socket, int error, size_t message, Tries& tries);

  PortCounters& counters_;
  UdpPortStatus& status_;
  UdpSendBatch batch_;
};

}  // namespace cw
