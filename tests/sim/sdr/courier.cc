#include "tests/sim/sdr/courier.h"

#include <algorithm>

namespace cw::sim {
namespace {

constexpr uint64_t stream = 2;

uint64_t epochs_of(Site& site) { return site.counters().read_any_thread(Counter::epochs); }

}  // namespace

void Courier::turn(Instant now) {
  receive(now);
  send(now);
}

Instant Courier::next_deadline() const {
  const auto has_more = [](const Sending& sending) { return !sending.is_closed; };
  if (std::ranges::any_of(sending_, has_more)) return Instant();
  Instant due = Instant::never();
  if (!has_patience()) return due;
  for (const Receiving& receiving : receiving_) {
    if (receiving.first_heard) due = std::min(due, *receiving.first_heard + options_.patience);
  }
  return due;
}

void Courier::sender_was_restarted() {
  for (const Sending& sending : sending_) {
    once_.excused(sending.number);
    ages_.closed(sending.number);
  }
  sending_.clear();
  excuse_empty();
  sender_epochs_ += 1'000'000;
}

/// Gone with it is what lay there whole, though its sender heard so: who does not know its length
/// yet delivers nothing.
void Courier::receiver_was_restarted() {
  for (Receiving& receiving : receiving_) bury(std::move(receiving.memory));
  receiving_.clear();
  for (uint64_t number = 0; number < next_; ++number) once_.excused(number);
  receiver_epochs_ += 1'000'000;
}

/// A message without a slot is done before its receiver has heard of it.
void Courier::excuse_empty() {
  constexpr uint64_t under_way_max = 1024;
  for (uint64_t number = next_ - std::min(next_, under_way_max); number < next_; ++number) {
    if (bytes_of(number) == 0) once_.excused(number);
  }
}

void Courier::send(Instant now) {
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    append_pieces(*sending);
    const sdr::MessageStatus status = from_->sends().status(sending->handle);
    if (status == sdr::MessageStatus::Open) {
      ++sending;
      continue;
    }
    settle(*sending, status);
    from_->sends().forget(sending->handle);
    sending = sending_.erase(sending);
  }
  while (!is_stopped_ && next_ < options_.messages && from_->is_up() &&
         sending_.size() < options_.in_flight) {
    sdr::MessageHint hint;
    hint.immediate = static_cast<uint32_t>(next_);
    const auto handle = from_->sends().try_open(hint);
    if (!handle) return;
    open(now, *handle);
  }
}

/// Delivered, unless the peer is lost; to what a policy without repair sends nothing is promised.
void Courier::settle(const Sending& sending, sdr::MessageStatus status) {
  ages_.closed(sending.number);
  lost_sends_ += status == sdr::MessageStatus::PeerLost;
  if (status == sdr::MessageStatus::PeerLost || has_patience()) once_.excused(sending.number);
}

void Courier::open(Instant now, sdr::SendHandle handle) {
  const uint64_t bytes = bytes_of(next_);
  Sending sending{.number = next_,
                  .handle = handle,
                  .memory = std::make_unique_for_overwrite<uint8_t[]>(bytes + 1),
                  .pieces = cut_pieces(from_->sends().config(), bytes, options_.pieces, prng_)};
  fill_pattern({sending.memory.get(), bytes}, stream, next_, 0);
  once_.opened(next_);
  ages_.opened(next_, now);
  epoch_of_.push_back(sender_epochs_ + epochs_of(*from_));
  ++next_;
  append_pieces(sending);
  sending_.push_back(std::move(sending));
}

/// One of them; and what has none left is closed. An epoch may end in between.
void Courier::append_pieces(Sending& sending) {
  if (sending.is_closed) return;
  if (from_->sends().status(sending.handle) != sdr::MessageStatus::Open) {
    sending.is_closed = true;
    return;
  }
  if (!sending.pieces.empty()) {
    const Piece piece = sending.pieces.back();
    sending.pieces.pop_back();
    const std::span bytes(sending.memory.get() + piece.offset, piece.bytes);
    CW_ASSERT(from_->sends().append(sending.handle, piece.slot, bytes));
  }
  if (!sending.pieces.empty()) return;
  CW_ASSERT(from_->sends().close(sending.handle));
  sending.is_closed = true;
}

