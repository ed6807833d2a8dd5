// rdma_grid: what two real RDMA hosts get across the grid of loss, distance, policy and operation.
// The machines boot once; in a round everybody takes his turn in every cell. Results are added to
// FOLDER/rdma.json after each run, and FOLDER/rdma.md is made of them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "bench/rdma/grid_table.h"
#include "bench/rdma/operations.h"
#include "control/command_line/command_line.h"
#include "control/units/text.h"
#include "control/units/units.h"
#include "tests/lab/enclosure.h"
#include "tests/rdma/perftest.h"

namespace {

using namespace cw;
using namespace cw::bench;
using std::chrono::seconds;

constexpr int exit_missed = 1, exit_refused = 2, exit_failed = 3;
constexpr auto run_patience = seconds(90);

using Texts = std::vector<std::string>;

const Texts all_policies = {"plain",   "passthrough", "go_back_n",         "selective_repeat",
                            "erasure", "hybrid",      "layered_interleave"};
const Texts all_losses = {"0%", "0.1%", "1%", "1%/8", "3%"};

/// Every one of these with every other, in so many rounds.
struct Part {
  Texts rtts = {"1ms", "20ms", "60ms"}, losses = all_losses, policies = all_policies;
  Texts operations = {"write", "latency"};
  uint32_t rounds = 1;
};

/// A quarter of an hour of a machine that does nothing else, the most telling first.
std::vector<Part> quick_parts() {
  const Texts rtt = {"20ms"}, few = {"0%", "1%"}, write = {"write"};
  return {
      {rtt, few, {"plain", "passthrough", "erasure", "hybrid"}, write, 5},
      {rtt, all_losses, all_policies, write, 1},
      {rtt, few, all_policies, {"latency"}, 1},
      {rtt,
       {"1%"},
       {"plain", "hybrid"},
       {"write_8qp", "write_cm", "read", "send", "send_ud", "atomic"},
       1},
      {{"1ms", "60ms"}, few, {"plain", "passthrough", "hybrid"}, write, 1},
  };
}

struct Asked {
  std::string folder, guest, commit = "unknown", rate = "500Mbit/s";
  Part part;
  uint32_t seconds = 3, mtu = 1500;
  bool is_quick = false, is_fresh = false, only_prints = false;

  std::string json() const { return folder + "/rdma.json"; }
  std::vector<Part> parts() const { return is_quick ? quick_parts() : std::vector<Part>{part}; }
};

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

// ---- what is asked for --------------------------------------------------------------------------

void declare(CommandLine& app, Asked& asked) {
  std::string names;
  for (const Operation& each : operations())
    names += std::string(names.empty() ? "" : ", ") + each.name;
  app.add_option("FOLDER", asked.folder, "Where rdma.json and rdma.md are.").required();
  const auto add = [&](const char* name, auto& target, const std::string& what) {
    return app.add_option(name, target, what);
  };
  add("--rtt", asked.part.rtts, "Round trips (1ms,20ms,60ms).").delimiter(',');
  add("--loss", asked.part.losses, "Losses; 1%/8: in bursts of 8 (0%,0.1%,1%,1%/8,3%).")
      .delimiter(',');
  add("--policy", asked.part.policies, "plain: no gateways; else of the gateways (all).")
      .delimiter(',');
  add("--op", asked.part.operations, "Operations (write,latency), of " + names + ".")
      .delimiter(',');
  add("--rounds", asked.part.rounds, "Until each cell has so many runs (1).").between(1, 100);
  add("--seconds", asked.seconds, "Of each measurement of bandwidth (3).").between(1, 600);
  add("--mtu", asked.mtu, "Everywhere (1500).").between(1280, 9000);
  add("--rate", asked.rate, "Of the link (500Mbit/s).");
  add("--guest", asked.guest, "What make_guest made (build/guest).");
  add("--commit", asked.commit, "What was built, for the results.");
  app.add_flag(
      "--quick", asked.is_quick,
      "Instead of these lists, the most telling quarter of an hour: what is promised first, "
      "in five rounds.");
  app.add_flag("--fresh", asked.is_fresh, "Forget earlier results.");
  app.add_flag("--print", asked.only_prints, "Measure nothing; make the page anew.");
}

lab::RdmaLine line_of(const Asked& asked, const std::string& rtt, const std::string& loss) {
  lab::RdmaLine line{.rtt = rtt, .rate = asked.rate};
  const size_t slash = loss.find('/');
  line.loss = loss.substr(0, slash);
  if (slash != std::string::npos) line.burst = loss.substr(slash + 1);
  return line;
}

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& each : texts) all += (all.empty() ? "" : ", ") + each;
  return all;
}

