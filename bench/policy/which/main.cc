// Makes bench/report/which-policy.md and its pictures: which policy has the least p99.9 over
// message size and loss, for twelve links, and the published headline beside what the model and the
// simulator have. --help says how.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "bench/policy/run_size.h"
#include "bench/policy/which/headline.h"
#include "bench/policy/which/maps.h"
#include "bench/policy/which/points.h"
#include "control/units/text.h"

namespace {

using namespace cw;
using namespace cw::which;

constexpr const char* usage =
    "usage: which_policy DIRECTORY [--messages N] [--seed N]\n"
    "\n"
    "Prints the report on who has the least p99.9 as Markdown, and writes its four maps to\n"
    "DIRECTORY. Simulates N messages per cell at the most (10,000), which takes some minutes.\n"
    "\n"
    "  which_policy bench/report --seed 1 > bench/report/which-policy.md\n";

constexpr const char* about_maps = R"(
## The maps

Each cell is a message of one size over a link that loses each packet by itself, one message in
flight, packets of 4 KiB, by `control/model`: eleven plans, the least p99.9, and of those within 1 %
the one that sends less. *Selective repeat, nack* asks for what is missing, *rto* waits for a
timeout of three RTTs; *code 32 + 4* is `erasure` with k = 32, m = 4. Grey is where no law is known
to hold: the least is selective repeat's lower bound, as the message takes longer to leave than a
loss takes to be found. Left out: headers, and what decoding takes.

)";

constexpr const char* about_shares = R"(
What to take from them:

* Multiply the packets of a message by the loss. Where that is below 1/1,000 p99.9 is a message
  without a loss under every policy: take selective repeat, which sends nothing extra.
* Where it is above and the message leaves within a few round trips, and mostly up to sixteen, take
  a code. A loss costs whoever sends again a round trip; a code costs its repair, at most m/k of the
  time to leave. 32 + 2 does up to a loss of 1e-4, 32 + 4 mostly up to 5e-3.
* Where the message takes longer to leave its repair takes longer than a round trip: take selective
  repeat again, by nack. No law says so; the simulator does, below.
* Selective repeat by timeout and go-back-N win nowhere. Go-back-N has no law beyond 7/8 RTT, and
  is not compared there.
* At a loss of exactly 1e-3 small messages have darker cells, which mean nothing: what says what a
  message is, one packet, is lost just as often as p99.9 counts, and any failure of a code decides.

In numbers:

)";

constexpr const char* about_points = R"(
## At typical points

p99.9, by the laws; *no law* where only a lower bound is known. The last two columns are selective
repeat by timeout.
)";

constexpr const char* about_long = R"(
## Messages that take long to leave

Simulated, in the grey of the maps (5 ms) and beside it (25 ms). The simulator sends headers, 0.8 %
of a packet, which the model leaves out; what is sent again takes time of the line, which the lower
bound leaves out. A code that is so long on its way sends again what its repair is yet to mend,
which its law does not know: where losses are few it is there sooner than the law has it.

)";

constexpr const char* about_headline = R"(
## The published headline

SDR-RDMA (arXiv 2505.05366, section 5.2) has selective repeat up to **6.5** times slower in the mean
and **12.2** times in p99.9: 400 Gbit/s, 25 ms, chunks of 64 KiB, 128 KiB to 1 GiB, losses of 1e-6
to 1e-2, a timeout of RTT + alpha RTT with alpha = 2, a code of 32 + 8. At which points, whose
losses they are and what it is slower than the paper leaves open. So here is the largest over 14
sizes, doubling, and 12 losses per decade, under each reading. In p99.9 points are left out where it
stands at a step: where a quarter fewer or more messages that are late move it by a tenth. *ms* is
selective repeat / what it is compared with.

)";

constexpr const char* about_reasons = R"(
*A slot for a chunk*: 25 Gbit/s and slots of 4 KiB, the same time per chunk, and each slot is lost
as a chunk is. *Packet by packet*: 400 Gbit/s. With 95 % confidence: the mean ± 1.96 standard
errors, p99.9 in brackets by order statistics: wide where messages are few.

Why the numbers differ, line by line:

