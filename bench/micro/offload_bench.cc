// What the offload stage relieves a turn of, and what cores of their own can run.
//
// 1. The turn. Packets of a 400 Gbit/s receiver come at its pace, 64 every 5.3 us, from completions
//    made beforehand. Counted are the cycles that the turn spends for them, nothing else of it:
//      claims   claimed and counted one by one: what it would cost without a stage
//      turn     put, the kernel, events, merge
//      cores    put, publish, poll, merge; the kernel runs on a core of its own
//      filled   the same, but for the put: the rings are filled beforehand, as a NIC fills them
//
// 2. The cores. Records fill the rings of as many partitions as there are cores beforehand; then
//    all run. Beside it as many processes with a ring each run the same kernel on the same cores.
//    `ratio` is what both reach of what the processes do.
//
// Exit codes: 0 done, 2 arguments, 3 it cannot be measured here.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/machine.h"
#include "bench/micro/offload_records.h"
#include "bench/micro/race.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "offload/slot_map.h"
#include "offload/stage/pinned_threads.h"
#include "offload/stage/stage.h"

namespace {

using namespace cw;
using namespace cw::bench;

constexpr int exit_refused = 2, exit_failed = 3;
constexpr double packets_per_second = 12.2e6;  // 400 Gbit/s of 4 KiB

struct Arguments {
  uint32_t cores = 2, rounds = 9, lives = 40;
  uint32_t late = 20;  // of 1000 packets
  bool is_json = false;
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "offload_bench: %s\n", why.c_str());
  _exit(exit_failed);
}

void bind_to(unsigned core) {
  if (!try_bind_to(core)) fail("core " + std::to_string(core) + " is not ours");
}

uint64_t cycles_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(now_ns());
#endif
}

// ---- the turn ----

std::unique_ptr<BitStage> stage_of(std::unique_ptr<RowRunner> runner) {
  BitStageOptions options;
  options.records_max = 8192;
  options.stall_max = Duration::from_s(60);
  auto stage = BitStage::make(std::move(runner), options);
  if (!stage) fail(stage.error().sentence);
  return std::move(*stage);
}

/// An owner of the load's messages at a stage.
class Owner final : public BitStageClient {
 public:
  explicit Owner(std::unique_ptr<RowRunner> runner)
      : stage_(stage_of(std::move(runner))), stream_(stage_->add(*this, 0, load_limits).value()) {}

  bool on_bits(uint16_t, std::span<const cw_bits_event> events) override {
    for (const cw_bits_event& each : events) {
      in_ += map_.merge(load_id_of(each.about), load_slot_of(each.about) / 64, each.bits).slots;
    }
    return true;
  }
  void on_quiet(uint16_t) override {}

  void begin(uint32_t id) {
    map_.arm(id, load_slots);
    stage_->arm(stream_, id, 0);
    settle();
  }
  void end(uint32_t id) {
    settle();
    if (std::exchange(in_, 0) != load_slots) fail("a fast wrong answer is none");
    stage_->close(stream_, id);
    map_.clear(id);
    settle();
  }
  void put(uint32_t id, std::span<const uint32_t> slots) {
    for (const uint32_t slot : slots) stage_->put(stream_, 0, 0, id << 22 | slot << 4);
  }
  void claim(uint32_t id, std::span<const uint32_t> slots) {
    for (const uint32_t slot : slots) {
      if (map_.try_claim(id, slot)) in_ += 1, map_.count(id, slot);
    }
  }
  BitStage& stage() { return *stage_; }

 private:
  void settle() {
    while (stage_->is_busy()) stage_->poll(Instant());
  }

  std::unique_ptr<BitStage> stage_;
  uint16_t stream_;
  uint64_t in_ = 0;
  SlotMap map_{
      {.ids = load_ids, .data_slots_max = load_slots, .repair_slots_max = 0, .chunk_slots = 16}};
};

/// What else a turn does for a burst, 30 ns a packet, before it comes to the bits.
constexpr int64_t other_work_ns = 64 * 30;

void spin_until(int64_t at_ns) {
  while (now_ns() < at_ns) {
    // other work
  }
}

