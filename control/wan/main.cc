// causeway-wan: a bad link between two interfaces.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "control/wan/forwarder.h"
#include "control/wan/options.h"
#include "control/wan/report.h"
#include "control/wan/socket/control_socket.h"
#include "control/wan/socket/offloads.h"

namespace {

using namespace cw;
using namespace cw::wan;

constexpr int exit_refused = 2, exit_failed = 1;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void say(const std::string& sentence) {
  std::fprintf(stderr, "causeway-wan: %s\n", sentence.c_str());
}

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop = true; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

/// Wakes to the nanosecond, and before other programs: the link's time must not depend on who else
/// computes.
void sharpen_waking(bool is_realtime) {
  prctl(PR_SET_TIMERSLACK, 1);
  const sched_param lowest{.sched_priority = 1};
  if (is_realtime && sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) {
    say("no CAP_SYS_NICE: other programs may make the link late");
  }
}

/// Turns joining offloads off, or warns of them.
Result<void> tame(const Options& options, std::optional<OffloadsOff> (&off)[2]) {
  for (size_t i = 0; i < 2; ++i) {
    const std::string& interface = options.interfaces[i];
    const auto joining = joining_offloads(interface);
    if (joining.empty()) continue;
    if (!options.fixes_offloads) {
      say("interface " + interface + " joins frames before it hands them over; `" +
          ethtool_command(interface, joining) + "` or --fix-offloads stops that");
      continue;
    }
    auto made = OffloadsOff::make(interface);
    if (!made) return failure(made.error().sentence);
    off[i].emplace(std::move(*made));
  }
  return {};
}

/// Rewrites its line on a terminal; elsewhere each time is a line.
void show_live(const std::string& line) {
  static const bool is_terminal = isatty(STDERR_FILENO) == 1;
  std::fprintf(stderr, is_terminal ? "\r%s\x1b[K" : "%s\n", line.c_str());
}

/// Super-packets are the one failure whose cause is known and lies elsewhere.
void explain_super_packets(const Options& options, const Progress& progress) {
  for (size_t i = 0; i < 2; ++i) {
    if (progress.directions[i]->counters().failures.too_long == 0) continue;
    say("super-packets came in at " + options.interfaces[i] +
        ", which a link cannot carry; on the host at its other end, `ethtool -K HOST_IF tso off "
        "gso off gro off tx-udp-segmentation off` stops them");
  }
}

int run(const Options& options) {
  auto forwarder = Forwarder::make(options);
  if (!forwarder) {
    say(forwarder.error().sentence);
    return exit_failed;
  }
  std::optional<OffloadsOff> off[2];
  const auto tamed = tame(options, off);
  if (!tamed) {
    say(tamed.error().sentence);
    return exit_failed;
  }
  stop_on_signals();
  sharpen_waking(options.is_realtime);
  say("ready between " + options.interfaces[0] + " and " + options.interfaces[1]);
  LiveLine live;
  (*forwarder)->run(stop, [&](const Progress& progress) { show_live(live.next(progress)); });

  const Progress progress = (*forwarder)->progress();
  if (options.stats_every > Duration() && isatty(STDERR_FILENO) == 1) std::fputc('\n', stderr);
  explain_super_packets(options, progress);
  const std::string because = void_because(progress);
  if (options.is_json && !because.empty()) say("this run is void: " + because);
  const std::string report =
      options.is_json ? json_report(options, progress) : text_report(progress);
  std::fputs(report.c_str(), stdout);
  return 0;
}

/// `causeway-wan set PATH OPTION=VALUE ...`
int set(std::span<char* const> words) {
  if (words.empty()) return say("set what? causeway-wan set PATH loss=1%"), exit_refused;
  if (std::string_view(words[0]) == "--help") {
    std::fputs(
        "causeway-wan set PATH OPTION=VALUE ...\n\n"
        "Changes a link that runs with --control PATH. OPTION is one of those that\n"
        "`causeway-wan --help` has, without dashes; an empty VALUE takes it back:\n"
        "  causeway-wan set /run/line loss=1% rtt=40ms\n"
        "  causeway-wan set /run/line loss=\n",
        stdout);
    return 0;
  }
  std::string request;
  for (const char* word : words.subspan(1)) request += std::string(word) + " ";
  const auto answer = ask(words[0], request);
  if (!answer) return say(answer.error().sentence), exit_failed;
  std::fputs(answer->c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "set") {
    return set(std::span(argv, static_cast<size_t>(argc)).subspan(2));
  }
  const auto options = parse_options({argv, static_cast<size_t>(argc)});
  if (!options) {
    say(options.error().sentence);
    return exit_refused;
  }
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  return run(*options);
}
