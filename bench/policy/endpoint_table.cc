// Prints, as Markdown, how long messages and steps take on a simulated fabric under csa_ud and the
// policies that it is compared with. First each policy's constants are tuned, all by the same
// budget of runs, over seeds that no table uses; then each is measured as it comes and as tuned.
//
//   endpoint_table [--hosts N] [--messages N] [--seeds N] [--tuning N] [--chance 0] [--steps 0]
//
// 128 hosts, 60 messages of each, five seeds unless told; --tuning: candidates of each policy that
// are tried, 8 at most; 0: none, and only what comes is measured. --chance 0: steps alone; --steps
// 0: none.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "control/perf/message/message_load.h"

namespace {

using cw::perf::MessageKind;
using cw::perf::MessageOptions;

struct Size {
  uint32_t hosts = 128, messages = 60, seeds = 5, tuning = 8, chance = 1, steps = 1;
};

struct Setting {
  const char *name, *value;
};
using Settings = std::vector<Setting>;

struct Contender {
  const char* policy;
  std::vector<Settings> candidates;  // the first is the policy as it comes
};

// Each with as many, from half to a few times of what is the default.
const std::vector<Contender>& contenders() {
  static const std::vector<Contender> all = {
      {"csa_ud",
       {{},
        {{"deviations", "6"}},
        {{"deviations", "20"}},
        {{"outstanding_least", "64"}},
        {{"outstanding_least", "64"}, {"deviations", "20"}},
        {{"patience", "0.25"}},
        {{"hole_wait_max", "0.5"}},
        {{"spurious_max", "0.05"}}}},
      {"irn",
       {{},
        {{"reorder", "5us"}},
        {{"reorder", "20us"}},
        {{"reorder", "20us"}, {"rto_high", "160us"}},
        {{"reorder", "20us"}, {"rto_high", "200us"}},
        {{"reorder", "20us"}, {"rto_high", "200us"}, {"rto_low", "200us"}},
        {{"rto_high", "160us"}},
        {{"rto_high", "200us"}}}},
      {"nack_fixed",
       {{},
        {{"interval", "40us"}},
        {{"interval", "60us"}},
        {{"interval", "80us"}},
        {{"interval", "100us"}},
        {{"interval", "120us"}},
        {{"interval", "160us"}},
        {{"interval", "240us"}}}},
      {"rto_only",
       {{},
        {{"alpha", "1"}},
        {{"alpha", "3"}},
        {{"alpha", "4"}},
        {{"alpha", "5"}},
        {{"alpha", "6"}},
        {{"alpha", "8"}},
        {{"alpha", "4"}, {"doublings", "0"}}}},
      {"go_back_n",
       {{},
        {{"alpha", "3"}},
        {{"alpha", "4"}},
        {{"alpha", "6"}},
        {{"alpha", "4"}, {"repeat", "2"}},
        {{"alpha", "4"}, {"repeat", "4"}},
        {{"repeat", "2"}},
        {{"alpha", "8"}, {"repeat", "4"}}}},
  };
  return all;
}

/// One run, and what it gave: of messages by chance, or of steps.
struct Cell {
  MessageOptions options;
  double mean = 0, p99 = 0, longest = 0;  // us
  double again = 0;                       // share of slots that left again
  uint64_t dropped = 0;
};

MessageOptions options_of(const Size& size, const char* policy, const Settings& settings,
                          uint64_t seed) {
  MessageOptions options;
  options.hosts = size.hosts;
  options.messages = size.messages;
  options.buffer = cw::Bytes(2 << 20);
  options.policy = policy;
  options.seed = seed;
  for (const auto& [name, value] : settings) options.settings.push_back({name, value});
  return options;
}

void measure(Cell& cell) {
  const cw::perf::StopFlag stop{};
  const auto measured = cw::perf::measure_message_load(cell.options, stop);
  if (!measured || !measured->why.empty()) {
    std::fprintf(stderr, "%s: %s\n", cell.options.policy.c_str(),
                 measured ? measured->why.c_str() : measured.error().sentence.c_str());
    std::exit(1);
  }
  const cw::Json& figures = measured->figures;
  const cw::Json& times = figures.at(cell.options.load > 0 ? "fct_us" : "step_us");
  cell.mean = times.at("mean").get<double>();
  cell.p99 = times.at("p99").get<double>();
  cell.longest = times.at("max").get<double>();
  cell.again =
      figures.at("slots_sent_again").get<double>() / figures.at("slots_sent").get<double>();
  cell.dropped = figures.at("packets_dropped").get<uint64_t>();
  if (figures.at("bytes_wrong").get<uint64_t>() > 0) {
    std::fprintf(stderr, "%s: bytes are wrong\n", cell.options.policy.c_str());
    std::exit(1);
  }
}

/// Each run has a thread of its own; they share nothing.
void measure_all(std::vector<Cell>& cells, const char* what) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < cells.size(); i = next++) {
      measure(cells[i]);
      std::fprintf(stderr, "\r%s: %zu of %zu ", what, i + 1, cells.size());
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      others.emplace_back(work);
    }
    work();
  }
  std::fprintf(stderr, "\n");
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
  }
  return text.empty() ? "as it comes" : text;
}