/// Cycles per packet of what `act` does with each burst, at the load's pace; what `before` does is
/// not counted. A burst in which the
/// machine took the core away says nothing: the tenth that took longest is left out.
template <class Before, class Act>
double cycles_of(Owner& owner, const Arguments& arguments, const Before& before, const Act& act) {
  constexpr size_t burst = 64;
  const auto pace_ns = static_cast<int64_t>(burst / packets_per_second * 1e9);
  Prng random(1);
  std::vector<double> cycles;
  for (uint32_t life = 0; life < arguments.lives; ++life) {
    const uint32_t id = life % load_ids;
    const std::vector<uint32_t> slots = load_slots_of_a_message(random, arguments.late / 1000.0);
    owner.begin(id);
    int64_t due = now_ns();
    for (size_t at = 0; at < slots.size(); at += burst) {
      spin_until(due);
      due += pace_ns;
      owner.stage().expect();
      before(id, std::span(slots).subspan(at, burst));
      spin_until(now_ns() + other_work_ns);
      const uint64_t begin = cycles_now();
      act(id, std::span(slots).subspan(at, burst));
      cycles.push_back(static_cast<double>(cycles_now() - begin) / burst);
    }
    owner.end(id);
  }
  std::ranges::sort(cycles);
  const size_t kept = cycles.size() * 9 / 10;
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) sum += cycles[i];
  return sum / static_cast<double>(kept);
}

struct TurnCost {
  double claims = 0, turn = 0, cores = 0, filled = 0;
};

std::unique_ptr<RowRunner> on_core(unsigned core) {
  return std::make_unique<PinnedThreads>(std::vector<int>{static_cast<int>(core)});
}

TurnCost measure_turn_once(const Arguments& arguments) {
  using Slots = std::span<const uint32_t>;
  bind_to(0);
  const auto nothing = [](uint32_t, Slots) {};
  const auto pass = [](Owner& owner) { owner.stage().settle(Instant()); };
  TurnCost cost;
  Owner alone(nullptr);
  cost.claims = cycles_of(alone, arguments, nothing,
                          [&](uint32_t id, Slots slots) { alone.claim(id, slots); });
  cost.turn = cycles_of(alone, arguments, nothing, [&](uint32_t id, Slots slots) {
    alone.put(id, slots);
    pass(alone);
  });
  Owner relieved(on_core(1));
  cost.cores = cycles_of(relieved, arguments, nothing, [&](uint32_t id, Slots slots) {
    relieved.put(id, slots);
    pass(relieved);
  });
  const auto fill = [&](uint32_t id, Slots slots) { relieved.put(id, slots); };
  cost.filled = cycles_of(relieved, arguments, fill, [&](uint32_t, Slots) { pass(relieved); });
  const double clock = cycles_of(
      alone, arguments,
      [&](uint32_t id, Slots slots) {
        alone.put(id, slots);
        pass(alone);
      },
      [](uint32_t, Slots) {});
  for (double* each : {&cost.claims, &cost.turn, &cost.cores, &cost.filled}) *each -= clock;
  return cost;
}

/// The medians of rounds.
TurnCost measure_turn(const Arguments& arguments) {
  std::array<std::vector<double>, 4> all;
  for (uint32_t round = 0; round < arguments.rounds; ++round) {
    const TurnCost cost = measure_turn_once(arguments);
    for (const auto& [i, value] : {std::pair(0, cost.claims), std::pair(1, cost.turn),
                                   std::pair(2, cost.cores), std::pair(3, cost.filled)}) {
      all[static_cast<size_t>(i)].push_back(value);
    }
  }
  return {median(all[0]), median(all[1]), median(all[2]), median(all[3])};
}

// ---- the cores ----

/// Of one ring of records, filled beforehand, what serves it.
class Work {
 public:
  explicit Work(const std::vector<cw_bits_record>& records)
      : row_(std::bit_ceil(static_cast<uint32_t>(records.size()))) {
    row_.push(records);
    count_ = records.size();
  }
  void run() {
    while (row_.serve() > 0) {
      // to the end
    }
  }
  double records() const { return static_cast<double>(count_); }

 private:
  LoadRow row_;
  size_t count_ = 0;
};

void run(Gate& gate, unsigned core, const std::vector<cw_bits_record>& records) {
  bind_to(core);
  Work work(records);
  race(gate, core, [&] { work.run(); });
}

