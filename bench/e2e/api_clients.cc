// api_clients: what a thousand clients of a gateway's API, slow and hostile, cost its hosts in
// goodput: datagrams at 80 % of a link, by turns with the crowd and without it.
//
// Exit codes: 0 done, 1 something went wrong, 2 arguments, 3 it cannot be measured here.
#include <sys/resource.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/e2e/steady_flow.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/demo/gateways.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/sites.h"

namespace {

using namespace cw;
using bench::Flow, bench::frame_bytes;
using lab::Time;
using std::chrono::milliseconds;

constexpr int exit_refused = 2;
constexpr auto settle = milliseconds(500), warm_up = milliseconds(1000);
constexpr double load = 0.8;

struct Arguments {
  uint32_t rounds = 10, clients = 1000, seconds = 3;
  uint64_t mbps = 100;
  bool is_json = false;
};

/// Clients that connect, say a byte now and then, something wrong, or nothing, and come again.
class Crowd {
 public:
  Crowd(std::string socket, uint32_t count) : socket_(std::move(socket)), fds_(count, -1) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Crowd() {
    thread_.request_stop();
    thread_.join();
    for (const int fd : fds_) {
      if (fd >= 0) close(fd);
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  static constexpr milliseconds step{10};

  int join() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    std::ranges::copy(socket_, name.sun_path);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) return fd;
    close(fd);  // no place yet
    return -1;
  }
  /// One of a hundred of them has its turn in each step.
  void run(const std::stop_token& stop) {
    constexpr const char* words[] = {"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n", "G",
                                     "\0\1\2garbage\r\n\r\n", "POST /v1/swap HTTP/1.1\r\n"};
    for (size_t turn = 0; !stop.stop_requested(); ++turn) {
      for (size_t i = turn % 100; i < fds_.size(); i += 100) {
        if (fds_[i] < 0) fds_[i] = join();
        if (fds_[i] < 0) continue;
        const char* const word = words[i % std::size(words)];
        char answer[4096];
        const bool is_there = send(fds_[i], word, std::strlen(word), MSG_NOSIGNAL) >= 0 &&
                              recv(fds_[i], answer, sizeof(answer), 0) != 0;
        if (!is_there && errno != EAGAIN) close(std::exchange(fds_[i], -1));
      }
      std::this_thread::sleep_for(step);
    }
  }

  const std::string socket_;
  std::vector<int> fds_;
  std::jthread thread_;
};

/// What came in the time, as a share of what was sent in as long.
double share_of(const Flow& flow, Time::time_point from, Time::time_point to, double pps) {
  const auto& arrivals = flow.arrivals();
  const auto count =
      std::ranges::lower_bound(arrivals, to) - std::ranges::lower_bound(arrivals, from);
  return static_cast<double>(count) / (pps * std::chrono::duration<double>(to - from).count());
}

struct Period {
  bool has_crowd = false;
  Time::time_point from, to;
};

Json measure(const Arguments& arguments, const std::filesystem::path& programs) {
  demo::Options options;
  options.loss = 0;
  options.rate = Rate::from_mbps(arguments.mbps);
  lab::Sites sites({.lan_mtu = options.mtu, .wan_mtu = options.mtu});
  sites.join((programs / "causeway-wan").string(),
             {"--rtt", std::to_string(options.rtt.ns()) + "ns", "--rate",
              std::to_string(options.rate.bps()) + "bit/s", "--gather", "100us"});
  demo::Gateways gateways(sites, options, (programs / "causewayd").string());
  const double pps =
      static_cast<double>(options.rate.bps()) * load / (8 * static_cast<double>(frame_bytes));
  Flow flow(sites, pps);
  std::this_thread::sleep_for(warm_up);
  std::vector<Period> periods;
  const std::string folder = std::string(lab::enclosure_folder) + "/api/a/";
  for (uint32_t i = 0; i < arguments.rounds * 2; ++i) {
    std::optional<Crowd> crowd;
    if (i % 2 == 0)
      crowd.emplace(folder + (i % 4 == 0 ? "read" : "control") + ".sock", arguments.clients);
    std::this_thread::sleep_for(settle);
    const auto from = Time::now();
    std::this_thread::sleep_for(std::chrono::seconds(arguments.seconds));
    periods.push_back({crowd.has_value(), from, Time::now()});
    gateways.check();
    std::fprintf(stderr, "\r%u of %u", i + 1, arguments.rounds * 2);
  }
  std::fprintf(stderr, "\n");
  flow.end();
  std::vector<double> with, without;
  for (const Period& each : periods) {
    (each.has_crowd ? with : without).push_back(share_of(flow, each.from, each.to, pps));
  }
  std::ranges::sort(with), std::ranges::sort(without);
  const auto median = [](const std::vector<double>& row) { return lab::nearest_rank(row, 0.5); };
  return {{"clients", arguments.clients},
          {"goodput_with", median(with)},
          {"goodput_without", median(without)},
          {"ratio_median", median(with) / median(without)},
          {"ratio_lowest", with.front() / without.front()},
          {"sent", flow.sent()},
          {"arrived", flow.arrivals().size()}};
}

int run(const Arguments& arguments, const std::filesystem::path& programs) {
  const rlimit files{.rlim_cur = 4096, .rlim_max = 4096};
  (void)setrlimit(RLIMIT_NOFILE, &files);
  const Json it = measure(arguments, programs);
  if (arguments.is_json) {
    std::printf("%s\n", it.dump().c_str());
    return 0;
  }
  std::printf(
      "Goodput beside %s clients of the API: %.4f of what was sent, without them %.4f\n"
      "ratio: median %.4f, of the lowest periods %.4f\n",
      it["clients"].dump().c_str(), it["goodput_with"].get<double>(),
      it["goodput_without"].get<double>(), it["ratio_median"].get<double>(),
      it["ratio_lowest"].get<double>());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CommandLine app("What clients of the API, slow and hostile, cost hosts in goodput.",
                  "api_clients");
  app.add_option("--rounds", arguments.rounds, "periods with them, and as many without")
      .between(1, 1000);
  app.add_option("--clients", arguments.clients, "how many").between(1, 3000);
  app.add_option("--seconds", arguments.seconds, "of a period").between(1, 600);
  app.add_option("--rate", arguments.mbps, "of the link, Mbit/s").between(1, 10'000);
  app.add_flag("--json", arguments.is_json, "all of it on one line");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  return lab::run_measurement("api_clients", [&](const std::filesystem::path& programs) {
    return run(arguments, programs);
  });
}
