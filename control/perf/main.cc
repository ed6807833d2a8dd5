// causeway-perf: what an RDMA engineer asks of a link. Exit codes: see --help.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "control/json/json.h"
#include "control/perf/collective/collective.h"
#include "control/perf/collective/options.h"
#include "control/perf/measure.h"
#include "control/perf/message/message_load.h"
#include "control/perf/message/options.h"
#include "control/perf/options.h"
#include "control/perf/report/figures.h"
#include "control/perf/shared/exits.h"
#include "control/perf/shared/policies.h"

namespace {

using namespace cw;
using namespace cw::perf;

StopFlag stop = false;
static_assert(StopFlag::is_always_lock_free, "a signal handler sets it");

void stop_on_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop = true; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int print(const perf::Outcome& outcome, const Options& options) {
  const std::string table =
      options.mode == Mode::Server ? receiver_table_of(outcome.report) : table_of(outcome.report);
  std::printf("%s", options.is_json ? (outcome.report.dump() + "\n").c_str() : table.c_str());
  std::fflush(stdout);
  if (outcome.report.value("bytes_wrong", uint64_t{0}) > 0) return exit_wrong;
  if (stop) return exit_interrupted;
  return outcome.is_whole ? 0 : exit_failed;
}

int finish(const Result<perf::Outcome>& outcome, const Options& options) {
  if (outcome) return print(*outcome, options);
  say(outcome.error().sentence);
  return stop ? exit_interrupted : exit_failed;
}

int run_server(const Options& options, plugins::Registry& policies) {
  auto listener = Listener::make(options.udp_port);
  if (!listener) return say(listener.error().sentence), exit_failed;
  say("ready on port " + std::to_string(options.udp_port));
  int status = exit_interrupted;
  while (auto channel = listener->accept(stop)) {
    status = finish(serve(*channel, options, policies, stop), options);
    if (!options.serves_on) break;
  }
  return status;
}

int run(Options& options) {
  plugins::Registry policies;
  const auto own = gather(policies, options.plugin, "selective_repeat");
  if (!own) return say(own.error().sentence), exit_refused;
  if (options.parameters.policy.empty()) options.parameters.policy = *own;
  if (const auto known = policies.find(options.parameters.policy); !known) {
    return say("--policy: " + known.error().sentence), exit_refused;
  }
  stop_on_signals();
  switch (options.mode) {
    case Mode::Server:
      return run_server(options, policies);
    case Mode::Client:
      return finish(run_client(options, policies, stop), options);
    case Mode::Simulation:
      return finish(simulate(options, policies, stop), options);
  }
  return exit_refused;
}

int run_with(int argc, char** argv) {
  if (argc > 1 && is_collective(argv[1])) {
    stop_on_signals();
    return run_collective({argv, static_cast<size_t>(argc)}, stop);
  }
  if (argc > 1 && is_message_load(argv[1])) {
    stop_on_signals();
    return run_message_load({argv, static_cast<size_t>(argc)}, stop);
  }
  std::vector<NamedLine> others = lines_of_collectives();
  for (NamedLine& each : lines_of_message_loads()) others.push_back(std::move(each));
  auto options = parse_options({argv, static_cast<size_t>(argc)}, others);
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  return run(*options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_with(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causeway-perf: %s\n", error.what());
    return exit_failed;
  }
}
