// What a gateway's memory is with 64 peers, beside that with one, at the same rate.
#include <cstdio>

#include "tests/sim/gateway/site_memory.h"

int main() {
  using cw::sim::SiteMemory;
  constexpr double mebibyte = 1 << 20;
  const SiteMemory one = SiteMemory::of(1), many = SiteMemory::of(64);
  std::printf("one peer %.1f MiB, 64 peers %.1f MiB, ratio %.2f; as plans say %.1f and %.1f\n",
              double(one.bytes) / mebibyte, double(many.bytes) / mebibyte,
              double(many.bytes) / double(one.bytes), double(one.said) / mebibyte,
              double(many.said) / mebibyte);
  return 0;
}
