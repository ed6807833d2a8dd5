#include "tests/unit/offload/bitmap_script.h"

#include <algorithm>

namespace cw {
namespace {

uint32_t id_of(const cw_bits_record& r) { return r.immediate >> 22; }
uint32_t slot_of(const cw_bits_record& r) { return r.immediate >> 4 & 0x3ffff; }

/// An owner and a network, both a little mad.
class Writer {
 public:
  Writer(const cw_bits_limits& limits, uint64_t seed, bool is_orderly)
      : limits_(limits), random_(seed), is_orderly_(is_orderly), lives_(limits.ids) {}

  Script write(size_t count) {
    while (script_.size() < count) step();
    return std::move(script_);
  }

 private:
  struct Life {
    bool is_armed = false;
    uint8_t generation = 0;
    Geometry geometry;
    uint32_t end = 0;               // as far as the network knows
    uint32_t sent_end = 0;          // one beyond the highest slot sent
    std::set<uint32_t> sent, gone;  // gone: void
  };

  void add(const cw_bits_record& record, bool is_new_life = false) {
    script_.push_back({record, is_new_life});
  }
  uint32_t below(uint64_t bound) { return static_cast<uint32_t>(random_.below(bound)); }
  /// Beyond every cut and its repair slots.
  uint32_t far_slot() { return (1 << 18) - 1 - below(200'000); }
  uint16_t any_channel() { return static_cast<uint16_t>(random_.below(4)); }

  void step() {
    const uint32_t id = below(limits_.ids);
    Life& life = lives_[id];
    if (!life.is_armed && random_.chance(0.7)) return begin(id, life);
    switch (random_.below(16)) {
      case 0:
        return end(id, life);
      case 1:
        return tell_length(id, life);
      case 2:
        return tell_void(id, life);
      case 3:
        return add(packet(id, below(160), uint8_t(life.generation + 1), any_channel()));
      case 4:
        return add(packet(id + below(3), far_slot(), life.generation, any_channel()));
      case 5:
        return add_nonsense(id, life);
      case 6:
      case 7:
        return send_repair(id, life);
      default:
        return send_run(id, life);
    }
  }
  void begin(uint32_t id, Life& life) {
    Geometry g;
    g.data_slots = below(limits_.data_slots_max + 1);
    g.chunk_slots = uint16_t(limits_.chunk_slots_min + below(random_.chance(0.8) ? 9 : 100));
    g.repair_slots = below(limits_.repair_slots_max + 1);
    g.cut = g.data_slots + below(1000);
    life = {true, uint8_t((life.generation + 1) % 4), g, g.data_slots, 0, {}, {}};
    add(arm(id, life.generation, g), true);
  }
  void end(uint32_t id, Life& life) {
    add(control(CW_BITS_CLOSE, id, life.generation));
    life.is_armed = false;
  }
  void tell_length(uint32_t id, Life& life) {
    if (is_orderly_ && life.sent_end > life.end) return;
    const uint32_t low = is_orderly_ ? life.sent_end : 0;
    const uint32_t length = low + below(life.end - low + 1);
    add(control(CW_BITS_LENGTH, id, life.generation, 0, length));
    if (life.is_armed) life.end = length;
  }
  void tell_void(uint32_t id, Life& life) {
    const uint32_t first = below(limits_.data_slots_max), slots = 1 + below(8);
    for (uint32_t slot = first; slot < first + slots; ++slot) {
      if (is_orderly_ && life.sent.contains(slot)) return;
    }
    for (uint32_t slot = first; slot < first + slots; ++slot) life.gone.insert(slot);
    add(control(CW_BITS_VOID, id, life.generation, first, slots));
  }
  void add_nonsense(uint32_t id, Life& life) {
    if (life.is_armed) add(arm(id, life.generation, {.data_slots = 5, .chunk_slots = 5}));
    add(arm(id, life.generation, {.data_slots = limits_.data_slots_max + 1}), false);
    add(control(CW_BITS_LENGTH, id, life.generation, 0, life.end + 1));
    if (life.is_armed) add(control(CW_BITS_CLOSE, id, uint8_t(life.generation + 1)));
    add(control(uint8_t(6 + below(200)), id, life.generation));
  }
  void send_repair(uint32_t id, Life& life) {
    const uint32_t slot = life.geometry.cut + below(limits_.repair_slots_max + 2);
    add(packet(id, slot, life.generation, any_channel()));
  }
  /// Packets of one stretch, reordered, some twice.
  void send_run(uint32_t id, Life& life) {
    const uint32_t first = below(life.end + 4), count = 1 + below(20);
    std::vector<uint32_t> slots;
    for (uint32_t slot = first; slot < first + count; ++slot) {
      slots.insert(slots.end(), random_.chance(0.1) ? 2 : 1, slot);
    }
    for (size_t i = 1; i < slots.size(); ++i) {
      if (random_.chance(0.3)) std::swap(slots[i], slots[random_.below(i)]);
    }
    for (const uint32_t slot : slots) {
      if (is_orderly_ && (slot >= life.end || life.gone.contains(slot))) continue;
      add(packet(id, slot, life.generation, any_channel()));
      life.sent.insert(slot);
      life.sent_end = std::max(life.sent_end, slot + 1);
    }
  }

  const cw_bits_limits limits_;
  Prng random_;
  const bool is_orderly_;
  std::vector<Life> lives_;
  Script script_;
};

}  // namespace

Script make_script(const cw_bits_limits& limits, uint64_t seed, size_t count, bool is_orderly) {
  return Writer(limits, seed, is_orderly).write(count);
}

Outcome expected_of(const cw_bits_limits& limits, const Script& script) {
  BitmapModel model(limits);
  Outcome outcome;
  for (const Step& step : script) {
    const uint32_t id = id_of(step.record);
    if (step.is_new_life) {
      outcome.lives.push_back(model.bits(id));
      model.reset(id);
    }
    if (const auto event = model.run(step.record)) outcome.events.insert(*event);
  }
  for (uint32_t id = 0; id < limits.ids; ++id) outcome.lives.push_back(model.bits(id));
  return outcome;
}

std::optional<EventKey> BitmapModel::run(const cw_bits_record& r) {
  const uint32_t id = id_of(r), slot = slot_of(r);
  const bool is_packet = r.kind == CW_BITS_PACKET;
  const auto told = [&](uint8_t kind, uint32_t index) {
    return std::optional<EventKey>({kind, id, index, r.generation});
  };
  if (id >= limits_.ids) return told(CW_BITS_OUT_OF_RANGE, is_packet ? slot : r.kind);

  Life& life = lives_[id];
  const bool is_ours = life.is_armed && life.generation == r.generation;
  std::optional<uint32_t> chunk;
  if (is_packet) {
    if (!is_ours) return told(CW_BITS_LATE, slot);
    if (slot >= life.cut && slot < life.cut + life.repair_slots) {
      const bool is_new = life.bits.repair.insert(slot - life.cut).second;
      return is_new ? std::nullopt : told(CW_BITS_DUPLICATE, slot);
    }
    if (slot >= life.data_end) return told(CW_BITS_OUT_OF_RANGE, slot);
    if (life.bits.data.contains(slot)) return told(CW_BITS_DUPLICATE, slot);
    chunk = fill(life, slot, slot + 1);
  } else if (r.kind == CW_BITS_ARM && try_arm(life, r, slot)) {
    return {};
  } else if (r.kind == CW_BITS_CLOSE && (is_ours || !life.is_armed)) {
    life.is_armed = false;
    return told(CW_BITS_CLOSED, 0);
  } else if (r.kind == CW_BITS_LENGTH && is_ours && r.length <= life.data_end) {
    life.data_end = r.length;
    if (r.length % life.chunk_slots != 0) chunk = whole_at(life, r.length / life.chunk_slots);
  } else if (r.kind == CW_BITS_VOID && is_ours && r.length > 0 &&
             slot + r.length <= life.data_slots &&
             slot / life.chunk_slots == (slot + r.length - 1) / life.chunk_slots) {
    chunk = fill(life, slot, slot + r.length);
  } else {
    return told(CW_BITS_REFUSED, r.kind);
  }
  return chunk ? told(CW_BITS_CHUNK, *chunk) : std::nullopt;
}

bool BitmapModel::try_arm(Life& life, const cw_bits_record& r, uint32_t cut) {
  if (life.is_armed || r.length > limits_.data_slots_max) return false;
  if (r.chunk_slots < limits_.chunk_slots_min) return false;
  if (r.repair_slots > limits_.repair_slots_max) return false;
  if (r.repair_slots > 0 && (cut < r.length || cut + r.repair_slots > 1u << 18)) return false;
  life = {true, r.generation, r.length, r.length, r.chunk_slots, cut, r.repair_slots, life.bits};
  return true;
}

/// Marks data slots of one chunk as in; the chunk, if that made it whole.
std::optional<uint32_t> BitmapModel::fill(Life& life, uint32_t first, uint32_t end) {
  if (first >= end) return {};
  for (uint32_t slot = first; slot < end; ++slot) life.bits.data.insert(slot);
  return whole_at(life, first / life.chunk_slots);
}

/// The chunk, if it has just become whole: what lies behind the length it does not wait for.
std::optional<uint32_t> BitmapModel::whole_at(Life& life, uint32_t chunk) {
  const bool is_cut =
      life.data_end % life.chunk_slots != 0 && chunk == life.data_end / life.chunk_slots;
  const uint32_t end = is_cut ? life.data_end : life.data_slots;
  for (uint32_t i = 0; i < life.chunk_slots; ++i) {
    const uint32_t slot = chunk * life.chunk_slots + i;
    if (slot < end && !life.bits.data.contains(slot)) return {};
  }
  return life.bits.chunks.insert(chunk).second ? std::optional(chunk) : std::nullopt;
}

}  // namespace cw