// ---- tuning ----

/// The candidate with the least product of p99 over both loads and both kinds of paths.
std::map<std::string, Settings> tune(const Size& size) {
  constexpr uint64_t seed = 1001;
  std::vector<Cell> cells;
  for (const Contender& each : contenders()) {
    for (size_t i = 0; i < std::min<size_t>(size.tuning, each.candidates.size()); ++i) {
      for (const double load : {0.8, 0.9}) {
        for (const uint32_t paths : {1u, 16u}) {
          cells.push_back({options_of(size, each.policy, each.candidates[i], seed)});
          cells.back().options.load = load;
          cells.back().options.paths = paths;
        }
      }
    }
  }
  measure_all(cells, "tuning");
  std::printf(
      "| policy | candidate | p99 80 %%, 1 path | 80 %%, 16 | 90 %%, 1 | 90 %%, 16 | mean of "
      "these |\n|---|---|---|---|---|---|---|\n");
  std::map<std::string, Settings> best;
  size_t at = 0;
  for (const Contender& each : contenders()) {
    double least = INFINITY;
    for (size_t i = 0; i < std::min<size_t>(size.tuning, each.candidates.size()); ++i, at += 4) {
      const std::span four(cells.data() + at, 4);
      double product = 1;
      for (const Cell& cell : four) product *= cell.p99;
      const double mean = std::pow(product, 0.25);
      std::printf("| `%s` | %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", each.policy,
                  text_of(each.candidates[i]).c_str(), four[0].p99, four[1].p99, four[2].p99,
                  four[3].p99, mean);
      if (mean >= least) continue;
      least = mean;
      best[each.policy] = each.candidates[i];
    }
  }
  std::printf("\n");
  return best;
}

// ---- tables ----

struct Spread {
  double mean = 0, least = INFINITY, most = 0;
};
template <class Value>
Spread spread_of(std::span<const Cell> cells, const Value& value) {
  Spread spread;
  for (const Cell& cell : cells) {
    spread.mean += value(cell) / static_cast<double>(cells.size());
    spread.least = std::min(spread.least, value(cell));
    spread.most = std::max(spread.most, value(cell));
  }
  return spread;
}

/// How much lower than the best of the others csa_ud's 99th percentile is.
void print_gain(const char* what, const std::map<std::string, double>& p99) {
  double best = INFINITY;
  const char* who = "";
  for (const auto& [policy, value] : p99) {
    if (policy == "csa_ud" || value >= best) continue;
    best = value;
    who = policy.c_str();
  }
  std::printf("%s: p99 of `csa_ud` %.0f %% below the best other, `%s`.\n", what,
              100 * (1 - p99.at("csa_ud") / best), who);
}

