#include "tests/sim/sdr/courier.h"

namespace cw::sim {
namespace {

constexpr uint64_t stream = 2;

uint64_t epochs_of(Site& site) { return site.counters().read_any_thread(Counter::epochs); }

}  // namespace

Courier::Courier(std::unique_ptr<Site>& from, std::unique_ptr<Site>& to,
                 const CourierOptions& options)
    : from_(from),
      to_(to),
      options_(options),
      source_({.in_flight = options.in_flight,
               .is_numbered = true,
               .pieces = options.pieces,
               .seed = options.seed}),
      sink_({.bytes = options.bytes_max,
             .ahead = options.posted,
             .patience = options.patience,
             .release = [this](std::vector<uint8_t> memory) { bury(std::move(memory)); }}) {}

void Courier::turn(Instant now) {
  receive(now);
  send(now);
}

void Courier::sender_was_restarted() {
  for (const SourcePump::Sending& sending : source_.drop()) {
    once_.excused(sending.index);
    ages_.closed(sending.index);
  }
  excuse_empty();
  sender_epochs_ += 1'000'000;
}

/// Gone with it is what lay there whole, though its sender heard so: who does not know its length
/// yet delivers nothing.
void Courier::receiver_was_restarted() {
  sink_.drop();
  for (uint64_t number = 0; number < sent_count(); ++number) once_.excused(number);
  receiver_epochs_ += 1'000'000;
}

/// A message without a slot is done before its receiver has heard of it.
void Courier::excuse_empty() {
  constexpr uint64_t under_way_max = 1024;
  for (uint64_t number = sent_count() - std::min(sent_count(), under_way_max);
       number < sent_count(); ++number) {
    if (bytes_of(number) == 0) once_.excused(number);
  }
}

void Courier::receive(Instant now) {
  sink_.take(to_->receives(), now, [&](const SinkPump::Over& over) { take(over); });
  if (!to_->is_up() || posts_nothing_) return;
  sink_.post(to_->receives());
  posted_in_.resize(sink_.posted_count(), receiver_epochs_ + epochs_of(*to_));
}

void Courier::send(Instant now) {
  source_.settle(from_->sends(), [&](const auto& sending, sdr::MessageStatus status) {
    settle(sending.index, status);
  });
  if (!from_->is_up() || is_stopped_) return;
  source_.open(from_->sends(), now, options_.messages, [&](uint64_t number) {
    once_.opened(number);
    ages_.opened(number, now);
    opened_in_.push_back(sender_epochs_ + epochs_of(*from_));
    return SourcePump::Message{.memory = pattern_of(stream, number, bytes_of(number))};
  });
}

/// Delivered, unless the peer is lost; to what a policy without repair sends nothing is promised.
void Courier::settle(uint64_t number, sdr::MessageStatus status) {
  ages_.closed(number);
  const bool is_lost = status == sdr::MessageStatus::PeerLost;
  lost_sends_ += is_lost;
  if (is_lost || options_.patience != Duration::max()) once_.excused(number);
}

void Courier::take(const SinkPump::Over& over) {
  if (over.info.status == sdr::MessageStatus::PeerLost) {
    ++lost_receives_;
    return;
  }
  const auto number = over.immediate();
  if (!number && !over.is_whole()) return;
  if (!number || *number >= sent_count()) {
    return once_.finished(UINT64_MAX);  // which nobody has opened
  }
  if (over.is_whole()) return deliver(over, *number);
  // Of a message with holes every chunk whose bit is set is right.
  over.for_each_chunk(bytes_of(*number), [&](uint64_t offset, std::span<const uint8_t> chunk) {
    bytes_.on_bytes(chunk, stream, *number, offset);
  });
}

void Courier::deliver(const SinkPump::Over& over, uint64_t number) {
  once_.finished(number);
  ++delivered_;
  if (!is_of_this_epoch(over, number)) {
    epochs_.broken("message " + std::to_string(number) + " is of an epoch that was over");
  }
  if (over.info.bytes != bytes_of(number)) {
    return epochs_.broken("message " + std::to_string(number) + " has another length");
  }
  bytes_.on_bytes(over.memory.first(*over.info.bytes), stream, number);
}

/// The receiver's epochs and the sender's come in pairs, in the same order.
bool Courier::is_of_this_epoch(const SinkPump::Over& over, uint64_t number) {
  const uint64_t opened_in = opened_in_[number];
  const auto [told, is_first] = told_.try_emplace(posted_in_[over.index], opened_in);
  const bool was_told_before =
      is_first && told != told_.begin() && std::prev(told)->second >= told->second;
  return told->second == opened_in && !was_told_before;
}

void Courier::bury(std::vector<uint8_t> memory) {
  std::ranges::fill(memory, buried);
  graves_.push_back(std::move(memory));
  const uint64_t most = std::clamp<uint64_t>(graves_bytes_max / options_.bytes_max, 1, graves_max);
  if (graves_.size() > most) graves_.pop_front();
}

void Courier::check_graves() {
  for (const auto& grave : graves_) {
    if (!std::ranges::all_of(grave, [](uint8_t byte) { return byte == buried; })) {
      graves_watch_.broken("memory was written to after its receive had been completed");
    }
  }
}

std::string Courier::state() const {
  const auto& sending = source_.in_flight();
  std::string text = std::to_string(sent_count()) + " of " + std::to_string(options_.messages) +
                     " messages sent, " + std::to_string(delivered_) + " delivered, " +
                     std::to_string(sending.size()) + " under way";
  if (!sending.empty()) text += " from number " + std::to_string(sending.front().index);
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
