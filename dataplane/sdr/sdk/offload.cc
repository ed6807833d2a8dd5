// Who does the bitmap work of a context, as its attributes ask.
#include <algorithm>
#include <utility>
#include <vector>

#include "dataplane/sdr/sdk/context.h"
#include "offload/stage/pinned_threads.h"

namespace cw::sdk {
namespace {

Result<std::unique_ptr<RowRunner>> make_runner(const cw_device_attr& attr, uint32_t count) {
  if (attr.offload == CW_OFFLOAD_TURN) return nullptr;
  if (attr.offload == CW_OFFLOAD_DPA) {
    if (platform().open_dpa == nullptr) return failure("this program has no DPA");
    return platform().open_dpa(count);
  }
  std::vector<int> cores;
  if (attr.offload_cores != nullptr) cores.assign(attr.offload_cores, attr.offload_cores + count);
  return std::make_unique<PinnedThreads>(std::move(cores));
}

}  // namespace

Result<std::unique_ptr<BitStage>> make_stage(const cw_device_attr& attr, const PortFacts& port) {
  if (attr.offload > CW_OFFLOAD_DPA) {
    return failure("offload is " + std::to_string(attr.offload) + " and must be one of cw_offload");
  }
  if (attr.offload != CW_OFFLOAD_TURN && !port.places_payload) {
    return failure(
        "offload is for devices that place payload by themselves; here the turn copies "
        "it and has the bits as well: leave it at CW_OFFLOAD_TURN");
  }
  const uint32_t count = std::max(attr.offload_count, 1u);
  if (count > BitStage::partitions_max) {
    return failure("offload_count is " + std::to_string(count) + " and may be " +
                   std::to_string(BitStage::partitions_max));
  }
  if (!port.places_payload) return nullptr;
  auto runner = make_runner(attr, count);
  if (!runner) return std::unexpected(runner.error());
  BitStageOptions options;
  options.partitions = count;
  if (attr.offload_stall_ns != 0) {
    options.stall_max = Duration::from_ns(
        static_cast<int64_t>(std::min<uint64_t>(attr.offload_stall_ns, INT64_MAX / 2)));
  }
  return BitStage::make(std::move(*runner), options);
}

std::string why_left(const BitStage* stage) {
  std::string all;
  for (size_t i = 0; stage != nullptr && i < stage->partition_count(); ++i) {
    const std::string& why = stage->why_left(i);
    if (why.empty()) continue;
    all += (all.empty() ? "" : "; ") + ("the turn does the work of offload " + std::to_string(i)) +
           ": " + why;
  }
  return all;
}

}  // namespace cw::sdk
