// What becomes of what a link's streams carry: said to the peer once a second while something
// comes, and kept of what the peer says, if somebody here wants to know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/base/units.h"
#include "dataplane/sdr/stream/stream_outcome.h"
#include "dataplane/wire/control/control_link.h"
#include "dataplane/wire/control/envelope.h"

namespace cw::sdr {

class RecvStream;

/// Thread: the link's owner. Nothing allocates, save add() and listen().
class OutcomeDesk {
 public:
  /// `recv` outlives the desk.
  void add(uint16_t qp, RecvStream& recv) { streams_.push_back({qp, &recv}); }

  /// The link is up; `is_heard`: by a peer that may want to know.
  void begin_epoch(bool is_heard);
  void end_epoch();
  /// Something has come. Hot.
  void on_arrivals(Instant now) {
    if (is_heard_ && due_ == Instant::never()) due_ = now + interval;
  }
  Instant due() const { return due_; }
  /// False when `writer` was too full for one.
  bool offer(EnvelopeWriter& writer, Instant now);

  /// From now on what the peer says is kept.
  void listen();
  void on_record(const Outcome& record, Instant now);
  /// As of now of what comes here, or as the peer said last of what goes there. Nothing: the QP has
  /// no frames, or the peer has said nothing since listen().
  std::optional<StreamOutcome> here(uint16_t qp, Instant now) const;
  std::optional<StreamOutcome> there(uint16_t qp) const;

 private:
  static constexpr Duration interval = Duration::from_s(1);
  struct Stream {
    uint16_t qp = 0;
    RecvStream* recv = nullptr;
  };
  struct Heard {
    uint16_t qp = 0;
    bool has_spoken = false;
    StreamOutcome outcome;
  };
  using Board = std::vector<Heard>;

  std::vector<Stream> streams_;
  std::unique_ptr<Board> board_;  // null: nobody listens
  Instant due_ = Instant::never();
  uint16_t said_ = 0;  // streams, of this round: one envelope need not hold all
  bool is_heard_ = false;
};

}  // namespace cw::sdr
