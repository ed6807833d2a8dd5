// The DPA that programs come with: an emulated one.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/base/result.h"
#include "offload/stage/row_runner.h"

namespace cw {

/// With so many threads; its program lies beside the program that runs, where it was built, or
/// where it is installed. Errors: as EmulatedDpa::make().
Result<std::unique_ptr<RowRunner>> open_emulated_dpa(uint32_t threads);

}  // namespace cw
