// What a gateway's turn costs with 64 or 1,024 peers of which one is busy, beside the same with
// that one alone, in turns in the same run: whole gateways over the simulated network, a host's 400
// Mbit/s. `ratio` is what a report should quote.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "dataplane/base/assert.h"
#include "tests/sim/gateway/many_peers.h"

namespace {

using namespace cw;
using namespace cw::literals;

/// The median of so many rounds.
double ratio_of(size_t peers, int rounds) {
  sim::ManyPeers one(1), many(peers);
  CW_ASSERT(one.come_up() && many.come_up());
  // Until questions of links that carry nothing have become rare.
  one.run(3_s, 1_Mbps);
  many.run(3_s, 1_Mbps);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const auto alone = one.run(300_ms, 400_Mbps), among = many.run(300_ms, 400_Mbps);
    ratios.push_back(among.ns() / alone.ns());
    std::printf("one peer %6.0f ns a turn, %zu peers %6.0f ns, ratio %.3f, links awake %.2f\n",
                alone.ns(), peers, among.ns(), ratios.back(), among.links_per_turn());
  }
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

}  // namespace

int main(int argc, char**) {
  const bool is_test = argc > 1;  // ctest asks every bench for as little as it can do
  const int rounds = is_test ? 1 : 9;
  std::printf("64 peers: ratio %.3f (median of %d)\n", ratio_of(64, rounds), rounds);
  if (!is_test)
    std::printf("1024 peers: ratio %.3f (median of %d)\n", ratio_of(1024, rounds), rounds);
  return 0;
}
