#include "dataplane/sdr/stream/send/store/slot_store.h"

#include <algorithm>
#include <string>

namespace cw::sdr {
namespace {

std::string number(uint64_t value) { return std::to_string(value); }

}  // namespace

SlotStore::SlotStore(const StreamConfig& config, const SendOptions& options, LinkKey link,
                     PacketStock& stock, TableMemory& memory)
    : config_(config),
      link_(link),
      extents_max_(options.slot_by_slot ? 1 : options.extents_max),
      extents_(size_t{config.messages} * extents_max_, &memory),
      extent_counts_(config.messages, &memory),
      repairs_(config, memory),
      slots_max_(size_t{config.data_slots_max} + config.repair_slots_max),
      last_paths_(config.messages * slots_max_, &memory),
      holds_(config.messages, &memory) {
  static_assert(limits::paths_max <= no_path);
  if (options.slot_by_slot) slots_.emplace(config.messages, config.data_slots_max, stock);
}

void SlotStore::open(uint32_t place, uint32_t repair_end) {
  extent_counts_[place] = 0;
  repairs_.clear(place, repair_end);
  std::fill_n(&last_paths_[index(place, 0)], slots_max_, no_path);
}

// ---- whole messages ----

Result<void> SlotStore::check(uint32_t place, uint32_t first,
                              std::span<const uint8_t> bytes) const {
  const uint64_t count = (bytes.size() + config_.payload_bytes - 1) / config_.payload_bytes;
  if (first > config_.data_slots_max || count > config_.data_slots_max - first) {
    return failure(number(bytes.size()) + " bytes at slot " + number(first) +
                   " exceed the largest message, " + number(config_.message_bytes_max()) +
                   " bytes");
  }
  for (const SendExtent& extent : extents(place)) {
    if (first < extent.first + extent.count && extent.first < first + count) {
      return failure("slot " + number(std::max(first, extent.first)) + " was appended before");
    }
    const bool is_short = extent.bytes % config_.payload_bytes != 0;
    if (is_short && first > extent.first) {
      return failure("a piece that does not fill its last slot ends the message");
    }
    if (bytes.size() % config_.payload_bytes != 0 && first < extent.first) {
      return failure("only the last piece may end inside a slot of " +
                     number(config_.payload_bytes) + " bytes");
    }
  }
  return {};
}

// A piece that goes on where another ends, in the message and in memory, becomes part of it.
SendExtent* SlotStore::extent_before(uint32_t place, uint32_t first, const uint8_t* memory) {
  for (SendExtent& extent : extents(place)) {
    if (extent.first + extent.count == first && extent.memory + extent.bytes == memory) {
      return &extent;
    }
  }
  return nullptr;
}

Result<uint32_t> SlotStore::lend(uint32_t place, uint32_t first, std::span<const uint8_t> bytes) {
  if (is_by_slot()) return failure("this stream is appended slot by slot, in no other way");
  if (const auto checked = check(place, first, bytes); !checked) {
    return std::unexpected(checked.error());
  }
  const uint32_t count = config_.slots_for(bytes.size());
  if (count == 0) return count;
  if (SendExtent* extent = extent_before(place, first, bytes.data())) {
    extent->count += count;
    extent->bytes += bytes.size();
    return count;
  }
  uint16_t& extent_count = extent_counts_[place];
  if (extent_count == extents_max_) {
    return failure("a message may have " + number(extents_max_) +
                   " pieces that do not continue each other");
  }
  extents_[size_t{place} * extents_max_ + extent_count++] = {first, count, 0, bytes.data(),
                                                             bytes.size()};
  return count;
}

// ---- what is read ----

const SendExtent* SlotStore::extent_at(uint32_t place, uint32_t slot) const {
  for (const SendExtent& extent : extents(place)) {
    if (slot - extent.first < extent.count) return &extent;
  }
  return nullptr;
}

std::span<const uint8_t> SlotStore::lent_bytes_of(uint32_t place, uint32_t slot) const {
  const SendExtent* extent = extent_at(place, slot);
  if (extent == nullptr) return {};
  const uint64_t offset = uint64_t{slot - extent->first} * config_.payload_bytes;
  const uint64_t count = std::min<uint64_t>(config_.payload_bytes, extent->bytes - offset);
  return {extent->memory + offset, static_cast<size_t>(count)};
}

uint32_t SlotStore::count_alike(uint32_t place, uint32_t first, uint32_t stride,
                                uint32_t count) const {
  uint32_t alike = 1;
  if (is_by_slot()) {
    const SlotEntry& entry = slots_->at(place, first);
    while (alike < count && slots_->at(place, first + alike * stride).is_alike(entry)) ++alike;
    return alike;
  }
  const SendExtent* const extent = extent_at(place, first);
  if (extent == nullptr) return 1;
  // All that lie in it and are full; the row's first alone may not be.
  const auto full = static_cast<uint32_t>(extent->bytes / config_.payload_bytes);
  const uint32_t from = first - extent->first;
  if (from >= full) return 1;
  return std::min(count, (full - from - 1) / stride + 1);
}

}  // namespace cw::sdr
