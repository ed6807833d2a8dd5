#include "control/model/policy/coding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "control/model/law/tries.h"
#include "control/model/policy/repeat.h"

namespace cw::model {
namespace {

constexpr uint64_t rows_max = 4096;
constexpr uint64_t rows_of_fallback = 64;
/// Of a busy worker. What is due within one leaves block by block, what is not shard by shard.
constexpr double turn_ms = 0.02;

/// How a message is cut.
struct Blocks {
  uint64_t full = 0;
  Code code, last;  // last.rows 0: all are full
  uint64_t count() const { return full + (last.rows > 0 ? 1 : 0); }
  uint64_t repair_slots() const { return full * code.rows * code.m + uint64_t{last.rows} * last.m; }

  /// Rows shrink first, as blocks of a stream do.
  static Blocks of(const Code& code, uint64_t slots) {
    Blocks blocks{.code = code, .last = code};
    const uint64_t all = uint64_t{code.k} * code.rows, left = slots % all;
    blocks.full = slots / all;
    blocks.last.rows = static_cast<uint32_t>((left + code.k - 1) / code.k);
    if (left > 0)
      blocks.last.k = static_cast<uint32_t>((left + blocks.last.rows - 1) / blocks.last.rows);
    return blocks;
  }
};

BlockLosses message_losses(const CodingTimes& it, const Blocks& blocks, const LossChain& chain) {
  const Code& code = blocks.code;
  const uint64_t all = uint64_t{code.k} * code.rows, count = blocks.count();
  // Of the block in the middle.
  const uint64_t behind = it.slots - std::min(it.slots, (count + 1) / 2 * all);
  const Gaps gaps{.repair = behind + (count - 1) / 2 * code.m * code.rows,
                  .shards = it.spacing_ms > turn_ms ? (count - 1) * code.rows : 0,
                  .resends = it.between};
  BlockLosses sum;
  const auto add = [&](const Code& each, uint64_t times) {
    if (times == 0) return;
    const BlockLosses losses = block_losses(chain, each, gaps);
    sum.asked += double(times) * losses.asked;
    const size_t tries = std::max(sum.log_whole.size(), losses.log_whole.size());
    sum.log_whole.resize(tries, 0);
    for (size_t r = 0; r < losses.log_whole.size(); ++r) {
      sum.log_whole[r] += (1 + double(times - 1) * losses.next_block) * losses.log_whole[r];
    }
  };
  add(code, blocks.full);
  add(blocks.last, blocks.last.rows > 0 ? 1 : 0);
  return sum;
}

/// How many repair slots of a row come before half of its blocks need no more.
double typical_repair(const Code& code, double loss) {
  if (code.is_xor) return (code.m + 1) / 2.0;
  for (uint32_t m = 1; m < code.m; ++m) {
    const double fails = class_failure(code.k, m, loss, 0).chance;
    if (code.rows * std::log1p(-std::min(fails, 1 - 1e-12)) > std::log(0.5)) return m;
  }
  return code.m;
}

/// What the code does alone: whole with the last data slot, or with repair of the last block that
/// needs it.
void add_first_try(const CodingTimes& it, const Blocks& blocks, const LossChain& chain,
                   double log_repaired, std::vector<LawStep>& steps) {
  const double data_ms = double(it.slots) * it.slot_ms + it.rtt_ms;
  const double clean = std::min(log_repaired, std::log(whole_after(chain, it.slots, {})[0]));
  steps.push_back({data_ms, std::exp(clean)});
  const uint64_t rows = std::min(blocks.count(), rows_max);
  const double shards = typical_repair(blocks.code, chain.loss());
  // The last block may be a short one, whose repair is of fewer rows.
  const Code& end = blocks.full > 0 ? blocks.code : blocks.last;
  const double begin_ms = data_ms + shards * (end.rows * it.slot_ms + it.spacing_ms);
  const double block_ms = double(blocks.repair_slots()) / double(rows) * it.slot_ms;
  for (uint64_t row = 1; row <= rows; ++row) {
    const double part = double(row) / double(rows);
    steps.push_back({begin_ms + double(row - 1) * block_ms,
                     std::exp(clean * (1 - part) + log_repaired * part)});
  }
}

void add_fallbacks(const CodingTimes& it, const std::vector<double>& log_whole,
                   std::vector<LawStep>& steps) {
  const uint64_t rows = std::min(it.slots, rows_of_fallback);
  const double row_ms = double(it.slots) * it.slot_ms / double(rows);
  double begin_ms = it.block_ms + (2 + it.fallback) * it.rtt_ms;
  for (size_t resends = 1; resends < log_whole.size(); ++resends) {
    const double before = log_whole[resends - 1], then = log_whole[resends];
    for (uint64_t row = 1; row <= rows; ++row) {
      const double part = double(row) / double(rows);
      const double ms = std::max(begin_ms + double(row) * row_ms, steps.back().ms);
      steps.push_back({ms, std::exp(before * (1 - part) + then * part)});
    }
    begin_ms += it.again_ms;
  }
}

}  // namespace

Coding keeping_law(const CodingTimes& it, const Code& code, const LossChain& chain) {
  const Blocks blocks = Blocks::of(code, it.slots);
  const BlockLosses losses = message_losses(it, blocks, chain);
  std::vector<LawStep> steps;
  add_first_try(it, blocks, chain, losses.log_whole[0], steps);
  add_fallbacks(it, losses.log_whole, steps);
  const double again = it.is_hasty() ? chain.loss() * double(it.slots) : losses.asked;
  return {.law = Law::of_steps(std::move(steps)),
          .fallback = -std::expm1(losses.log_whole[0]),
          .sent = 1 + (double(blocks.repair_slots()) + again) / double(it.slots)};
}

Coding paper_law(const CodingTimes& it, const Code& code, double loss) {
  const uint64_t rows = std::max<uint64_t>(1, (it.slots + code.k - 1) / code.k);
  const double repair = std::ceil(double(it.slots) * code.m / code.k);
  const double first_ms = (double(it.slots) + repair) * it.slot_ms,
               failure = row_failure(code, loss);
  const LossChain chain = LossChain::independent(loss);
  std::vector<Outcome> outcomes{{first_ms + it.rtt_ms, binomial(rows, 0, failure)}};
  for (uint64_t failed = 1; failed <= rows && failure > 0; ++failed) {
    const double share = binomial(rows, failed, failure);
    if (share < 1e-15) continue;
    const Law again = repeat_law({.slots = failed * code.k,
                                  .slot_ms = it.slot_ms,
                                  .rtt_ms = it.rtt_ms,
                                  .found_ms = it.again_ms,
                                  .again_ms = it.again_ms,
                                  .rows_max = rows_of_fallback},
                                 chain);
    double before = 0;
    for (const LawStep& step : again.steps()) {
      outcomes.push_back(
          {first_ms + (1 + it.fallback) * it.rtt_ms + step.ms, share * (step.share - before)});
      before = step.share;
    }
  }
  return {.law = Law::of_outcomes(std::move(outcomes)),
          .fallback = -std::expm1(double(rows) * std::log1p(-failure)),
          .sent = 1 + (repair + double(rows) * failure * code.k / (1 - loss)) / double(it.slots)};
}

}  // namespace cw::model
