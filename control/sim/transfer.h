// The program over two simulated sites: pumps the workload's messages through a stream, compares
// what came, and measures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "control/pump/pump.h"
#include "control/sim/scenario.h"
#include "dataplane/base/prng.h"
#include "dataplane/sdr/endpoint.h"

namespace cw {

/// What every message is made of: random bytes, drawn once, never changed. Message i is a stretch
/// that begins at a place of its own, so that bytes of another message or another slot are found
/// out, and so that nothing that is still under way ever changes.
class Payload {
 public:
  Payload(Bytes largest, uint64_t seed);
  std::span<const uint8_t> of_message(uint64_t index, Bytes size) const;
  /// Where all of them lie, for devices that must know.
  std::span<uint8_t> memory() { return bytes_; }
  /// Bytes of a receive that are not those of its message: in chunks that are said to be in place,
  /// and, of a message that is said to be whole, everywhere.
  uint64_t wrong_bytes(const SinkPump::Over& over, Bytes size) const;

 private:
  static constexpr size_t starts = 65521;  // a prime: neighbours begin far apart

  std::vector<uint8_t> bytes_;
};

/// Both ends of one stream. Acts after the sites had their turns.
class Transfer {
 public:
  Transfer(sdr::Link& source, sdr::Link& sink, const Scenario& scenario, const Payload& payload,
           uint64_t seed);

  /// `source_turned`: it has just had a turn, else its sends are as they were. Whether it did
  /// anything with the streams.
  bool turn(Instant now, bool source_turned);
  /// When a turn is needed even if no site has one.
  Instant next_deadline() const { return sink_.next_deadline(); }

  bool is_done() const { return finished_count() == workload_.total(); }
  /// Messages that are over at both ends, warm-up included.
  uint64_t finished_count() const { return std::min(sink_.over_count(), source_.over_count()); }

  // ---- of the measured messages only
  uint64_t completed() const { return completed_; }  ///< every byte was in place
  Bytes bytes_completed() const { return bytes_completed_; }
  uint64_t bytes_wrong() const { return bytes_wrong_; }
  /// From open at the sender until its policy settled it (the final acknowledgement).
  std::span<const Duration> completion_times() const { return completion_times_; }
  Instant started() const { return started_; }  ///< open of the first one
  Instant ended() const { return ended_; }      ///< the last one over at either end

 private:
  Bytes size_of(uint64_t index) const { return sizes_[index % sizes_.size()]; }
  bool is_measured(uint64_t index) const { return index >= workload_.warm_up; }
  size_t open_sends(Instant now);
  size_t settle_sends(Instant now);
  size_t take_receives(Instant now);
  void count(const SinkPump::Over& over);

  sdr::Link& from_;
  sdr::Link& to_;
  sdr::Source sends_;
  sdr::Sink receives_;
  const WorkloadScenario& workload_;
  const Payload& payload_;
  bool verifies_;
  std::vector<Bytes> sizes_;  // of message i: sizes_[i mod their count]
  SourcePump source_;
  SinkPump sink_;
  uint64_t completed_ = 0, bytes_wrong_ = 0;
  Bytes bytes_completed_;
  Instant started_, ended_;
  std::vector<Duration> completion_times_;
};

}  // namespace cw
