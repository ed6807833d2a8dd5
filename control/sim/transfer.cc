#include "control/sim/transfer.h"

#include <cstring>

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

uint64_t Payload::wrong_bytes(const SinkPump::Over& over, Bytes size) const {
  const auto sent = of_message(over.index, size);
  if (over.is_whole() && over.info.bytes == sent.size()) {
    return differences(over.memory.first(sent.size()), sent);
  }
  uint64_t wrong = 0;
  over.for_each_chunk(sent.size(), [&](uint64_t offset, std::span<const uint8_t> bytes) {
    wrong += differences(bytes, sent.subspan(offset, bytes.size()));
  });
  return wrong;
}

Transfer::Transfer(sdr::Link& source, sdr::Link& sink, const Scenario& scenario,
                   const Payload& payload, uint64_t seed)
    : from_(source),
      to_(sink),
      sends_(source.source(0)),
      receives_(sink.sink(0)),
      workload_(scenario.workload),
      payload_(payload),
      verifies_(scenario.run.verify),
      sizes_(sizes_for(scenario.workload, seed)),
      source_({.in_flight = workload_.in_flight, .is_numbered = true}),
      sink_({.bytes = workload_.largest().count(),
             .ahead = workload_.posted,
             .messages = workload_.total(),
             .patience = workload_.patience}) {
  completion_times_.reserve(workload_.messages);
}

bool Transfer::turn(Instant now, bool source_turned) {
  size_t deeds = take_receives(now);
  deeds += sink_.post(receives_);
  if (source_turned) deeds += settle_sends(now);
  // A receive that is posted before its message opens never makes it wait for credit.
  if (from_.is_up() && to_.is_up()) deeds += open_sends(now);
  return deeds > 0;
}

size_t Transfer::open_sends(Instant now) {
  return source_.open(sends_, now, workload_.total(), [&](uint64_t index) {
    if (index == workload_.warm_up) started_ = now;
    return SourcePump::Message{payload_.of_message(index, size_of(index))};
  });
}

size_t Transfer::settle_sends(Instant now) {
  return source_.settle(sends_, [&](const SourcePump::Sending& sending, sdr::MessageStatus) {
    if (!is_measured(sending.index)) return;
    completion_times_.push_back(now - sending.opened);
    ended_ = now;
  });
}

size_t Transfer::take_receives(Instant now) {
  return sink_.take(receives_, now, [&](const SinkPump::Over& over) {
    if (!is_measured(over.index)) return;
    count(over);
    ended_ = now;
  });
}

void Transfer::count(const SinkPump::Over& over) {
  if (over.is_whole()) {
    ++completed_;
    bytes_completed_ += Bytes(*over.info.bytes);
  }
  if (verifies_) bytes_wrong_ += payload_.wrong_bytes(over, size_of(over.index));
}

}  // namespace cw
