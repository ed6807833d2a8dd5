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

void Courier::sender_was_restarted() {
  sending_.clear();
  sender_epochs_ += 1'000'000;
}

void Courier::receiver_was_restarted() {
  for (Receiving& receiving : receiving_) bury(std::move(receiving.memory));
  receiving_.clear();
  receiver_epochs_ += 1'000'000;
}

void Courier::send(Instant) {
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    const sdr::MessageStatus status = from_->sends().status(sending->handle);
    if (status == sdr::MessageStatus::Open) {
      ++sending;
      continue;
    }
    lost_sends_ += status == sdr::MessageStatus::PeerLost;
    from_->sends().forget(sending->handle);
    sending = sending_.erase(sending);
  }
  while (!is_stopped_ && from_->is_up() && sending_.size() < options_.in_flight) {
    sdr::MessageHint hint;
    hint.immediate = static_cast<uint32_t>(next_);
    const auto handle = from_->sends().try_open(hint);
    if (!handle) return;
    const uint64_t bytes = bytes_of(next_);
    Sending sending{next_, *handle, std::make_unique<uint8_t[]>(bytes + 1)};
    fill_pattern({sending.memory.get(), bytes}, stream, next_, 0);
    CW_ASSERT(from_->sends().append(*handle, 0, {sending.memory.get(), bytes}));
    CW_ASSERT(from_->sends().close(*handle));
    was_delivered_.push_back(false);
    epoch_of_.push_back(sender_epochs_ + epochs_of(*from_));
    sending_.push_back(std::move(sending));
    ++next_;
  }
}

void Courier::receive(Instant now) {
  for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
    if (!is_over(*receiving, now)) {
      ++receiving;
      continue;
    }
    CW_ASSERT(to_->receives().complete(receiving->handle, now));
    bury(std::move(receiving->memory));
    receiving = receiving_.erase(receiving);
  }
  while (to_->is_up() && receiving_.size() < options_.posted) {
    auto memory = std::make_unique<uint8_t[]>(options_.bytes_max);
    const auto handle = to_->receives().try_post({memory.get(), options_.bytes_max});
    if (!handle) return;
    receiving_.push_back({receiver_epochs_ + epochs_of(*to_), *handle, std::move(memory)});
  }
}

bool Courier::is_over(const Receiving& receiving, Instant) {
  const sdr::RecvInfo info = to_->receives().info(receiving.handle);
  if (info.status == sdr::MessageStatus::Done) {
    deliver(receiving, info);
  } else if (info.status == sdr::MessageStatus::PeerLost) {
    ++lost_receives_;
  }
  return info.status != sdr::MessageStatus::Open;
}

void Courier::deliver(const Receiving& receiving, const sdr::RecvInfo& info) {
  const auto number = to_->receives().immediate(receiving.handle);
  if (!number || *number >= next_) return object("a message that was never sent was delivered");
  if (info.bytes != bytes_of(*number)) return object("a message has another length");
  if (was_delivered_[*number]) return object("a message was delivered twice");
  was_delivered_[*number] = true;
  ++delivered_;
  std::vector<uint8_t> expected(*info.bytes);
  fill_pattern(expected, stream, *number, 0);
  if (!std::equal(expected.begin(), expected.end(), receiving.memory.get())) {
    object("message " + std::to_string(*number) + " has wrong bytes");
  }
  const auto [told, is_first] = told_.try_emplace(receiving.epoch, epoch_of_[*number]);
  const bool was_told_before =
      is_first && told != told_.begin() && std::prev(told)->second >= told->second;
  if (told->second != epoch_of_[*number] || was_told_before) {
    object("message " + std::to_string(*number) + " is of an epoch that was over");
  }
}

void Courier::bury(std::unique_ptr<uint8_t[]> memory) {
  std::fill_n(memory.get(), options_.bytes_max, buried);
  graves_.push_back(std::move(memory));
  if (graves_.size() > graves_max) graves_.pop_front();
}

std::string Courier::complaint() const {
  if (!complaint_.empty()) return complaint_;
  for (const auto& grave : graves_) {
    const auto is_buried = [](uint8_t byte) { return byte == buried; };
    if (!std::all_of(grave.get(), grave.get() + options_.bytes_max, is_buried)) {
      return "memory was written to after its receive had been completed";
    }
  }
  return "";
}

}  // namespace cw::sim
