#include "tests/sim/program/swarm_program.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/json/json.h"

namespace cw::sim {
namespace {

constexpr int exit_violation = 1, exit_mistake = 2;
constexpr size_t violations_max = 20;  // then more of them tell nothing new

constexpr const char* teaching = R"(
Run i has the seed --seed + i and is the same on every machine, packet for packet. What goes wrong
is told with the seed of its run; to see that run alone, and its world in words:

    {name} --seed 4711 --runs 1
    {name} --seed 4711 --describe

--json prints one object: "seed" that was given or drawn, "packets" that crossed, "runs", and
"violations", a list of sentences. Exit codes: 0 none; 1 some; 2 a mistake in the arguments.)";

struct Arguments {
  uint64_t seed = 0;
  uint64_t packets = 1'000'000;
  uint64_t runs = 0;
  bool as_json = false, is_first_enough = false, describes = false;
  std::string until;  // the checker whose violation is the end; empty: any twenty
};

struct Tally {
  uint64_t packets = 0, runs = 0;
  std::vector<std::string> violations;
};

/// Says how far a long swarm is, on stderr: one line that is rewritten on a terminal, else a line
/// every few seconds.
class Progress {
 public:
  void report(const Tally& tally, const Arguments& arguments) {
    const double now = seconds();
    if (now < next_) return;
    next_ = now + (is_terminal_ ? 0.2 : 10);
    const double rate = static_cast<double>(tally.packets) / now;
    std::fprintf(stderr, "%s%llu packets of %llu in %llu runs, %.0f/s, %zu violations%s",
                 is_terminal_ ? "\r\x1b[K" : "", static_cast<unsigned long long>(tally.packets),
                 static_cast<unsigned long long>(arguments.packets),
                 static_cast<unsigned long long>(tally.runs), rate, tally.violations.size(),
                 is_terminal_ ? "" : "\n");
    is_shown_ = true;
  }
  void end() const {
    if (is_shown_ && is_terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  double next_ = 1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string count_of(uint64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

void tell(const Arguments& arguments, const Tally& tally) {
  if (arguments.as_json) {
    const Json json{{"seed", arguments.seed},
                    {"packets", tally.packets},
                    {"runs", tally.runs},
                    {"violations", tally.violations}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    for (const std::string& each : tally.violations) std::printf("%s\n", each.c_str());
    std::printf("seed %llu: %s in %s, %s\n", static_cast<unsigned long long>(arguments.seed),
                count_of(tally.packets, "packet").c_str(), count_of(tally.runs, "run").c_str(),
                count_of(tally.violations.size(), "violation").c_str());
  }
  std::fflush(stdout);
}

/// The swarm that goes on, for the one who is called when it cannot.
struct Current {
  const Arguments* arguments = nullptr;
  Tally* tally = nullptr;
  const SwarmProgram* program = nullptr;
  uint64_t seed = 0;
} current;

void add_violation(const std::string& sentence) {
  const std::string world = current.program->describe(current.seed);
  current.tally->violations.push_back("run " + std::to_string(current.seed) + ": " + sentence +
                                      " (" + world + ")");
}

/// An assertion of ours, or a bad access. It came out of our own code and not out of nowhere, so
/// that what is done here may well be done; the next one ends the process.
extern "C" void on_stop(int signal) {
  std::signal(signal, SIG_DFL);
  add_violation(signal == SIGABRT ? "assertion: the run stopped the program, see stderr"
                                  : "bad access: the run stopped the program");
  ++current.tally->runs;
  tell(*current.arguments, *current.tally);
  _exit(exit_violation);
}

/// Whether nothing that is still to come is wanted.
bool is_enough(const Arguments& arguments, const Tally& tally, const std::string& violation) {
  if (arguments.is_first_enough) return true;
  if (!arguments.until.empty()) return violation.starts_with(arguments.until + ": ");
  return tally.violations.size() == violations_max;
}

int run_all(const SwarmProgram& program, const Arguments& arguments) {
  Tally tally;
  current = {&arguments, &tally, &program, arguments.seed};
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, on_stop);
  Progress progress;
  const uint64_t runs = arguments.runs > 0 ? arguments.runs : std::numeric_limits<uint64_t>::max();
  const bool is_by_packets = arguments.runs == 0;
  while (tally.runs < runs && (!is_by_packets || tally.packets < arguments.packets)) {
    progress.report(tally, arguments);
    current.seed = arguments.seed + tally.runs;
    const SwarmOutcome outcome = program.run(current.seed);
    malloc_trim(0);  // worlds differ in size: what lies between them would add up to gigabytes
    ++tally.runs;
    tally.packets += outcome.packets;
    if (outcome.violation.empty()) continue;
    add_violation(outcome.violation);
    if (is_enough(arguments, tally, outcome.violation)) break;
  }
  progress.end();
  tell(arguments, tally);
  return tally.violations.empty() ? 0 : exit_violation;
}

std::string footer_of(const std::string& name) {
  std::string text = teaching;
  constexpr std::string_view place = "{name}";
  for (size_t at = 0; (at = text.find(place, at)) != std::string::npos;) {
    text.replace(at, place.size(), name);
  }
  return text;
}

uint64_t seed_of_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

int serve(int argc, char** argv, const SwarmProgram& program) {
  Arguments arguments{.seed = seed_of_clock()};
  CommandLine app(program.about, program.name);
  app.footer(footer_of(program.name));
  app.add_option("--seed", arguments.seed, "of the first run; drawn from the clock if not given");
  app.add_option("--packets", arguments.packets, "runs are made until so many have crossed")
      .shows_default();
  app.add_option("--runs", arguments.runs, "so many runs instead");
  app.add_flag("--first", arguments.is_first_enough, "the first violation is the end");
  app.add_option("--until", arguments.until,
                 "ends with the first violation that this checker tells, and not for others");
  app.add_flag("--describe", arguments.describes, "the world of --seed in words; nothing is run");
  app.add_flag("--json", arguments.as_json, "one JSON object instead of text");
  if (const auto status = app.parse_or_end(argc, argv, exit_mistake)) return *status;
  if (arguments.describes) {
    return std::printf("%s\n", program.describe(arguments.seed).c_str()), 0;
  }
  return run_all(program, arguments);
}

}  // namespace

int swarm_main(int argc, char** argv, const SwarmProgram& program) {
  try {
    return serve(argc, argv, program);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
    return exit_mistake;
  }
}

}  // namespace cw::sim
