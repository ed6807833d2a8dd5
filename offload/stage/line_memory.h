// Memory for rows and arenas: zeroed, beginning on a cache line.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "offload/bitmap.h"

namespace cw {

class LineMemory {
 public:
  explicit LineMemory(size_t bytes)
      : first_(::operator new(bytes, std::align_val_t{CW_BITS_LINE})) {
    std::memset(first_.get(), 0, bytes);
  }
  void* get() const { return first_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const {
      ::operator delete(memory, std::align_val_t{CW_BITS_LINE});
    }
  };
  std::unique_ptr<void, Free> first_;
};

}  // namespace cw
