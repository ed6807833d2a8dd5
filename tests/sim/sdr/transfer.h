// A program over two sites: sends messages of given sizes in a row, posts receives for them, and
// holds every byte, every completion and every age against the checkers. Within one epoch: the end
// of it is an assertion here, and courier.h's business.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/sim/checkers/exactly_once.h"
#include "tests/sim/checkers/no_wrong_byte.h"
#include "tests/sim/checkers/nothing_starves.h"
#include "tests/sim/sdr/pieces.h"
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
};

/// Acts after the sites of its stage. Message i has immediate i and the pattern of (1, i).
class Transfer final : public Actor {
 public:
  Transfer(Site& from, Site& to, const TransferOptions& options);

  void turn(Instant now) override;
  Instant next_deadline() const override;

  bool is_done() const { return received_ == options_.messages && sending_.empty(); }
  uint64_t received_count() const { return received_; }
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
  struct Sending {
    uint64_t message = 0;
    sdr::SendHandle handle;
    std::unique_ptr<uint8_t[]> memory;
    Instant opened;
    std::vector<Piece> pieces;  // still to be appended, the next one last
    bool is_closed = false;
  };
  struct Receiving {
    uint64_t message = 0;
    sdr::RecvHandle handle;
    std::unique_ptr<uint8_t[]> memory;
    uint64_t memory_bytes = 0;
    std::optional<Instant> first_heard;
  };

  void open_sends(Instant now);
  void append_pieces(Sending& sending);
  void settle_sends(Instant now);
  void post_receives();
  void complete_receives(Instant now);
  bool is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const;
  void check(const Receiving& receiving, const sdr::RecvInfo& info);

  Site& from_;
  Site& to_;
  TransferOptions options_;
  Prng prng_;
  uint64_t next_send_ = 0, next_post_ = 0, received_ = 0, whole_ = 0;
  uint64_t bytes_max_ = 0;
  std::deque<Sending> sending_;
  std::deque<Receiving> receiving_;
  std::vector<Duration> completions_;
  ExactlyOnce once_;
  NothingStarves* ages_ = nullptr;
  NoWrongByte bytes_;
};

}  // namespace cw::sim
