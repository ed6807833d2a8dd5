// causeway-model: completion times on paper. Exit codes: see --help.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "control/model/program/answer.h"
#include "control/model/program/draw.h"
#include "control/model/program/options.h"
#include "control/model/program/report.h"

namespace {

using namespace cw;
using namespace cw::model;

constexpr int exit_no_law = 1, exit_mistake = 2;

void say(const std::string& sentences) {
  for (size_t at = 0; at < sentences.size();) {
    const size_t end = std::min(sentences.find('\n', at), sentences.size());
    std::fprintf(stderr, "causeway-model: %s\n", sentences.substr(at, end - at).c_str());
    at = end + 1;
  }
}

/// Says how far a long sweep is, on stderr: one line that is rewritten on a terminal.
class Progress {
 public:
  void report(size_t done, size_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ || done == all) return;
    next_ = now + std::chrono::seconds(1);
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    std::fprintf(stderr, "%s%zu of %zu points%s", is_terminal ? "\r\x1b[K" : "", done, all,
                 is_terminal ? "" : "\n");
    is_open_ = is_terminal;
  }
  void end() const {
    if (is_open_) std::fprintf(stderr, "\r\x1b[K");
  }

 private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  bool is_open_ = false;
};

int run_sweeps(const Options& options) {
  Progress progress;
  const auto points =
      answer_sweeps(options, [&](size_t done, size_t all) { progress.report(done, all); });
  progress.end();
  std::printf("%s", options.is_json ? (json_of(points, options).dump() + "\n").c_str()
                                    : table_of(points, options).c_str());
  if (options.plot.empty()) return 0;
  const auto picture = draw(points, options);
  if (!picture) return say("--plot: " + picture.error().sentence), exit_no_law;
  std::ofstream file(options.plot);
  file << *picture << std::flush;
  if (!file) return say("--plot: " + options.plot + " cannot be written"), exit_no_law;
  return 0;
}

int run(int argc, char** argv) {
  const auto options = parse_options({argv, static_cast<size_t>(argc)});
  if (!options) return say(options.error().sentence), exit_mistake;
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  if (!options->sweeps.empty()) return run_sweeps(*options);
  const auto result = answer(options->inputs, options->plans, *options);
  if (!result) return say(result.error().sentence), exit_mistake;
  std::printf("%s", options->is_json ? (json_of(*result, *options).dump() + "\n").c_str()
                                     : table_of(*result, *options).c_str());
  return result->predictions.empty() ? exit_no_law : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "causeway-model: %s\n", error.what());
    return exit_no_law;
  }
}
