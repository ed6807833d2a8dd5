// How far the steps have come of which messages are open here: what is to come, from how many, and
// at what rate it comes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/datagram/message_index.h"
#include "dataplane/wire/group/slots.h"

namespace cw::group {

struct StepRow {
  Step step;
  uint64_t expected_bytes = 0, received_bytes = 0;
  uint32_t sources = 0, sources_done = 0;
  uint32_t open = 0;  ///< messages
  Instant deadline = Instant::never();
  bool is_touched = false;
};

/// Thread: one. Allocates when made, for as many open messages.
class Steps {
 public:
  explicit Steps(size_t messages_max)
      : steps_(messages_max), rows_(messages_max), sources_(messages_max), pairs_(messages_max) {
    for (size_t i = messages_max; i-- > 0;) {
      free_rows_.push_back(static_cast<uint32_t>(i));
      free_pairs_.push_back(static_cast<uint32_t>(i));
    }
  }

  StepRow& row(uint32_t place) { return rows_[place]; }

  /// A message is to come; returns the place of its step.
  uint32_t begin(Step step, uint16_t peer, uint64_t bytes, Instant deadline) {
    uint32_t place = steps_.find(0, step.value());
    if (place == MessageIndex::none) {
      place = free_rows_.back();
      free_rows_.pop_back();
      rows_[place] = {.step = step};
      steps_.add(0, step.value(), place);
    }
    StepRow& row = rows_[place];
    ++row.open;
    row.expected_bytes += bytes;
    row.deadline = std::min(row.deadline, deadline);
    uint32_t pair = sources_.find(peer, place);
    if (pair == MessageIndex::none) {
      pair = free_pairs_.back();
      free_pairs_.pop_back();
      pairs_[pair] = 0;
      sources_.add(peer, place, pair);
      ++row.sources;
    }
    ++pairs_[pair];
    return place;
  }
  /// It is over, of which `missing` bytes have not come. False: nothing of the step is open any
  /// more, and it is forgotten.
  bool try_end(uint32_t place, uint16_t peer, uint64_t missing) {
    StepRow& row = rows_[place];
    row.expected_bytes -= missing;
    const uint32_t pair = sources_.find(peer, place);
    if (--pairs_[pair] == 0) {
      sources_.remove(peer, place);
      free_pairs_.push_back(pair);
      ++row.sources_done;
    }
    if (--row.open > 0) return true;
    steps_.remove(0, row.step.value());
    free_rows_.push_back(place);
    return false;
  }

 private:
  MessageIndex steps_;  // by number
  std::vector<StepRow> rows_;
  MessageIndex sources_;         // by peer, and place of the step
  std::vector<uint32_t> pairs_;  // messages open of each
  std::vector<uint32_t> free_rows_, free_pairs_;
};

/// How fast messages come in. Thread: one.
class ArrivalRate {
 public:
  explicit ArrivalRate(Rate line) : line_(line), rate_(line) {}

  void note(uint64_t bytes, Duration interval, Instant now) {
    const Duration passed = now - from_;
    if (passed > interval * 4) {  // nothing came for a while: no measure of the line
      from_ = now;
      bytes_ = 0;
      rate_ = line_;
      return;
    }
    bytes_ += bytes;
    if (passed < interval) return;
    const double bps = static_cast<double>(bytes_) * 8e9 / static_cast<double>(passed.ns());
    const double mean = (3 * static_cast<double>(rate_.bps()) + bps) / 4;
    rate_ = Rate::from_bps(std::clamp<uint64_t>(static_cast<uint64_t>(mean), 1, line_.bps()));
    from_ = now;
    bytes_ = 0;
  }
  void set_line(Rate line) { line_ = rate_ = line; }
  Rate rate() const { return rate_; }

 private:
  Rate line_, rate_;
  Instant from_;
  uint64_t bytes_ = 0;
};

}  // namespace cw::group
