// What a gateway's turn costs with 64 or 1,024 peers of which one is busy, beside the same with
// that one alone, in turns in the same run: whole gateways over the simulated network, a host's 400
// Mbit/s. `ratio` is what a report should quote. And what each link more takes at rest, its other
// end included, and what it costs to wake one: pages come back.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "dataplane/base/assert.h"
#include "tests/sim/gateway/idle_links.h"
#include "tests/sim/gateway/many_peers.h"

namespace {

using namespace cw;
using namespace cw::literals;

/// Of all turns in the first two milliseconds after a rest, and of as many when it is awake.
void tell_waking(sim::ManyPeers& one) {
  one.rest(5_s);
  const double woken = one.run(2_ms, 400_Mbps).seconds, awake = one.run(2_ms, 400_Mbps).seconds;
  std::printf("2 ms of a link that wakes cost %.0f us of turns, of one awake %.0f us\n",
              1e6 * woken, 1e6 * awake);
}

/// The median of so many rounds.
double ratio_of(size_t peers, int rounds) {
  sim::ManyPeers one(1);
  CW_ASSERT(one.come_up());
  tell_waking(one);
  const uint64_t before = sim::resident_bytes();
  sim::ManyPeers many(peers);
  CW_ASSERT(many.come_up());
  many.rest(3_s);
  std::printf("%zu links at rest take %.1f KiB each of resident memory, and all else its part\n",
              peers, double(sim::resident_bytes() - before) / 1024 / 2 / double(peers));
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
