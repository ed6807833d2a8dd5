// Whether a file's bytes can be given to the dynamic loader, which trusts what it maps: a file that
// was cut short while being copied would stop the process, not the load.
#pragma once

#include <span>

#include "dataplane/base/result.h"

namespace cw::plugins {

/// Errors: one sentence without its subject: "is not a shared object".
Result<void> check_elf(std::span<const char> file);

}  // namespace cw::plugins
