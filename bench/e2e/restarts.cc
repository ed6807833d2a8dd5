// restarts: for how long hosts hear nothing of each other while a gateway is restarted, between
// namespaces, under datagrams both ways and TCP; and where that time goes.
//
// Exit codes: 0 done, 1 a wrong byte, a packet doubled, or a silence longer than what is promised,
// 2 arguments, 3 it cannot be measured here.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/lab/datagrams.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/gateway.h"
#include "tests/lab/one_way.h"
#include "tests/lab/restarts/fd_store.h"
#include "tests/lab/restarts/tcp_file.h"

namespace {

using namespace cw;
using lab::At, lab::Time;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr int exit_wrong = 1, exit_refused = 2;
constexpr auto warm_up = milliseconds(1000), before = milliseconds(100), after = milliseconds(900);
constexpr double promise_ms = 300, promise_rtts = 3;

struct Arguments {
  unsigned restarts = 20, rtt_ms = 25, loss_percent = 0;
  bool is_killed = false, has_no_store = false, is_json = false;
};

/// What is told of each restart, in milliseconds.
struct Restart {
  Time::time_point begin, ended, ready, up, end;
};

struct Flows {
  explicit Flows(const lab::Sites& sites)
      : out(sites, {.bytes = 300, .per_second = 1000}),
        back(sites, {.from = At::HostB,
                     .to = At::HostA,
                     .source = lab::site_b.host,
                     .target = lab::site_a.host,
                     .udp_port = 7001,
                     .bytes = 300,
                     .per_second = 1000}),
        file(sites, 1'000'000) {
    out.start();
    back.start();
  }
  lab::Datagrams out, back;
  lab::TcpFile file;
};

double ms_of(Time::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void must(bool is_done, const char* what, lab::Gateway& gateway) {
  if (!is_done) throw std::runtime_error(std::string(what) + ": " + gateway.program().err_so_far());
}

Restart restart(lab::Gateway& gateway, bool is_killed) {
  Restart restart{.begin = Time::now()};
  if (is_killed) {
    gateway.kill();
  } else {
    must(gateway.stop().status == 0, "does not end well", gateway);
  }
  restart.ended = Time::now();
  gateway.start_in_vain();
  must(gateway.program().wait_for(" ready "), "not ready", gateway);
  restart.ready = Time::now();
  must(gateway.program().wait_for(" up peer="), "not up", gateway);
  restart.up = Time::now();
  std::this_thread::sleep_for(after);
  restart.end = Time::now();
  return restart;
}

struct Row {
  const char* name;
  std::vector<double> ms;  // sorted
};

struct Figures {
  std::vector<Row> rows;
  lab::DatagramCounts out, back;
  lab::TcpFileCounts file;
  double longest_ms = 0;
};

Figures figures_of(const std::vector<Restart>& restarts, Flows& flows) {
  Figures figures{.rows = {{"datagrams, to the other site", {}},
                           {"datagrams, from the other site", {}},
                           {"TCP", {}},
                           {"of it: until it has ended", {}},
                           {"then until `ready`", {}},
                           {"then until `up`", {}}}};
  figures.file = flows.file.finish(seconds(20));
  for (lab::Datagrams* each : {&flows.out, &flows.back}) each->stop();
  const std::vector<Time::time_point> bytes = flows.file.arrivals();
  for (const Restart& each : restarts) {
    const auto from = each.begin - before;
    const double values[] = {ms_of(flows.out.longest_silence(from, each.end)),
                             ms_of(flows.back.longest_silence(from, each.end)),
                             ms_of(lab::longest_between(bytes, from, each.end)),
                             ms_of(each.ended - each.begin),
                             ms_of(each.ready - each.ended),
                             ms_of(each.up - each.ready)};
    for (size_t i = 0; i < std::size(values); ++i) figures.rows[i].ms.push_back(values[i]);
    figures.longest_ms = std::max({figures.longest_ms, values[0], values[1]});
  }
  for (Row& row : figures.rows) std::ranges::sort(row.ms);
  figures.out = flows.out.counts();
  figures.back = flows.back.counts();
  return figures;
}

Figures measure(const Arguments& arguments, const std::filesystem::path& programs) {
  const std::string rtt = std::to_string(arguments.rtt_ms);
  lab::Sites sites({});
  sites.join((programs / "causeway-wan").string(),
             {"--rtt", rtt + "ms", "--rate", "200Mbit/s", "--loss",
              std::to_string(arguments.loss_percent) + "%"});
  const lab::Folder folder(lab::enclosure_folder);
  folder.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
  lab::FdStore store(folder.path("notify"));
  const std::string daemon = (programs / "causewayd").string();
  lab::Gateway a(sites, folder, daemon, true), b(sites, folder, daemon, false);
  if (!arguments.has_no_store) a.be_kept_by(&store);
  for (lab::Gateway* each : {&a, &b}) {
    each->configure(lab::GatewayFile{.rate = "190 Mbit/s", .rtt = rtt + " ms"});
    each->start();
  }
  for (lab::Gateway* each : {&a, &b}) must(each->wait_up(), "not up", *each);
  Flows flows(sites);
  std::this_thread::sleep_for(warm_up);
  std::vector<Restart> restarts;
  for (unsigned i = 0; i < arguments.restarts; ++i) {
    restarts.push_back(restart(a, arguments.is_killed));
    std::fprintf(stderr, "\r%u of %u", i + 1, arguments.restarts);
  }
  std::fprintf(stderr, "\n");
  return figures_of(restarts, flows);
}

Json json_of(const Figures& it, double promised_ms) {
  Json json = {{"promised_ms", promised_ms},       {"longest_ms", it.longest_ms},
               {"datagrams_out", text_of(it.out)}, {"datagrams_back", text_of(it.back)},
               {"tcp_bytes", it.file.received},    {"tcp_is_whole", it.file.is_whole()}};
  for (const Row& row : it.rows) {
    json["rows"].push_back({{"what", row.name},
                            {"count", row.ms.size()},
                            {"median_ms", lab::nearest_rank(row.ms, 0.5)},
                            {"p90_ms", lab::nearest_rank(row.ms, 0.9)},
                            {"longest_ms", lab::nearest_rank(row.ms, 1)}});
  }
  return json;
}

void print(const Json& json) {
  std::printf("| silence, ms | restarts | median | p90 | longest |\n|---|---:|---:|---:|---:|\n");
  for (const Json& row : json["rows"]) {
    std::printf("| %s | %d | %.0f | %.0f | %.0f |\n", row["what"].get<std::string>().c_str(),
                row["count"].get<int>(), row["median_ms"].get<double>(),
                row["p90_ms"].get<double>(), row["longest_ms"].get<double>());
  }
  std::printf("\nPromised: %.0f ms. Datagrams out: %s; back: %s. TCP: %.1f MB, %s.\n",
              json["promised_ms"].get<double>(), json["datagrams_out"].get<std::string>().c_str(),
              json["datagrams_back"].get<std::string>().c_str(),
              json["tcp_bytes"].get<double>() * 1e-6,
              json["tcp_is_whole"].get<bool>() ? "whole" : "NOT WHOLE");
}

int run(const Arguments& arguments, const std::filesystem::path& programs) {
  const Figures figures = measure(arguments, programs);
  const double promised = promise_ms + promise_rtts * arguments.rtt_ms;
  const Json json = json_of(figures, promised);
  if (arguments.is_json) {
    std::printf("%s\n", json.dump().c_str());
  } else {
    print(json);
  }
  const bool is_sound = figures.file.is_whole() && figures.out.wrong + figures.back.wrong == 0 &&
                        figures.out.doubled + figures.back.doubled == 0;
  const bool is_kept = arguments.is_killed || figures.longest_ms <= promised;
  return is_sound && is_kept ? 0 : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CommandLine app("What hosts hear while a gateway is restarted, and for how long nothing.",
                  "restarts");
  app.add_option("--restarts", arguments.restarts, "one after the other").between(1, 10'000);
  app.add_option("--rtt", arguments.rtt_ms, "of the link, ms").between(1, 1000);
  app.add_option("--loss", arguments.loss_percent, "of the link, %");
  app.add_flag("--kill", arguments.is_killed, "by SIGKILL, which promises nothing");
  app.add_flag("--no-store", arguments.has_no_store, "no service manager keeps descriptors");
  app.add_flag("--json", arguments.is_json, "all of it on one line");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  return lab::run_measurement(
      "restarts", [&](const std::filesystem::path& programs) { return run(arguments, programs); });
}
