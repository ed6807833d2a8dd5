#include "control/daemon/daemon.h"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/daemon/adapt/adapting.h"
#include "control/daemon/admin/admin.h"
#include "control/daemon/live/drain.h"
#include "control/daemon/live/route_helper.h"
#include "control/daemon/metrics/metrics.h"
#include "control/daemon/status.h"
#include "control/daemon/system/descriptors.h"
#include "control/daemon/system/forwarding.h"
#include "control/daemon/system/notify.h"
#include "control/daemon/system/privileges.h"
#include "control/daemon/system/signals.h"
#include "control/daemon/watch/watcher.h"
#include "control/gateway/site/site.h"
#include "control/json/json.h"

namespace cw::daemon {
namespace {

using site::Site;
using site::SiteState;

constexpr Duration look_interval = Duration::from_ms(200);
constexpr Duration status_interval = Duration::from_s(1);
constexpr Duration drain_look_interval = Duration::from_ms(5);
constexpr Duration drain_slack = Duration::from_ms(500);
/// Three hellos that say so, 10 ms apart. A peer that hears none is told by the next life, or by
/// silence.
constexpr Duration goodbye_time = Duration::from_ms(30);
/// While policies are swapped, which takes some looks: a successor is made, given, begun.
constexpr Duration swap_look_interval = Duration::from_ms(10);
/// Before a shard's ring has no room for what it shows.
constexpr Duration capture_look_interval = Duration::from_ms(10);
/// A row of signals is one request now and then: each costs the packets' thread a copy.
constexpr Duration asked_interval = Duration::from_ms(10);
/// A packets' thread that does not turn for so long while it burns its core stands in a loop; what
/// others' work on the machine takes from it is told after as long as that, and no sooner.
constexpr Duration loop_after = Duration::from_ms(800), loop_cpu_min = Duration::from_ms(500);
constexpr Duration stuck_after = Duration::from_s(5);
/// Less is a busy machine's everyday life.
constexpr Duration starved_after = Duration::from_s(1);
constexpr Duration end_patience = Duration::from_s(2);

Duration cpu_time(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return {};
  return Duration::from_s(time.tv_sec) + Duration::from_ns(time.tv_nsec);
}

/// DPDK logs from threads of its own until the process ends.
const Log* dpdk_log = nullptr;
void tell_dpdk(int level, const char* line) {
  constexpr int error = 3;  // syslog's
  dpdk_log->event(level <= error ? LogLevel::Warning : LogLevel::Debug, "dpdk", {{"says", line}});
}

constexpr const char* policy_advice =
    "it stands in this policy, which is barred until it is forgiven; take its plugin out, or "
    "choose another, and restart";
constexpr const char* no_policy_advice =
    "it stands in no policy: with cpu near 0 other programs keep the processor, or a file system "
    "does not answer";

class Daemon {
 public:
  /// `routes` outlives it; null: none are set.
  Daemon(std::unique_ptr<Site> site, std::unique_ptr<Admin> admin, const Source& source,
         Signals& signals, const Log& log, RouteSetter* routes)
      : site_(std::move(site)),
        signals_(signals),
        log_(log),
        routes_(routes),
        watcher_(site_->plan(), log),
        reload_(
            *site_, source, log,
            {.routes = routes,
             .on_status_file = [&signals](const std::string& file) { signals.leaves_behind(file); },
             .on_reloaded = [this] { adapting_.places().resume_all(); }}),
        adapting_(*site_, log, [&signals] { signals.interrupt(); }),
        drain_(*site_, log),
        admin_(std::move(admin)) {}

  int run() {
    started_ = status_at_ = answered_ = watchdog_at_ = clock_.read();
    signals_.leaves_behind(site_->plan().status_file);
    signals_.started();
    start_threads();
    signals_.is_interrupted_by(site_->wants_care_fd());
    if (admin_ != nullptr) {
      const Doors doors = {.site = *site_,
                           .reload = reload_,
                           .drain = drain_,
                           .adapting = adapting_,
                           .log = log_,
                           .status = [this] { return status_of(site_->plan(), last_, view()); },
                           .metrics = [this] { return metrics_of(site_->plan(), last_, view()); },
                           .look = [this] { look(/*is_asked=*/false); }};
      admin_->begin(doors, [this] { signals_.interrupt(); });
    }
    tell_ready();
    const bool is_hasty = watch();
    const bool is_lost = watcher_.has_lost_wan();
    // On a busy machine it takes their threads a while to end.
    if (admin_ != nullptr) admin_->end_soon();
    if (routes_ != nullptr) routes_->end_soon();
    if (!is_hasty && site_->leave(answer_patience)) signals_.wait_for_end(goodbye_time);
    stop_ = true;
    site_->wake();
    const bool has_ended = wait_for_workers(is_stuck() ? answer_patience : end_patience);
    if (!site_->plan().status_file.empty()) unlink(site_->plan().status_file.c_str());
    if (!has_ended) end_by_force();
    threads_.clear();  // joins them
    log_.info("stopped");
    return is_lost ? exit_failed : exit_done;
  }

