#include "tests/unit/offload/dpa_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace cw {
namespace {

constexpr auto patience = std::chrono::seconds(10);
constexpr auto look_every = std::chrono::microseconds(100);

/// A peer's and an owner's place in a stream, from which records are made.
class Talker {
 public:
  Talker(const cw_bits_limits& limits, uint16_t stream, Prng prng)
      : limits_(limits), stream_(stream), prng_(prng), ids_(limits.ids) {}

  cw_bits_record next() {
    if (prng_.chance(0.1)) id_ = static_cast<uint32_t>(prng_.below(limits_.ids));
    Id& id = ids_[id_];
    if (!id.is_armed && prng_.chance(0.5)) return arm(id);
    const double what = prng_.uniform();
    if (what < 0.002) return close(id);
    if (what < 0.004) return control_in_vain();
    if (what < 0.03) return hostile();
    if (what < 0.05) return packet(id_, slot_of(id), static_cast<uint8_t>(prng_.next()));
    return packet(id_, slot_of(id), id.generation);
  }

 private:
  struct Id {
    bool is_armed = false;
    uint8_t generation = 0;
    uint32_t cursor = 0;
  };

  uint32_t id_shift() const { return uint32_t{limits_.slot_bits} + limits_.user_bits; }
  cw_bits_record packet(uint32_t id, uint32_t slot, uint8_t generation) {
    const uint32_t user = static_cast<uint32_t>(prng_.next()) & ((1U << limits_.user_bits) - 1);
    return record(CW_BITS_PACKET, stream_, generation,
                  id << id_shift() | slot << limits_.user_bits | user);
  }
  cw_bits_record arm(Id& id) {
    id.is_armed = true;
    id.cursor = 0;
    return record(CW_BITS_ARM, stream_, ++id.generation, id_ << id_shift());
  }
  cw_bits_record close(Id& id) {
    id.is_armed = false;
    return record(CW_BITS_CLOSE, stream_, id.generation, id_ << id_shift());
  }
  // Most go on, some are near, few are anywhere.
  uint32_t slot_of(Id& id) {
    const double how = prng_.uniform();
    if (how < 0.8) return id.cursor = (id.cursor + 1) % limits_.slots_max;
    if (how < 0.95) {
      return static_cast<uint32_t>(id.cursor + prng_.below(256)) % limits_.slots_max;
    }
    return static_cast<uint32_t>(prng_.below(limits_.slots_max));
  }
  // An arm of the life that there is, or of another; a close of a life that is not.
  cw_bits_record control_in_vain() {
    const uint8_t generation = ids_[id_].generation;
    switch (prng_.below(3)) {
      case 0:
        return record(CW_BITS_ARM, stream_, generation, id_ << id_shift());
      case 1:
        return record(CW_BITS_ARM, stream_, generation + 9, id_ << id_shift());
      default:
        return record(CW_BITS_CLOSE, stream_, generation + 9, id_ << id_shift());
    }
  }
  cw_bits_record hostile() {
    cw_bits_record any = __builtin_bit_cast(cw_bits_record, prng_.next());
    if (prng_.chance(0.8)) any.kind = CW_BITS_PACKET;
    if (prng_.chance(0.7)) any.stream = stream_;
    // An arm or a close that may be right would be one that nobody knows of.
    if (any.kind == CW_BITS_ARM || any.kind == CW_BITS_CLOSE) any.stream = UINT16_MAX;
    return any;
  }

  const cw_bits_limits limits_;
  const uint16_t stream_;
  Prng prng_;
  std::vector<Id> ids_;
  uint32_t id_ = 0;
};

}  // namespace

OwnedRow::OwnedRow(const Streams& streams, RingSizes rings, const Allocate& allocate) {
  const auto count = static_cast<uint32_t>(streams.size() + 1);
  row_ = static_cast<cw_bits_row*>(allocate(cw_bits_row_size(count, rings.records, rings.events)));
  cw_bits_row_init(row_, count, rings.records, rings.events);
  for (const cw_bits_limits& limits : streams) {
    const size_t bytes = cw_bits_arena_size(&limits);
    char* const arena = static_cast<char*>(allocate(bytes));
    EXPECT_EQ(cw_bits_arena_init(arena, &limits), 0);
    cw_bits_row_add(row_, static_cast<uint16_t>(arenas_.size()), arena);
    arenas_.emplace_back(arena, bytes);
  }
}

size_t OwnedRow::put(std::span<const cw_bits_record> records) {
  const uint32_t room = row_->records_capacity - (tail() - head());
  const size_t count = std::min<size_t>(room, records.size());
  for (uint32_t i = 0; i < count; ++i)
    cw_bits_records(row_)[(tail() + i) % row_->records_capacity] = records[i];
  __atomic_store_n(&row_->records_tail, tail() + static_cast<uint32_t>(count), __ATOMIC_RELEASE);
  return count;
}

