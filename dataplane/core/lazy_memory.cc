#include "dataplane/core/lazy_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "dataplane/base/assert.h"

// Sanitizers know allocations, and nothing of what lies within a mapping.
#if defined(__SANITIZE_ADDRESS__)
#define CW_PIECE_BY_PIECE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CW_PIECE_BY_PIECE 1
#endif
#endif

namespace cw {
namespace {

#ifdef CW_PIECE_BY_PIECE
constexpr bool is_piece_by_piece = true;
#else
constexpr bool is_piece_by_piece = false;
#endif

constexpr size_t page_bytes = 4096, least_bytes = 2 * page_bytes;

std::atomic<size_t> bytes_of_all{0};

size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

LazyMemory::~LazyMemory() {
  for (const Range& each : ranges_) {
    if (is_piece_by_piece) {
      ::operator delete[](each.first, std::align_val_t{line_bytes});
    } else {
      munmap(each.first, each.bytes);
    }
  }
  if (!is_piece_by_piece) bytes_of_all -= bytes_;
}

LazyMemory::LazyMemory(LazyMemory&& other) noexcept { *this = std::move(other); }

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
  std::swap(ranges_, other.ranges_);
  std::swap(left_, other.left_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void* LazyMemory::take(size_t bytes) {
  const size_t whole = rounded(std::max<size_t>(bytes, 1), line_bytes);
  if (is_piece_by_piece) return map(whole);
  if (left_.bytes < whole) {
    const size_t mapped = rounded(std::max(whole, least_bytes), page_bytes);
    uint8_t* const first = map(mapped);
    const Range beyond{first + whole, mapped - whole};
    if (beyond.bytes > left_.bytes) left_ = beyond;
    return first;
  }
  left_.bytes -= whole;
  return std::exchange(left_.first, left_.first + whole);
}

uint8_t* LazyMemory::map(size_t bytes) {
  bytes_ += bytes;
  if (is_piece_by_piece) {
    ranges_.push_back({new (std::align_val_t{line_bytes}) uint8_t[bytes](), bytes});
    return ranges_.back().first;
  }
  bytes_of_all += bytes;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CW_ASSERT(memory != MAP_FAILED);
  (void)madvise(memory, bytes, MADV_NOHUGEPAGE);  // a kernel without them has none to give
  auto* const first = static_cast<uint8_t*>(memory);
  // The kernel goes downwards.
  if (!ranges_.empty() && first + bytes == ranges_.back().first) {
    ranges_.back() = {first, ranges_.back().bytes + bytes};
  } else {
    ranges_.push_back({first, bytes});
  }
  return first;
}

void LazyMemory::rest() {
  for (const Range& each : ranges_) {
    const bool is_given = !is_piece_by_piece && madvise(each.first, each.bytes, MADV_DONTNEED) == 0;
    if (!is_given) std::memset(each.first, 0, each.bytes);  // locked memory, say, stays
  }
}

size_t LazyMemory::resident_bytes() const {
  if (is_piece_by_piece) return bytes_;
  size_t pages = 0;
  for (const Range& each : ranges_) {
    std::vector<unsigned char> is_there(each.bytes / page_bytes);
    CW_ASSERT(mincore(each.first, each.bytes, is_there.data()) == 0);
    pages += static_cast<size_t>(
        std::ranges::count_if(is_there, [](unsigned char it) { return (it & 1) != 0; }));
  }
  return pages * page_bytes;
}

size_t LazyMemory::all_bytes() { return bytes_of_all.load(std::memory_order_relaxed); }

}  // namespace cw
