#include "dataplane/port/verbs/queues/epochs.h"

#include <algorithm>

namespace cw::verbs {
namespace {

constexpr Duration look_interval = Duration::from_ms(5);
/// A device that has not read a packet for so long reads none any more: one that is longer than
/// its route takes keeps soft-RoCE from it for ever.
constexpr Duration stuck_after = Duration::from_s(1);

}  // namespace

Epoch* Epochs::find(uint16_t peer, uint32_t first) {
  const auto found = std::ranges::find_if(epochs_, [&](const Epoch& each) {
    const bool is_its = each.at() != Stage::Free && each.peer == peer && each.first == first;
    return is_its && !each.is_left.load(std::memory_order_relaxed);
  });
  return found == epochs_.end() ? nullptr : &*found;
}

bool Epochs::try_open(uint16_t peer, uint32_t first, std::span<uint32_t> numbers) {
  Epoch* epoch = find(peer, first);
  if (epoch == nullptr) {
    const auto free =
        std::ranges::find_if(epochs_, [](const Epoch& each) { return each.at() == Stage::Free; });
    if (free == epochs_.end()) return false;
    free->peer = peer;
    free->first = first;
    free->receiver_count = numbers.size();
    free->broken_count = 0;
    free->is_left = false;
    free->go_to(Stage::Opening);
    keeper_.wake();
    return false;
  }
  if (!epoch->receives()) return false;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = epoch->receivers[i]->pair->qp_num;
  return true;
}

bool Epochs::try_connect(uint16_t peer, uint32_t first, std::span<const SendQueue> queues) {
  Epoch* const epoch = find(peer, first);
  if (epoch == nullptr) return false;
  if (epoch->at() == Stage::Open) {
    epoch->ways.assign(queues.begin(), queues.end());
    epoch->go_to(Stage::Connecting);
    keeper_.wake();
  }
  if (epoch->at() != Stage::Connected) return false;
  for (size_t i = 0; i < queues.size(); ++i) {
    index_.add(peer, queues[i], epoch->senders[i].get());
  }
  return true;
}

void Epochs::close(uint16_t peer, uint32_t first) {
  Epoch* const epoch = find(peer, first);
  if (epoch == nullptr) return;
  for (const SendQueue& way : epoch->ways) {
    if (epoch->at() == Stage::Connected) index_.remove(peer, way);
  }
  epoch->is_left = true;
  begin_closing(*epoch);
}

/// As soon as it is the turn's.
void Epochs::begin_closing(Epoch& epoch) {
  const Stage stage = epoch.at();
  if (stage == Stage::Open || stage == Stage::Connected) epoch.go_to(Stage::Closing);
  keeper_.wake();
}

/// Its queues are gone, and what they held is free.
void Epochs::end(Epoch& epoch) {
  for (const auto& sender : epoch.senders) outgoing_.give_up(*sender);
  epoch.ways.clear();
  epoch.go_to(Stage::Free);
}

void Epochs::look_after(bool has_broken, Instant now) {
  if (keeper_.take_lost_ways()) {
    has_broken = true;
    for (Epoch& epoch : epochs_) {
      if (!epoch.receives()) continue;
      for (const auto& each : epoch.receivers) each->is_found_broken |= each->is_ours();
      if (epoch.at() != Stage::Connected) continue;
      for (const auto& each : epoch.senders) each->is_found_broken |= each->is_whole();
    }
  }
  if (!has_broken && now < look_due_) return;
  look_due_ = now + look_interval;
  for (Epoch& epoch : epochs_) {
    if (epoch.at() == Stage::Closed) {
      end(epoch);
    } else if (epoch.is_left.load(std::memory_order_relaxed)) {
      begin_closing(epoch);
    } else if (epoch.receives()) {
      take_back_mended(epoch);
      hand_over_broken(epoch, now);
    }
  }
  for (ControlQueue& control : controls_) look_after_datagrams(control.sender, now);
  if (groups_ != nullptr) look_after_datagrams(groups_->sender, now);
}

bool Epochs::is_stuck(const Sender& sender, Instant now) const {
  return !sender.holds.is_empty() && now - sender.moved > stuck_after;
}

template <class Queue>
bool Epochs::try_hand_over(Queue& queue) {
  if (!queue.is_found_broken) return false;
  queue.is_found_broken = false;
  queue.health.store(Health::Broken, std::memory_order_release);
  ++broken_;
  keeper_.wake();
  return true;
}

void Epochs::hand_over_broken(Epoch& epoch, Instant now) {
  for (const auto& receiver : epoch.receivers) epoch.broken_count += try_hand_over(*receiver);
  if (epoch.at() != Stage::Connected) return;
  for (const auto& sender : epoch.senders) {
    if (sender->is_whole()) sender->is_found_broken |= is_stuck(*sender, now);
    epoch.broken_count += try_hand_over(*sender);
  }
}

void Epochs::take_back_mended(Epoch& epoch) {
  if (epoch.broken_count == 0) return;
  const auto is_mended = [](const std::atomic<Health>& health) {
    return health.load(std::memory_order_acquire) == Health::Mended;
  };
  for (const auto& receiver : epoch.receivers) {
    if (!is_mended(receiver->health)) continue;
    receiver->health.store(Health::Whole, std::memory_order_release);
    --epoch.broken_count;
  }
  if (epoch.at() != Stage::Connected) return;
  for (const auto& sender : epoch.senders) {
    if (!is_mended(sender->health)) continue;
    outgoing_.give_up(*sender);
    sender->health.store(Health::Whole, std::memory_order_release);
    --epoch.broken_count;
  }
}

/// Of a pair that receives, too.
void Epochs::look_after_datagrams(Sender& sender, Instant now) {
  if (sender.pair == nullptr) return;
  if (sender.health.load(std::memory_order_acquire) == Health::Mended) {
    outgoing_.give_up(sender);
    sender.health.store(Health::Whole, std::memory_order_release);
  }
  if (sender.is_whole()) sender.is_found_broken |= is_stuck(sender, now);
  (void)try_hand_over(sender);
}

uint32_t Epochs::count() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(epochs_, [](const Epoch& each) { return each.at() != Stage::Free; }));
}

}  // namespace cw::verbs