void OwnedRow::take(Events& events) {
  const uint32_t end = __atomic_load_n(&row_->events_tail, __ATOMIC_ACQUIRE);
  ASSERT_LE(end - row_->events_head, row_->events_capacity);
  for (uint32_t i = row_->events_head; i != end; ++i)
    events.push_back(cw_bits_events(row_)[i % row_->events_capacity]);
  __atomic_store_n(&row_->events_head, end, __ATOMIC_RELEASE);
}

std::string OwnedRow::arena_bytes() const {
  std::string all;
  for (const auto& [bytes, count] : arenas_) all.append(bytes, count);
  return all;
}

HostRow::HostRow(const Streams& streams, RingSizes rings)
    : owned_(streams, rings, [this](size_t bytes) {
        const size_t whole = (bytes + CW_BITS_LINE - 1) / CW_BITS_LINE * CW_BITS_LINE;
        return memory_.emplace_back(std::aligned_alloc(CW_BITS_LINE, whole)).get();
      }) {}

Events HostRow::run(std::span<const cw_bits_record> records) {
  Events events;
  while (!records.empty() || !owned_.is_done()) {
    records = records.subspan(owned_.put(records));
    cw_bits_serve(owned_.get());
    owned_.take(events);
  }
  return events;
}

Told told_by(std::span<const cw_bits_event> events, const Streams& streams) {
  Told told;
  std::map<std::pair<uint16_t, uint32_t>, uint32_t> lives;  // so far, of stream and id
  for (const cw_bits_event& event : events) {
    const cw_bits_record& about = event.about;
    const bool is_known = about.stream < streams.size();
    const cw_bits_limits limits = is_known ? streams[about.stream] : cw_bits_limits{};
    const uint32_t shift = uint32_t{limits.slot_bits} + limits.user_bits;
    uint32_t& life = lives[{about.stream, is_known ? about.immediate >> shift : 0}];
    const Told::Word word = {number_of(about), life};
    if (about.kind == CW_BITS_PLACED) {
      uint64_t& bits = told.placed[word];
      told.told_twice += static_cast<uint64_t>(std::popcount(bits & event.bits));
      told.records += static_cast<uint64_t>(std::popcount(event.bits));
      bits |= event.bits;
    } else {
      ++told.others[word];
      ++told.records;
    }
    if (about.kind == CW_BITS_CLOSED) ++life;
  }
  return told;
}

Streams small_streams() {
  return {{.ids = 16, .slots_max = 500, .slot_bits = 18, .user_bits = 4},
          {.ids = 3, .slots_max = 4096, .slot_bits = 16, .user_bits = 0},
          {.ids = 5, .slots_max = 37, .slot_bits = 20, .user_bits = 3},
          {.ids = 9, .slots_max = 7, .slot_bits = 3, .user_bits = 8}};
}

Records random_records(const Streams& streams, uint64_t seed, size_t count) {
  Prng prng(seed);
  std::vector<Talker> talkers;
  for (size_t i = 0; i < streams.size(); ++i) {
    talkers.emplace_back(streams[i], static_cast<uint16_t>(i), prng.split());
  }
  Records records;
  size_t who = 0;
  while (records.size() < count) {
    if (prng.chance(0.05)) who = prng.below(talkers.size());
    records.push_back(talkers[who].next());
  }
  return records;
}

bool pump(OwnedRow& row, std::span<const cw_bits_record> records, Events& events, size_t most) {
  auto moved = std::chrono::steady_clock::now();
  uint32_t head = row.head();
  while (!records.empty() || !row.is_done()) {
    records = records.subspan(row.put(records.first(std::min(most, records.size()))));
    row.take(events);
    const auto now = std::chrono::steady_clock::now();
    if (const uint32_t seen = row.head(); seen != head) {
      head = seen;
      moved = now;
    } else {
      if (now > moved + patience) return false;
      std::this_thread::sleep_for(look_every);
    }
  }
  row.take(events);
  return true;
}

bool comes_true(const std::function<bool()>& is_true) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

EmulatedDpaOptions dpa_options(uint32_t harts) {
  return {.harts = harts, .program = CW_DPA_PROGRAM};
}

std::unique_ptr<EmulatedDpa> dpa_of(uint32_t harts) {
  auto made = EmulatedDpa::make(dpa_options(harts));
  if (made) return std::move(*made);
  ADD_FAILURE() << made.error().sentence;
  return nullptr;
}

}  // namespace cw
