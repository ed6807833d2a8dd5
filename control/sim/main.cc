// causeway-sim: runs one scenario file, or plays a policy's trace again. Exit codes: 0 done; 1 a
// byte was wrong, or a decision another one; 2 a mistake in the file or the arguments.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "control/command_line/command_line.h"
#include "control/config/policy_keys.h"
#include "control/config/text/file.h"
#include "control/sim/play/play.h"
#include "control/sim/scenario.h"
#include "control/sim/simulation.h"
#include "plugins/registry.h"

namespace {

constexpr int exit_mistake = 2;
constexpr size_t record_bytes_max = size_t{16} << 20;

constexpr const char* teaching = R"(
A scenario is a TOML file; every key has a default, so this one is complete:

    [network]
    delay = "12.5 ms"            # one way
    there = { loss = "0.1 %" }   # data; the way back is clean

    [policy]
    name = "selective_repeat"
    detect = "nack"

    [workload]
    messages = 1000
    size_min = "2 MiB"
    size_max = "2 MiB"

The same file and seed give the same run, packet for packet: compare trace_hash.
--list-keys shows every key, --list-policies every policy and its parameters.
A policy of your own:  causeway-sim --plugin build/mine.so scenario.toml

What a policy was told, and what it decided, call by call: --record keeps it of a scenario, and
causewayctl trace or bundle --trace of a gateway. --replay plays it again, and marks with ! what is
decided otherwise now:
  causeway-sim scenario.toml --record trace.json
  causeway-sim --replay trace.json --message 7
  causeway-sim --replay bundle.json --differences --plugin mended.so --policy mended
More examples: tests/sim/scenarios/.)";

struct Arguments {
  std::string file, record;
  cw::PlayOptions play;
  std::vector<std::string> plugins;
  std::optional<uint64_t> seed;
  bool as_json = false, lists_policies = false, lists_keys = false;
};

/// Says how far a long run is, on stderr: one line that is rewritten on a terminal, else a line
/// every few seconds.
class Progress {
 public:
  explicit Progress(uint64_t total) : total_(total) {}

  void report(uint64_t finished) {
    const double now = seconds();
    if (now < next_) return;
    next_ = now + (is_terminal_ ? 0.2 : 5);
    std::fprintf(stderr, "%s%llu of %llu messages, %.0f/s%s", is_terminal_ ? "\r\x1b[K" : "",
                 static_cast<unsigned long long>(finished), static_cast<unsigned long long>(total_),
                 static_cast<double>(finished) / now, is_terminal_ ? "" : "\n");
    is_shown_ = true;
  }
  void end() const {
    if (is_shown_ && is_terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  uint64_t total_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  double next_ = 2;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int refuse(const std::string& sentences) {
  std::fprintf(stderr, "%s\n", sentences.c_str());
  return exit_mistake;
}

/// The built-in policies and those of --plugin; the last file's is the default of a scenario.
class Known {
 public:
  cw::Result<void> gather(const std::vector<std::string>& files) {
    for (const cw_policy_ops* each : policies_.known) {
      if (const auto added = registry_.add(*each); !added) return added;
    }
    const cw_policy_ops* last = policies_.initial;
    for (const std::string& file : files) {
      const auto loaded = registry_.load(file);
      if (!loaded) return cw::failure("--plugin: " + loaded.error().sentence);
      last = &loaded->table();
    }
    refs_ = registry_.all();
    policies_ = {.known = {}, .initial = last};
    for (const auto& ref : refs_) policies_.known.push_back(&ref.table());
    return {};
  }
  const cw::Policies& policies() const { return policies_; }

 private:
  cw::plugins::Registry registry_;
  std::vector<cw::plugins::PolicyRef> refs_;
  cw::Policies policies_ = cw::Policies::built_in();
};

int run(const Arguments& arguments, const cw::Policies& policies) {
  const auto text = cw::config::text_of_file(arguments.file);
  if (!text) return refuse(text.error().sentence);
  auto scenario = cw::read_scenario(arguments.file, *text, policies);
  if (!scenario) return refuse(scenario.error().sentence);
  if (arguments.seed) scenario->run.seed = *arguments.seed;
  const auto simulation = cw::Simulation::make(*scenario);
  if (!simulation) return refuse(arguments.file + ": " + simulation.error().sentence);

  std::ofstream recorded;
  if (!arguments.record.empty()) {
    recorded.open(arguments.record);
    if (!recorded) return refuse(arguments.record + " cannot be written");
    (*simulation)->record(record_bytes_max);
  }
  Progress progress(scenario->workload.total() * scenario->receivers);
  const cw::Report report =
      (*simulation)->run([&](uint64_t finished) { progress.report(finished); });
  progress.end();
  std::printf("%s\n", (arguments.as_json ? to_json(report) : to_table(report)).c_str());
  if (!arguments.record.empty()) {
    recorded << json_of((*simulation)->recorded()).dump(1) << "\n";
    recorded.close();
    if (!recorded) return refuse(arguments.record + " cannot be written");
  }
  return report.bytes_wrong == 0 ? 0 : 1;
}

int serve(int argc, char** argv) {
  Arguments arguments;
  cw::CommandLine app(
      "Runs a scenario: real endpoints over a simulated network, under a virtual clock.",
      "causeway-sim");
  app.footer(teaching);
  app.ends_with({{0, "Done."},
                 {1, "A byte was wrong; with --replay, a decision was another one."},
                 {exit_mistake, "A mistake in the file, all of them, or in the arguments."}});
  app.add_option("scenario", arguments.file, "the scenario, a TOML file").type_name("FILE");
  app.add_option("--seed", arguments.seed, "instead of the file's");
  app.add_option("--plugin", arguments.plugins,
                 "a policy as a shared object; the default of [policy] name")
      .type_name("FILE")
      .one_at_a_time();
  app.add_option("--record", arguments.record, "keep what the policies are told and decide")
      .type_name("FILE");
  app.add_option("--replay", arguments.play.file, "play a trace, or that of a bundle")
      .type_name("FILE");
  app.add_option("--policy", arguments.play.policy, "with --replay: another than the trace's");
  app.add_option("--message", arguments.play.message, "with --replay: what is about this one");
  app.add_flag("--differences", arguments.play.shows_differences_only,
               "with --replay: what is decided otherwise now");
  app.add_flag("--json", arguments.as_json, "one JSON object instead of a table");
  app.add_flag("--list-policies", arguments.lists_policies, "every policy and its parameters");
  app.add_flag("--list-keys", arguments.lists_keys, "every key of a scenario file");
  if (const auto status = app.parse_or_end(argc, argv, exit_mistake)) return *status;
  Known known;
  if (const auto gathered = known.gather(arguments.plugins); !gathered) {
    return refuse(gathered.error().sentence);
  }
  const cw::Policies& policies = known.policies();
  if (arguments.lists_policies) {
    return std::printf("%s", cw::config::policies_text(policies.known).c_str()), 0;
  }
  if (arguments.lists_keys) return std::printf("%s", cw::scenario_keys(policies).c_str()), 0;
  if (!arguments.play.file.empty()) return play(arguments.play, policies, arguments.as_json);
  if (arguments.file.empty()) return refuse("which scenario? try causeway-sim --help");
  return run(arguments, policies);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causeway-sim: %s\n", error.what());
    return exit_mistake;
  }
}
