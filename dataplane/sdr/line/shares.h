// How the streams of a link share its pacer. What is ready waits in the streams' outboxes, where
// holds end and shares are decided; the pacer is fed a millisecond ahead.
//
//   resends     stream by stream in turn, on account of their stream's share
//   data        deficit round robin, in bytes by weight
//   repair      in turn, on account
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/core/rate/pacer.h"

namespace cw::sdr {

class SendStream;

/// Thread: the link's. Nothing allocates after the streams were added.
class Shares {
 public:
  /// Packets of a class that the pacer is fed at most.
  static constexpr uint32_t ahead_packets_max = 256;

  /// `pacer` lives longer.
  explicit Shares(Pacer& pacer) : pacer_(pacer) {}

  /// One more stream, which gets as much of the bytes, while streams compete, as its weight says;
  /// what one leaves the others take.
  void add(SendStream& stream, uint32_t weight);
  /// What each gets from now on while nobody is granted anything, in the order of adding.
  void set_weight(size_t share, uint32_t weight);
  /// What they get is granted now, in kbit/s, the last of them to all from there on; where nobody
  /// is granted anything, as the weights say.
  void set_granted(std::span<const uint32_t> kbps);
  /// The line carries packets of so many bytes at this rate.
  void set_rate(Rate rate, uint32_t packet_bytes);
  /// Gives the pacer what is ready, as far as it is to be fed.
  void feed(Instant now);
  /// Whether feed() would find anything.
  bool has_ready() const;
  /// Whether it would with a pacer that has room for everything.
  bool has_waiting() const;

  // ---- what each asks of the line, in the order of adding ----
  size_t count() const { return shares_.size(); }
  bool is_empty() const { return shares_.empty(); }
  /// Bytes that it has given to the pacer since the last call.
  uint64_t take_count(size_t share) { return std::exchange(shares_[share].bytes_fed, 0); }
  /// Whether it waits because the pacer has enough.
  bool has_more(size_t share) const;
  /// As SendStream::waiting_bytes().
  uint64_t waiting_bytes(size_t share) const;

 private:
  struct Share {
    SendStream* stream = nullptr;
    uint32_t weight = 1;
    int64_t round_bytes = 0;  // by its weight
    int64_t bytes_due = 0;    // negative: it has had more
    uint64_t bytes_fed = 0;
  };

  void give_rounds(std::span<const uint64_t> weights);
  void give_rounds_by_weight();
  void feed_class(Priority priority, Instant now);
  void feed_data(Instant now);
  size_t room(Priority priority) const;
  bool has_room(Priority priority) const { return room(priority) > 0; }
  size_t next_turn(size_t turn) const { return turn + 1 == shares_.size() ? 0 : turn + 1; }
  static void settle_rounds(Share& share, int64_t final_bytes);

  Pacer& pacer_;
  std::vector<Share> shares_;
  size_t ahead_packets_ = 0;  // of a class, at the pacer; the rest stays in the outboxes
  size_t class_turn_ = 0;     // which stream is asked first
  size_t data_turn_ = 0;      // whose share of data is being taken
  bool has_share_ = false;    // and it has been given for this turn
};

}  // namespace cw::sdr
