// rnic_beside: messages that the SDK writes over an RNIC into another machine's memory, beside
// perftest's over UC and RC between the same machines in the same minutes, and what a message costs
// at each end. Prints Markdown.
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/units/text.h"
#include "tests/lab/enclosure.h"
#include "tests/rdma/perftest.h"

namespace {

using namespace cw;
using std::chrono::seconds;

constexpr int exit_refused = 2, exit_failed = 3;
constexpr const char* message = "64KiB";
constexpr const char* losses[] = {"0%", "1%"};

constexpr const char* summary =
    "Two virtual machines with soft-RoCE and a bad link between them, no gateway: ib_write_bw and "
    "causeway-perf\nin turn, messages of 64 KiB. Needs root; takes some minutes of a machine that "
    "does nothing else.";

struct Options {
  std::string guest, rtt = "20ms", rate = "40Mbit/s";
  uint32_t rounds = 3, seconds = 4;
};

struct Way {
  const char* title;
  const char* perftest;  ///< null: the SDK's
  const char* policy;
};
constexpr Way ways[] = {{"`ib_write_bw` UC", "ib_write_bw -c UC", nullptr},
                        {"`ib_write_bw` RC", "ib_write_bw -u 18", nullptr},
                        {"SDK, `passthrough`", nullptr, "passthrough"},
                        {"SDK, `selective_repeat`", nullptr, "selective_repeat"},
                        {"SDK, `erasure`", nullptr, "erasure"}};

/// Of one way over one link.
struct Cell {
  std::vector<double> mbps;
  Json last;  ///< causeway-perf's report
};

class Beside {
 public:
  Beside(const Options& options, const std::filesystem::path& programs)
      : options_(options),
        perf_((programs / "causeway-perf").string()),
        sites_({(programs / "causeway-wan").string(), (programs / "causewayd").string(),
                options.guest},
               1500) {}

  void run() {
    sites_.set_line({.rtt = options_.rtt});
    std::fprintf(stderr, "two machines start...\n");
    sites_.wait_ready();
    sites_.route_plainly();
    for (uint32_t round = 1; round <= options_.rounds; ++round) {
      for (const char* const loss : losses) {
        sites_.set_line({.rtt = options_.rtt, .loss = loss});
        for (const Way& way : ways) measure(way, cells_[{way.title, loss}], round, loss);
      }
    }
    print();
  }

 private:
  void measure(const Way& way, Cell& cell, uint32_t round, const char* loss) {
    std::fprintf(stderr, "round %u, %s lost, %s...\n", round, loss, way.title);
    cell.mbps.push_back(way.perftest != nullptr ? perftest(way.perftest)
                                                : messages(way.policy, cell.last));
  }

  double perftest(const char* command) {
    const auto run = lab::run_perftest_with_figures(
        sites_, command + lab::for_seconds(options_.seconds), seconds(60));
    const auto row = lab::parse_bandwidth(run.host_a);
    if (!row) throw std::runtime_error(std::string(command) + " printed no bandwidth");
    return row->mbps;
  }

  double messages(const char* policy, Json& report) {
    const std::string own = perf_ + " ", most = "exec timeout 60 ";
    const lab::Inside &a = lab::inside_a, &b = lab::inside_b;
    const int serving = sites_.host_b().start(most + own + "server" + rnic_options(b, a));
    sites_.host_b().wait_for_listeners(1);
    const lab::Outcome sent =
        sites_.host_a().run(most + own + "client " + b.wan + rnic_options(a, b) + " --policy " +
                                policy + " --size " + message + " --rate " + options_.rate +
                                " --duration " + std::to_string(options_.seconds) + "s --json",
                            seconds(70));
    const lab::Outcome served = sites_.host_b().finish(serving, seconds(70));
    report = Json::parse_or_null(sent.out);
    if (!report.is_object()) throw std::runtime_error(sent.err + served.err);
    return report.at("bandwidth_mbps").get<double>();
  }

  void print() const {
    std::printf(
        "| Mbit/s, medians of %u | 0 %% lost | 1 %% lost | messages whole at 1 %% |\n"
        "|---|---|---|---|\n",
        options_.rounds);
    for (const Way& way : ways) {
      const Cell &sound = cells_.at({way.title, losses[0]}),
                 &bad = cells_.at({way.title, losses[1]});
      const std::string whole = way.perftest != nullptr
                                    ? "not told"
                                    : text_of("%llu of %llu", number(bad.last, "arrived_whole"),
                                              number(bad.last, "posted"));
      std::printf("| %s | %.1f | %.1f | %s |\n", way.title, bench::median(sound.mbps),
                  bench::median(bad.mbps), whole.c_str());
    }
    std::printf(
        "\n| per message of %s, 1 %% lost | packets | work requests' rows | completions | "
        "system calls besides | copies |\n|---|---|---|---|---|---|\n",
        message);
    for (const Way& way : ways) {
      if (way.perftest != nullptr) continue;
      const Json& report = cells_.at({way.title, losses[1]}).last;
      print_costs(way, report, "client", "packets_sent");
      print_costs(way, report, "server", "packets_received");
    }
  }

  static unsigned long long number(const Json& json, const char* name) {
    return json.at(name).get<uint64_t>();
  }

  static void print_costs(const Way& way, const Json& report, const char* end,
                          const char* packets) {
    const auto posted = static_cast<double>(number(report, "posted"));
    const Json &of_end = report.at(end), &port = of_end.at("port");
    const auto each = [&](const Json& json, const char* name) {
      return static_cast<double>(number(json, name)) / posted;
    };
    std::printf("| %s, %s | %.1f | %.1f | %.1f | %.1f | %.2f |\n", way.title, end,
                each(of_end, packets), each(port, "posts"), each(port, "completions"),
                each(port, "system_calls"), each(port, "copies"));
  }

  Options options_;
  std::string perf_;
  lab::RdmaSites sites_;
  std::map<std::pair<std::string, std::string>, Cell> cells_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CommandLine app(summary, "rnic_beside");
  app.add_option("--guest", options.guest, "What make_guest made.").required();
  app.add_option("--rtt", options.rtt, "Of the link (20ms).");
  app.add_option("--rate", options.rate, "Of the SDK's senders (40Mbit/s).");
  app.add_option("--rounds", options.rounds, "Everybody in turn so often (3).");
  app.add_option("--seconds", options.seconds, "Of each measurement (4).");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return lab::run_enclosed([&] {
      if (const std::string why = lab::rdma_obstacle(options.guest); !why.empty()) {
        throw std::runtime_error(why);
      }
      Beside(options, programs).run();
      return 0;
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rnic_beside: %s\n", error.what());
    return exit_failed;
  }
}
