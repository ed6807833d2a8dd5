// shards: what two gateways carry whose shards have a core each, beside as many pairs of gateways
// in processes of their own on the same cores. Hosts, wire and sinks are in memory
// (memory_ports.h), and a core's thread turns its shard of both gateways: nothing else takes part
// but who grants.
//
//   core 0:  hosts -> [A, shard 0] -> wire -> [B, shard 0] -> sink
//   core 1:  hosts -> [A, shard 1] -> wire -> [B, shard 1] -> sink
//
// `ratio` is what a report should quote: 1 where shards share nothing. Exit codes: 0 done, 2
// arguments, 3 it cannot be measured here.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "bench/e2e/memory_ports.h"
#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/sim/gateway/sites.h"

namespace {

using namespace cw;
using namespace cw::bench;

constexpr int exit_refused = 2, exit_failed = 3;

struct Arguments {
  std::string policy = "passthrough";
  uint32_t cores = 2, rounds = 15, frame_bytes = 1400, milliseconds = 300;
  bool is_json = false;
  // Of one world, in a process of its own.
  uint32_t shards = 0, first_core = 0;
};

Instant clock_now() {
  static const MonotonicClock clock;
  return clock.read();
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "shards: %s\n", why.c_str());
  _exit(exit_failed);
}

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  CW_ASSERT(getentropy(&bits, sizeof bits) == 0);
  return bits;
}

site::Plan plan_of(int number, const Arguments& it) {
  const std::string shards = std::to_string(it.shards);
  std::string cores;
  for (uint32_t i = 0; i < it.shards; ++i) cores += (i > 0 ? ", " : "") + std::to_string(i);
  sim::SiteText text{.rate = std::to_string(40 * it.shards) + " Gbit/s", .rtt = "1 ms"};
  text.site = "log = \"warning\"\n" +
              (it.shards > 1 ? "cores = [" + cores + "]\n" : std::string("core = 0\n"));
  text.wan = "adapt = false\n";
  if (it.shards > 1) text.pair = "links = " + shards + "\n";
  text.classes = "[[class]]\nname = \"all\"\npolicy = \"" + it.policy +
                 "\"\nhold = \"2.6 ms\"\nqueue = \"1 ms\"\n";
  site::Plan plan = sim::plan_of(sim::site_files(2, text)[static_cast<size_t>(number - 1)]);
  for (uint32_t i = 0; i < it.shards; ++i) plan.cores[i] = it.first_core + i;
  return plan;
}

/// Both gateways, whose shards meet each other by number.
class World {
 public:
  explicit World(const Arguments& arguments) : arguments_(arguments) {
    const site::Plan plan = plan_of(1, arguments);
    for (uint32_t i = 0; i < arguments.shards; ++i) {
      wires_.emplace_back(plan.wan.packets, plan.wan.payload_bytes_max);
    }
    sinks_.resize(arguments.shards);
    for (const int number : {1, 2}) sites_[number - 1] = make_site(number);
  }

