#include "control/daemon/daemon.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include "control/daemon/notify.h"
#include "control/daemon/privileges.h"
#include "control/daemon/status.h"
#include "control/daemon/watcher.h"
#include "control/gateway/site.h"

namespace cw::daemon {
namespace {

using site::Site;
using site::SiteState;

constexpr Duration look_interval = Duration::from_ms(200);
constexpr Duration status_interval = Duration::from_s(1);
constexpr Duration drain_look_interval = Duration::from_ms(10);
constexpr Duration drain_slack = Duration::from_ms(500);
constexpr Duration goodbye_time = Duration::from_ms(150);  // some hellos that say so

timespec timespec_of(Duration time) {
  return {time.ns() / 1'000'000'000, time.ns() % 1'000'000'000};
}

Duration cpu_time(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return {};
  return Duration::from_s(time.tv_sec) + Duration::from_ns(time.tv_nsec);
}

/// The signals that end or ask, taken one at a time instead of interrupting.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGPIPE, SIG_IGN);
  }
  /// The number of one that came, or zero after `time`.
  int wait(Duration time) const {
    const timespec patience = timespec_of(std::max(time, Duration()));
    const int number = sigtimedwait(&set_, nullptr, &patience);
    return number > 0 ? number : 0;
  }
  static bool is_end(int number) { return number == SIGTERM || number == SIGINT; }

 private:
  sigset_t set_;
};

/// Whether this machine passes packets of others on: else a gateway carries its own alone.
bool is_forwarding() {
  std::ifstream file("/proc/sys/net/ipv4/ip_forward");
  int value = 1;
  file >> value;
  return value != 0;
}

/// DPDK logs from threads of its own until the process ends.
const Log* dpdk_log = nullptr;
void tell_dpdk(int level, const char* line) {
  constexpr int error = 3;  // syslog's
  dpdk_log->event(level <= error ? LogLevel::Warning : LogLevel::Debug, "dpdk", {{"says", line}});
}

class Daemon {
 public:
  Daemon(std::unique_ptr<Site> site, const Signals& signals, const Log& log)
      : site_(std::move(site)), signals_(signals), log_(log), watcher_(site_->plan(), log) {}

  int run() {
    started_ = status_at_ = clock_.read();
    std::thread worker([this] { site_->run(stop_); });
    pthread_setname_np(worker.native_handle(), "packets");
    pthread_getcpuclockid(worker.native_handle(), &worker_clock_);
    tell_ready();
    const bool is_hasty = watch();
    if (!is_hasty) site_->leave(), signals_.wait(goodbye_time);
    stop_ = true;
    site_->wake();
    worker.join();
    if (!site_->plan().status_file.empty()) unlink(site_->plan().status_file.c_str());
    log_.info("stopped");
    return exit_done;
  }

 private:
  void tell_ready() {
    const site::Plan& plan = site_->plan();
    for (const std::string& warning : plan.warnings) log_.warning("careful", {{"what", warning}});
    log_.info("ready", {{"site", plan.site},
                        {"lan", site_->lan_device()},
                        {"wan", site_->wan_device()},
                        {"peers", plan.peers.size()},
                        {"pid", getpid()}});
    if (const auto eal = site_->eal()) {
      log_.info("dpdk", {{"memory", eal->has_hugepages ? "hugepages" : "plain"},
                         {"pci", eal->has_pci},
                         {"arguments", eal->arguments}});
    }
    if (site_->sleeps_in_steps()) {
      log_.info("steps", {{"meaning",
                           "a port has nothing to wait on: with nothing to do, packets are looked "
                           "for in steps of up to 0.8 ms"}});
    }
    if (plan.lan_kind == site::LanKind::Tun && !is_forwarding()) {
      log_.info("alone", {{"meaning",
                           "net.ipv4.ip_forward is 0: only this machine's own packets "
                           "cross, none of hosts behind it"}});
    }
    notify_manager("READY=1\nSTATUS=carrying packets for " + plan.site);
  }

  /// Until the end; says whether it was wanted at once.
  bool watch() {
    while (true) {
      const int number = signals_.wait(look_interval);
      look(number == SIGHUP || number == SIGUSR1);
      if (Signals::is_end(number)) return !drain();
    }
  }

  SiteState look(bool is_asked) {
    SiteState state = site_->state();
    watcher_.look(state);
    if (is_asked || clock_.read() - status_at_ >= status_interval) tell_status(state, is_asked);
    return state;
  }

  void tell_status(const SiteState& state, bool is_asked) {
    const std::string& file = site_->plan().status_file;
    const Instant now = clock_.read();
    const Duration cpu = cpu_time(worker_clock_);
    process_.uptime_s = (now - started_).seconds();
    process_.cpu = (cpu - status_cpu_).seconds() / std::max(1e-3, (now - status_at_).seconds());
    process_.alarms = watcher_.alarms();
    status_at_ = now;
    status_cpu_ = cpu;
    if (file.empty() && !is_asked) return;
    const Json json = status_of(site_->plan(), state, process_);
    if (file.empty()) return log_.info("status", json);
    const auto written = write_atomically(file, json.dump(2) + "\n");
    if (!written && !is_status_failing_) {
      log_.error("no_status", {{"why", written.error().sentence}});
    }
    is_status_failing_ = !written;
  }

  /// Sends what has been taken from the hosts. False when a second signal came.
  bool drain() {
    Duration longest;
    for (const auto& each : site_->plan().classes) longest = std::max(longest, each.hold);
    const Instant start = clock_.read();
    // What the peers' hosts had sent before this is on the line for a while, and nobody knows of
    // it.
    const Instant earliest = start + site_->plan().rtt;
    const Instant latest = earliest + longest + drain_slack;
    process_.state = "draining";
    log_.info("draining", {{"at_most_ms", std::llround((latest - clock_.read()).ms())}});
    notify_manager("STOPPING=1\nSTATUS=draining");
    site_->stop_taking();
    const auto is_done = [&] {
      const bool is_drained = look(false).is_drained;
      const Instant now = clock_.read();
      return now >= latest || (is_drained && now >= earliest);
    };
    while (!is_done()) {
      if (Signals::is_end(signals_.wait(drain_look_interval))) return false;
    }
    return true;
  }

  std::unique_ptr<Site> site_;
  const Signals& signals_;
  const Log& log_;
  Watcher watcher_;
  MonotonicClock clock_;
  std::atomic<bool> stop_ = false;
  clockid_t worker_clock_{};
  ProcessView process_;
  Instant started_, status_at_;
  Duration status_cpu_;
  bool is_status_failing_ = false;
};

int fail(const Error& error) {
  std::fprintf(stderr, "causewayd: %s\n", error.sentence.c_str());
  return exit_failed;
}

}  // namespace

int run(site::Plan plan, const Log& log) {
  const Signals signals;
  // Threads made later have it too. Where it is not allowed, the gateway is like others.
  (void)setpriority(PRIO_PROCESS, 0, plan.nice);
  dpdk_log = &log;
  plan.eal.log = tell_dpdk;
  auto site = Site::make(std::move(plan));
  if (!site) return fail(site.error());
  if (const auto dropped = drop_privileges((*site)->plan().user); !dropped) {
    return fail(dropped.error());
  }
  const std::string& status = (*site)->plan().status_file;
  if (!status.empty()) {
    if (const auto written = write_atomically(status, "{\"state\":\"starting\"}\n"); !written) {
      return fail(written.error());
    }
  }
  return Daemon(std::move(*site), signals, log).run();
}

}  // namespace cw::daemon
