#include "tests/demo/traffic.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "control/json/json.h"

namespace cw::demo {
namespace {

using lab::Arguments;
using lab::At;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto tell_every = milliseconds(500);
constexpr auto patience = seconds(30);
constexpr uint32_t headers_bytes = 20 + 8;  // of IPv4 and UDP
constexpr uint64_t message_bytes = 64 << 10;
constexpr uint64_t messages_max = 500;
constexpr Duration messages_time = Duration::from_s(2);
constexpr uint16_t iperf3_port = 5201;
constexpr int iperf3_attempts = 3;

/// The first number of a file of the kernel's, in a namespace.
uint64_t kernel_number(const lab::Space& space, const std::string& shell) {
  const lab::Outcome outcome = space.run({"sh", "-c", shell});
  return outcome.out.empty() ? 0 : std::strtoull(outcome.out.c_str(), nullptr, 10);
}

/// Runs a client to its end, telling how long there is to go.
lab::Outcome finish(lab::Program& client, seconds time, const OnProgress& progress) {
  const auto start = lab::Time::now();
  while (!client.has_ended()) {
    const auto passed = lab::Time::now() - start;
    if (passed > time + patience) {
      client.signal(9);
      throw std::runtime_error("iperf3 does not end");
    }
    const auto whole = std::chrono::duration_cast<seconds>(passed).count();
    progress(std::to_string(whole) + " of " + std::to_string(time.count()) + " s");
    std::this_thread::sleep_for(tell_every);
  }
  return client.finish();
}

/// Before a program that is to go before others, where that is allowed: the sites' hosts are
/// machines of their own.
Arguments urgently(const lab::Space& space) {
  const Arguments first{"chrt", "--fifo", "1"};
  Arguments trial = first;
  trial.emplace_back("true");
  return space.run(trial).status == 0 ? first : Arguments();
}

/// The client's report, from host A; `before` comes before its name.
Json run_iperf_once(const lab::Sites& sites, const Arguments& before, const Arguments& options,
                    seconds time, const OnProgress& progress) {
  lab::Program server(sites.namespace_of(At::HostB), {"iperf3", "-s", "-1"});
  sites.space(At::HostB).wait_for_listener(iperf3_port);
  Arguments arguments = before;
  for (const Arguments& part :
       {Arguments{"iperf3", "-c", lab::site_b.host, "-t", std::to_string(time.count()), "--json",
                  "--connect-timeout", "5000"},
        options}) {
    arguments.insert(arguments.end(), part.begin(), part.end());
  }
  lab::Program client(sites.namespace_of(At::HostA), arguments);
  const lab::Outcome outcome = finish(client, time, progress);
  const Json report = Json::parse_or_null(outcome.out);
  if (!report.is_object() || (outcome.status != 0 && !report.contains("error"))) {
    throw std::runtime_error("iperf3 ended with status " + std::to_string(outcome.status) + ": " +
                             outcome.out + outcome.err);
  }
  return report;
}

/// iperf3 greets by one datagram and waits half a minute for the one that answers. On a line that
/// loses one in a hundred, one run in fifty ends like that, with status 0: it is begun anew.
Json run_iperf(const lab::Sites& sites, const Arguments& before, const Arguments& options,
               seconds time, const OnProgress& progress) {
  std::string error;
  for (int attempt = 0; attempt < iperf3_attempts; ++attempt) {
    Json report = run_iperf_once(sites, before, options, time, progress);
    if (!report.contains("error")) return report;
    error = report["error"].get<std::string>();
  }
  throw std::runtime_error("iperf3 failed " + std::to_string(iperf3_attempts) + " times: " + error);
}

/// What a program may ask for: iperf3 gives up when it gets less.
uint64_t socket_buffer(const lab::Space& space) {
  return kernel_number(space,
                       "cat /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max | sort "
                       "-n | head -1");
}

/// What host B's kernel counts of UDP. Its columns: ... 3 nobody listened ... 6 no room in a
/// socket.
uint64_t udp_count(const lab::Sites& sites, int column) {
  return kernel_number(sites.space(At::HostB), "awk '/^Udp: [0-9]/ { print $" +
                                                   std::to_string(column) + " }' /proc/net/snmp");
}
uint64_t unheard(const lab::Sites& sites) { return udp_count(sites, 3); }

}  // namespace

uint64_t socket_drops(const lab::Sites& sites) { return udp_count(sites, 6); }

uint64_t interface_drops(const lab::Sites& sites) {
  uint64_t count = 0;
  for (const At place : {At::HostA, At::GatewayA, At::GatewayB, At::HostB}) {
    count += kernel_number(sites.space(place),
                           "awk 'NR > 2 { sum += $5 + $13 } END { print sum + 0 }' /proc/net/dev");
  }
  return count;
}

TcpResult measure_tcp(const lab::Sites& sites, const Options& options, const OnProgress& progress) {
  const seconds time(options.seconds + options.warm_up);
  // iperf3 adds what it omits.
  const Json report = run_iperf(
      sites, {},
      {"-C", "cubic", "-O", std::to_string(options.warm_up), "-t", std::to_string(options.seconds)},
      time, progress);
  const Json& end = report.at("end");
  return {.mbps = end.at("sum_received").at("bits_per_second").get<double>() * 1e-6,
          .retransmits = end.at("sum_sent").value("retransmits", uint64_t{0})};
}

UdpResult measure_udp(const lab::Sites& sites, const Options& options, const OnProgress& progress) {
  const uint64_t socket_before = socket_drops(sites), interface_before = interface_drops(sites);
  const uint64_t unheard_before = unheard(sites);
  // A client that was kept from running sends all at once what it should have sent meanwhile.
  const Json report =
      run_iperf(sites, urgently(sites.space(At::HostA)),
                {"-u", "-b", std::to_string(options.offered_udp().bps()), "-l",
                 std::to_string(options.mtu - headers_bytes), "-w",
                 std::to_string(socket_buffer(sites.space(At::HostB))), "--udp-counters-64bit"},
                seconds(options.seconds), progress);
  const Json& sum = report.at("end").at("sum");
  UdpResult result;
  result.sent = sum.at("packets").get<uint64_t>();
  const auto missed =
      static_cast<uint64_t>(std::max<int64_t>(sum.at("lost_packets").get<int64_t>(), 0));
  // iperf3 closes its socket as soon as its client says so: what is mended meanwhile still comes.
  std::this_thread::sleep_for(milliseconds(100) + std::chrono::nanoseconds(options.rtt.ns() * 3));
  result.too_late = std::min(unheard(sites) - unheard_before, missed);
  result.lost = missed - result.too_late;
  result.mbps = sum.at("bits_per_second").get<double>() * 1e-6 *
                (1 - static_cast<double>(missed) / static_cast<double>(result.sent));
  result.lost_at_socket = socket_drops(sites) - socket_before;
  result.lost_at_interface = interface_drops(sites) - interface_before;
  return result;
}

MessageResult send_messages(const lab::Sites& sites, const Options& options,
                            const std::string& program) {
  const Rate rate = options.rate.scaled(0.25);
  const uint64_t fitting = rate.bytes_in(messages_time).count() / message_bytes;
  const uint64_t messages = std::clamp<uint64_t>(fitting, 20, messages_max);
  lab::Program server(sites.namespace_of(At::HostB), {program, "server", "--json"});
  if (!server.wait_for("ready")) {
    throw std::runtime_error("causeway-perf's server does not start: " + server.finish().err);
  }
  const lab::Outcome outcome = sites.space(At::HostA).run(
      {program, "client", lab::site_b.host, "--policy", "passthrough", "--count",
       std::to_string(messages), "--size", std::to_string(message_bytes), "--inflight", "32",
       "--patience", "300ms", "--rate", std::to_string(rate.bps()) + "bit/s", "--verify",
       "--json"});
  const Json report = Json::parse_or_null(outcome.out);
  if (!report.is_object()) {
    throw std::runtime_error("causeway-perf ended with status " + std::to_string(outcome.status) +
                             " and no figures: " + outcome.err);
  }
  return {.posted = report.at("posted").get<uint64_t>(),
          .whole = report.at("arrived_whole").get<uint64_t>(),
          .bytes_wrong = report.at("bytes_wrong").get<uint64_t>()};
}

}  // namespace cw::demo
