#include "tests/unit/offload/owner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "dataplane/base/prng.h"
#include "offload/ones.h"

namespace cw {

Owner::Owner(BitStage& stage, const OwnerOptions& options)
    : stage_(stage),
      options_(options),
      map_({.ids = options.ids,
            .data_slots_max = options.slots,
            .repair_slots_max = 0,
            .chunk_slots = 16}),
      lives_(options.ids) {
  const auto added = stage.add(*this, 7, limits());
  EXPECT_TRUE(added) << (added ? "" : added.error().sentence);
  stream_ = added.value_or(0);
}

void Owner::arm(uint32_t id) {
  Life& life = lives_[id];
  life = {.is_open = true,
          .generation = static_cast<uint8_t>((life.generation + 1) % options_.generations)};
  map_.arm(id, options_.slots);
  stage_.arm(stream_, id, life.generation);
}

void Owner::close(uint32_t id) {
  lives_[id].ended = slots(id);
  lives_[id].is_open = false;
  map_.clear(id);
  stage_.close(stream_, id);
}

std::set<uint32_t> Owner::slots(uint32_t id) const {
  std::set<uint32_t> all;
  for (uint32_t slot = 0; slot < options_.slots; ++slot) {
    if (map_.data_words(id)[slot / 64] >> slot % 64 & 1) all.insert(slot);
  }
  return all;
}

bool Owner::on_bits(uint16_t cookie, std::span<const cw_bits_event> events) {
  EXPECT_EQ(cookie, 7);
  bool can_be = true;
  for (const cw_bits_event& event : events) can_be &= take(event);
  return can_be;
}

bool Owner::take(const cw_bits_event& event) {
  if (event.about.kind == CW_BITS_OUT_OF_RANGE) return ++out_of_range, true;
  const uint32_t id = event.about.immediate >> 22, slot = event.about.immediate >> 4 & 0x3ffff;
  const uint32_t left = options_.slots - std::min(slot, options_.slots);
  const bool is_bits = event.about.kind == CW_BITS_PLACED;
  const bool has_no_slot = is_bits && (event.bits == 0 || slot % 64 != 0 || left == 0 ||
                                       (left < 64 && event.bits >> left != 0));
  if (id >= options_.ids || has_no_slot) return ++impossible, false;
  Life& life = lives_[id];
  if (event.about.kind == CW_BITS_LATE) return ++late, true;
  if (event.about.generation != life.generation) return ++impossible, false;
  if (!is_bits) return duplicates += !stage_.is_rerunning(), true;
  if (!life.is_open) {
    for (uint32_t i = 0; i < 64; ++i) {
      if (event.bits >> i & 1) taken_count += life.ended.insert(slot + i).second;
    }
    return true;
  }
  const SlotMap::Merged merged = map_.merge(id, slot / 64, event.bits);
  taken_count += merged.slots;
  if (!stage_.is_rerunning()) duplicates += ones(event.bits) - merged.slots;
  return true;
}

// ---- a play ----

namespace {

class Player {
 public:
  Player(Owner& owner, uint64_t seed) : owner_(owner), random_(seed), put_(owner.options().ids) {}

  Play play(uint64_t packets) {
    while (played_.packets < packets) step();
    for (uint32_t id = 0; id < owner_.options().ids; ++id) {
      end(id);
      while (!owner_.is_quiet(id)) poll();
      check(id);
    }
    return played_;
  }

 private:
  uint32_t pick(uint64_t below) { return static_cast<uint32_t>(random_.below(below)); }
  void step() {
    const uint32_t id = pick(owner_.options().ids);
    if (!owner_.is_open(id)) return begin(id);
    if (random_.chance(0.05)) return end(id);
    // A run of packets mostly in order, as they come, with strays of other lives.
    uint32_t slot = pick(owner_.options().slots);
    const size_t room = std::min<size_t>(owner_.stage().room(), 1 + pick(64));
    for (size_t i = 0; i < room && owner_.stage().room() > 0; ++i) {
      slot =
          random_.chance(0.9) ? (slot + 1) % owner_.options().slots : pick(owner_.options().slots);
      const bool is_stray = random_.chance(0.02);
      const auto generation =
          static_cast<uint8_t>((owner_.generation(id) + (is_stray ? 1 + pick(3) : 0)) % 4);
      if (random_.chance(0.01)) put_nonsense();
      owner_.put(id, slot, generation);
      if (!is_stray) put_[id].insert(slot);
      ++played_.packets;
    }
    owner_.stage().settle(now());
    if (room == 0 || random_.chance(0.2)) poll();
  }
  /// Of an id or a slot that there is not.
  void put_nonsense() {
    if (owner_.stage().room() < 2) return;
    const bool has_id = random_.chance(0.5);
    const uint32_t id = has_id ? 0 : owner_.options().ids + pick(1024 - owner_.options().ids);
    const uint32_t slot = owner_.options().slots + pick((1u << 18) - owner_.options().slots);
    owner_.put(id, has_id ? slot : pick(1u << 18), static_cast<uint8_t>(pick(256)));
    ++played_.packets;
  }
  void begin(uint32_t id) {
    if (!owner_.is_quiet(id)) return poll();
    check(id);
    owner_.arm(id);
    ++played_.lives;
  }
  void end(uint32_t id) {
    if (owner_.is_open(id)) owner_.close(id);  // it may take its time
  }
  /// When all of a life has been told.
  void check(uint32_t id) {
    played_.wrong_lives += owner_.seen_before_end(id) != put_[id];
    put_[id].clear();
    owner_.forget_end(id);
  }
  Instant now() const {
    return Instant() + Duration::from_ns((std::chrono::steady_clock::now() - begin_).count());
  }
  void poll() {
    if (!owner_.stage().poll(now())) std::this_thread::yield();
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Owner& owner_;
  Prng random_;
  std::vector<std::set<uint32_t>> put_;
  Play played_;
};

}  // namespace

Play play(Owner& owner, uint64_t seed, uint64_t packets) {
  return Player(owner, seed).play(packets);
}

}  // namespace cw
