#include "control/sim/transfer.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"

namespace cw {
namespace {

// Enough sizes that a uniform choice looks like one.
constexpr size_t sizes_drawn = 4096;

std::vector<Bytes> sizes_for(const WorkloadScenario& workload, uint64_t seed) {
  if (!workload.sizes.empty()) return workload.sizes;
  if (workload.size_min == workload.size_max) return {workload.size_min};
  Prng prng(seed);
  std::vector<Bytes> sizes(sizes_drawn);
  for (Bytes& size : sizes) {
    size = Bytes(prng.between(workload.size_min.count(), workload.size_max.count()));
  }
  return sizes;
}

uint64_t differences(std::span<const uint8_t> is, std::span<const uint8_t> should_be) {
  if (std::memcmp(is.data(), should_be.data(), is.size()) == 0) return 0;
  uint64_t count = 0;
  for (size_t i = 0; i < is.size(); ++i) count += is[i] != should_be[i];
  return count;
}

}  // namespace

Payload::Payload(Bytes largest, uint64_t seed) : bytes_(largest.count() + starts) {
  Prng prng(seed);
  for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>(prng.next());
}

std::span<const uint8_t> Payload::of_message(uint64_t index, Bytes size) const {
  const size_t start = index * 40503 % starts;
  return std::span(bytes_).subspan(start, size.count());
}

uint64_t Payload::wrong_bytes(uint64_t index, Bytes size, std::span<const uint8_t> received,
                              bool is_whole, const sdr::RecvStream& stream,
                              sdr::RecvHandle handle) const {
  const auto sent = of_message(index, size);
  received = received.first(sent.size());
  if (is_whole) return differences(received, sent);
  const sdr::StreamConfig& config = stream.config();
  const uint64_t chunk_bytes = uint64_t{config.chunk_slots} * config.payload_bytes;
  const auto bitmap = stream.chunk_bitmap(handle);
  uint64_t wrong = 0;
  for (uint64_t chunk = 0; chunk * chunk_bytes < sent.size(); ++chunk) {
    if ((bitmap[chunk / 8] >> chunk % 8 & 1) == 0) continue;
    const uint64_t first = chunk * chunk_bytes;
    const uint64_t count = std::min<uint64_t>(chunk_bytes, sent.size() - first);
    wrong += differences(received.subspan(first, count), sent.subspan(first, count));
  }
  return wrong;
}

Transfer::Transfer(sdr::Peer& source, sdr::Peer& sink, const Scenario& scenario,
                   const Payload& payload, uint64_t seed)
    : source_(source),
      sink_(sink),
      sends_(*source.send_stream(0)),
      receives_(*sink.recv_stream(0)),
      workload_(scenario.workload),
      payload_(payload),
      verifies_(scenario.run.verify),
      sizes_(sizes_for(scenario.workload, seed)),
      spare_(workload_.posted, std::vector<uint8_t>(workload_.largest().count())),
      completion_times_() {
  completion_times_.reserve(workload_.messages);
}

bool Transfer::turn(Instant now, bool source_turned) {
  const uint64_t before = deeds();
  if (may_be_over()) complete_receives(now);
  post_receives();
  if (source_turned) settle_sends(now);
  // A receive that is posted before its message opens never makes it wait for credit.
  if (source_.link().is_up() && sink_.link().is_up()) open_sends(now);
  return deeds() != before;
}

Instant Transfer::next_deadline() const {
  Instant due = Instant::never();
  if (workload_.patience == Duration::max()) return due;
  for (const Receiving& receiving : receiving_) {
    if (receiving.heard) due = std::min(due, *receiving.heard + workload_.patience);
  }
  return due;
}

void Transfer::open_sends(Instant now) {
  while (opened_ < workload_.total() && sending_.size() < workload_.in_flight) {
    const auto handle = sends_.try_open({.immediate = static_cast<uint32_t>(opened_)});
    if (!handle) return;
    const auto bytes = payload_.of_message(opened_, size_of(opened_));
    CW_ASSERT(sends_.append(*handle, 0, bytes));
    CW_ASSERT(sends_.close(*handle));
    if (opened_ == workload_.warm_up) started_ = now;
    sending_.push_back({opened_++, *handle, now});
  }
}

void Transfer::settle_sends(Instant now) {
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    if (sends_.status(sending->handle) == sdr::MessageStatus::Open) {
      ++sending;
      continue;
    }
    if (is_measured(sending->index)) {
      completion_times_.push_back(now - sending->opened);
      ended_ = now;
    }
    sends_.forget(sending->handle);
    ++settled_;
    sending = sending_.erase(sending);
  }
}

void Transfer::post_receives() {
  while (posted_ < workload_.total() && receiving_.size() < workload_.posted) {
    const auto handle = receives_.try_post(spare_.back());
    if (!handle) return;
    receiving_.push_back({posted_++, *handle, std::move(spare_.back()), std::nullopt});
    spare_.pop_back();
  }
}

/// Whether any receive is worth a look.
bool Transfer::may_be_over() const {
  return workload_.patience != Duration::max() || receives_.over_count() != over_seen_;
}

bool Transfer::is_over(Receiving& receiving, const sdr::RecvInfo& info, Instant now) const {
  if (info.status != sdr::MessageStatus::Open) return true;
  if (workload_.patience == Duration::max()) return false;
  if (!receiving.heard && (info.slots_in_place > 0 || info.bytes)) receiving.heard = now;
  return receiving.heard && now - *receiving.heard >= workload_.patience;
}

void Transfer::complete_receives(Instant now) {
  over_seen_ = receives_.over_count();
  for (auto receiving = receiving_.begin(); receiving != receiving_.end();) {
    const sdr::RecvInfo info = receives_.info(receiving->handle);
    if (!is_over(*receiving, info, now)) {
      ++receiving;
      continue;
    }
    if (is_measured(receiving->index)) {
      count(*receiving, info);
      ended_ = now;
    }
    CW_ASSERT(receives_.complete(receiving->handle, now));
    spare_.push_back(std::move(receiving->memory));
    ++received_;
    receiving = receiving_.erase(receiving);
  }
}

void Transfer::count(Receiving& receiving, const sdr::RecvInfo& info) {
  const bool is_whole = info.status == sdr::MessageStatus::Done;
  if (is_whole) {
    ++completed_;
    bytes_completed_ += Bytes(*info.bytes);
  }
  if (!verifies_) return;
  bytes_wrong_ += payload_.wrong_bytes(receiving.index, size_of(receiving.index), receiving.memory,
                                       is_whole, receives_, receiving.handle);
}

}  // namespace cw
