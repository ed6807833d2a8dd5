// A program over two sites: sends messages of given sizes in a row, posts receives for them, and
// holds every byte, every completion and every age against the checkers. Within one epoch: the end
// of it is an assertion here, and courier.h's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "control/pump/pump.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/sdr/site.h"

namespace cw::sim {

struct TransferOptions {
  uint64_t messages = 100;
  std::function<uint64_t(uint64_t)> bytes_of = [](uint64_t) { return uint64_t{8192}; };
  uint32_t in_flight = 4;  ///< open at the sender at once
  uint32_t posted = 8;     ///< receives posted ahead
  /// Completes a receive this long after it was first heard of, even with holes; never: only when
  /// whole.
  Duration patience = Duration::max();
  /// Above 1: the message is streamed in so many pieces, one per turn, in a shuffled order.
  uint32_t pieces = 1;
  uint64_t seed = 1;  ///< of the shuffle
  size_t link = 0;    ///< which of the sites' links it takes
};

/// Acts after the sites of its stage. Message i has immediate i and the pattern of (1, i).
class Transfer final : public Actor {
 public:
  Transfer(Site& from, Site& to, const TransferOptions& options);

  void turn(Instant now) override;
  Instant next_deadline() const override {
    return std::min(source_.next_deadline(), sink_.next_deadline());
  }

  bool is_done() const {
    return received_count() == options_.messages && source_.in_flight().empty();
  }
  uint64_t received_count() const { return sink_.over_count(); }
  uint64_t whole_count() const { return whole_; }
  uint64_t bytes_checked() const { return bytes_.byte_count(); }
  /// From open to settled at the sender, in order of settling.
  const std::vector<Duration>& completions() const { return completions_; }

  /// Messages whose life begins and ends here: opened by the sender, completed by the receiver.
  ExactlyOnce& exactly_once() { return once_; }
  /// Told of every opening and completion, when there is one. It outlives the transfer.
  void tell_ages_to(NothingStarves& ages) { ages_ = &ages; }
  NoWrongByte& no_wrong_byte() { return bytes_; }

 private:
  void take(const SinkPump::Over& over);

  Site& from_;
  Site& to_;
  TransferOptions options_;
  SourcePump source_;
  SinkPump sink_;
  uint64_t whole_ = 0;
  std::vector<Duration> completions_;
  ExactlyOnce once_;
  NothingStarves* ages_ = nullptr;
  NoWrongByte bytes_;
};

}  // namespace cw::sim