double rate_of_threads(uint32_t cores, const std::vector<cw_bits_record>& records) {
  Gate gate;
  std::vector<std::jthread> threads;
  for (uint32_t core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] { run(gate, core, records); });
  }
  start(gate, cores);
  threads.clear();
  return rate_of(gate, cores, records.size());
}

double rate_of_processes(uint32_t cores, const std::vector<cw_bits_record>& records) {
  void* const shared =
      mmap(nullptr, sizeof(Gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("no memory to share");
  Gate& gate = *new (shared) Gate;
  std::vector<pid_t> children;
  for (uint32_t core = 0; core < cores; ++core) {
    const pid_t child = fork();
    if (child < 0) fail("a process was refused");
    if (child == 0) {
      run(gate, core, records);
      _exit(0);
    }
    children.push_back(child);
  }
  start(gate, cores);
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) fail("a process has failed");
  }
  const double rate = rate_of(gate, cores, records.size());
  munmap(shared, sizeof(Gate));
  return rate;
}

struct CoreRates {
  std::vector<double> together, apart, ratios;
};

CoreRates measure_cores(const Arguments& arguments) {
  const std::vector<cw_bits_record> records = load_records();
  CoreRates rates;
  for (uint32_t round = 0; round < arguments.rounds; ++round) {
    rates.together.push_back(rate_of_threads(arguments.cores, records));
    rates.apart.push_back(rate_of_processes(arguments.cores, records));
    rates.ratios.push_back(rates.together.back() / rates.apart.back());
  }
  return rates;
}

// ---- told ----

double relieved(double turn, double cores) { return 1 - cores / turn; }

void print(const Arguments& arguments, const TurnCost& cost, const CoreRates& rates) {
  std::printf(
      "Cycles of the turn per packet, at %.1f million packets a second, %u of 1000 late by up to "
      "255:\n\n"
      "| bitmap work | cycles | relieved of |\n|---|---:|---:|\n"
      "| claimed one by one | %.1f | |\n"
      "| a stage that the turn runs | %.1f | |\n"
      "| a core of its own, the turn fills the rings | %.1f | %.0f %% |\n"
      "| a core of its own, rings filled beforehand | %.1f | %.0f %% |\n\n",
      packets_per_second / 1e6, arguments.late, cost.claims, cost.turn, cost.cores,
      100 * relieved(cost.turn, cost.cores), cost.filled, 100 * relieved(cost.turn, cost.filled));
  std::printf(
      "%u cores, million records a second, medians of %u rounds: %.0f in one process, %.0f in "
      "processes of their own, ratio %.3f\n",
      arguments.cores, arguments.rounds, median(rates.together), median(rates.apart),
      median(rates.ratios));
}

Json as_json(const TurnCost& cost, const CoreRates& rates) {
  return {{"claims_cycles", cost.claims},
          {"turn_cycles", cost.turn},
          {"cores_cycles", cost.cores},
          {"filled_cycles", cost.filled},
          {"relieved", relieved(cost.turn, cost.cores)},
          {"relieved_filled", relieved(cost.turn, cost.filled)},
          {"together_mrps", median(rates.together)},
          {"apart_mrps", median(rates.apart)},
          {"ratio", median(rates.ratios)}};
}

}  // namespace

int main(int argc, char** argv) {
  Arguments it;
  CommandLine line("What the offload stage relieves a turn of, and what its cores reach.",
                   "offload_bench --rounds 15");
  line.add_option("--cores", it.cores, "that run the kernel at once")
      .between(1, Gate::cores_max)
      .shows_default();
  line.add_option("--rounds", it.rounds, "of both, in turns; the median counts")
      .between(1, 100)
      .shows_default();
  line.add_option("--lives", it.lives, "of messages, for the turn's cycles")
      .between(1, 10'000)
      .shows_default();
  line.add_option("--late", it.late, "of 1000 packets").between(0, 1000).shows_default();
  line.add_flag("--json", it.is_json, "the same as JSON");
  if (const auto status = line.parse_or_end(argc, argv, exit_refused)) return *status;
  const TurnCost cost = measure_turn(it);
  const CoreRates rates = measure_cores(it);
  if (it.is_json) {
    std::printf("%s\n", as_json(cost, rates).dump().c_str());
  } else {
    print(it, cost, rates);
  }
  return 0;
}
