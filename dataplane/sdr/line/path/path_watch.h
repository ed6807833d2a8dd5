// What a link sees of its paths: which transmissions are missing on each, how long they take, and
// what the peer says of ours. A gap in the numbers of a path stands for slots, as far as its
// neighbours tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/core/path/psn_tracker.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/line/path/gap_ledger.h"
#include "dataplane/sdr/line/path/sent_log.h"
#include "dataplane/sdr/line/transmitter.h"
#include "dataplane/wire/control/control.h"

namespace cw::sdr {

/// Thread: the endpoint's worker. Only begin_epoch() allocates.
class PathWatch {
 public:
  /// `tables` lives longer; nothing is needed of what lies there while nothing is lost.
  PathWatch(uint16_t paths, const PathOptions& options, TableMemory& tables);

  uint16_t paths() const { return static_cast<uint16_t>(paths_.size()); }
  /// A new epoch: all numbers begin anew. `rows` of them, each with its own on each path; of
  /// channels mostly. A peer that does not see ours counts them, and no gaps.
  void begin_epoch(size_t rows, bool peer_sees_ours = true);
  /// This thread stood still: nothing that did not come meanwhile is overdue for that.
  void rebase(Duration shift) { slept_ += shift; }

  /// A packet of ours that came in. Where what it carries tells of a gap before it, the ledger to
  /// be told; else null. Hot.
  GapLedger* on_packet(size_t row, uint16_t path, Psn psn, Instant now) {
    Tracked& tracked = trackers_[row * paths_.size() + path];
    if (tracked.psns.try_next(psn)) {
      paths_[path].on_next(now);
      return &tracked.gaps;
    }
    return on_odd_packet(tracked, path, psn, now);
  }
  /// The same where the port shows no numbers.
  void on_unnumbered(uint16_t path, Instant now) { paths_[path].on_next(now); }
  /// No transmission is overdue that was not told.
  bool is_at_rest() const { return lost_.is_empty(); }
  void on_time(Instant now) {
    for (PathEstimates& path : paths_) path.on_time(now);
  }
  void on_rtt(uint16_t path, Duration sample, Instant now) { paths_[path].on_rtt(sample, now); }

  /// Whether transmissions have become overdue; take_lost() tells which.
  bool settle(Instant now);
  Instant next_settle() const;
  struct Lost {
    uint16_t path = 0;
    uint32_t count = 0;
    std::optional<MissingSlots> slots;  ///< nothing: nobody knows which they were
  };
  std::optional<Lost> take_lost(Instant now);

  /// Something has left. Hot.
  void note_sent(const Transmitter& transmitter, Instant now) {
    if (!sent_logs_.empty()) log_sent(transmitter, now);
  }
  struct Sums {
    uint64_t arrived = 0, lost = 0;
  };
  /// What the peer saw of our packets, over all paths; nothing for a word that another overtook.
  std::optional<Sums> on_report(const PathReport& record, Instant now);
  const PathReport& report_there(uint16_t path) const { return peer_reports_[path]; }
  /// What is to be told of a path to the peer.
  PathReport report(uint16_t path, Instant now) const;
  Duration rtt(uint16_t path) const { return paths_[path].rtt().smoothed(); }
  PathState state(uint16_t path, Instant now) const { return paths_[path].report(now); }
  /// Of our packets there, as the peer says.
  Share loss_there(uint16_t path, Instant now) const { return peer_losses_[path].loss(now); }
  /// What policies are told: of packets that leave (a source's) or that come.
  cw_path_facts facts(uint16_t path, bool is_source, Instant now) const;

 private:
  struct Tracked {
    PsnTracker psns;
    GapLedger gaps;
  };

  /// The time by which gaps age: it stands still while this thread does.
  Instant awake(Instant now) const { return now - slept_; }
  Duration reorder_time_of(size_t tracker) const {
    return paths_[tracker % paths_.size()].reorder_time();
  }
  void log_sent(const Transmitter& transmitter, Instant now);
  GapLedger* on_odd_packet(Tracked& tracked, uint16_t path, Psn psn, Instant now);

  std::vector<PathEstimates> paths_;
  std::vector<Tracked> trackers_;         // by row * paths + path
  std::vector<PathReport> peer_reports_;  // what the peer saw of our packets, by path
  std::vector<LossEstimator> peer_losses_;
  std::vector<SentLog> sent_logs_;  // by path; none where the peer sees numbers
  Ring<LostRange> lost_;
  Duration slept_;  // since the beginning
};

}  // namespace cw::sdr
