// An owner of messages at a stage, as a receiving stream is one: it arms, puts, takes bits into its
// map and ends lives. And a play for it: random packets, duplicates and strays, at random lives.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "offload/slot_map.h"
#include "offload/stage/stage.h"

namespace cw {

struct OwnerOptions {
  uint16_t channels = 1;
  uint32_t ids = 5, slots = 150;
  uint8_t generations = 4;
};

class Owner final : public BitStageClient {
 public:
  explicit Owner(BitStage& stage, const OwnerOptions& options = {});

  cw_bits_limits limits() const {
    return {.ids = options_.ids, .slots_max = options_.slots, .slot_bits = 18, .user_bits = 4};
  }
  /// A life after the last one's; the id is quiet.
  void arm(uint32_t id);
  void close(uint32_t id);
  bool is_quiet(uint32_t id) const { return stage_.is_quiet(stream_, id); }
  void put(uint32_t id, uint32_t slot) { put(id, slot, lives_[id].generation); }
  void put(uint32_t id, uint32_t slot, uint8_t generation) {
    stage_.put(stream_, static_cast<uint16_t>(slot % options_.channels), generation,
               id << 22 | slot << 4 | (slot & 15));
  }
  bool is_open(uint32_t id) const { return lives_[id].is_open; }
  uint8_t generation(uint32_t id) const { return lives_[id].generation; }

  std::set<uint32_t> slots(uint32_t id) const;
  /// Of a life that is closed: with what was told after its close.
  const std::set<uint32_t>& seen_before_end(uint32_t id) const { return lives_[id].ended; }
  void forget_end(uint32_t id) { lives_[id].ended.clear(); }
  const OwnerOptions& options() const { return options_; }
  BitStage& stage() { return stage_; }

  bool on_bits(uint16_t cookie, std::span<const cw_bits_event> events) override;
  void on_quiet(uint16_t) override { ++quiet_count; }

  uint64_t taken_count = 0, duplicates = 0, late = 0, out_of_range = 0;
  uint64_t impossible = 0, quiet_count = 0;

 private:
  struct Life {
    bool is_open = false;
    uint8_t generation = 3;  // the first is 0
    std::set<uint32_t> ended;
  };
  bool take(const cw_bits_event& event);

  BitStage& stage_;
  const OwnerOptions options_;
  uint16_t stream_ = 0;
  SlotMap map_;
  std::vector<Life> lives_;
};

struct Play {
  uint64_t packets = 0, lives = 0;
  uint64_t wrong_lives = 0;  ///< that ended with other bits than were put
};

/// Until all of `packets` are put and answered.
Play play(Owner& owner, uint64_t seed, uint64_t packets);

}  // namespace cw
