#include "tests/sim/sdr/transfer.h"

namespace cw::sim {
namespace {

constexpr uint64_t stream = 1;

uint64_t largest(const TransferOptions& options) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < options.messages; ++i) most = std::max(most, options.bytes_of(i));
  return most;
}

}  // namespace

Transfer::Transfer(Site& from, Site& to, const TransferOptions& options)
    : from_(from),
      to_(to),
      options_(options),
      source_({.in_flight = options.in_flight,
               .is_numbered = true,
               .pieces = options.pieces,
               .seed = options.seed}),
      // Memory goes with its receive, so that who writes to it too late is seen.
      sink_({.bytes = largest(options),
             .ahead = options.posted,
             .messages = options.messages,
             .patience = options.patience,
             .release = [](std::vector<uint8_t>) {}}) {}

void Transfer::turn(Instant now) {
  sink_.take(to_.receives(0, options_.link), now, [&](const SinkPump::Over& over) { take(over); });
  sink_.post(to_.receives(0, options_.link));
  source_.settle(from_.sends(0, options_.link),
                 [&](const auto& sending, sdr::MessageStatus status) {
                   CW_ASSERT(status != sdr::MessageStatus::PeerLost);
                   completions_.push_back(now - sending.opened);
                 });
  if (!from_.link(options_.link).is_up()) return;
  source_.open(from_.sends(0, options_.link), now, options_.messages, [&](uint64_t message) {
    if (ages_ != nullptr) ages_->opened(message, now);
    once_.opened(message);
    return SourcePump::Message{.memory = pattern_of(stream, message, options_.bytes_of(message))};
  });
}

void Transfer::take(const SinkPump::Over& over) {
  // The i-th receive takes the i-th message of an epoch; where one may end, see courier.h.
  CW_ASSERT(over.info.status != sdr::MessageStatus::PeerLost);
  const uint64_t bytes = options_.bytes_of(over.index);
  // Every chunk whose bit is set is right, whole message or not.
  uint64_t in_place = 0;
  over.for_each_chunk(bytes, [&](uint64_t offset, std::span<const uint8_t> chunk) {
    bytes_.on_bytes(chunk, stream, over.index, offset);
    in_place += chunk.size();
  });
  if (over.is_whole()) {
    ++whole_;
    CW_ASSERT(over.info.bytes == bytes && in_place == bytes);
    CW_ASSERT(over.immediate() == over.index);
  }
  once_.finished(over.index);
  if (ages_ != nullptr) ages_->closed(over.index);
}

}  // namespace cw::sim