 private:
  /// A packets' thread.
  struct Worker {
    std::promise<void> ended;
    clockid_t clock{};
  };

  void start_threads() {
    for (size_t i = 0; i < site_->shards(); ++i) {
      Worker& worker = workers_.emplace_back();
      std::jthread& thread = threads_.emplace_back([this, i, &worker] {
        site_->run(i, stop_);
        worker.ended.set_value();
      });
      const std::string name = i == 0 ? "packets" : "packets " + std::to_string(i);
      pthread_setname_np(thread.native_handle(), name.c_str());
      pthread_getcpuclockid(thread.native_handle(), &worker.clock);
    }
    if (site_->needs_granting()) start_thread("grants", [this] { site_->run_grants(stop_); });
    if (site_->keys().has_begun()) start_thread("keys", [this] { site_->run_keys(stop_); });
  }

  template <class Run>
  void start_thread(const char* name, Run run) {
    std::jthread& thread = threads_.emplace_back(run);
    pthread_setname_np(thread.native_handle(), name);
  }

  bool wait_for_workers(Duration patience) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.ns());
    return std::ranges::all_of(workers_, [&](Worker& worker) {
      return worker.ended.get_future().wait_until(deadline) == std::future_status::ready;
    });
  }

  /// Of all packets' threads.
  Duration packets_cpu() const {
    Duration sum;
    for (const Worker& worker : workers_) sum = sum + cpu_time(worker.clock);
    return sum;
  }

