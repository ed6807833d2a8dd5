// How a policy that resends is set, and the waiting times that follow from that and the link.
#pragma once

#include <algorithm>

#include "policies/parts/timing.h"

namespace cw::policy {

struct RepeatSettings {
  bool asks = true;  // the sink asks for what is missing; false: only the source's timeouts find it
  double alpha = 2;  // timeout of a departed slot: RTT + alpha x RTT
  Duration ack_interval;                            // zero: a quarter of the RTT
  Duration reorder_budget = Duration::from_ns(-1);  // negative: what the link measures
  uint32_t note_bytes = 1024;
  uint16_t note_copies = 1;  // of a note that names complete messages
  // A hole is given so much longer, because something other than a resend may fill it.
  double patience_rtts = 0;
  uint64_t patience_bytes = 0;  // and the time that these take to leave
  uint64_t repair_bytes = 0;    // what leaves until a code can repair a slot: timeouts wait for it
};

/// Recomputed with every `link` fact.
struct RepeatTimes {
  Duration rto, ack_interval;
  Duration budget;       // sink: a hole this old is a loss
  Duration tail_quiet;   // sink: a closed message silent for this long has lost its tail
  Duration nack_repeat;  // sink: a hole asked for and still open is asked for again
  Duration nack_gap;     // sink: least time between two notes that ask
  Duration first_age;    // source: nobody can have missed a slot that left later than this
  Duration resent_age;   // source: nor one that was resent later than this
  Duration grain;        // departures this close share an entry
  Duration retry;        // source: a refused send is tried again

  RepeatTimes(const RepeatSettings& settings, const LinkTiming& link)
      : ack_interval(settings.ack_interval > Duration() ? settings.ack_interval : link.rtt / 4),
        budget((settings.reorder_budget < Duration() ? link.reorder : settings.reorder_budget) +
               link.skew),
        nack_gap(link.rtt / 64),
        first_age(link.rtt_min - link.rtt_min / 8),
        resent_age(link.rtt + link.margin() / 2 + link.skew),
        grain(link.rtt / 128),
        retry(link.rtt / 8) {
    nack_repeat = link.rtt + link.margin() + budget;
    const Duration patience =
        link.rtt.scaled(settings.patience_rtts) + link.time_for(settings.patience_bytes);
    budget += patience;
    // Whoever waits for repair may ask for what nothing later has been seen of: a block that is
    // told closed while it still waits in the pacer.
    if (patience > Duration()) first_age = link.rtt;
    rto = link.rto(settings.alpha) + patience + link.time_for(settings.repair_bytes);
    // CLOSED may overtake the last slots by the reorder budget, and by what still waits in the
    // sender's pacer; an RTT / 16 of silence tells a lost tail from one that is still coming.
    tail_quiet = budget + link.rtt / 16;
  }
};

}  // namespace cw::policy
