#include "tests/sim/sdr/transfer.h"

#include <algorithm>

namespace cw::sim {

namespace {
constexpr uint64_t stream = 1;
}

Transfer::Transfer(Site& from, Site& to, const TransferOptions& options)
    : from_(from), to_(to), options_(options), prng_(options.seed) {
  for (uint64_t i = 0; i < options.messages; ++i) {
    bytes_max_ = std::max(bytes_max_, options.bytes_of(i));
  }
}

void Transfer::turn(Instant now) {
  complete_receives(now);
  post_receives();
  for (Sending& sending : sending_) append_pieces(sending);
  settle_sends(now);
  if (from_.is_up()) open_sends(now);
}

Instant Transfer::next_deadline() const {
  Instant due = Instant::never();
  for (const Receiving& receiving : receiving_) {
    if (receiving.first_heard && options_.patience != Duration::max()) {
      due = std::min(due, *receiving.first_heard + options_.patience);
    }
  }
  const auto has_more = [](const Sending& sending) { return !sending.is_closed; };
  return std::ranges::any_of(sending_, has_more) ? Instant() : due;
}

void Transfer::open_sends(Instant now) {
  while (next_send_ < options_.messages && sending_.size() < options_.in_flight) {
    const uint64_t bytes = options_.bytes_of(next_send_);
    sdr::MessageHint hint;
    hint.immediate = static_cast<uint32_t>(next_send_);
    const auto handle = from_.sends().try_open(hint);
    if (!handle) return;
    Sending sending{next_send_, *handle, std::make_unique_for_overwrite<uint8_t[]>(bytes + 1), now,
                    cut_pieces(from_.sends().config(), bytes, options_.pieces, prng_)};
    fill_pattern({sending.memory.get(), bytes}, stream, next_send_, 0);
    if (ages_ != nullptr) ages_->opened(next_send_, now);
    once_.opened(next_send_++);
    append_pieces(sending);
    sending_.push_back(std::move(sending));
  }
}

void Transfer::append_pieces(Sending& sending) {
  if (sending.is_closed) return;
  if (!sending.pieces.empty()) {
    const Piece piece = sending.pieces.back();
    sending.pieces.pop_back();
    const std::span bytes(sending.memory.get() + piece.offset, piece.bytes);
    CW_ASSERT(from_.sends().append(sending.handle, piece.slot, bytes));
  }
  if (!sending.pieces.empty()) return;
  CW_ASSERT(from_.sends().close(sending.handle));
  sending.is_closed = true;
}

void Transfer::settle_sends(Instant now) {
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    const sdr::MessageStatus status = from_.sends().status(sending->handle);
    if (status == sdr::MessageStatus::Open) {
      ++sending;
      continue;
    }
    CW_ASSERT(status != sdr::MessageStatus::PeerLost);
    completions_.push_back(now - sending->opened);
    from_.sends().forget(sending->handle);
    sending = sending_.erase(sending);
  }
}

void Transfer::post_receives() {
  while (next_post_ < options_.messages && receiving_.size() < options_.posted) {
    auto memory = std::make_unique_for_overwrite<uint8_t[]>(bytes_max_ + 1);
    const auto handle = to_.receives().try_post({memory.get(), bytes_max_});
    if (!handle) return;
    receiving_.push_back({next_post_++, *handle, std::move(memory), bytes_max_, std::nullopt});
  }
}

bool Transfer::is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const {
  if (info.status != sdr::MessageStatus::Open) return true;
  const bool is_heard = info.slots_in_place > 0 || info.bytes.has_value();
  if (!receiving.first_heard && is_heard) receiving.first_heard = now;
  return receiving.first_heard && options_.patience != Duration::max() &&
         now - *receiving.first_heard >= options_.patience;
}

void Transfer::complete_receives(Instant now) {
  for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
    const sdr::RecvInfo info = to_.receives().info(receiving->handle);
    if (!is_over(*receiving, info, now)) {
      ++receiving;
      continue;
    }
    check(*receiving, info);
    CW_ASSERT(to_.receives().complete(receiving->handle, now));
    once_.finished(receiving->message);
    if (ages_ != nullptr) ages_->closed(receiving->message);
    ++received_;
    receiving = receiving_.erase(receiving);
  }
}

void Transfer::check(const Receiving& receiving, const sdr::RecvInfo& info) {
  // The i-th receive takes the i-th message of an epoch; where one may end, see courier.h.
  CW_ASSERT(info.status != sdr::MessageStatus::PeerLost);
  const bool is_whole = info.status == sdr::MessageStatus::Done;
  whole_ += is_whole;
  const uint64_t bytes = options_.bytes_of(receiving.message);
  if (is_whole) {
    CW_ASSERT(info.bytes == bytes);
    CW_ASSERT(to_.receives().immediate(receiving.handle) == receiving.message);
  }
  // Every chunk whose bit is set is right, whole message or not.
  const sdr::StreamConfig& config = to_.receives().config();
  const uint64_t chunk_bytes = uint64_t{config.chunk_slots} * config.payload_bytes;
  const auto bitmap = to_.receives().chunk_bitmap(receiving.handle);
  for (uint64_t chunk = 0; chunk * chunk_bytes < bytes; ++chunk) {
    const bool is_set = bitmap[chunk / 8] >> chunk % 8 & 1;
    CW_ASSERT(is_set || !is_whole);
    if (!is_set) continue;
    const uint64_t first = chunk * chunk_bytes;
    const uint64_t count = std::min(chunk_bytes, bytes - first);
    bytes_.on_bytes({receiving.memory.get() + first, count}, stream, receiving.message, first);
  }
}

}  // namespace cw::sim
