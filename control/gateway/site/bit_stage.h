// Who does the bitmap work of a shard, as its plan says.
#pragma once

#include <cstddef>
#include <memory>

#include "control/gateway/plan.h"
#include "dataplane/base/result.h"
#include "offload/stage/stage.h"

namespace cw::site {

/// Of shard `number` of `shards`. Errors: threads or a DPA that cannot be had.
Result<std::unique_ptr<BitStage>> make_bit_stage(const OffloadPlan& plan, size_t number,
                                                 size_t shards);

}  // namespace cw::site
