#include "tests/unit/offload/dpa_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cw {
namespace {

constexpr uint32_t message_slots = 2048, messages = 16, slots_max = 32'768;
constexpr uint32_t slot_bits = 18, user_bits = 4;
constexpr RingSizes rings = {.records = 65'536, .events = 65'536};

cw_bits_record packet(uint32_t id, uint32_t slot, uint8_t generation = 1) {
  return record(CW_BITS_PACKET, 0, generation, id << (slot_bits + user_bits) | slot << user_bits);
}
cw_bits_record control(uint8_t kind, uint32_t id, uint8_t generation = 1) {
  return record(kind, 0, generation, id << (slot_bits + user_bits));
}
Records arms(uint32_t count) {
  Records records;
  for (uint32_t id = 0; id < count; ++id) records.push_back(control(CW_BITS_ARM, id));
  return records;
}
Records message(uint32_t id, uint32_t step = 1) {
  Records records;
  for (uint32_t i = 0; i < message_slots; ++i) records.push_back(packet(id, i * step));
  return records;
}
void append(Records& records, const Records& more) {
  records.insert(records.end(), more.begin(), more.end());
}

/// What hart 0 has counted so far, once it has counted all that it has run.
Result<uint64_t> counted(const EmulatedDpa& dpa, OwnedRow& row) {
  const auto stuck = failure("emulated DPA: its hart stands still");
  if (!comes_true([&] { return row.is_done(); })) return stuck;
  const uint32_t beat = dpa.beats(0);
  if (!comes_true([&] { return dpa.beats(0) - beat >= 2; })) return stuck;
  return __atomic_load_n(&row.get()->instructions, __ATOMIC_RELAXED);
}

}  // namespace

Streams dpa_kind_streams() {
  return {
      {.ids = messages, .slots_max = slots_max, .slot_bits = slot_bits, .user_bits = user_bits}};
}

DpaKind dpa_in_order() { return {.name = "in order", .before = arms(1), .records = message(0)}; }

DpaKind dpa_every_nth(uint32_t partitions) {
  return {.name = "in order, a partition among " + std::to_string(partitions),
          .before = arms(1),
          .records = message(0, partitions)};
}

DpaKind dpa_out_of_order() {
  DpaKind kind{.name = "out of order within 256", .before = arms(1), .records = message(0)};
  Prng prng(1);
  for (size_t first = 0; first < kind.records.size(); first += 256) {
    for (size_t i = 255; i > 0; --i) {
      std::swap(kind.records[first + i], kind.records[first + prng.below(i + 1)]);
    }
  }
  return kind;
}

DpaKind dpa_alternating() {
  DpaKind kind{.name = "two messages in turn", .before = arms(2), .records = {}};
  for (uint32_t i = 0; i < message_slots; ++i) kind.records.push_back(packet(i % 2, i / 2));
  return kind;
}

DpaKind dpa_duplicates() {
  DpaKind kind = dpa_in_order();
  kind.name = "duplicates";
  append(kind.before, kind.records);
  return kind;
}

DpaKind dpa_late() {
  DpaKind kind{.name = "late", .before = arms(1), .records = {}};
  for (uint32_t i = 0; i < message_slots; ++i) kind.records.push_back(packet(0, i, 2));
  return kind;
}

DpaKind dpa_out_of_range() {
  DpaKind kind{.name = "out of range", .before = arms(1), .records = {}};
  for (uint32_t i = 0; i < message_slots; ++i) kind.records.push_back(packet(0, slots_max + i));
  return kind;
}

DpaKind dpa_next_life() {
  DpaKind kind{
      .name = "close and arm, 2,048 slots", .before = arms(messages), .records = {}, .per_unit = 2};
  for (uint32_t id = 0; id < messages; ++id) {
    append(kind.before, message(id));
    kind.records.push_back(control(CW_BITS_CLOSE, id));
    kind.records.push_back(control(CW_BITS_ARM, id, 2));
  }
  return kind;
}

std::vector<DpaKind> dpa_kinds() {
  return {dpa_in_order(),     dpa_every_nth(2),   dpa_every_nth(16),
          dpa_out_of_order(), dpa_alternating(),  dpa_duplicates(),
          dpa_late(),         dpa_out_of_range(), dpa_next_life()};
}

Result<DpaCost> dpa_cost(const EmulatedDpaOptions& options, const DpaKind& kind) {
  EmulatedDpaOptions counting = options;
  counting.harts = 1;
  counting.counts_instructions = true;
  auto dpa = EmulatedDpa::make(counting);
  if (!dpa) return std::unexpected(dpa.error());
  OwnedRow row(dpa_kind_streams(), rings, [&](size_t bytes) { return (*dpa)->allocate(bytes); });
  const std::array rows = {row.get()};
  if (const auto started = (*dpa)->start(rows); !started) return std::unexpected(started.error());
  row.put(kind.before);
  const auto before = counted(**dpa, row);
  if (!before) return std::unexpected(before.error());
  Events events;
  row.take(events);
  events.clear();
  row.put(kind.records);
  const auto after = counted(**dpa, row);
  if (!after) return std::unexpected(after.error());
  row.take(events);
  const auto records = static_cast<double>(kind.records.size());
  return DpaCost{static_cast<double>(*after - *before) / records * kind.per_unit,
                 static_cast<double>(events.size()) / records};
}

}  // namespace cw
