#include "tests/unit/offload/dpa_datagrams.h"

#include <numeric>
#include <utility>

#include "tests/unit/offload/dpa_rows.h"

namespace cw {
namespace {

constexpr uint32_t slot_count = 2048;

StripedStep staged_step() {
  return {.part_bytes = uint64_t{slot_count} * 64, .sources = 1, .first_source = 3};
}

/// What hart 0 has counted, once it has counted all that it has run.
Result<uint64_t> counted(const EmulatedDpa& dpa, const Stripes& stripes) {
  const auto stuck = failure("emulated DPA: its hart stands still");
  if (!comes_true([&] { return stripes.is_done(); })) return stuck;
  const uint32_t beat = dpa.beats(0);
  if (!comes_true([&] { return dpa.beats(0) - beat >= 2; })) return stuck;
  return __atomic_load_n(&stripes.rows()[0]->instructions, __ATOMIC_RELAXED);
}

/// All at once: buffers and records first, which the hart sees by whole bursts.
void put_all(EmulatedDpa& dpa, Stripes& stripes, const DpaDatagrams& kind) {
  dpa.set_halted(0, true);
  (void)comes_true([&] { return dpa.state(0) == CW_DPA_HALTED; });
  const StripedStep step = staged_step();
  for (const uint32_t slot : kind.slots) {
    group::Header header = step.header(slot);
    header.key = kind.key;
    (void)stripes.try_put(0, header, payload_of(step, slot), header.immediate());
  }
  dpa.set_halted(0, false);
}

}  // namespace

std::vector<DpaDatagrams> dpa_datagrams() {
  std::vector<uint32_t> in_order(slot_count);
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<uint32_t> shuffled = in_order;
  Prng prng(1);
  for (size_t first = 0; first < slot_count; first += 256) {
    for (size_t i = 255; i > 0; --i) {
      std::swap(shuffled[first + i], shuffled[first + prng.below(i + 1)]);
    }
  }
  return {{.name = "in order", .slots = in_order},
          {.name = "out of order within 256", .slots = shuffled},
          {.name = "duplicates", .slots = in_order, .is_twice = true},
          {.name = "of another key", .slots = in_order, .key = 1}};
}

Result<double> dpa_datagram_cost(const EmulatedDpaOptions& options, const DpaDatagrams& kind) {
  EmulatedDpaOptions counting = options;
  counting.harts = 1;
  counting.counts_instructions = true;
  auto made = EmulatedDpa::make(counting);
  if (!made) return std::unexpected(made.error());
  EmulatedDpa& dpa = **made;
  Stripes stripes({.stripes = 1, .buffers = 2 * slot_count},
                  [&](size_t bytes) { return dpa.allocate(bytes); });
  if (const auto started = dpa.start(stripes.rows()); !started) {
    return std::unexpected(started.error());
  }
  stripes.open(staged_step(), /*is_copied_by_others=*/true);
  std::vector<cw_bits_event> events;
  if (kind.is_twice) put_all(dpa, stripes, kind);
  const auto before = counted(dpa, stripes);
  if (!before) return std::unexpected(before.error());
  stripes.take(events);
  put_all(dpa, stripes, kind);
  const auto after = counted(dpa, stripes);
  if (!after) return std::unexpected(after.error());
  return static_cast<double>(*after - *before) / static_cast<double>(kind.slots.size());
}

}  // namespace cw
