// What a gateway's turn costs with 64 peers of which one is busy, beside the same with that one
// alone, in turns in the same run: whole gateways over the simulated network, a host's 400 Mbit/s.
// `ratio` is what a report should quote.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "dataplane/base/assert.h"
#include "tests/sim/gateway/many_peers.h"

int main() {
  using namespace cw;
  using namespace cw::literals;
  sim::ManyPeers one(1), many(64);
  CW_ASSERT(one.come_up() && many.come_up());
  one.run(3_s, 1_Mbps);
  many.run(3_s, 1_Mbps);
  std::vector<double> ratios;
  for (int round = 0; round < 9; ++round) {
    const auto alone = one.run(300_ms, 400_Mbps), among = many.run(300_ms, 400_Mbps);
    ratios.push_back(among.ns() / alone.ns());
    std::printf("one peer %6.0f ns a turn, 64 peers %6.0f ns, ratio %.3f, links awake %.2f\n",
                alone.ns(), among.ns(), ratios.back(), among.links_per_turn());
  }
  std::ranges::sort(ratios);
  std::printf("ratio %.3f (median of %zu)\n", ratios[ratios.size() / 2], ratios.size());
  return 0;
}
