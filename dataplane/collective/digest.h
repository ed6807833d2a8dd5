// What all members of a group must have alike, in short: JOIN has it, so that members which differ
// say so instead of waiting for each other (SPEC.md 18.5).
#pragma once

#include <cstdint>

namespace cw::group {

struct GroupOptions;

/// Group calls it for all that make one. Thread: any.
uint32_t digest_of(const GroupOptions& options);

}  // namespace cw::group
