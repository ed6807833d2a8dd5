#include "control/gateway/site/bit_stage.h"

#include <utility>
#include <vector>

#include "offload/dpa/open_dpa.h"
#include "offload/stage/pinned_threads.h"

namespace cw::site {
namespace {

/// Of more shards than cores some share one.
std::vector<int> cores_of(const OffloadPlan& plan, size_t number, size_t shards) {
  std::vector<int> cores;
  for (size_t i = number; i < plan.cores.size(); i += shards) cores.push_back(plan.cores[i]);
  if (cores.empty()) cores.push_back(plan.cores[number % plan.cores.size()]);
  return cores;
}

}  // namespace

Result<std::unique_ptr<BitStage>> make_bit_stage(const OffloadPlan& plan, size_t number,
                                                 size_t shards) {
  BitStageOptions options;
  options.stall_max = plan.stall_max;
  if (plan.executor == OffloadExecutor::Turn) return BitStage::make(nullptr, options);
  if (plan.executor == OffloadExecutor::Cores) {
    std::vector<int> cores = cores_of(plan, number, shards);
    options.partitions = cores.size();
    return BitStage::make(std::make_unique<PinnedThreads>(std::move(cores)), options);
  }
  auto runner = open_emulated_dpa(plan.threads);
  if (!runner) return std::unexpected(runner.error());
  options.partitions = plan.threads;
  return BitStage::make(std::move(*runner), options);
}

}  // namespace cw::site
