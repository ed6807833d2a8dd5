// One direction of the emulated link: the model decides, this carries it out on frames. No socket
// and no clock: whoever moves frames hands both in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "control/wan/link/held.h"
#include "dataplane/port/impair/model.h"

namespace cw::wan {

/// A frame as an interface hands it over; the bytes are only lent.
struct Arrival {
  Instant at;  ///< never earlier than that of the frame before
  std::span<const uint8_t> bytes;
  bool is_truncated = false;  ///< longer than the link's frames may be: a super-packet
  bool has_vlan_tag = false;  ///< the tag was taken out of the bytes
  uint16_t vlan_type = 0, vlan_tag = 0;
  bool is_checksum_unfinished = false;
  uint16_t checksum_start = 0, checksum_offset = 0;
};

/// What the emulator itself could not do as it should. Anything here spoils the run.
struct Failures {
  uint64_t missed = 0;     ///< dropped by the kernel: the emulator read too slowly
  uint64_t too_long = 0;   ///< super-packets, see offloads.h
  uint64_t no_memory = 0;  ///< more frames held than memory was given for
  uint64_t refused = 0;    ///< the outgoing interface did not take it
  uint64_t total() const { return missed + too_long + no_memory + refused; }
};

/// received + duplicated = forwarded + lost + held + (failures but missed), at every moment.
struct DirectionCounters {
  uint64_t received = 0;
  uint64_t forwarded = 0;  ///< each copy counted
  uint64_t forwarded_bytes = 0;
  uint64_t unimpaired = 0;  ///< neighbour traffic that the model did not see
  uint64_t marked = 0;      ///< frames that carry the mark; the rest knew no ECN
  uint64_t checksums_finished = 0;
  Failures failures;
};

struct DirectionLimits {
  size_t frames_max;        ///< held at a time
  size_t frame_bytes_max;   ///< with room for a VLAN tag
  bool may_change = false;  ///< change() may be called, and may ask for any number of copies
};

class Direction {
 public:
  struct Due {
    ReleaseQueue::Entry entry;
    std::span<const uint8_t> bytes;
  };

  Direction(const Impairment& impairment, Prng prng, DirectionLimits limits, bool impairs_arp);

  /// Takes a copy of the frame and holds it until its time, or loses it.
  void admit(const Arrival& arrival);

  /// Frames from now on meet another link; those that are held keep their time.
  void change(const Impairment& impairment) { model_.change(impairment); }

  Instant next_due() const { return queue_.earliest(); }
  /// Takes frames whose time has come, earliest first; each must then be settled in one of the
  /// three ways below.
  size_t take_due(Instant now, std::span<Due> out);
  void sent(const Due& due);
  void refused(const Due& due);
  void put_back(const Due& due) { queue_.put_back(due.entry); }

  size_t held_count() const { return queue_.count(); }
  void add_missed(uint64_t frames) { counters_.failures.missed += frames; }
  const DirectionCounters& counters() const { return counters_; }
  const ImpairmentCounters& model_counters() const { return model_.counters(); }

 private:
  Verdict judge(const Arrival& arrival, size_t bytes);
  uint32_t store(const Arrival& arrival, const Verdict& verdict, size_t bytes);

  ImpairmentModel model_;
  bool impairs_arp_;
  FrameArena arena_;
  ReleaseQueue queue_;
  DirectionCounters counters_;
};

}  // namespace cw::wan
