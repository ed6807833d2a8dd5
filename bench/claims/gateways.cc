// Two gateways in a lab, over TUN and UDP: what they use while nothing comes, what they add to a
// lone packet that finds them asleep, and what they ask of the kernel per megabyte of the hosts.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "bench/claims/figures.h"
#include "control/json/json.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/gateway.h"
#include "tests/lab/pings.h"
#include "tests/lab/sites.h"

namespace cw::claims {
namespace {

using std::chrono::milliseconds;

constexpr const char* line_rtt = "5ms";

/// A lab whose gateways are up; its other addresses are routed plainly, over the same line.
class Pair {
 public:
  Pair() : folder_(lab::enclosure_folder), sites_({}) {
    sites_.join(CW_WAN_PROGRAM, {"--rtt", line_rtt, "--rate", "1Gbit/s"});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    const lab::GatewayFile file{.rate = "900 Mbit/s", .rtt = "5 ms"};
    for (lab::Gateway* each : {&a, &b}) each->configure(file);
    for (lab::Gateway* each : {&a, &b}) each->start();
    for (lab::Gateway* each : {&a, &b}) {
      if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
    }
    sites_.route_beside();
  }
  const lab::Sites& sites() const { return sites_; }

 private:
  lab::Folder folder_;
  lab::Sites sites_;

 public:
  lab::Gateway a{sites_, folder_, CW_DAEMON_PROGRAM, true};
  lab::Gateway b{sites_, folder_, CW_DAEMON_PROGRAM, false};
};

Figures of_rest(Pair& pair, const Effort& effort) {
  std::this_thread::sleep_for(milliseconds(300));
  const auto begin = lab::Time::now();
  const auto used = [&] { return pair.a.program().processor_time(); };
  const auto before = used();
  std::this_thread::sleep_for(milliseconds(effort.idle_ms));
  const std::chrono::duration<double> spent = used() - before, passed = lab::Time::now() - begin;
  return {{"an idle gateway", 100 * spent.count() / passed.count(), "% of a core"}};
}

Figures of_pings(Pair& pair, const Effort& effort) {
  lab::Pings ours(pair.sites().space(lab::At::HostA), lab::site_b.host);
  lab::Pings plain(pair.sites().space(lab::At::HostA), lab::site_b.beside);
  std::vector<double> ours_us, plain_us;
  const auto ping = [](lab::Pings& pings, std::vector<double>& into) {
    std::this_thread::sleep_for(milliseconds(15));
    const auto time = pings.ping(100, std::chrono::seconds(2));
    if (time) into.push_back(std::chrono::duration<double, std::micro>(*time).count());
  };
  for (unsigned i = 0; i < effort.pings; ++i) {
    ping(ours, ours_us);
    ping(plain, plain_us);
  }
  if (ours_us.empty() || plain_us.empty()) throw std::runtime_error("no ping is answered");
  Figures figures;
  for (const auto& [name, share] : {std::pair("p50", 0.5), {"p99", 0.99}}) {
    const double with = quantile(ours_us, share), without = quantile(plain_us, share);
    figures.push_back({std::string("a lone ping, added by two sleeping gateways, ") + name,
                       with - without, "us", with / without,
                       std::string("the plainly routed ping's ") + name + " over " + line_rtt});
  }
  return figures;
}

struct Calls {
  double lan = 0, wan = 0, packets = 0, megabytes = 0;
};
Calls calls_of(lab::Gateway& gateway) {
  const auto status = gateway.status();
  const auto &lan = status.at("lan"), &wan = status.at("wan");
  const auto of = [](const auto& port, const char* key) {
    return static_cast<double>(port.at(key).template get<uint64_t>());
  };
  return {of(lan, "system_calls"), of(wan, "system_calls"),
          of(lan, "rx_packets") + of(lan, "tx_packets"),
          1e-6 * (of(lan, "rx_bytes") + of(lan, "tx_bytes"))};
}

/// A stream of the hosts' from A to B.
void send(const lab::Sites& sites, const lab::Arguments& how) {
  lab::Program server(sites.namespace_of(lab::At::HostB), {"iperf3", "-s", "-1"});
  sites.space(lab::At::HostB).wait_for_listener(5201);
  lab::Arguments client{"iperf3", "-c", lab::site_b.host};
  client.insert(client.end(), how.begin(), how.end());
  const lab::Outcome outcome = sites.space(lab::At::HostA).run(client);
  if (outcome.status != 0) throw std::runtime_error("iperf3: " + outcome.out + outcome.err);
}

Figures of_stream(Pair& pair, const char* name, const lab::Arguments& how) {
  const Calls a = calls_of(pair.a), b = calls_of(pair.b);
  send(pair.sites(), how);
  Figures figures;
  const auto add = [&](const char* which, const Calls& before, const Calls& after) {
    const double lan = after.lan - before.lan, wan = after.wan - before.wan;
    const double megabytes = after.megabytes - before.megabytes;
    const double packets = after.packets - before.packets;
    const std::string what = std::string(name) + ", gateway that " + which;
    figures.push_back({what + ": LAN (tun)", lan / megabytes, "system calls per MB", lan / packets,
                       "packets of the hosts"});
    figures.push_back({what + ": WAN (udp)", wan / megabytes, "system calls per MB", wan / packets,
                       "packets of the hosts"});
  };
  add("sends", a, calls_of(pair.a));
  add("receives", b, calls_of(pair.b));
  return figures;
}

}  // namespace

Figures of_gateways(const Effort& effort) {
  Pair pair;
  const std::string seconds = std::to_string(effort.stream_s);
  Figures figures = of_rest(pair, effort);
  for (const Figures& more :
       {of_pings(pair, effort), of_stream(pair, "TCP of the hosts", {"-t", seconds}),
        of_stream(pair, "UDP of the hosts, 300 Mbit/s in 1400 bytes",
                  {"-u", "-b", "300M", "-l", "1400", "-t", seconds})}) {
    figures.insert(figures.end(), more.begin(), more.end());
  }
  return figures;
}

}  // namespace cw::claims
