// The client's program: keeps messages in flight and measures how long each takes, from its post
// until the policy says that it is done: whole at the other end, and the word of that back here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/perf/end/phases.h"
#include "control/perf/parameters.h"
#include "control/pump/pump.h"
#include "control/sim/transfer.h"
#include "dataplane/sdr/endpoint.h"

namespace cw::perf {

/// Acts after its end had its turn. Thread: one.
class Sender {
 public:
  /// All three outlive the sender.
  Sender(sdr::Link& link, const Parameters& parameters, const Payload& payload,
         PhaseOptions phases = {});

  /// Returns whether anything was posted or completed.
  bool turn(Instant now);
  /// When a turn is needed even if the end has none.
  Instant next_deadline() const { return Instant::never(); }
  /// No more posts; what is in flight still counts when it completes.
  void stop_posting() { is_stopped_ = true; }
  bool is_done() const { return has_posted_all() && source_.in_flight().empty(); }

  uint64_t posted() const { return source_.opened_count(); }
  uint64_t done() const { return times_.size(); }
  uint64_t given_up() const { return given_up_; }  ///< by the policy, with holes
  bool has_lost_peer() const { return has_lost_peer_; }
  /// Of the messages that are done, in the order of completion.
  std::span<const Duration> times() const { return times_; }
  const Phases& phases() const { return phases_; }
  /// Of the messages of one phase's setting.
  std::vector<Duration> times_of_phase(size_t setting) const;
  /// Why the link did not change; empty: it did, and always.
  const std::string& mistake() const { return mistake_; }
  /// From the first post to the last completion.
  Duration elapsed() const { return ended_ - started_; }
  /// Since the first post; nothing before it.
  Duration running(Instant now) const { return posted() == 0 ? Duration() : now - started_; }

 private:
  sdr::Source stream() { return link_.source(0); }
  bool has_posted_all() const {
    return is_stopped_ || (!parameters_.is_timed() && posted() == parameters_.count);
  }
  void count(const SourcePump::Sending& sending, sdr::MessageStatus status, Instant now);
  size_t post(Instant now);
  bool try_begin_phase();

  sdr::Link& link_;
  const Parameters& parameters_;
  const Payload& payload_;
  bool is_stopped_ = false, has_lost_peer_ = false;
  uint64_t given_up_ = 0;
  Instant started_, ended_;
  SourcePump source_;
  std::vector<Duration> times_;
  std::vector<int> phase_of_;  // of each time
  Phases phases_;
  bool is_in_phase_ = false;  // that of the next message
  std::string mistake_;
};

}  // namespace cw::perf
