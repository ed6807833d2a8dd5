// Packets of the port that an endpoint has at hand, and those whose bytes its streams keep.
//
//   port -- take_burst --> at hand -- take() --> written, sent: control, repair, copies
//                               '--- keep() --> a slot: written, share()d, sent, kept, given_up()
//
//   a kept packet  |  the port's room  |  headers  |  a slot's bytes  |  pad, ICRC  |
//                                      data        Packet::slot, where a cache line begins
//
// So a slot is written once, where it is sent from. While one of its packets is still under way its
// bytes must stay as they are, headers included: who sends it again then sends a copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/port.h"

namespace cw::sdr {

/// Thread: the endpoint's worker. Nothing allocates.
class PacketStock {
 public:
  /// What must be at hand at once: a burst, and the slots of the longest frame besides.
  static constexpr size_t capacity = 2 * limits::burst_packets_max;

  /// `port` outlives the stock.
  explicit PacketStock(Port& port);
  /// All kept packets have been given up.
  ~PacketStock();
  PacketStock(const PacketStock&) = delete;
  PacketStock& operator=(const PacketStock&) = delete;

  /// Sees that `count` packets are at hand, `capacity` at most; returns how many of them are.
  size_t fill(size_t count) { return count <= count_ ? count : refill(count); }
  /// An empty packet, to be sent. There must be one at hand.
  Packet& take() {
    CW_ASSERT(count_ > 0);
    return *at_hand_[--count_];
  }

  /// Whether so many more packets may be kept, and are at hand. What a port needs to receive by,
  /// and for control, is not for keeping.
  bool has_room(size_t count) { return kept_ + count <= kept_max_ && fill(count) == count; }
  /// A packet for a slot, of as many bytes as the port's payload_max. has_room() has said so.
  Packet& keep();
  /// Makes a kept packet ready to be written to and sent, once. Nobody else may have it.
  void share(Packet& packet);
  /// Whether a kept packet is still under way.
  bool is_shared(const Packet& packet) const { return port_.is_shared(packet); }
  /// Nobody will read the slot again.
  void give_up(Packet& packet) {
    CW_DCHECK(kept_ > 0);
    --kept_;
    if (given_up_count_ == given_up_.size()) flush();
    given_up_[given_up_count_++] = &packet;
  }
  size_t kept_count() const { return kept_; }
  /// Whether a packet may name memory that is not the port's.
  bool sends_from_outside() const { return sends_from_outside_; }

  /// The port has back what was given up.
  void flush();
  /// And what is at hand: nothing is being sent.
  void rest();

 private:
  static constexpr size_t batch_min = 4;

  size_t refill(size_t count);

  Port& port_;
  bool sends_from_outside_;
  size_t kept_ = 0, kept_max_;
  size_t count_ = 0, given_up_count_ = 0;
  size_t batch_ = batch_min;  // to be asked for; doubles until nothing is sent
  std::array<Packet*, capacity> at_hand_;
  std::array<Packet*, limits::burst_packets_max> given_up_;
};

}  // namespace cw::sdr
