#include "control/perf/collective/operation_memory.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/prng.h"
#include "dataplane/collective/sum/elements.h"

namespace cw::perf {
namespace {

using group::ElementType;
using group::Posting;

uint16_t sources_of(const Posting& posting, uint16_t members) {
  return posting.operation == group::Operation::Broadcast ? 1 : members;
}

uint64_t differing(const std::vector<uint8_t>& one, const std::vector<uint8_t>& other) {
  if (one == other) return 0;
  uint64_t count = 0;
  for (size_t i = 0; i < one.size(); ++i) count += one[i] != other[i];
  return count;
}

}  // namespace

OperationMemory::OperationMemory(const Posting& posting, uint16_t members, bool is_shared,
                                 uint64_t seed)
    : posting_(posting),
      members_(members),
      is_shared_(is_shared),
      memories_(is_shared ? 1 : members),
      outputs_(posting.is_added_up() ? members : 0) {
  const uint64_t all = posting.bytes * sources_of(posting, members);
  if (posting.has_landing()) {
    wanted_.resize(all);
    Prng prng(seed);
    for (uint8_t& byte : wanted_) byte = static_cast<uint8_t>(prng.next());
    for (Memory& each : memories_) each.landing.resize(all);
  }
  if (!posting.is_added_up()) return;
  for (Memory& each : memories_) {
    each.input.resize(all);
    draw_elements(each.input, ++seed);
  }
  for (auto& each : outputs_) each.resize(posting.bytes);
}

OperationMemory::OperationMemory(const Posting& posting, uint16_t members, uint16_t rank,
                                 uint64_t seed)
    : OperationMemory(posting, members, /*is_shared=*/true, seed) {
  only_ = rank;
}

uint64_t OperationMemory::bytes_of(const Posting& posting, uint16_t members) {
  const uint64_t all = uint64_t{members} * posting.bytes * sources_of(posting, members);
  return all * (posting.has_landing() + posting.is_added_up());
}

/// Numbers between -1 and 1, of which a sum depends on the order.
void OperationMemory::draw_elements(std::vector<uint8_t>& bytes, uint64_t seed) const {
  Prng prng(seed);
  const size_t size = group::bytes_of(posting_.element);
  for (size_t at = 0; at < bytes.size(); at += size) {
    const auto number = static_cast<float>(prng.uniform() * 2 - 1);
    const uint16_t narrow = group::narrow(number);
    if (size == sizeof(number)) std::memcpy(&bytes[at], &number, size);
    if (size == sizeof(narrow)) std::memcpy(&bytes[at], &narrow, size);
  }
}

void OperationMemory::prepare() {
  const auto bytes = static_cast<ptrdiff_t>(posting_.bytes);
  for (auto& each : outputs_) std::ranges::fill(each, uint8_t{0});
  if (!posting_.has_landing()) return;
  for (Memory& each : memories_) std::ranges::fill(each.landing, uint8_t{0});
  for (uint16_t part = 0; part < sources_of(posting_, members_); ++part) {
    const uint16_t source =
        posting_.operation == group::Operation::Broadcast ? posting_.root : part;
    if (only_ && source != *only_) continue;
    std::copy_n(wanted_.begin() + part * bytes, bytes, of(source).landing.begin() + part * bytes);
  }
}

Posting OperationMemory::posting_of(uint16_t rank) {
  Posting posting = posting_;
  posting.memory = of(rank).landing.data();
  posting.input = of(rank).input.data();
  if (!outputs_.empty()) posting.output = outputs_[rank].data();
  return posting;
}

/// In the order that reducing.h promises, element by element.
std::vector<uint8_t> OperationMemory::sum_of(uint16_t rank) const {
  std::vector<uint8_t> sum(posting_.bytes);
  const size_t size = group::bytes_of(posting_.element);
  for (size_t at = 0; at < sum.size(); at += size) {
    float total = 0;
    for (uint32_t back = 0; back < members_; ++back) {
      const auto source = static_cast<uint16_t>((rank + uint32_t{members_} - back) % members_);
      const uint8_t* const from = &of(source).input[rank * posting_.bytes + at];
      uint16_t narrow = 0;
      float number = 0;
      if (size == sizeof(number)) std::memcpy(&number, from, size);
      if (size == sizeof(narrow)) std::memcpy(&narrow, from, size), number = group::widen(narrow);
      total = back == 0 ? number : total + number;
    }
    const uint16_t narrow = group::narrow(total);
    if (size == sizeof(total)) std::memcpy(&sum[at], &total, size);
    if (size == sizeof(narrow)) std::memcpy(&sum[at], &narrow, size);
  }
  return sum;
}

uint64_t OperationMemory::wrong() const {
  uint64_t wrong = 0;
  for (const Memory& each : memories_) wrong += differing(each.landing, wanted_);
  for (size_t rank = 0; rank < outputs_.size(); ++rank) {
    if (only_ && rank != *only_) continue;
    wrong += differing(outputs_[rank], sum_of(static_cast<uint16_t>(rank)));
  }
  return wrong;
}

}  // namespace cw::perf
