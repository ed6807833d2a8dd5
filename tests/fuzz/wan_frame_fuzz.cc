// Frames of strangers on their way through the emulator: looked at, marked, and their checksums
// finished, wherever they say that it begins.
#include <vector>

#include "control/wan/socket/frame.h"
#include "dataplane/base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cw::wan;
  if (size < 4) return 0;
  const size_t start = data[0] * 2u + data[1] % 2, offset = data[2] * 256u + data[3];
  const std::vector<uint8_t> frame(data + 4, data + size);
  std::vector<uint8_t> marked = frame, finished = frame;
  const bool is_marked = try_mark_congestion(marked);
  CW_ASSERT(is_marked || marked == frame);
  if (is_marked) {
    CW_ASSERT(!is_neighbour_traffic(frame) || is_neighbour_traffic(marked));
    std::vector<uint8_t> twice = marked;
    CW_ASSERT(try_mark_congestion(twice));
  }
  is_neighbour_traffic(frame);
  finish_checksum(finished, start, offset);
  CW_ASSERT(finished.size() == frame.size());
  for (size_t i = 0; i < frame.size(); ++i) {
    CW_ASSERT(finished[i] == frame[i] || i == start + offset || i == start + offset + 1);
  }
  return 0;
}
