// What a gateway's memory is with 64 and 1,024 peers, beside that with one, at the same rate.
#include <cstdio>

#include "tests/sim/gateway/site_memory.h"

int main() {
  using cw::sim::SiteMemory;
  constexpr double mebibyte = 1 << 20;
  const SiteMemory one = SiteMemory::of(1);
  for (const int peers : {1, 64, 1024}) {
    const SiteMemory many = SiteMemory::of(peers);
    const double each = peers == 1 ? 0 : double(many.bytes - one.bytes) / (peers - 1) / 1024;
    std::printf("%4d peers %7.1f MiB, ratio %.2f, %.1f KiB for each more; the plan says %.1f MiB\n",
                peers, double(many.bytes) / mebibyte, double(many.bytes) / double(one.bytes), each,
                double(many.said) / mebibyte);
  }
  return 0;
}
