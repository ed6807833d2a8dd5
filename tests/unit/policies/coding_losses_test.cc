// What the policies that code resend is exactly what no code can rebuild.
#include <gtest/gtest.h>

#include <set>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"
#include "tests/unit/policies/scripted_host.h"
#include "tests/unit/policies/small_codes.h"

namespace cw::policy_test {
namespace {
using namespace literals;

/// Of a message of 128 slots: the data and the repair that are lost the first time.
struct Losses {
  std::set<uint32_t> data, repair;
  bool operator()(const Transmission& t) const {
    if (t.attempt > 0) return false;
    return t.slot >= slots_max ? repair.contains(t.slot - slots_max) : data.contains(t.slot);
  }
};

Losses some_losses(uint32_t repair_slots) {
  Prng prng(*rc::gen::arbitrary<uint64_t>());
  const double share = *rc::gen::inRange(1, 35) / 100.0;
  Losses losses;
  // The last slots come, so that holes are told by what came after them.
  for (uint32_t slot = 0; slot < 127; ++slot) {
    if (prng.chance(share)) losses.data.insert(slot);
  }
  for (uint32_t slot = 0; slot + 1 < repair_slots; ++slot) {
    if (prng.chance(share)) losses.repair.insert(slot);
  }
  return losses;
}

std::set<uint32_t> resent_after(const cw_policy_ops& ops, const Losses& losses) {
  Host lossy(ops, params_of(&ops), {.reorder = 50_us, .burst = 4, .is_lost = losses});
  lossy.send(7, 128);
  lossy.run();
  RC_ASSERT(lossy.finished_at_source.count(7) == 1u);
  std::set<uint32_t> resent;
  for (const Transmission& t : lossy.resent()) RC_ASSERT(resent.insert(t.slot).second);
  return resent;
}

/// Rows of k = 8 and m = 2, blocks of 32.
std::set<uint32_t> beyond_rows(const Losses& losses) {
  std::set<uint32_t> beyond;
  for (uint32_t block = 0; block < 4; ++block) {
    for (uint32_t row = 0; row < 4; ++row) {
      std::set<uint32_t> holes;
      for (uint32_t c = 0; c < 8; ++c) {
        const uint32_t slot = block * 32 + c * 4 + row;
        if (losses.data.contains(slot)) holes.insert(slot);
      }
      uint32_t repair = 0;
      for (uint32_t j = 0; j < 2; ++j) repair += !losses.repair.contains(block * 8 + j * 4 + row);
      if (holes.size() > repair) beyond.insert(holes.begin(), holes.end());
    }
  }
  return beyond;
}

/// Layers 1, 4 and 16 over one block of 128, r = 8, peeled until nothing changes.
std::set<uint32_t> beyond_layers(const Losses& losses) {
  std::set<uint32_t> holes = losses.data;
  for (size_t before = holes.size() + 1; holes.size() < before;) {
    before = holes.size();
    uint32_t repair = 0;
    for (const uint32_t interleave : {1u, 4u, 16u}) {
      for (uint32_t row = 0; row < 16; ++row, ++repair) {
        std::vector<uint32_t> missing;
        const uint32_t first = row / interleave * interleave * 8 + row % interleave;
        for (uint32_t c = 0; c < 8; ++c) {
          if (holes.contains(first + c * interleave)) missing.push_back(first + c * interleave);
        }
        if (missing.size() == 1 && !losses.repair.contains(repair)) holes.erase(missing.front());
      }
    }
  }
  return holes;
}

RC_GTEST_PROP(Erasure, resends_exactly_the_holes_of_rows_beyond_repair, ()) {
  const Losses losses = some_losses(32);
  RC_ASSERT(resent_after(*cw_policy_erasure(), losses) == beyond_rows(losses));
}

RC_GTEST_PROP(Hybrid, resends_exactly_the_holes_of_rows_beyond_repair, ()) {
  const Losses losses = some_losses(32);
  RC_ASSERT(resent_after(*cw_policy_hybrid(), losses) == beyond_rows(losses));
}

RC_GTEST_PROP(LayeredInterleave, resends_exactly_what_no_peeling_reaches, ()) {
  const Losses losses = some_losses(48);
  RC_ASSERT(resent_after(*cw_policy_layered_interleave(), losses) == beyond_layers(losses));
}

}  // namespace
}  // namespace cw::policy_test