  void tell_ready() {
    const site::Plan& plan = site_->plan();
    for (const std::string& warning : plan.warnings) log_.warning("careful", {{"what", warning}});
    if (!plan.exposure.empty()) log_.warning("exposed", {{"what", plan.exposure}});
    log_.info("ready", {{"site", plan.site},
                        {"lan", site_->lan_device()},
                        {"wan", site_->wan_device()},
                        {"peers", plan.peer_count()},
                        {"cores", plan.cores.size()},
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
    notify_manager("READY=1\n" + drain_.status_line());
  }

  /// Until the end; says whether it was wanted at once, or nothing can be sent any more.
  bool watch() {
    while (true) {
      int number = wait();
      const bool is_asked = number == SIGUSR1;
      if (number == SIGHUP) reload_.run(answer_patience);
      look(is_asked);
      if (watcher_.has_lost_wan()) return true;
      if (is_asked || number == SIGHUP) number = signals_.wait_for_end(asked_interval);
      if (Signals::is_end(number)) return !drain();
    }
  }

  /// For a signal, and not longer than until the next look; answers what is asked meanwhile.
  int wait() {
    const Instant next = looked_ + (is_swapping_ ? swap_look_interval : look_interval);
    int number = 0;
    do {
      const Duration left = next - clock_.read();
      number = signals_.wait(is_capturing() ? std::min(left, capture_look_interval) : left);
      if (is_called()) site_->care_for_policies(answer_patience);
      if (adapting_.carry_out(clock_.read(), answer_patience)) look(false);
      answer();
    } while (number == 0 && clock_.read() < next);
    return number;
  }

  /// A worker waits for a policy to be made.
  bool is_called() const {
    pollfd bell{.fd = site_->wants_care_fd(), .events = POLLIN, .revents = 0};
    return poll(&bell, 1, 0) == 1;
  }

  bool is_capturing() const { return admin_ != nullptr && admin_->is_hasty(); }

  void answer() {
    if (admin_ == nullptr) return;
    const bool is_leaving = process_.state == "draining" || drain_.is_wanted();
    admin_->beat(is_stuck() ? Health::Stuck : is_leaving ? Health::Draining : Health::Running);
    admin_->work();
  }

  /// Says whether all that was taken from the hosts has gone.
  bool look(bool is_asked) {
    looked_ = clock_.read();
    auto state = site_->state(answer_patience);
    if (state && reload_.look_at_links(*state, answer_patience)) {
      last_.lanes.clear();  // of classes that may have other numbers now
      last_.swaps.clear();
      state = site_->state(answer_patience);
    }
    const bool has_answer = state.has_value();
    if (has_answer) {
      last_ = std::move(*state);
      watcher_.look(last_);
      latency_.look(last_);
      drain_.look(last_, answer_patience);
      is_swapping_ = reload_.look(last_, answer_patience);
      adapting_.look(last_);
      if (last_.wants_policies) site_->care_for_policies(answer_patience);
      tell_bars_trouble();
    }
    has_answer ? note_answer() : note_silence();
    if (!is_stuck()) feed_watchdog();
    if (is_asked || clock_.read() - status_at_ >= status_interval) tell_status(is_asked);
    return has_answer && last_.is_drained;
  }

  /// The next life would begin with what was put in quarantine in this one.
  void tell_bars_trouble() {
    const std::string& trouble = site_->bars_trouble();
    if (trouble == bars_trouble_) return;
    bars_trouble_ = trouble;
    if (!trouble.empty()) log_.error("bars_not_kept", {{"why", trouble}});
  }

  bool is_stuck() const { return !process_.stuck_since.empty(); }

  /// A manager that wants to know hears of it while packets are carried, and only then.
  void feed_watchdog() {
    const Instant now = clock_.read();
    if (!watchdog_ || now < watchdog_at_) return;
    watchdog_at_ = now + *watchdog_;
    notify_manager("WATCHDOG=1");
  }

  void note_answer() {
    const Duration silence = clock_.read() - answered_;
    answered_ = clock_.read();
    answered_text_ = utc_now();
    cpu_answered_.clear();
    for (const Worker& worker : workers_) cpu_answered_.push_back(cpu_time(worker.clock));
    if (std::exchange(is_starved_, false) && !is_stuck()) {
      log_.warning("worker_starved", {{"for_s", tenths(silence.seconds())},
                                      {"meaning", "other programs kept the processor"}});
    }
    if (!is_stuck()) return;
    process_.stuck_since.clear();
    log_.warning("worker_turns", {{"after_s", tenths(silence.seconds())}});
    notify_manager(drain_.status_line());
  }

  static double tenths(double value) { return std::round(value * 10) / 10; }

  /// What a packets' thread has burnt since it was last heard of.
  Duration cpu_since_answer(size_t worker) const {
    const Duration before = worker < cpu_answered_.size() ? cpu_answered_[worker] : Duration();
    return cpu_time(workers_[worker].clock) - before;
  }

  void note_silence() {
    const Duration silence = clock_.read() - answered_;
    const Duration cpu = cpu_since_answer(site_->silent_shard());
    const bool loops = silence >= loop_after && cpu >= loop_cpu_min;
    is_starved_ |= silence >= starved_after;
    if (!is_stuck() && (loops || silence >= stuck_after)) tell_stuck(silence, cpu);
  }

  void tell_stuck(Duration silence, Duration cpu) {
    process_.stuck_since = answered_text_.empty() ? utc_now() : answered_text_;
    Fields fields = {{"since", process_.stuck_since},
                     {"worker", site_->silent_shard()},
                     {"cpu", std::round(cpu.seconds() / silence.seconds() * 100) / 100},
                     {"meaning", stuck_meaning()}};
    const std::string policy = site_->bar_silent_policy();
    if (!policy.empty()) fields["policy"] = policy;
    fields.update({{"plugins", site_->plan().plugins},
                   {"advice", policy.empty() ? no_policy_advice : policy_advice}});
    log_.error("worker_stuck", fields);
    notify_manager("STATUS=worker stuck since " + process_.stuck_since);
    tell_status(/*is_asked=*/false);
  }

  const char* stuck_meaning() const {
    return workers_.size() == 1 ? "the packets' thread does not turn, and no packet is carried"
                                : "one of the packets' threads does not turn, and no packet of its "
                                  "links is carried";
  }

  /// What the kernel has of this process goes with it: devices, addresses, routes, sockets.
  [[noreturn]] void end_by_force() {
    log_.error("ended_by_force",
               {{"why", "the packets' thread does not turn"}, {"exit_code", exit_forced}});
    _exit(exit_forced);
  }

  ProcessView view() const {
    ProcessView process = process_;
    process.uptime_s = (clock_.read() - started_).seconds();
    process.is_drain_wanted = drain_.is_wanted();
    process.quiet_s = drain_.quiet().seconds();
    process.adaptive = adapting_.places().views();
    process.latency = &latency_;
    if (is_stuck()) process.state = "worker stuck";
    return process;
  }

  void tell_status(bool is_asked) {
    const std::string& file = site_->plan().status_file;
    const Instant now = clock_.read();
    const Duration cpu = packets_cpu();
    process_.cpu = (cpu - status_cpu_).seconds() / std::max(1e-3, (now - status_at_).seconds());
    process_.alarms = watcher_.alarms();
    status_at_ = now;
    status_cpu_ = cpu;
    if (file.empty() && !is_asked) return;
    const Json json = status_of(site_->plan(), last_, view());
    if (file.empty()) return log_.info("status", json);
    const auto written = try_write_atomically(file, json.dump(2) + "\n");
    const bool is_written = written && *written;
    if (!is_written && !is_status_failing_) {
      const std::string full = "site.status: no room for " + file + ": its disk is full";
      log_.error("no_status", {{"why", written ? full : written.error().sentence}});
    }
    is_status_failing_ = !is_written;
  }

  /// The longest round trip to a peer that is up.
  Duration way_back() const {
    Duration longest;
    for (const site::PeerView& peer : last_.peers) {
      if (peer.is_up) longest = std::max(longest, peer.rtt_min());
    }
    return longest;
  }

  /// Sends what has been taken from the hosts. False when a second signal came, or nobody would
  /// send it.
  bool drain() {
    if (is_stuck()) return false;
    reload_.stop();
    adapting_.stop();
    Duration longest;
    for (const auto& each : site_->plan().classes) longest = std::max(longest, each.hold);
    const Instant start = clock_.read();
    // What the peers' hosts had sent before this is on the line for a while, and nobody knows of
    // it.
    const Instant earliest = start + way_back();
    const Instant latest = earliest + longest + drain_slack;
    process_.state = "draining";
    log_.info("draining", {{"at_most_ms", std::llround((latest - clock_.read()).ms())}});
    notify_manager("STOPPING=1\nSTATUS=draining");
    site_->stop_taking(answer_patience);
    const auto is_done = [&] {
      const bool is_drained = look(false);
      answer();
      const Instant now = clock_.read();
      return now >= latest || (is_drained && now >= earliest);
    };
    while (!is_done()) {
      if (is_stuck() || signals_.wait_for_end(drain_look_interval) != 0) return false;
    }
    return true;
  }

  std::unique_ptr<Site> site_;
  Signals& signals_;
  const Log& log_;
  RouteSetter* const routes_;
  Watcher watcher_;
  LatencyWatch latency_;
  Reload reload_;
  Adapting adapting_;
  Drain drain_;
  std::unique_ptr<Admin> admin_;
  bool is_swapping_ = false;
  MonotonicClock clock_;
  const std::optional<Duration> watchdog_ = watchdog_interval();
  std::atomic<bool> stop_ = false;
  std::deque<Worker> workers_;  // by shard
  std::deque<std::jthread> threads_;
  ProcessView process_;
  SiteState last_;
  Instant started_, looked_, status_at_, watchdog_at_, answered_;
  std::string answered_text_, bars_trouble_;
  Duration status_cpu_;
  std::vector<Duration> cpu_answered_;  // of each packets' thread
  bool is_status_failing_ = false, is_starved_ = false;
};

int fail(const Error& error) {
  std::fprintf(stderr, "causewayd: %s\n", error.sentence.c_str());
  return exit_failed;
}

}  // namespace

int run(const Source& source, site::Plan plan, const Log& log) {
  Descriptors descriptors(log);  // before anything takes their numbers
  plan.lan.device.store = plan.wan.store = &descriptors;
  std::unique_ptr<RouteHelper> routes;
  if (plan.sets_routes) {
    auto started = RouteHelper::start(plan.user);  // before there are threads
    if (!started) return fail(started.error());
    routes = std::move(*started);
  }
  Signals signals(exit_forced);
  // Threads made later have it too. Where it is not allowed, the gateway is like others.
  (void)setpriority(PRIO_PROCESS, 0, plan.nice);
  dpdk_log = &log;
  plan.eal.log = tell_dpdk;
  if (plan.seal && !hide_memory())
    log.warning("careful", {{"what", "a core file would show keys"}});
  std::unique_ptr<Admin> admin;
  const auto settle = [&](const site::Plan& settled) -> Result<void> {
    descriptors.let_go("", "no port of this file wants them");
    if (descriptors.taken() > 0) log.info("taken_over", {{"descriptors", descriptors.taken()}});
    auto opened = Admin::open(settled);
    if (!opened && settled.api.must_be()) return std::unexpected(opened.error());
    if (!opened) log.info("no_api", {{"why", opened.error().sentence}});
    if (opened) admin = std::move(*opened);
    if (settled.wan_kind == site::WanKind::Verbs) allow_locked_memory();
    return drop_privileges(settled.user);
  };
  auto site = Site::make(std::move(plan), settle);
  if (!site) return fail(site.error());
  if (routes) {
    if (const auto set = routes->set_device((*site)->lan_device()); !set) return fail(set.error());
  }
  const std::string& status = (*site)->plan().status_file;
  if (!status.empty()) {
    if (const auto written =
            try_write_atomically(status, status_at_start((*site)->plan()).dump() + "\n");
        !written) {
      return fail(written.error());
    }
  }
  return Daemon(std::move(*site), std::move(admin), source, signals, log, routes.get()).run();
}

}  // namespace cw::daemon
