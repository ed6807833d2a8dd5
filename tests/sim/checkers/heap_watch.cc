#include "tests/sim/checkers/heap_watch.h"

#include <cstddef>

namespace cw::sim {

thread_local uint32_t HeapWatch::depth_ = 0;
// Volatile, because compilers know that malloc does not write to variables of ours.
thread_local volatile uint64_t HeapWatch::count_ = 0;
thread_local volatile int64_t HeapWatch::live_ = 0;
thread_local volatile int64_t HeapWatch::bytes_ = 0;

namespace {
int64_t bytes_of(const volatile void* memory);
}

void HeapWatch::on_allocation(const volatile void* memory) {
  if (depth_ > 0) count_ = count_ + 1;
  live_ = live_ + 1;
  bytes_ = bytes_ + bytes_of(memory);
}

void HeapWatch::on_deallocation(const volatile void* memory) {
  if (memory == nullptr) return;
  live_ = live_ - 1;
  bytes_ = bytes_ - bytes_of(memory);
}

}  // namespace cw::sim

// Sanitizers own the allocator and offer a hook; elsewhere the family is replaced by counting calls
// of what glibc keeps behind it. operator new ends in malloc either way.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CW_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CW_TEST_SANITIZED 1
#endif
#endif

#ifdef CW_TEST_SANITIZED

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* memory);
namespace cw::sim {
namespace {
int64_t bytes_of(const volatile void* memory) {
  return static_cast<int64_t>(__sanitizer_get_allocated_size(memory));
}
[[maybe_unused]] const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* memory, size_t) { HeapWatch::on_allocation(memory); },
    [](const volatile void* memory) { HeapWatch::on_deallocation(memory); });
}  // namespace
}  // namespace cw::sim

#else

#include <malloc.h>

namespace cw::sim {
namespace {
int64_t bytes_of(const volatile void* memory) {
  return static_cast<int64_t>(malloc_usable_size(const_cast<void*>(memory)));
}
}  // namespace
}  // namespace cw::sim

namespace {
void* counted(void* memory) {
  if (memory != nullptr) cw::sim::HeapWatch::on_allocation(memory);
  return memory;
}
}  // namespace

#define CW_TEST_EXPORT __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
CW_TEST_EXPORT void* malloc(size_t size) { return counted(__libc_malloc(size)); }
CW_TEST_EXPORT void* calloc(size_t n, size_t size) { return counted(__libc_calloc(n, size)); }
CW_TEST_EXPORT void* realloc(void* p, size_t size) {
  cw::sim::HeapWatch::on_deallocation(p);
  return counted(__libc_realloc(p, size));
}
CW_TEST_EXPORT void free(void* p) {
  cw::sim::HeapWatch::on_deallocation(p);
  __libc_free(p);
}
CW_TEST_EXPORT void* memalign(size_t align, size_t size) {
  return counted(__libc_memalign(align, size));
}
CW_TEST_EXPORT void* aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
CW_TEST_EXPORT int posix_memalign(void** out, size_t align, size_t size) {
  *out = memalign(align, size);
  return *out == nullptr ? 12 : 0;
}
}

#endif
