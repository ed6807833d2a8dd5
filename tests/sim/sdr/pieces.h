// A message in pieces, to be appended one by one in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/sdr/stream_config.h"

namespace cw::sim {

struct Piece {
  uint32_t slot = 0;
  uint64_t offset = 0, bytes = 0;
};

/// `count` pieces at most of whole slots each, save for the one that ends the message; the one to
/// be appended first last.
inline std::vector<Piece> cut_pieces(const sdr::StreamConfig& config, uint64_t bytes,
                                     uint32_t count, Prng& prng) {
  const uint32_t slots = config.slots_for(bytes);
  const uint32_t step = std::max(1u, (slots + count - 1) / count);
  std::vector<Piece> pieces;
  for (uint32_t slot = 0; slot < slots; slot += step) {
    const uint64_t offset = uint64_t{slot} * config.payload_bytes;
    const uint64_t length = uint64_t{step} * config.payload_bytes;
    pieces.push_back({slot, offset, std::min(length, bytes - offset)});
  }
  for (size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[prng.below(i)]);
  return pieces;
}

}  // namespace cw::sim
