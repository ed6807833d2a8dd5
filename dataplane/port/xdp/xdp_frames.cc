#include "dataplane/port/xdp/xdp_frames.h"

#include <sys/mman.h>

#include <bit>

namespace cw {

std::unique_ptr<XdpFrames> XdpFrames::make(uint32_t frames, uint32_t frame_bytes) {
  void* const area = mmap(nullptr, size_t{frames} * frame_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  return std::unique_ptr<XdpFrames>(
      new XdpFrames(static_cast<uint8_t*>(area), frames, frame_bytes));
}

XdpFrames::XdpFrames(uint8_t* area, uint32_t frames, uint32_t frame_bytes)
    : area_(area),
      count_(frames),
      shift_(static_cast<uint32_t>(std::countr_zero(frame_bytes))),
      packets_(frames),
      holders_(frames) {
  free_.reserve(frames);
  for (uint32_t frame = frames; frame > 0; --frame) free_.push_back(frame - 1);
}

XdpFrames::~XdpFrames() { munmap(area_, area_bytes()); }

}  // namespace cw
