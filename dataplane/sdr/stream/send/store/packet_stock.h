// Packets of the port that an endpoint has at hand, and those that its streams keep slots in.
//
//   port -- take_burst --> at hand -- keep() --> a slot: written, share()d, sent, kept, given_up()
//
//   a kept packet  |  the port's room  |  headers  |  a slot's bytes  |  pad, ICRC  |
//                                      data        Packet::slot, where a cache line begins
//
// So a slot is written once, where it is sent from. While one of its packets is still under way its
// bytes must stay as they are, headers included: what is sent again then is a copy (wan.h).
//
// The port has packets for what the line carries, not for all that each stream might keep: a stream
// has its part of them, and of what is common as much as there is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/memory/stock.h"
#include "dataplane/port.h"
#include "dataplane/sdr/stream/send/store/slot_entry.h"

namespace cw::sdr {

/// Thread: the endpoint's worker. Nothing allocates after the last stream has joined.
class PacketStock {
 public:
  /// What must be at hand at once: a burst, and the slots of the longest frame besides.
  static constexpr size_t capacity = 2 * limits::burst_packets_max;

  /// `port` outlives the stock.
  explicit PacketStock(PortBase& port);
  /// All kept packets have been given up.
  ~PacketStock();
  PacketStock(const PacketStock&) = delete;
  PacketStock& operator=(const PacketStock&) = delete;

  /// A stream that keeps packets; before anything is kept.
  Portion& join() { return keeping_.join(); }

  /// Whether so many more packets may be kept by `stream`, and are at hand. What a port needs to
  /// receive by, and for control, is not for keeping.
  bool has_room(const Portion& stream, size_t count) {
    return stream.has_room(count) && (count <= count_ || try_fill(count));
  }
  /// A packet for a slot, of as many bytes as the port's payload_max. has_room() has said so.
  Packet& keep(Portion& stream);
  /// Gives a kept packet one owner more, the Send that carries it.
  void share(Packet& packet) {
    Packet* const one = &packet;
    port_.share({&one, 1});
  }
  /// Whether a kept packet is still under way.
  bool is_shared(const Packet& packet) const { return port_.is_shared(packet); }
  /// Nobody will read the slot again.
  void give_up(Portion& stream, Packet& packet) {
    stream.give_back();
    if (given_up_count_ == given_up_.size()) flush();
    given_up_[given_up_count_++] = &packet;
  }
  size_t kept_count() const { return keeping_.held(); }
  /// Packets here that are in no slot, on their way to one or back to the port.
  size_t at_hand_count() const { return count_ + given_up_count_; }
  /// What is kept of slots, by streams whose messages are as long. Allocates.
  SlotTableStock& tables(uint32_t slots_max);

  /// The port has back what was given up.
  void flush();
  /// And what is at hand: nothing is being sent.
  void rest();

 private:
  static constexpr size_t batch_min = 4;

  bool try_fill(size_t count);

  PortBase& port_;
  Stock keeping_;
  std::deque<SlotTableStock> tables_;
  size_t count_ = 0, given_up_count_ = 0;
  size_t batch_ = batch_min;  // to be asked for; doubles until nothing is sent
  std::array<Packet*, capacity> at_hand_;
  std::array<Packet*, limits::burst_packets_max> given_up_;
};

}  // namespace cw::sdr
