// The server's program: posts receives ahead, and takes each message when it is whole, or when
// nothing has come for it for too long.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "control/perf/parameters.h"
#include "control/sim/transfer.h"
#include "dataplane/sdr/peer.h"

namespace cw::perf {

/// Acts after its end had its turn. Thread: one.
class Receiver {
 public:
  /// All three outlive the receiver.
  Receiver(sdr::Peer& peer, const Parameters& parameters, const Payload& payload);

  /// Returns whether anything was taken or posted.
  bool turn(Instant now);
  /// When patience with some message ends.
  Instant next_deadline() const;

  uint64_t received() const { return whole_ + incomplete_; }
  uint64_t whole() const { return whole_; }
  uint64_t incomplete() const { return incomplete_; }  ///< taken with holes
  uint64_t bytes_wrong() const { return bytes_wrong_; }
  bool has_lost_peer() const { return has_lost_peer_; }

 private:
  struct Receiving {
    uint64_t index = 0;
    sdr::RecvHandle handle;
    std::vector<uint8_t> memory;
    uint32_t slots_in_place = 0;
    Instant moved = Instant::never();  // when it last gained a slot, or was first heard of
  };

  sdr::RecvStream& stream() { return *peer_.recv_stream(0); }
  size_t post();
  size_t take(Instant now);
  bool is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const;
  void count(Receiving& receiving, const sdr::RecvInfo& info);

  sdr::Peer& peer_;
  const Parameters& parameters_;
  const Payload& payload_;
  uint64_t posted_ = 0, whole_ = 0, incomplete_ = 0, bytes_wrong_ = 0;
  bool has_lost_peer_ = false;
  std::deque<Receiving> receiving_;
  std::vector<std::vector<uint8_t>> spare_;  // memory of receives that are over
};

}  // namespace cw::perf
