#include "tests/demo/wander/wander.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "control/json/json.h"
#include "control/wan/socket/control_socket.h"
#include "tests/demo/traffic.h"
#include "tests/lab/enclosure.h"

namespace cw::demo {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds settling_time = seconds(1);
constexpr nanoseconds look_every = std::chrono::milliseconds(200);
constexpr auto quiet = std::chrono::milliseconds(1500);

/// This thread goes before other programs, where that is allowed: hosts are machines of their own.
/// What it starts meanwhile does not.
class Urgency {
 public:
  Urgency() { become(SCHED_FIFO, 1); }
  ~Urgency() { become(SCHED_OTHER, 0); }
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;

 private:
  static void become(int policy, int priority) {
    const sched_param param{.sched_priority = priority};
    sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param);
  }
};

/// One policy from the first phase to the last.
class Run {
 public:
  Run(const Options& options, const WanderPrograms& programs, Steps& steps)
      : options_(options),
        programs_(programs),
        steps_(steps),
        sites_({.lan_mtu = options.mtu,
                .wan_mtu = options.mtu,
                .lan_offloads = options.lan == Lan::Tun}) {
    run_.policy = options.policy;
  }

  PolicyRun go() {
    steps_.begin(options_.policy);
    lab::Arguments line = options_.line_arguments();
    line.insert(line.end(), {"--control", line_});
    sites_.join(programs_.emulator, line);
    const std::vector<Phase> phases = phases_of(options_);
    change_line(phases.front());
    Gateways gateways(sites_, options_, programs_.daemon);
    Transfers transfers(sites_, options_);
    const uint64_t at_sockets = socket_drops(sites_), at_interfaces = interface_drops(sites_);
    const auto start = std::chrono::system_clock::now();
    send_through(phases, gateways, transfers);

    run_.counts = gateways.counts();
    run_.lost_at_sockets = socket_drops(sites_) - at_sockets;
    run_.lost_at_interfaces = interface_drops(sites_) - at_interfaces;
    run_.datagrams_wrong = transfers.datagrams_wrong();
    for (const Adapted& each : gateways.adapted()) {
      const std::chrono::duration<double> second = each.at - start;
      run_.decisions.push_back({second.count(), each.what});
    }
    gateways.check();
    read_emulator();
    return run_;
  }

 private:
  void change_line(const Phase& phase) const {
    const auto answer = wan::ask(line_, request_of(phase));
    if (!answer) throw std::runtime_error("the line does not change: " + answer.error().sentence);
  }

  void send_through(const std::vector<Phase>& phases, Gateways& gateways, Transfers& transfers) {
    {
      const Urgency urgency;
      for (const Phase& phase : phases) {
        change_line(phase);
        PhaseResult result{.phase = phase};
        const auto number = static_cast<uint32_t>(2 * run_.phases.size());
        const nanoseconds whole = seconds(options_.seconds);
        result.settling.carried = send_for(settling_time, number, gateways, transfers);
        result.rest.carried = send_for(whole - settling_time, number + 1, gateways, transfers);
        run_.phases.push_back(result);
      }
      transfers.settle(quiet);
    }
    uint64_t sent = 0, arrived = 0;
    for (uint32_t i = 0; i < 2 * run_.phases.size(); ++i) {
      PhaseResult& phase = run_.phases[i / 2];
      TransferTimes& times = (i % 2 == 0 ? phase.settling : phase.rest).times;
      times = transfers.times(i);
      sent += times.sent();
      arrived += times.whole();
    }
    steps_.end(std::to_string(arrived) + " of " + std::to_string(sent) + " transfers whole");
  }

  Carried send_for(nanoseconds time, uint32_t stretch, Gateways& gateways, Transfers& transfers) {
    const Carried before = gateways.carried();
    const auto end = lab::Time::now() + time;
    for (auto now = lab::Time::now(); now < end; now = lab::Time::now()) {
      gateways.check();
      steps_.show(phases_of(options_)[stretch / 2].name);
      transfers.send_for(std::min<nanoseconds>(look_every, end - now), stretch);
    }
    return gateways.carried().since(before);
  }

  void read_emulator() {
    const Json it = Json::parse(sites_.part());
    run_.is_void = it.value("void", false);
    run_.void_because = it.value("void_because", "");
  }

  const Options options_;
  const WanderPrograms& programs_;
  Steps& steps_;
  const std::string line_ = std::string(lab::enclosure_folder) + "/line";
  lab::Sites sites_;
  PolicyRun run_;
};

}  // namespace

double Stretch::wan_per_host_byte() const {
  if (carried.host_bytes == 0) return 0;
  return static_cast<double>(carried.wan_bytes) / static_cast<double>(carried.host_bytes);
}

uint64_t WanderReport::datagrams_wrong() const {
  uint64_t sum = 0;
  for (const PolicyRun& each : runs) sum += each.datagrams_wrong;
  return sum;
}

std::vector<std::string> policies_of(const Options& options) {
  std::vector<std::string> policies{options.policy};
  for (const char* const fixed : {"selective_repeat", "erasure"}) {
    if (fixed != options.policy) policies.emplace_back(fixed);
  }
  return policies;
}

WanderReport measure_wander(const Options& options, const WanderPrograms& programs, Steps& steps) {
  const auto start = lab::Time::now();
  WanderReport report{.options = options};
  for (const std::string& each : policies_of(options)) {
    Options of_run = options;
    of_run.policy = each;
    report.runs.push_back(Run(of_run, programs, steps).go());
  }
  report.seconds = std::chrono::duration<double>(lab::Time::now() - start).count();
  return report;
}

}  // namespace cw::demo
