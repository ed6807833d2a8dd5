// Memory by the tens of megabytes, on pages as large as the kernel gives: a packet's place in it is
// then found without a walk through page tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace cw {

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using LargeMemory = std::unique_ptr<uint8_t[], FreeMemory>;

/// `bytes` of it, beginning on a cache line; null when there is not so much. What it holds is
/// undefined, and it takes room when it is written first.
LargeMemory make_large_memory(size_t bytes);

}  // namespace cw