void Courier::receive(Instant now) {
  for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
    const sdr::RecvInfo info = to_->receives().info(receiving->handle);
    if (!is_over(*receiving, info, now)) {
      ++receiving;
      continue;
    }
    if (info.status == sdr::MessageStatus::Done) {
      deliver(*receiving, info);
    } else if (info.status == sdr::MessageStatus::PeerLost) {
      ++lost_receives_;
    } else {
      take_part(*receiving);
    }
    CW_ASSERT(to_->receives().complete(receiving->handle, now));
    bury(std::move(receiving->memory));
    receiving = receiving_.erase(receiving);
  }
  while (to_->is_up() && receiving_.size() < options_.posted) {
    auto memory = std::make_unique_for_overwrite<uint8_t[]>(options_.bytes_max + 1);
    const auto handle = to_->receives().try_post({memory.get(), options_.bytes_max});
    if (!handle) return;
    receiving_.push_back({.epoch = receiver_epochs_ + epochs_of(*to_),
                          .handle = *handle,
                          .memory = std::move(memory)});
  }
}

bool Courier::is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const {
  if (info.status != sdr::MessageStatus::Open) return true;
  const bool is_heard = info.slots_in_place > 0 || info.bytes.has_value();
  if (!receiving.first_heard && is_heard) receiving.first_heard = now;
  return has_patience() && receiving.first_heard &&
         now - *receiving.first_heard >= options_.patience;
}

void Courier::deliver(const Receiving& receiving, const sdr::RecvInfo& info) {
  const auto number = to_->receives().immediate(receiving.handle);
  if (!number || *number >= next_) {
    return once_.finished(UINT64_MAX);  // which nobody has opened
  }
  once_.finished(*number);
  ++delivered_;
  if (!is_of_this_epoch(receiving, *number)) {
    epochs_.broken("message " + std::to_string(*number) + " is of an epoch that was over");
  }
  if (info.bytes != bytes_of(*number)) {
    return epochs_.broken("message " + std::to_string(*number) + " has another length");
  }
  bytes_.on_bytes({receiving.memory.get(), *info.bytes}, stream, *number);
}

/// The receiver's epochs and the sender's come in pairs, in the same order.
bool Courier::is_of_this_epoch(const Receiving& receiving, uint64_t number) {
  const auto [told, is_first] = told_.try_emplace(receiving.epoch, epoch_of_[number]);
  const bool was_told_before =
      is_first && told != told_.begin() && std::prev(told)->second >= told->second;
  return told->second == epoch_of_[number] && !was_told_before;
}

/// Of a message with holes that can be told by its immediate, every chunk whose bit is set is
/// right.
void Courier::take_part(const Receiving& receiving) {
  const sdr::RecvStream& stream_in = to_->receives();
  const auto number = stream_in.immediate(receiving.handle);
  if (!number) return;
  if (*number >= next_) return once_.finished(UINT64_MAX);
  const uint64_t bytes = bytes_of(*number);
  const sdr::StreamConfig& config = stream_in.config();
  const uint64_t chunk_bytes = uint64_t{config.chunk_slots} * config.payload_bytes;
  const auto bitmap = stream_in.chunk_bitmap(receiving.handle);
  for (uint64_t first = 0; first < bytes; first += chunk_bytes) {
    const uint64_t chunk = first / chunk_bytes;
    if ((bitmap[chunk / 8] >> chunk % 8 & 1) == 0) continue;
    const uint64_t count = std::min(chunk_bytes, bytes - first);
    bytes_.on_bytes({receiving.memory.get() + first, count}, stream, *number, first);
  }
}

void Courier::bury(std::unique_ptr<uint8_t[]> memory) {
  std::fill_n(memory.get(), options_.bytes_max, buried);
  graves_.push_back(std::move(memory));
  const uint64_t most = std::clamp<uint64_t>(graves_bytes_max / options_.bytes_max, 1, graves_max);
  if (graves_.size() > most) graves_.pop_front();
}

void Courier::check_graves() {
  for (const auto& grave : graves_) {
    const auto is_buried = [](uint8_t byte) { return byte == buried; };
    if (!std::all_of(grave.get(), grave.get() + options_.bytes_max, is_buried)) {
      graves_watch_.broken("memory was written to after its receive had been completed");
    }
  }
}

std::string Courier::state() const {
  std::string text = std::to_string(next_) + " of " + std::to_string(options_.messages) +
                     " messages sent, " + std::to_string(delivered_) + " delivered, " +
                     std::to_string(sending_.size()) + " under way";
  if (!sending_.empty()) text += " from number " + std::to_string(sending_.front().number);
  const auto never = once_.first_open();
  return never ? text + "; number " + std::to_string(*never) + " was not delivered" : text;
}

std::string Courier::complaint() {
  check_graves();
  for (const Checker* checker : checkers()) {
    if (const auto verdict = checker->verdict()) {
      return std::string(checker->name()) + ": " + *verdict;
    }
  }
  return "";
}

}  // namespace cw::sim
