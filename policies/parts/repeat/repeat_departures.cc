// The departures of RepeatSource: what has left and when, and what that says of what left before.
#include <algorithm>

#include "policies/parts/repeat/repeat_source.h"

namespace cw::policy {
namespace {

constexpr int64_t witnesses_per_rtt = 16;

}  // namespace

void RepeatSource::depart(uint32_t message, SlotRun slots, Instant at, Departure what) {
  if (departed_.is_full()) sweep_oldest();
  departed_.try_push(message, slots, at, times_.grain, what);
}

/// Makes room: the entries of a message are replaced by one that covers all of it that may be
/// outstanding, with the time of the latest departure, which is late but safe.
void RepeatSource::sweep_oldest() {
  while (departed_.count() + 2 > departed_.capacity()) {
    const RangeFifo::Entry entry = departed_.pop();
    SourceMessage* message = find_open(entry.message);
    if (message == nullptr) continue;
    const bool is_covered = message->swept_at != Instant() && message->swept_at != entry.at;
    if (is_covered) continue;
    departed_.try_push(entry.message, {message->cumulative, message->appended_end}, entry.at, {},
                       Any);
    message->swept_at = departed_.back().at;
  }
}

/// Shortens the entry to its first slot that is not acknowledged; false when there is none.
bool RepeatSource::drop_acknowledged(RangeFifo::Entry& entry) {
  const SourceMessage* message = find_open(entry.message);
  if (message == nullptr) return false;
  const auto acknowledged = [&](uint32_t i) {
    return marks_.word(message->marks, Acknowledged, i);
  };
  const uint32_t from = std::max(entry.slots.first, message->cumulative);
  entry.slots.first = next_clear(acknowledged, from, std::max(from, entry.slots.end));
  return !entry.slots.is_empty();
}

void RepeatSource::age(RangeFifo& fifo, Duration age, Instant now) {
  while (fifo.due(age) <= now) grow_old(fifo.pop());
}

void RepeatSource::grow_old(const RangeFifo::Entry& entry) {
  SourceMessage* message = find_open(entry.message);
  if (message == nullptr) return;
  // A run of new slots covers those of other paths: some may have been sent again by now.
  const auto is_old = [&](uint32_t i) {
    return entry.kind == First ? ~marks_.word(message->marks, Again, i) : ~uint64_t{};
  };
  for (SlotRun run = next_run(is_old, entry.slots.first, entry.slots.end); !run.is_empty();
       run = next_run(is_old, run.end, entry.slots.end)) {
    marks_.clear(message->marks, Young, run);
  }
}

void RepeatSource::witness(const Witness& witness) {
  if (witness.is_first) first_sent_ = witness.at;
  if (witness.at < first_sent_ + link_.rtt && !witness.is_first) return;
  const Duration apart = link_.rtt / witnesses_per_rtt;
  if (!witnesses_.is_empty() && witness.at - witnesses_.back().at < apart) return;
  if (witnesses_.is_full()) witnesses_.pop();  // there are younger ones for long enough
  witnesses_.try_push(witness);
}

void RepeatSource::hear_witnesses(Instant now) {
  for (size_t i = witnesses_.count(); i-- > 0;) {
    Witness& it = witnesses_.at(i);
    if (!is_acknowledged(it.message, it.slot)) continue;
    if (!could_have_come(it, now)) {
      it.at = Instant();  // nor later: it is not known which of them came
      continue;
    }
    heard_.left = std::max(heard_.left, it.at);
    for (; i != SIZE_MAX; --i) witnesses_.pop();
    break;
  }
  // What leaves last has no younger witness.
  if (!departed_.is_empty()) {
    const RangeFifo::Entry& youngest = departed_.back();
    const bool came =
        youngest.kind == First && is_acknowledged(youngest.message, youngest.slots.end - 1);
    if (came) heard_.left = std::max(heard_.left, youngest.at);
  }
  heard_.heard = now;
}

/// The sink tells what it has in several notes, and one that is lost comes again a tick later.
void RepeatSource::ripen(Instant now) {
  if (ripening_.left <= proven_ && heard_.left > proven_) ripening_ = heard_;
  if (now < ripening_.heard + times_.ack_interval) return;
  proven_ = std::max(proven_, ripening_.left);
}

/// When the oldest entry is to be sent again, as it is proven lost, or to be asked about.
Instant RepeatSource::overdue_at() const {
  if (departed_.is_empty()) return Instant::never();
  const Instant left = departed_.due(Duration());
  const Instant overdue = left + times_.rto;
  if (is_proven(left)) return overdue;
  const bool is_ripening = left + link_.skew <= ripening_.left;
  if (is_ripening) return std::max(overdue, ripening_.heard + times_.ack_interval);
  // What left later asks as well.
  return std::max(departed_.back().at, probed_at_) + back_off_.of(times_.rto);
}

}  // namespace cw::policy