  /// Says "up" when the links are, reads when to begin, and says how many frames left at B, of all
  /// cores, from then on within the time that was asked for.
  void run() {
    std::vector<uint64_t> frames(arguments_.shards);
    std::vector<std::jthread> threads;
    for (const auto& site : sites_) {
      if (site->needs_granting()) threads.emplace_back([&] { site->run_grants(stop_); });
    }
    for (uint32_t shard = 0; shard < arguments_.shards; ++shard) {
      threads.emplace_back([&, shard] { frames[shard] = turn(shard); });
    }
    const Instant patience = clock_now() + Duration::from_s(60);
    while (!are_up()) {
      care();
      if (clock_now() > patience) fail("no link comes up");
    }
    std::printf("up\n");
    std::fflush(stdout);
    long long begin_ns = 0;
    if (std::scanf("%lld", &begin_ns) != 1) fail("nobody says when to begin");
    begin_ns_ = begin_ns;
    const Instant begin = Instant() + Duration::from_ns(begin_ns);
    while (clock_now() < begin + Duration::from_ms(arguments_.milliseconds + 50)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop_ = true;
    threads.clear();
    uint64_t sum = 0;
    for (const uint64_t each : frames) sum += each;
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
  }

 private:
  std::unique_ptr<site::Site> make_site(int number) {
    const auto ports = [this, number](size_t shard) {
      if (number == 1) {
        return site::ShardPorts{
            std::make_unique<EndlessHosts>(arguments_.frame_bytes, static_cast<uint8_t>(shard)),
            std::move(wires_[shard].a)};
      }
      auto sink = std::make_unique<MemoryPort>("memory", 4096, 1500);
      sinks_[shard] = sink.get();
      return site::ShardPorts{std::move(sink), std::move(wires_[shard].b)};
    };
    const site::SiteGround ground{.ports = ports,
                                  .now = clock_now(),
                                  .random = {nullptr, random_bits},
                                  .clock = MachineClock()};
    auto made = site::Site::make(plan_of(number, arguments_), ground);
    if (!made) fail(made.error().sentence);
    return std::move(*made);
  }

  uint64_t turn(uint32_t shard) {
    const uint32_t core = arguments_.first_core + shard;
    if (!try_bind_to(core)) fail("core " + std::to_string(core) + " is not to be had");
    const MachineClock clock;
    uint64_t before = 0, after = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const Instant now = clock.read();
      const int64_t begin_ns = begin_ns_.load(std::memory_order_relaxed);
      const Instant begin = Instant() + Duration::from_ns(begin_ns);
      const Instant end = begin + Duration::from_ms(arguments_.milliseconds);
      sites_[0]->turn_shard(shard, now);
      sites_[1]->turn_shard(shard, now);
      const uint64_t sent = sinks_[shard]->counters().tx_packets;
      if (now < begin) before = sent;
      if (now < end) after = sent;
    }
    return after - before;
  }

