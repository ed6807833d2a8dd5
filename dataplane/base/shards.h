// Where a link lives, at a site of several shards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/limits.h"

namespace cw {

/// By its number; one that takes another's place (SPEC 13) lives where that does.
constexpr size_t shard_of_link(uint16_t link, size_t shards) {
  return link % limits::links_max % shards;
}

}  // namespace cw
