#include "control/pump/pump.h"

namespace cw {
namespace {

std::vector<SourcePump::Piece> cut(const sdr::StreamConfig& config, uint64_t bytes, uint32_t count,
                                   Prng& prng) {
  const uint32_t slots = config.slots_for(bytes);
  const uint32_t step = std::max(1u, (slots + count - 1) / count);
  std::vector<SourcePump::Piece> pieces;
  for (uint32_t slot = 0; slot < slots; slot += step) {
    const uint64_t offset = uint64_t{slot} * config.payload_bytes;
    const uint64_t length = uint64_t{step} * config.payload_bytes;
    pieces.push_back({slot, offset, std::min(length, bytes - offset)});
  }
  for (size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[prng.below(i)]);
  return pieces;
}

}  // namespace

std::optional<sdr::SendHandle> SourcePump::try_open(sdr::Source stream) const {
  sdr::MessageHint hint;
  if (options_.is_numbered) hint.immediate = static_cast<uint32_t>(opened_);
  return stream.try_open(hint);
}

void SourcePump::begin(sdr::Source stream, Sending sending) {
  if (sending.message.bytes.empty()) sending.message.bytes = sending.message.memory;
  const uint64_t bytes = sending.message.bytes.size();
  if (options_.pieces > 1) sending.pieces = cut(stream.config(), bytes, options_.pieces, prng_);
  append_next(stream, sending);
  sending_.push_back(std::move(sending));
  ++opened_;
}

/// A piece, or all that never was in any; what has none left is closed. An epoch may end between
/// two of them.
void SourcePump::append_next(sdr::Source stream, Sending& sending) {
  auto& pieces = sending.pieces;
  if (stream.status(sending.handle) != sdr::MessageStatus::Open) return pieces.clear();
  Piece piece{.bytes = sending.message.bytes.size()};
  if (!pieces.empty()) {
    piece = pieces.back();
    pieces.pop_back();
  }
  const auto bytes = sending.message.bytes.subspan(piece.offset, piece.bytes);
  CW_ASSERT(stream.append(sending.handle, piece.slot, bytes));
  if (pieces.empty()) CW_ASSERT(stream.close(sending.handle));
}

Instant SourcePump::next_deadline() const {
  const auto has_more = [](const Sending& sending) { return !sending.pieces.empty(); };
  return std::ranges::any_of(sending_, has_more) ? Instant() : Instant::never();
}

std::deque<SourcePump::Sending> SourcePump::drop() {
  over_ = opened_;
  return std::exchange(sending_, {});
}

bool SinkPump::try_post(sdr::Sink stream) {
  if (spare_.empty()) spare_.emplace_back(options_.bytes);
  const auto handle = stream.try_post(spare_.back());
  if (!handle) return false;
  receiving_.push_back({posted_++, *handle, std::move(spare_.back())});
  spare_.pop_back();
  return true;
}

bool SinkPump::is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const {
  if (info.status != sdr::MessageStatus::Open) return true;
  if (!has_patience()) return false;
  const bool has_grown = info.slots_in_place > receiving.slots_in_place;
  receiving.slots_in_place = info.slots_in_place;
  const bool is_first_sign = !receiving.heard && (has_grown || info.bytes);
  if (is_first_sign || (has_grown && options_.waits_while_it_grows)) receiving.heard = now;
  return receiving.heard && now - *receiving.heard >= options_.patience;
}

Instant SinkPump::next_deadline() const {
  Instant due = Instant::never();
  if (!has_patience()) return due;
  for (const Receiving& receiving : receiving_) {
    if (receiving.heard) due = std::min(due, *receiving.heard + options_.patience);
  }
  return due;
}

void SinkPump::drop() {
  for (Receiving& receiving : receiving_) release(std::move(receiving.memory));
  receiving_.clear();
  over_ = posted_;
  over_seen_ = 0;
}

void SinkPump::release(std::vector<uint8_t> memory) {
  if (options_.release) return options_.release(std::move(memory));
  spare_.push_back(std::move(memory));
}

}  // namespace cw