  bool are_up() {
    return std::ranges::all_of(sites_, [](const auto& site) {
      const auto state = site->state(Duration::from_s(1));
      return state && std::ranges::all_of(state->peers, &site::PeerView::is_up);
    });
  }
  void care() {
    for (const auto& site : sites_) {
      const auto state = site->state(Duration::from_s(1));
      if (state && state->wants_policies) site->care_for_policies(Duration::from_s(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const Arguments& arguments_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> begin_ns_ = INT64_MAX / 2;
  std::vector<MemoryWire> wires_;
  std::vector<MemoryPort*> sinks_;
  std::array<std::unique_ptr<site::Site>, 2> sites_;
};

/// A process of this program's that runs one world and writes what it carried.
class WorldProcess {
 public:
  WorldProcess(const Arguments& it, const std::string& program, uint32_t shards, uint32_t core) {
    std::array<int, 2> from{}, to{};
    CW_ASSERT(pipe2(from.data(), O_CLOEXEC) == 0 && pipe2(to.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    std::vector<std::string> words = {program,
                                      "--shards",
                                      std::to_string(shards),
                                      "--first-core",
                                      std::to_string(core),
                                      "--policy",
                                      it.policy,
                                      "--frame-bytes",
                                      std::to_string(it.frame_bytes),
                                      "--milliseconds",
                                      std::to_string(it.milliseconds)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    CW_ASSERT(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(from[1]);
    close(to[0]);
    out_ = fdopen(from[0], "r");
    in_ = fdopen(to[1], "w");
  }
  WorldProcess(const WorldProcess&) = delete;
  WorldProcess& operator=(const WorldProcess&) = delete;
  ~WorldProcess() {
    std::fclose(out_);
    std::fclose(in_);
  }

  void wait_up() {
    std::array<char, 8> word{};
    if (std::fscanf(out_, "%7s", word.data()) != 1) fail("a world has ended too soon");
  }
  void begin_at(Instant begin) {
    std::fprintf(in_, "%lld\n", static_cast<long long>(begin.ns()));
    std::fflush(in_);
  }

  double frames() {
    unsigned long long count = 0;
    const bool is_read = std::fscanf(out_, "%llu", &count) == 1;
    int status = 0;
    waitpid(pid_, &status, 0);
    if (!is_read || status != 0) fail("a world has ended too soon");
    return static_cast<double>(count);
  }

 private:
  pid_t pid_ = 0;
  FILE *out_ = nullptr, *in_ = nullptr;
};

/// Millions of frames per second, of `processes` with `shards` each, on cores of their own.
double rate_of(const Arguments& it, const std::string& program, uint32_t processes,
               uint32_t shards) {
  std::deque<WorldProcess> worlds;
  for (uint32_t i = 0; i < processes; ++i) worlds.emplace_back(it, program, shards, i * shards);
  for (WorldProcess& world : worlds) world.wait_up();
  const Instant begin = clock_now() + Duration::from_ms(300);  // when caches are warm
  for (WorldProcess& world : worlds) world.begin_at(begin);
  double frames = 0;
  for (WorldProcess& world : worlds) frames += world.frames();
  return frames / it.milliseconds / 1e3;
}

Json compare(const Arguments& it, const std::string& program, uint32_t cores) {
  std::vector<double> apart, together, ratios;
  for (uint32_t round = 0; round < it.rounds; ++round) {
    // In turns, also with who is first: machines get slower while they are hot.
    if (round % 2 == 0) apart.push_back(rate_of(it, program, cores, 1));
    together.push_back(rate_of(it, program, 1, cores));
    if (round % 2 == 1) apart.push_back(rate_of(it, program, cores, 1));
    ratios.push_back(together.back() / apart.back());
    if (!it.is_json) {
      std::printf("%u cores: %u processes %.3f Mpps, %u shards %.3f Mpps, ratio %.3f\n", cores,
                  cores, apart.back(), cores, together.back(), ratios.back());
      std::fflush(stdout);
    }
  }
  return {{"cores", cores},
          {"processes_mpps", median(apart)},
          {"shards_mpps", median(together)},
          {"ratio", median(ratios)}};
}

/// A bar, as long as the first one's for each core that would be used up.
void plot(const Json& each, const Json& first) {
  constexpr double characters = 20;
  const double mpps = each["shards_mpps"].get<double>();
  const double times = mpps / first["shards_mpps"].get<double>();
  std::printf("%3s shards %6.3f Mpps  %5.2f times one  ratio %.3f  %s\n",
              each["cores"].dump().c_str(), mpps, times, each["ratio"].get<double>(),
              std::string(static_cast<size_t>(times * characters), '#').c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments it;
  CommandLine line("What shards carry beside processes of their own on the same cores.", "shards");
  line.add_option("--cores", it.cores, "up to so many; each number of them is measured")
      .between(1, 16)
      .shows_default();
  line.add_option("--policy", it.policy, "of the only class").shows_default();
  line.add_option("--rounds", it.rounds, "of both, in turns; the median counts")
      .between(1, 100)
      .shows_default();
  line.add_option("--frame-bytes", it.frame_bytes, "of each frame of a host")
      .between(60, 1500)
      .shows_default();
  line.add_option("--milliseconds", it.milliseconds, "that a round is measured for")
      .between(50, 60'000)
      .shows_default();
  line.add_flag("--json", it.is_json, "the medians as JSON");
  line.add_option("--shards", it.shards, "").group("");
  line.add_option("--first-core", it.first_core, "").group("");
  if (const auto status = line.parse_or_end(argc, argv, exit_refused)) return *status;
  if (it.shards > 0) return World(it).run(), 0;
  const auto here = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (it.cores > here) {
    std::fprintf(stderr, "shards: %u cores are not here; --cores %u\n", it.cores, here);
    return exit_failed;
  }
  Json all = Json::array();
  for (uint32_t cores = 1; cores <= it.cores; ++cores) {
    all.push_back(compare(it, "/proc/self/exe", cores));
  }
  if (it.is_json) {
    std::printf("%s\n", all.dump().c_str());
    return 0;
  }
  for (const Json& each : all) plot(each, all.at(0));
  return 0;
}
