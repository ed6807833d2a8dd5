// What a gateway's memory is with 64 and 1,024 peers, beside that with one, at the same rate: what
// it may come to when all are busy, and what is resident before anybody has sent.
#include <cstdio>

#include "tests/sim/gateway/site_memory.h"

namespace {

using cw::sim::SiteMemory;
constexpr double kibibyte = 1 << 10, mebibyte = 1 << 20;

void tell(int peers, const SiteMemory& it) {
  std::printf("%4d peers %7.1f MiB at most, as the plan says %.1f; %.1f MiB resident\n", peers,
              double(it.bytes) / mebibyte, double(it.said) / mebibyte,
              double(it.resident) / mebibyte);
}

}  // namespace

int main(int argc, char**) {
  SiteMemory fewer = SiteMemory::of(1);
  tell(1, fewer);
  int count = 1;
  for (const int peers : {64, 1024}) {
    if (peers > 64 && argc > 1) break;  // ctest asks every bench for as little as it can do
    const SiteMemory many = SiteMemory::of(peers);
    const double more = peers - count;
    tell(peers, many);
    std::printf("     each more %.1f KiB at most, %.1f KiB resident\n",
                double(many.bytes - fewer.bytes) / more / kibibyte,
                double(many.resident - fewer.resident) / more / kibibyte);
    fewer = many;
    count = peers;
  }
  return 0;
}
