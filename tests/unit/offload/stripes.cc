#include "tests/unit/offload/stripes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace cw {

cw_datagrams_shape StripedStep::shape(bool is_copied_by_others) const {
  const group::Slots all = slots();
  return {.step = static_cast<uint32_t>(step.value()),
          .sources = sources,
          .first_source = first_source,
          .payload_bytes = payload_bytes,
          .part_slots = all.part_slots(),
          .last_bytes = all.bytes_of(all.part_slots() - 1),
          .is_copied_by_others = is_copied_by_others ? 1u : 0u,
          .part_bytes = part_bytes};
}

group::Header StripedStep::header(uint32_t slot) const {
  const group::Slots all = slots();
  const uint16_t source = all.source_of(slot);
  const bool is_fetched = source == rank;
  return {.kind = is_fetched ? group::Kind::Fetched : group::Kind::Multicast,
          .is_last_slot = all.is_last(slot),
          .source = is_fetched ? uint16_t{1} : source,
          .key = is_fetched ? own_key : group_key,
          .step = step,
          .slot = slot,
          .message_slots = all.part_slots(),
          .clock_us = slot};
}

Stripes::Stripes(const Options& options, const Allocate& allocate) : options_(options) {
  const cw_datagrams_member member = {StripedStep::group_key, StripedStep::own_key,
                                      StripedStep::members, StripedStep::rank};
  const size_t bytes = cw_landing_size(options.slots_max, options.stripes, options.chunk_slots);
  EXPECT_GT(bytes, 0U);
  landing_ = static_cast<cw_landing*>(allocate(bytes));
  cw_landing_init(landing_, &member, options.slots_max, options.stripes, options.chunk_slots);
  memory_ = static_cast<uint8_t*>(allocate(size_t{options.slots_max} * options.stride));
  for (uint32_t i = 0; i < options.stripes; ++i) {
    const size_t row_bytes = cw_bits_row_size(1, options.buffers, options.buffers);
    rows_.push_back(static_cast<cw_bits_row*>(allocate(row_bytes)));
    cw_bits_row_init(rows_[i], 1, options.buffers, options.buffers);
    cw_bits_row_add(rows_[i], 0, landing_);
    buffers_.push_back(static_cast<uint8_t*>(allocate(size_t{options.buffers} * options.stride)));
    cw_datagrams_row(rows_[i], i, 1, buffers_[i], options.stride);
  }
}

void Stripes::open(const StripedStep& step, bool is_copied_by_others) {
  const cw_datagrams_shape shape = step.shape(is_copied_by_others);
  ASSERT_EQ(cw_landing_shape(landing_, &shape, memory_), 0);
  for (uint32_t i = 0; i < options_.stripes; ++i) {
    ASSERT_TRUE(try_record(i, {0, 0, 0, CW_DATAGRAMS_OPEN}));
  }
}

void Stripes::close() {
  for (uint32_t i = 0; i < options_.stripes; ++i) {
    ASSERT_TRUE(try_record(i, {0, 0, 0, CW_DATAGRAMS_CLOSE}));
  }
}

bool Stripes::try_record(uint32_t stripe, const cw_bits_record& record) {
  cw_bits_row* const row = rows_[stripe];
  const uint32_t head = __atomic_load_n(&row->records_head, __ATOMIC_ACQUIRE);
  // Buffers of what is not told, or copied, yet are not written again.
  if (row->records_tail - std::min(head, row->events_head) == options_.buffers) return false;
  cw_bits_records(row)[row->records_tail % options_.buffers] = record;
  __atomic_store_n(&row->records_tail, row->records_tail + 1, __ATOMIC_RELEASE);
  return true;
}

bool Stripes::try_put(uint32_t stripe, const group::Header& header,
                      std::span<const uint8_t> payload, uint32_t immediate) {
  cw_bits_row* const row = rows_[stripe];
  if (row->records_tail - row->events_head == options_.buffers) return false;
  const uint32_t index = row->records_tail % options_.buffers;
  group::encode_header(header, {buffer(stripe, index), group::header_bytes});
  std::ranges::copy(payload, buffer(stripe, index) + group::header_bytes);
  const size_t bytes = group::header_bytes + payload.size();
  return try_record(stripe, {immediate, static_cast<uint16_t>(index), static_cast<uint8_t>(bytes),
                             static_cast<uint8_t>(bytes >> 8)});
}

bool Stripes::try_put(const StripedStep& step, uint32_t slot) {
  const group::Header header = step.header(slot);
  return try_put(stripe_of(slot), header, payload_of(step, slot), header.immediate());
}

void Stripes::take(std::vector<cw_bits_event>& events) {
  for (uint32_t i = 0; i < options_.stripes; ++i) {
    cw_bits_row* const row = rows_[i];
    const uint32_t tail = __atomic_load_n(&row->events_tail, __ATOMIC_ACQUIRE);
    for (uint32_t at = row->events_head; at != tail; ++at) {
      const cw_bits_event& event = cw_bits_events(row)[at % options_.buffers];
      events.push_back(event);
      if (event.about.kind != CW_DATAGRAMS_COPY) continue;
      const uint8_t* const from = buffer(i, event.about.stream) + group::header_bytes;
      const cw_bits_record& given = cw_bits_records(row)[at % options_.buffers];
      const size_t bytes = size_t{given.kind} * 256 + given.generation - group::header_bytes;
      std::memcpy(reinterpret_cast<char*>(landing_) + static_cast<int64_t>(event.bits), from,
                  bytes);
    }
    __atomic_store_n(&row->events_head, tail, __ATOMIC_RELEASE);
  }
}

bool Stripes::is_done() const {
  return std::ranges::all_of(rows_, [](const cw_bits_row* row) {
    return __atomic_load_n(&row->records_head, __ATOMIC_ACQUIRE) == row->records_tail;
  });
}

std::vector<uint8_t> payload_of(const StripedStep& step, uint32_t slot) {
  std::vector<uint8_t> payload(step.slots().bytes_of(slot));
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(slot * 7 + i);
  return payload;
}

std::vector<uint32_t> arrivals_of(const StripedStep& step, Prng& prng) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < step.slots().count(); ++slot) {
    slots.push_back(slot);
    if (prng.chance(0.1)) slots.push_back(slot);
  }
  for (size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[prng.below(i)]);
  return slots;
}

std::string whole_memory(const StripedStep& step) {
  const group::Slots slots = step.slots();
  std::string memory(step.part_bytes * step.sources, '\0');
  for (uint32_t slot = 0; slot < slots.count(); ++slot) {
    const auto payload = payload_of(step, slot);
    std::memcpy(memory.data() + slots.offset_of(slot), payload.data(), payload.size());
  }
  return memory;
}

}  // namespace cw