void print_by_chance(const Size& size, const std::map<std::string, Settings>& settings,
                     const char* how) {
  constexpr std::array<double, 3> loads = {0.6, 0.8, 0.9};
  std::vector<Cell> cells;
  for (const double load : loads) {
    for (const uint32_t paths : {1u, 16u}) {
      for (const Contender& each : contenders()) {
        for (uint64_t seed = 1; seed <= size.seeds; ++seed) {
          cells.push_back({options_of(size, each.policy, settings.at(each.policy), seed)});
          cells.back().options.load = load;
          cells.back().options.paths = paths;
        }
      }
    }
  }
  measure_all(cells, how);
  std::printf(
      "| load | paths | policy, %s | mean | p99 | of its seeds | sent again | dropped |\n"
      "|---|---|---|---|---|---|---|---|\n",
      how);
  size_t at = 0;
  std::vector<std::pair<std::string, std::map<std::string, double>>> all;
  for (const double load : loads) {
    for (const uint32_t paths : {1u, 16u}) {
      char what[64];
      std::snprintf(what, sizeof what, "* %.0f %%, %u path%s", 100 * load, paths,
                    paths == 1 ? "" : "s");
      auto& p99s = all.emplace_back(what, std::map<std::string, double>()).second;
      for (const Contender& each : contenders()) {
        const std::span<const Cell> seeds(cells.data() + at, size.seeds);
        at += size.seeds;
        const Spread p99 = spread_of(seeds, [](const Cell& cell) { return cell.p99; });
        std::printf("| %.0f %% | %u | `%s` | %.1f | %.1f | %.1f to %.1f | %.2f %% | %.0f |\n",
                    100 * load, paths, each.policy,
                    spread_of(seeds, [](const Cell& cell) { return cell.mean; }).mean, p99.mean,
                    p99.least, p99.most,
                    100 * spread_of(seeds, [](const Cell& cell) { return cell.again; }).mean,
                    spread_of(seeds, [](const Cell& cell) {
                      return static_cast<double>(cell.dropped);
                    }).mean);
        p99s[each.policy] = p99.mean;
      }
    }
  }
  std::printf("\n");
  for (const auto& [what, p99s] : all) print_gain(what.c_str(), p99s);
  std::printf("\n");
  std::fflush(stdout);
}

void print_steps(const Size& size, const std::map<std::string, Settings>& settings,
                 const char* what, const MessageOptions& step) {
  std::vector<Cell> cells;
  for (const Contender& each : contenders()) {
    for (uint64_t seed = 1; seed <= size.seeds; ++seed) {
      MessageOptions options = options_of(size, each.policy, settings.at(each.policy), seed);
      options.kind = step.kind;
      options.rounds = 3;
      options.size = step.size;
      options.background = step.background;
      cells.push_back({options});
    }
  }
  measure_all(cells, what);
  std::printf(
      "| step | policy, as it comes | mean | longest | sent again |\n|---|---|---|---|---|\n");
  size_t at = 0;
  for (const Contender& each : contenders()) {
    const std::span<const Cell> seeds(cells.data() + at, size.seeds);
    at += size.seeds;
    std::printf("| %s | `%s` | %.1f | %.1f | %.2f %% |\n", what, each.policy,
                spread_of(seeds, [](const Cell& cell) { return cell.mean; }).mean,
                spread_of(seeds, [](const Cell& cell) { return cell.longest; }).most,
                100 * spread_of(seeds, [](const Cell& cell) { return cell.again; }).mean);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Closed steps in which each host has 16 KiB for each other one, and reductions of 8 KiB times the
/// hosts beside messages by chance at 30 % of the line.
void print_all_steps(const Size& size, const std::map<std::string, Settings>& settings) {
  MessageOptions step;
  step.kind = MessageKind::AllToAll;
  step.size = cw::Bytes(16 << 10);
  print_steps(size, settings, "all to all, 16 KiB each", step);
  step.kind = MessageKind::AllReduce;
  step.size = cw::Bytes(uint64_t{size.hosts} * 8 << 10);
  step.background = 0.3;
  print_steps(size, settings, "all-reduce beside 30 %", step);
}

bool read(std::span<char* const> arguments, Size& size) {
  const std::map<std::string, uint32_t*> all = {
      {"--hosts", &size.hosts},   {"--messages", &size.messages}, {"--seeds", &size.seeds},
      {"--tuning", &size.tuning}, {"--chance", &size.chance},     {"--steps", &size.steps}};
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const auto found = all.find(arguments[i]);
    if (found == all.end() || i + 1 == arguments.size()) return false;
    *found->second = static_cast<uint32_t>(std::strtoul(arguments[i + 1], nullptr, 10));
  }
  return size.hosts >= 2 && size.hosts <= 4096 && size.messages > 0 && size.seeds > 0;
}

}  // namespace

int main(int count, char** arguments) {
  Size size;
  if (!read({arguments + 1, static_cast<size_t>(count - 1)}, size)) {
    std::fprintf(stderr,
                 "usage: endpoint_table [--hosts N] [--messages N] [--seeds N] [--tuning N] "
                 "[--chance 0] [--steps 0]\n");
    return 2;
  }
  std::map<std::string, Settings> as_they_come;
  for (const Contender& each : contenders()) as_they_come[each.policy] = {};
  if (size.chance > 0) print_by_chance(size, as_they_come, "as it comes");
  if (size.chance > 0 && size.tuning > 0) print_by_chance(size, tune(size), "tuned");
  if (size.steps > 0) print_all_steps(size, as_they_come);
}
