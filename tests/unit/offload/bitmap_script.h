// Random lives of messages, as an owner would tell them, and what must come of them: the reference
// model is the definition of the kernel in sets and maps, with no thought of speed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/unit/offload/arena.h"

namespace cw {

/// An event without its channel, which depends on who wins a race.
using EventKey = std::tuple<uint8_t, uint32_t, uint32_t, uint8_t>;  // kind, id, index, generation
inline EventKey key_of(const cw_bits_event& e) { return {e.kind, e.id, e.index, e.generation}; }

/// What an id's words say.
struct IdBits {
  std::set<uint32_t> data, repair, chunks;
  bool operator==(const IdBits&) const = default;
};

/// The result of a script: all events, and the bits of every life at its end, in order.
struct Outcome {
  std::multiset<EventKey> events;
  std::vector<IdBits> lives;
  bool operator==(const Outcome&) const = default;
};

struct Step {
  cw_bits_record record;
  bool is_new_life = false;  ///< an arm before which the id must be quiet and reset
};
using Script = std::vector<Step>;

/// A script of about `count` steps. An orderly one has the same outcome however packets of
/// different channels overtake each other: none touches slots that are void or beyond the length.
Script make_script(const cw_bits_limits& limits, uint64_t seed, size_t count, bool is_orderly);

/// Runs a script by the rules.
Outcome expected_of(const cw_bits_limits& limits, const Script& script);

class BitmapModel {
 public:
  explicit BitmapModel(const cw_bits_limits& limits) : limits_(limits) {}
  std::optional<EventKey> run(const cw_bits_record& record);
  IdBits bits(uint32_t id) { return lives_[id].bits; }
  void reset(uint32_t id) { lives_.erase(id); }

 private:
  struct Life {
    bool is_armed = false;
    uint8_t generation = 0;
    uint32_t data_slots = 0, data_end = 0, chunk_slots = 1, cut = 0, repair_slots = 0;
    IdBits bits;
  };
  bool try_arm(Life& life, const cw_bits_record& record, uint32_t cut);
  std::optional<uint32_t> fill(Life& life, uint32_t first, uint32_t end);
  static std::optional<uint32_t> whole_at(Life& life, uint32_t chunk);

  cw_bits_limits limits_;
  std::map<uint32_t, Life> lives_;
};

}  // namespace cw
