#include "dataplane/sdr/line/shares.h"

#include <algorithm>
#include <array>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

constexpr uint64_t ahead_packets_min = 16;
constexpr uint64_t round_bytes_min = 1500;  // of the stream with the smallest weight
constexpr uint64_t weights_ratio_max = 256;
constexpr int64_t debt_bytes_max = 256 * 1024;
constexpr Priority streamed[] = {Priority::Resend, Priority::Data, Priority::Repair};

}  // namespace

void Shares::add(SendStream& stream, uint32_t weight) {
  CW_ASSERT(shares_.size() < limits::qps_max);
  shares_.push_back({.stream = &stream, .weight = weight});
  give_rounds_by_weight();
}

void Shares::set_weight(size_t share, uint32_t weight) {
  shares_[share].weight = weight;
  give_rounds_by_weight();
}

void Shares::give_rounds_by_weight() {
  std::array<uint64_t, limits::qps_max> weights{};
  for (size_t i = 0; i < shares_.size(); ++i) weights[i] = shares_[i].weight;
  give_rounds(weights);
}

// Whoever is granted nothing may begin to send before it is granted something.
void Shares::set_granted(std::span<const uint32_t> kbps) {
  std::array<uint64_t, limits::qps_max> weights{};
  uint64_t most = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    weights[i] = kbps[std::min(i, kbps.size() - 1)];
    most = std::max(most, weights[i]);
  }
  for (size_t i = 0; i < shares_.size(); ++i) {
    weights[i] = most == 0 ? shares_[i].weight : std::max(weights[i], most / weights_ratio_max + 1);
  }
  give_rounds(weights);
}

void Shares::give_rounds(std::span<const uint64_t> weights) {
  const uint64_t least = *std::ranges::min_element(weights.first(shares_.size()));
  for (size_t i = 0; i < shares_.size(); ++i) {
    shares_[i].round_bytes = static_cast<int64_t>(round_bytes_min * weights[i] / least);
  }
}

void Shares::set_rate(Rate rate, uint32_t packet_bytes) {
  // A millisecond is enough to keep the line busy between two turns.
  const uint64_t ahead = rate.bps() / 1000 / 8 / packet_bytes;
  ahead_packets_ = std::clamp(ahead, ahead_packets_min, uint64_t{ahead_packets_max});
}

size_t Shares::room(Priority priority) const {
  const size_t queued = pacer_.queued_packets(priority);
  return queued < ahead_packets_ ? std::min(ahead_packets_ - queued, pacer_.free_packets(priority))
                                 : 0;
}

bool Shares::has_more(size_t share) const {
  return std::ranges::any_of(
      streamed, [&](Priority priority) { return shares_[share].stream->has_ready(priority); });
}

uint64_t Shares::waiting_bytes(size_t share) const {
  return shares_[share].stream->waiting_bytes();
}

bool Shares::has_waiting() const {
  for (size_t i = 0; i < shares_.size(); ++i) {
    if (has_more(i)) return true;
  }
  return false;
}

bool Shares::has_ready() const {
  for (const Share& share : shares_) {
    for (const Priority priority : streamed) {
      if (share.stream->has_ready(priority) && has_room(priority)) return true;
    }
  }
  return false;
}

void Shares::feed(Instant now) {
  feed_class(Priority::Resend, now);
  feed_data(now);
  feed_class(Priority::Repair, now);
}

void Shares::feed_class(Priority priority, Instant now) {
  size_t idle = 0;
  while (idle < shares_.size()) {
    const size_t turn = next_turn(class_turn_);
    Share& share = shares_[turn];
    const bool is_ready = share.stream->has_ready(priority);
    if (is_ready && !has_room(priority)) return;
    class_turn_ = turn;
    const auto departure = is_ready ? share.stream->take_ready(priority, now) : std::nullopt;
    if (!departure) {
      ++idle;
      continue;
    }
    idle = 0;
    share.bytes_due = std::max(share.bytes_due - departure->bytes, -debt_bytes_max);
    share.bytes_fed += departure->bytes;
    CW_ASSERT(pacer_.try_push(*departure, now));
  }
}

// A stream takes packets while it is owed bytes, the last of them on credit; what is not wanted is
// not saved up. One that waits alone takes what there is room for at once.
void Shares::feed_data(Instant now) {
  const auto waits = [](const Share& share) { return share.stream->has_ready(Priority::Data); };
  const bool is_alone = std::ranges::count_if(shares_, waits) == 1;
  size_t idle = 0;
  while (idle < shares_.size()) {
    const auto room = static_cast<uint32_t>(this->room(Priority::Data));
    if (room == 0) break;
    Share& share = shares_[data_turn_];
    const bool is_waiting = waits(share);
    if (is_waiting && !has_share_) share.bytes_due += share.round_bytes;
    has_share_ = true;
    if (!is_waiting || share.bytes_due <= 0) {
      share.bytes_due = std::min<int64_t>(share.bytes_due, 0);
      idle = is_waiting ? 0 : idle + 1;
      data_turn_ = next_turn(data_turn_);
      has_share_ = false;
      continue;
    }
    const RowLimit most{.packets = room, .bytes = is_alone ? INT64_MAX : share.bytes_due};
    const auto row = share.stream->take_ready(Priority::Data, now, most);
    if (!row) continue;  // it held only what has become pointless
    idle = 0;
    share.bytes_due -= int64_t{row->bytes} * row->count;
    share.bytes_fed += uint64_t{row->bytes} * row->count;
    if (is_alone) settle_rounds(share, row->bytes);
    CW_ASSERT(pacer_.try_push(*row, now));
  }
}

// What a row alone has cost more than was owed, rounds would have given: before its final packet
// too, something was owed.
void Shares::settle_rounds(Share& share, int64_t final_bytes) {
  const int64_t missing = -(share.bytes_due + final_bytes);
  if (missing >= 0) share.bytes_due += (missing / share.round_bytes + 1) * share.round_bytes;
}

}  // namespace cw::sdr