/// What is wrong with the lists; empty when nothing.
std::string mistake_of(const Asked& asked) {
  for (const std::string& each : asked.part.rtts) {
    if (const auto time = parse_duration(each); !time) return "--rtt: " + time.error().sentence;
  }
  for (const std::string& each : asked.part.losses) {
    const lab::RdmaLine line = line_of(asked, "1ms", each);
    if (const auto loss = parse_share(line.loss); !loss) return "--loss: " + loss.error().sentence;
    if (line.burst.empty()) continue;
    if (const auto mean = parse_real(line.burst); !mean) return "--loss: " + mean.error().sentence;
  }
  for (const std::string& each : asked.part.operations) {
    if (find_operation(each) == nullptr) return "--op: \"" + each + "\" is none; see --help";
  }
  for (const std::string& each : asked.part.policies) {
    if (!std::ranges::count(all_policies, each)) {
      return "--policy: \"" + each + "\" is none; there are " + joined(all_policies);
    }
  }
  if (const auto rate = parse_rate(asked.rate); !rate) return "--rate: " + rate.error().sentence;
  return {};
}

// ---- measuring ----------------------------------------------------------------------------------

class Grid {
 public:
  Grid(const Asked& asked, Results& results, const lab::RdmaPrograms& programs)
      : asked_(asked), results_(results), sites_(programs, asked.mtu) {}

  void run(const std::function<void()>& save) {
    const size_t all = to_do();
    say(text_of("%zu runs; two machines start...", all));
    sites_.set_line(line_of(asked_, "1ms", "0%"));
    sites_.wait_ready();
    start_ = lab::Time::now();
    for (const Part& part : asked_.parts()) {
      walk(part, [&](const Cell& cell) {
        route(cell);
        sites_.set_line(line_of(asked_, cell.rtt, cell.loss));
        const Sample sample = measure(cell);
        results_.add(cell, sample);
        save();
        tell(cell, sample, ++done_, all);
      });
    }
  }

 private:
  /// Visits what is left to measure, in the order of rounds: neighbours in time are to be compared.
  template <class Visit>
  void walk(const Part& part, Visit visit) {
    for (const std::string& rtt : part.rtts) {
      for (uint32_t round = 1; round <= part.rounds; ++round) {
        for (const std::string& policy : part.policies) {
          routed_.clear();
          for_each_cell(part, rtt, policy, [&](const Cell& cell) {
            if (results_.count(cell) < round) visit(cell);
          });
        }
      }
    }
  }

  template <class Visit>
  void for_each_cell(const Part& part, const std::string& rtt, const std::string& policy,
                     Visit visit) const {
    for (const std::string& loss : part.losses) {
      for (const std::string& operation : part.operations) {
        visit(Cell{asked_.mtu, rtt, loss, policy, operation});
      }
    }
  }

  size_t to_do() const {
    std::map<Cell, size_t> wanted;
    for (const Part& part : asked_.parts()) {
      for (const std::string& rtt : part.rtts) {
        for (const std::string& policy : part.policies) {
          for_each_cell(part, rtt, policy, [&](const Cell& cell) {
            wanted[cell] = std::max<size_t>(wanted[cell], part.rounds);
          });
        }
      }
    }
    size_t count = 0;
    for (const auto& [cell, rounds] : wanted)
      count += rounds - std::min(rounds, results_.count(cell));
    return count;
  }

  /// Fresh gateways for each policy in each round; the lossy and the lossless share them.
  void route(const Cell& cell) {
    if (routed_ == cell.policy) return;
    sites_.set_line(line_of(asked_, cell.rtt, "0%"));
    if (cell.policy == "plain") {
      sites_.route_plainly();
    } else {
      sites_.route_by_gateways(cell.policy, line_of(asked_, cell.rtt, "0%"));
    }
    routed_ = cell.policy;
  }

  Sample measure(const Cell& cell) {
    const Operation& operation = *find_operation(cell.operation);
    const std::string command =
        operation.command + (operation.is_latency ? "" : lab::for_seconds(asked_.seconds));
    try {
      const lab::PerftestRun run =
          lab::run_perftest_with_figures(sites_, command, run_patience + seconds(asked_.seconds));
      Sample sample{.retransmits = run.retransmits, .commit = asked_.commit};
      read_figures(operation, run, sample);
      return sample;
    } catch (const std::runtime_error& error) {
      return {.failure = one_line(error.what()), .commit = asked_.commit};
    }
  }

