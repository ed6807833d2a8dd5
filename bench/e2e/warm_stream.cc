// What loss costs messages of one warm stream: real packets between two hosts of a lab, over a link
// that is lossless for a block of messages and lossy for the next, again and again. Both halves
// share the stream, the machine and its moods, so that their ratio says what loss costs.
//
// A message's latency runs from its post at the sender until the sender's policy says that it is
// done: all bytes in place at the receiver, and the word of that back. One is in flight at a time;
// the link changes between two messages. A round trip and the line time are the least.
#include <sched.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/perf/measure.h"
#include "policies/policies.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/lab.h"

namespace {

using namespace cw;
using lab::Arguments;

constexpr int exit_refused = 2, exit_failed = 3, exit_skipped = 77;

perf::StopFlag stop = false;

struct Asked {
  std::vector<std::string> policies{"selective_repeat", "erasure", "hybrid"};
  uint64_t messages = 5000, block = 100, warm_up = 100;
  std::string size = "1MiB", rtt = "20ms", rate = "500Mbit/s", loss = "1%", seed = "1";
  std::string burst;
  bool is_json = false;
};

/// What a policy's run came to: the client's report and the emulator's.
struct Run {
  std::string policy;
  Json report, link;
};

void stop_on_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop = true; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

std::string lossy(const Asked& asked) {
  return asked.burst.empty() ? "loss=" + asked.loss : "gilbert=" + asked.burst + "," + asked.loss;
}
std::string lossless(const Asked& asked) { return asked.burst.empty() ? "loss=" : "gilbert="; }

Result<perf::Options> client_options(const Asked& asked, const std::string& policy,
                                     const std::string& control) {
  const Arguments arguments{"causeway-perf",
                            "client",
                            lab::address_of_b,
                            "--policy",
                            policy,
                            "--size",
                            asked.size,
                            "--count",
                            std::to_string(asked.messages + asked.warm_up),
                            "--inflight",
                            "1",
                            "--rate",
                            asked.rate,
                            "--verify",
                            "--seed",
                            asked.seed,
                            "--wan",
                            control,
                            "--phase",
                            lossless(asked),
                            "--phase",
                            lossy(asked),
                            "--phase-messages",
                            std::to_string(asked.block),
                            "--warm-up",
                            std::to_string(asked.warm_up)};
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  return perf::parse_options(words);
}

/// The client runs in this process, so that its progress is seen.
Json measure(const lab::Lab& lab, const perf::Options& options) {
  if (setns(lab.namespace_of(lab::HostA), CLONE_NEWNET) != 0) {
    throw std::runtime_error("host A cannot be entered");
  }
  plugins::Registry policies;
  for (const cw_policy_ops* each : policy::for_streams()) {
    if (const auto added = policies.add(*each); !added) {
      throw std::runtime_error(added.error().sentence);
    }
  }
  const auto outcome = perf::run_client(options, policies, stop);
  if (!outcome) throw std::runtime_error(outcome.error().sentence);
  if (!outcome->is_whole) {
    throw std::runtime_error("the measurement has not ended: " +
                             outcome->report.value("ended", ""));
  }
  return outcome->report;
}

Run run_policy(const Asked& asked, const std::string& policy) {
  const std::string control = std::string(lab::enclosure_folder) + "/wan";
  const auto options = client_options(asked, policy, control);
  if (!options) throw std::invalid_argument(options.error().sentence);
  const lab::Lab lab;
  lab::Program wan(lab.namespace_of(lab::Middle),
                   {CW_WAN_PROGRAM, "ma", "mb", "--json", "--rtt", asked.rtt, "--rate", asked.rate,
                    "--seed", asked.seed, "--control", control,
                    // Nobody needs to wake for each frame of a burst.
                    "--gather", "100us"});
  if (!wan.wait_for("ready")) throw std::runtime_error("causeway-wan: " + wan.finish().err);
  lab::Program server(lab.namespace_of(lab::HostB), {CW_PERF_PROGRAM, "server", "--json"});
  if (!server.wait_for("ready")) throw std::runtime_error("causeway-perf: " + server.finish().err);
  Run run{policy, measure(lab, *options), {}};
  server.finish();
  wan.signal(SIGTERM);
  run.link = Json::parse(wan.finish().out);
  return run;
}

std::string table_of(const Run& run) {
  const Json& phases = run.report.at("phases");
  const auto ms = [&](size_t phase, const char* name) {
    return phases[phase].at("completion_us").at(name).get<double>() * 1e-3;
  };
  const auto over = [&](const char* name) {
    return phases[1].at("over_first").at(name).get<double>();
  };
  char text[400];
  std::snprintf(text, sizeof(text),
                "%-18s %8.2f %8.2f %8.2f   %8.2f %8.2f %8.2f   x%.3f x%.3f x%.3f   %d + %d%s\n",
                run.policy.c_str(), ms(0, "p50"), ms(0, "p99"), ms(0, "p999"), ms(1, "p50"),
                ms(1, "p99"), ms(1, "p999"), over("p50"), over("p99"), over("p999"),
                phases[0].at("done").get<int>(), phases[1].at("done").get<int>(),
                run.link.value("void", false) ? "  VOID: the emulator was late" : "");
  return text;
}

void print(const Run& run, const Asked& asked) {
  if (!asked.is_json) {
    std::printf("%s", table_of(run).c_str());
  } else {
    Json json{{"policy", run.policy}, {"report", run.report}, {"link", run.link}};
    std::printf("%s\n", json.dump().c_str());
  }
  std::fflush(stdout);
}

int run(const Asked& asked) {
  if (const std::string why_not = lab::obstacle(); !why_not.empty()) {
    std::fprintf(stderr, "warm_stream: skipped: %s\n", why_not.c_str());
    return exit_skipped;
  }
  stop_on_signals();
  if (!asked.is_json) {
    std::printf(
        "%llu of %s over %s and %s; blocks of %llu without loss and with %s\n"
        "ms from post until the sender knows that all has arrived\n\n"
        "%-18s %26s   %26s   %s\n%-18s %8s %8s %8s   %8s %8s %8s   %6s %6s %6s   messages\n",
        static_cast<unsigned long long>(asked.messages), asked.size.c_str(), asked.rtt.c_str(),
        asked.rate.c_str(), static_cast<unsigned long long>(asked.block), lossy(asked).c_str(), "",
        "lossless", "lossy", "ratio", "policy", "p50", "p99", "p99.9", "p50", "p99", "p99.9", "p50",
        "p99", "p99.9");
    std::fflush(stdout);
  }
  for (const std::string& policy : asked.policies) {
    std::fprintf(stderr, "%s ...\n", policy.c_str());
    print(run_policy(asked, policy), asked);
  }
  return 0;
}

void declare(CommandLine& app, Asked& asked) {
  app.add_option("POLICY", asked.policies, "Which, one after the other.");
  const auto add = [&](const char* name, auto& text, const char* value, const char* what) {
    app.add_option(name, text, what).type_name(value);
  };
  add("--messages", asked.messages, "NUMBER", "Of both halves together (5000).");
  add("--block", asked.block, "NUMBER", "In a row without loss, and then with (100).");
  add("--warm-up", asked.warm_up, "NUMBER", "Before the first block, without loss (100).");
  add("--size", asked.size, "SIZE", "Of a message (1MiB).");
  add("--rtt", asked.rtt, "TIME", "There and back (20ms).");
  add("--rate", asked.rate, "RATE", "Of the line, and of the sender (500Mbit/s).");
  add("--loss", asked.loss, "SHARE", "Of all packets, each way (1%).");
  add("--burst", asked.burst, "NUMBER", "Packets lost in a row, on average; else independent.");
  add("--seed", asked.seed, "NUMBER", "Decides which packets are lost (1).");
  app.add_flag("--json", asked.is_json, "A JSON object per policy.");
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CommandLine app("What loss costs messages of one warm stream. Needs root.", "warm_stream");
  declare(app, asked);
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    return lab::run_enclosed([&] { return run(asked); });
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "warm_stream: %s\n", error.what());
    return exit_refused;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warm_stream: %s\n", error.what());
    return exit_failed;
  }
}
