#include "dataplane/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace cw {

void assert_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace cw