  static void read_figures(const Operation& operation, const lab::PerftestRun& run,
                           Sample& sample) {
    const std::string& printed = operation.receiver_counts ? run.host_b : run.host_a;
    if (operation.is_latency) {
      const auto row = lab::parse_latency(printed);
      if (!row) throw std::runtime_error("no latencies: " + printed);
      sample.p50_us = row->p50_us;
      sample.p99_us = row->p99_us;
    } else {
      const auto row = lab::parse_bandwidth(printed);
      if (!row) throw std::runtime_error("no bandwidth: " + printed);
      sample.mbps = row->mbps;
    }
  }

  /// What matters is said last.
  static std::string one_line(std::string text) {
    constexpr size_t most = 300;
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return text.size() <= most ? text : "..." + text.substr(text.size() - most);
  }

  void tell(const Cell& cell, const Sample& sample, size_t done, size_t all) const {
    const double passed = std::chrono::duration<double>(lab::Time::now() - start_).count();
    const double left = passed / static_cast<double>(done) * static_cast<double>(all - done);
    const bool is_latency = find_operation(cell.operation)->is_latency;
    std::string figure = text_of("%.2f Mbit/s", sample.mbps);
    if (is_latency) {
      figure = text_of("p50 %.2f ms, p99 %.2f ms", sample.p50_us * 1e-3, sample.p99_us * 1e-3);
    }
    if (!sample.failure.empty()) figure = sample.failure;
    say(text_of("%zu of %zu, %.0f min left: %s, loss %s, %s, %s: ", done, all, left / 60,
                cell.rtt.c_str(), cell.loss.c_str(), cell.policy.c_str(), cell.operation.c_str()) +
        figure + text_of(", sent again %llu", static_cast<unsigned long long>(sample.retransmits)));
  }

  const Asked& asked_;
  Results& results_;
  lab::RdmaSites sites_;
  std::string routed_;
  lab::Time::time_point start_;
  size_t done_ = 0;
};

// ---- all of it ----------------------------------------------------------------------------------

int finish(const Asked& asked, const Results& results, const std::string& command) {
  std::ofstream(asked.folder + "/rdma.md") << page_of(results, command);
  bool is_kept = true;
  for (const Promise& each : promises_of(results)) {
    if (each.rounds == 0) continue;
    say(text_of("%s: %.1f %%, %s", each.what.c_str(), each.ratio * 100,
                each.outcome == Promise::Met      ? "met"
                : each.outcome == Promise::Missed ? "missed"
                                                  : "open"));
    is_kept = is_kept && each.outcome != Promise::Missed;
  }
  return is_kept ? 0 : exit_missed;
}

int run(const Asked& asked, Results results, const lab::RdmaPrograms& programs,
        const std::string& command) {
  if (!asked.only_prints) {
    Grid grid(asked, results, programs);
    grid.run([&] {
      results.write(asked.json());
      std::ofstream(asked.folder + "/rdma.md") << page_of(results, command);
    });
  }
  return finish(asked, results, command);
}

int refuse(const std::string& why, int status) {
  say("rdma_grid: " + why);
  return status;
}

/// The command as a person gives it.
std::string command_of(int argc, char** argv) {
  std::string command = "bench/rdma/grid";
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--commit") {
      ++i;
    } else {
      command += std::string(" ") + argv[i];
    }
  }
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CommandLine app("What two real RDMA hosts get over loss and distance, by policy. Needs root.",
                  "rdma_grid");
  declare(app, asked);
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  if (const std::string why = mistake_of(asked); !why.empty()) return refuse(why, exit_refused);
  try {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (asked.guest.empty()) asked.guest = (programs.parent_path() / "guest").string();
    asked.folder = std::filesystem::absolute(asked.folder).string();
    if (const std::string why = lab::rdma_obstacle(asked.guest);
        !why.empty() && !asked.only_prints) {
      return refuse(why, exit_failed);
    }
    auto results = asked.is_fresh ? Result<Results>(Results()) : Results::read(asked.json());
    if (!results) return refuse(results.error().sentence, exit_refused);
    return lab::run_enclosed([&] {
      return run(asked, *results,
                 {.emulator = (programs / "causeway-wan").string(),
                  .daemon = (programs / "causewayd").string(),
                  .guest = asked.guest},
                 command_of(argc, argv));
    });
  } catch (const std::exception& error) {
    return refuse(error.what(), exit_failed);
  }
}
