// What a gateway's memory is with 64 and 1,024 peers, beside that with one, at the same rate.
#include <cstdio>

#include "tests/sim/gateway/site_memory.h"

int main(int argc, char**) {
  using cw::sim::SiteMemory;
  constexpr double mebibyte = 1 << 20;
  const SiteMemory one = SiteMemory::of(1);
  std::printf("   1 peer  %7.1f MiB; the plan says %.1f MiB\n", double(one.bytes) / mebibyte,
              double(one.said) / mebibyte);
  for (const int peers : {64, 1024}) {
    if (peers > 64 && argc > 1) break;  // ctest asks every bench for as little as it can do
    const SiteMemory many = SiteMemory::of(peers);
    std::printf("%4d peers %7.1f MiB, ratio %.2f, %.1f KiB for each more; the plan says %.1f MiB\n",
                peers, double(many.bytes) / mebibyte, double(many.bytes) / double(one.bytes),
                double(many.bytes - one.bytes) / (peers - 1) / 1024, double(many.said) / mebibyte);
  }
  return 0;
}