* **Whose loss** (a, b). Read as losses of chunks the sweep does not reach the published numbers.
  Read as losses of packets, of which any takes its chunk of sixteen along, a chunk loss is up to
  15 %, and the model passes both. At 64 MiB alone p99.9 is the published one: four timeouts. Its
  mean passes 6.5 at a loss of 3e-3. So this is likely what was read, at fewer points than ours. A
  little more loss, and more than one message in 1,000 needs the code's fallback: p99.9 falls to a
  third.
* **How the timeout counts** (c). Each round costs selective repeat a timeout, so that the ratio is
  nearly one and (1 + alpha) times the rounds: with alpha = 1 it is 0.7 of b.
* **Over what** (d). Over a message without a loss it grows with the loss to its end, past all that
  is published. So that is over the code.
* **Which code** (e). From a packet loss of a few 1e-3 on 32 + 8 fails. The best of ten codes there
  is 32 + 16, and the ratio grows on.
* **What the code is charged with** (f). The paper's law knows a code's repair and its fallback. In
  ours the packet that says what a message is may be lost, too, here as often as a chunk; that costs
  a quarter of a round trip each time. The mean hardly moves, p99.9 does. Where a fallback is in
  p99.9 it is the other way round: the paper's sends a whole row again, ours what is missing.
* **What is lost at once** (g). Ours sends again and codes packets. Of a chunk one is lost and not
  sixteen, so selective repeat needs fewer rounds, and 32 + 8 does not fail up to 1e-2.
* **The simulator against the laws.** The code meets them. Selective repeat takes longer where a
  round of resends, by then a few, is lost whole: nothing is heard, so a loss cannot be told from a
  far end that stands still, and the next question waits longer. With four messages in flight there
  is something to hear, and most of the difference is gone. Where a chunk in seventeen is lost p99.9
  is near a step of the law, whose next one is what is simulated.
)";

std::vector<LinkMap> maps_of_all() {
  std::vector<LinkMap> maps;
  for (const double gbps : rates_gbps) {
    for (const double rtt_ms : rtts_ms) {
      std::fprintf(stderr, "map: %g Gbit/s, %g ms\n", gbps, rtt_ms);
      maps.push_back(map_of(gbps, rtt_ms));
    }
  }
  return maps;
}

/// False where a picture cannot be written.
bool write_pictures(const std::vector<LinkMap>& maps, const std::string& directory) {
  for (const double gbps : rates_gbps) {
    const std::string name = text_of("which-policy_%g.svg", gbps);
    std::ofstream file(directory + "/" + name);
    file << picture_of(gbps, maps);
    if (!file.flush()) return false;
    std::printf("![%g Gbit/s](%s)\n", gbps, name.c_str());
  }
  return true;
}

void print_head(const RunSize& size) {
  std::printf(
      "# Which policy wins where\n\n"
      "```\nbuild/bin/which_policy bench/report --messages %llu --seed %llu > "
      "bench/report/which-policy.md\n```\n\n"
      "All of this file and its pictures come from that. Times are computed or simulated ones, so "
      "the\nmachine does not matter.\n",
      static_cast<unsigned long long>(size.messages), static_cast<unsigned long long>(size.seed));
}

}  // namespace

int main(int argc, char** argv) {
  RunSize size{.messages = 10'000};
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::printf("%s", usage);
    return 0;
  }
  if (argc < 2 || argv[1][0] == '-' || !read_run_size({argv + 2, argv + argc}, size)) {
    std::fprintf(stderr, "%s", usage);
    return 2;
  }
  print_head(size);
  std::printf("%s", about_maps);
  const std::vector<LinkMap> maps = maps_of_all();
  if (!write_pictures(maps, argv[1])) {
    std::fprintf(stderr, "which_policy: %s: no directory to write to\n", argv[1]);
    return 2;
  }
  std::printf("%s", about_shares);
  print_shares(maps);
  std::printf("%s", about_points);
  print_points();
  std::printf("%s", about_long);
  print_long_messages(size.messages / 20 + 1, size.seed);
  std::printf("%s", about_headline);
  print_headline(size.messages, size.seed);
  std::printf("%s", about_reasons);
}
