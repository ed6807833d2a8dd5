// A TCP flow between two hosts of the simulator, as far as a gateway can tell it from a real one:
// CUBIC (RFC 9438) with HyStart as Linux has both, selective acknowledgements, losses told by what
// was sent later and has come (RFC 8985), a timeout (RFC 6298). No handshake, no end, and the
// sender always has more.
//
//   host 1: TcpSender  --- segments --->  host 2: TcpReceiver
//                      <-- acknowledgements, for every second segment and for each behind a hole
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <vector>

#include "dataplane/base/units.h"
#include "tests/sim/gateway/host.h"

namespace cw::sim {

struct TcpOptions {
  uint16_t number = 1;    ///< tells flows apart: the source port
  uint32_t bytes = 1500;  ///< of a segment, as an IP packet
  Instant begin;
  Duration pause;  ///< between segments while the window is open; zero: at once
  uint64_t segments = UINT64_MAX;
  bool is_ecn_capable = false;
};

/// Windows in segments, times in seconds since the flow began.
class Cubic {
 public:
  double window() const { return window_; }
  bool is_starting() const { return window_ < threshold_; }
  void on_acknowledged(uint64_t segments, Duration rtt, Instant now);
  /// Of one segment; while the window doubles, delay ends that before something is lost.
  void on_rtt(Duration rtt, Duration rtt_min, bool is_new_round, Instant now);
  void on_loss();
  void on_timeout();

 private:
  void grow(uint64_t segments, Duration rtt, Instant now);

  double window_ = 10, threshold_ = 1e9;
  double most_ = 0, origin_ = 0, friendly_ = 0, rise_seconds_ = 0;
  Instant epoch_ = Instant::never();
  Instant round_began_, train_end_;
  Duration round_rtt_ = Duration::max();
  uint32_t round_samples_ = 0;
};

class TcpSender final : public HostProgram {
 public:
  explicit TcpSender(const TcpOptions& options) : options_(options), paced_(options.begin) {}

  bool try_take(const Packet& packet, Instant now) override;
  size_t write_next(std::span<uint8_t> ip, Instant now) override;
  Instant next_due() const override;

  const Cubic& cubic() const { return cubic_; }
  uint64_t resent_count() const { return resent_; }
  uint64_t timeout_count() const { return timeouts_; }
  uint64_t cut_count() const { return cuts_; }  ///< times that the window shrank, timeouts aside
  Duration rtt_min() const { return rtt_min_; }
  Duration rtt_smoothed() const { return rtt_smoothed_; }

 private:
  struct Segment {
    uint64_t sending = 0;  ///< its latest, counted over all segments
    Instant sent;
    bool is_there = false, is_lost = false;
  };
  Segment& at(uint64_t segment) { return segments_[segment - first_]; }
  void note_arrival(uint64_t segment, uint64_t sending);
  void note_rtt(Duration sample, uint64_t sending, Instant now);
  void find_losses();
  void reduce();
  void on_timeout(Instant now);
  bool is_open() const;

  TcpOptions options_;
  Cubic cubic_;
  std::deque<Segment> segments_;  // from first_ on: not acknowledged
  std::set<uint64_t> lost_;
  std::deque<std::pair<uint64_t, uint64_t>> row_;  // sending, segment: in the order of sending
  uint64_t first_ = 0, sendings_ = 0, arrived_sending_ = 0;
  uint64_t in_flight_ = 0;
  uint64_t recovery_end_ = 0, round_end_ = 0;  // sendings
  uint64_t resent_ = 0, timeouts_ = 0, cuts_ = 0;
  Duration rtt_min_ = Duration::max(), rtt_smoothed_, rtt_deviation_;
  Instant paced_, timeout_ = Instant::never();
  Duration patience_ = Duration::from_s(1);
};

class TcpReceiver final : public HostProgram {
 public:
  explicit TcpReceiver(const TcpOptions& options) : options_(options) {}

  bool try_take(const Packet& packet, Instant now) override;
  size_t write_next(std::span<uint8_t> ip, Instant now) override;
  Instant next_due() const override { return is_due_ ? Instant() : late_; }

  /// Bytes of segments that have come for the first time.
  uint64_t good_bytes() const { return good_ * options_.bytes; }
  uint64_t marked_count() const { return marked_; }

 private:
  struct Arrival {
    uint64_t segment = 0, sending = 0;
  };
  TcpOptions options_;
  std::set<uint64_t> beyond_;  // came behind a hole
  std::vector<Arrival> told_;  // in the next acknowledgement
  uint64_t next_ = 0, good_ = 0, marked_ = 0;
  bool is_due_ = false, has_mark_ = false;
  Instant late_ = Instant::never();
};

}  // namespace cw::sim
