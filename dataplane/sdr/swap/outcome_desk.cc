#include "dataplane/sdr/swap/outcome_desk.h"

#include <algorithm>
#include <array>

#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {
namespace {

StreamOutcome outcome_of(RecvStream& recv, Instant now) {
  const RecvTally& tally = recv.tally();
  StreamOutcome outcome;
  outcome.at = now;
  outcome.policy_epoch = recv.seat().current().policy_epoch();
  outcome.slots_by_code = tally.rebuilt;
  outcome.slots_behind = tally.behind;
  tally.frames->tell(outcome);
  return outcome;
}

}  // namespace

void OutcomeDesk::begin_epoch(bool is_heard) {
  is_heard_ = is_heard && std::ranges::any_of(streams_, [](const Stream& each) {
                return each.recv->tally().frames != nullptr;
              });
}

void OutcomeDesk::end_epoch() {
  is_heard_ = false;
  due_ = Instant::never();
  said_ = 0;
  if (board_ == nullptr) return;
  for (Heard& each : *board_) each.has_spoken = false;
}

bool OutcomeDesk::offer(EnvelopeWriter& writer, Instant now) {
  if (due_ > now) return true;
  const auto streams = static_cast<uint16_t>(streams_.size());  // as many as QPs
  for (; said_ < streams; ++said_) {
    const Stream& stream = streams_[said_];
    const auto all = here(stream.qp, now);
    if (!all) continue;
    std::array<be32, HoleTimes::steps> holes;
    size_t count = 0;  // without those behind the last that has any
    for (size_t i = 0; i < holes.size(); ++i) {
      holes[i] = be32(all->holes.counts[i]);
      if (all->holes.counts[i] != 0) count = i + 1;
    }
    const Outcome record{.qp = stream.qp,
                         .policy_epoch = all->policy_epoch,
                         .frames_out = all->frames_out,
                         .frames_given_up = all->frames_given_up,
                         .frames_late = all->frames_late,
                         .slots_by_code = all->slots_by_code,
                         .slots_behind = all->slots_behind,
                         .holes = Row<be32>(holes.data(), count)};
    if (!writer.try_add(record)) return false;
  }
  said_ = 0;
  due_ = Instant::never();
  return true;
}

void OutcomeDesk::listen() {
  if (board_ != nullptr) return;
  board_ = std::make_unique<Board>();
  for (const Stream& each : streams_) board_->push_back({.qp = each.qp, .outcome = {}});
}

void OutcomeDesk::on_record(const Outcome& record, Instant now) {
  if (board_ == nullptr) return;
  const auto heard = std::ranges::find(*board_, record.qp, &Heard::qp);
  if (heard == board_->end()) return;
  const bool is_overtaken = heard->has_spoken && record.frames_out < heard->outcome.frames_out;
  if (is_overtaken) return;
  heard->has_spoken = true;
  heard->outcome = {.at = now,
                    .policy_epoch = record.policy_epoch,
                    .frames_out = record.frames_out,
                    .frames_given_up = record.frames_given_up,
                    .frames_late = record.frames_late,
                    .slots_by_code = record.slots_by_code,
                    .slots_behind = record.slots_behind,
                    .holes = {}};
  for (size_t i = 0; i < record.holes.size(); ++i) {
    heard->outcome.holes.counts[i] = record.holes[i].host();
  }
}

std::optional<StreamOutcome> OutcomeDesk::here(uint16_t qp, Instant now) const {
  const auto stream = std::ranges::find(streams_, qp, &Stream::qp);
  if (stream == streams_.end() || stream->recv->tally().frames == nullptr) return std::nullopt;
  return outcome_of(*stream->recv, now);
}

std::optional<StreamOutcome> OutcomeDesk::there(uint16_t qp) const {
  if (board_ == nullptr) return std::nullopt;
  const auto heard = std::ranges::find(*board_, qp, &Heard::qp);
  if (heard == board_->end() || !heard->has_spoken) return std::nullopt;
  return heard->outcome;
}

}  // namespace cw::sdr
