#include "control/perf/collective/over_udp.h"

#include <sys/random.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "control/perf/collective/operation_memory.h"
#include "dataplane/base/assert.h"
#include "dataplane/collective/sdk/group_end.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/port/udp/group/udp_group_port.h"
#include "offload/crc32.h"

namespace cw::perf {
namespace {

using group::GroupEnd;
using group::OperationView;
using group::Posting;
using group::Stage;
using group::Step;

constexpr Duration join_patience = Duration::from_s(60), patience = Duration::from_s(120);
/// Members that are done are asked by those that have not heard it, who say so ten times a second.
constexpr Duration linger = Duration::from_ms(500);
/// Several members may share a processor: who waits leaves it to others, and packets gather.
constexpr Duration spin = Duration::from_us(10), pause = Duration::from_us(100);
constexpr uint32_t overhead_bytes = group::GroupEndOptions().overhead_bytes;

uint64_t fresh_bits(void*) {
  uint64_t bits = 0;
  // Up to 256 bytes come whole once the pool is filled, which waiting ensures.
  CW_ASSERT(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  return bits;
}

/// What each member tells all others in the end; of one machine or alike ones.
struct Share {
  uint64_t injected_bytes = 0, fetched_slots = 0, bytes_wrong = 0, rx_dropped = 0;
};

class UdpMember {
 public:
  UdpMember(const CollectiveOptions& options, const StopFlag& stop)
      : options_(options),
        stop_(stop),
        posting_{.operation = options.operation,
                 .element = options.element,
                 .bytes = options.size.count()},
        memory_(posting_, options.hosts, options.rank, options.seed),
        shares_(options.hosts) {}

  Result<void> open() {
    UdpGroupPortOptions port;
    port.rank = options_.rank;
    port.members = options_.members;
    port.groups = {options_.group};
    if (options_.sites > 1) port.groups.push_back(options_.site_group);
    port.interface = options_.interface;
    port.udp_port = options_.udp_port;
    port.hops = options_.hops;
    port.crc32 = cw_crc32;
    auto made = UdpGroupPort::make(port);
    if (!made) return std::unexpected(made.error());
    port_ = std::move(*made);
    wire_.emplace(*port_, ImpairedPortOptions{.seed = options_.seed + options_.rank});
    group::GroupEndOptions end;
    end.rank = options_.rank;
    end.addresses = options_.members;
    for (uint16_t rank = 0; rank < options_.hosts; ++rank) end.peers.push_back(rank);
    if (options_.sites > 1) {
      end.sites = sites_of(options_);
      end.site_peer = group_peer_first + 1;
      end.rtt_far = end.rtt + options_.far_delay * 2;
      // Gateways ask for what is lost once more, and once more in vain.
      end.recovery_worst = options_.far_delay * 6;
    }
    end.key = {reinterpret_cast<const uint8_t*>(options_.key.data()), options_.key.size()};
    end.random = {nullptr, fresh_bits};
    end.rate = options_.rate;
    end.payload_bytes = std::min(options_.payload_bytes, group::slot_bytes_max(port_->facts()));
    const bool is_broadcast = options_.operation == group::Operation::Broadcast;
    const uint64_t bytes = options_.size.count() * (is_broadcast ? 1 : options_.hosts);
    end.bytes_max = std::max<uint64_t>(bytes, sizeof(Share) * options_.hosts);
    end.sum_bytes_max = posting_.is_added_up() ? options_.size.count() : 0;
    end.algorithm = options_.algorithm;
    end.chains = options_.chains;
    end_.emplace(*wire_, end);
    PortBase* const ports[] = {&*wire_};
    idle_.emplace(IdleOptions{.spin = spin, .pause = pause}, ports);
    return {};
  }

  Result<Json> run() {
    const bool is_up = turn_until([&] { return end_->group().is_up(); }, join_patience);
    if (!is_up) return failure("the members did not come together: " + obstacle());
    wire_->set_rx_impairment(0, {.loss = options_.loss});
    for (uint32_t round = 0; round < options_.rounds && !stop_; ++round) {
      memory_.prepare();
      // So that nobody is waited for in what is timed.
      if (auto done = run_one(Posting()); !done) return std::unexpected(done.error());
      if (auto done = run_timed(); !done) return std::unexpected(done.error());
    }
    if (stop_) return failure("interrupted");
    if (auto done = gather_shares(); !done) return std::unexpected(done.error());
    turn_until([] { return false; }, linger);
    return report();
  }

 private:
  std::string obstacle() const {
    const std::string& why = end_->group().membership().obstacle();
    return why.empty() ? "not all have begun, or multicast does not reach them" : why;
  }

  /// `is_over` is asked once after each turn.
  template <class IsOver>
  bool turn_until(const IsOver& is_over, Duration most) {
    const Instant end = clock_.read() + most;
    while (!stop_) {
      const Instant now = clock_.read();
      const bool has_worked = end_->turn(now);
      if (is_over()) return true;
      if (now > end) return false;
      if (end_->worker().is_behind()) continue;
      const Instant next = earliest(end_->worker().next_wakeup(), wire_->next_due(), end);
      const Instant wake = idle_->plan(has_worked, now, next);
      if (wake <= now) continue;
      end_->worker().sleeps_until(wake);
      idle_->wait(wake - now);
    }
    return false;
  }

  /// Until it is over at all members, and its memory ours again.
  Result<OperationView> run_one(const Posting& posting) {
    std::expected<Step, group::Group::Refusal> posted;
    const auto try_post = [&] {
      posted = end_->group().post(posting, clock_.read());
      return posted || !posted.error().is_for_now;
    };
    if (!turn_until(try_post, patience)) return failure("an operation could not begin");
    if (!posted) return failure(posted.error().why);
    const Step step = *posted;
    const auto is_over = [&] { return end_->group().stage(step) >= Stage::Done; };
    if (!turn_until(is_over, patience)) return failure("an operation did not end in time");
    ended_ = clock_.read();
    const OperationView view = end_->group().view(step);
    if (view.stage == Stage::Failed) return failure(view.failure);
    if (!turn_until([&] { return end_->group().try_release(step); }, patience)) {
      return failure("an operation's memory does not come back");
    }
    return view;
  }

  Result<void> run_timed() {
    const uint64_t before = injected();
    const Instant begun = clock_.read();
    const auto view = run_one(memory_.posting_of(options_.rank));
    if (!view) return std::unexpected(view.error());
    times_us_.push_back((ended_ - begun).us());
    own_.injected_bytes += injected() - before;
    own_.fetched_slots += view->fetched;
    own_.bytes_wrong += memory_.wrong();
    return {};
  }

  uint64_t injected() const {
    const PortCounters counters = port_->counters();
    return counters.tx_bytes + counters.tx_packets * overhead_bytes;
  }

  Result<void> gather_shares() {
    wire_->set_rx_impairment(0, {});
    own_.rx_dropped = port_->counters().rx_dropped;
    shares_[options_.rank] = own_;
    const auto view = run_one({.operation = group::Operation::Allgather,
                               .bytes = sizeof(Share),
                               .memory = reinterpret_cast<uint8_t*>(shares_.data())});
    return view ? Result<void>() : std::unexpected(view.error());
  }

  Json report() const {
    Tally tally{.times_us = times_us_};
    uint64_t rx_dropped = 0;
    for (const Share& each : shares_) {
      tally.injected_bytes += each.injected_bytes;
      tally.fetched_slots += each.fetched_slots;
      tally.bytes_wrong += each.bytes_wrong;
      rx_dropped += each.rx_dropped;
    }
    Json report = report_of(options_, tally);
    report["payload"] = end_->group().membership().epoch().payload_bytes;
    report["rx_dropped"] = rx_dropped;
    return report;
  }

  const CollectiveOptions& options_;
  const StopFlag& stop_;
  MonotonicClock clock_;
  Posting posting_;
  OperationMemory memory_;
  std::unique_ptr<UdpGroupPort> port_;
  std::optional<ImpairedPort> wire_;
  std::optional<GroupEnd> end_;
  std::optional<IdleWait> idle_;
  Instant ended_;
  std::vector<double> times_us_;
  Share own_;
  std::vector<Share> shares_;  // by rank
};

}  // namespace

Result<Json> run_over_udp(const CollectiveOptions& options, const StopFlag& stop) {
  UdpMember member(options, stop);
  if (auto opened = member.open(); !opened) return std::unexpected(opened.error());
  return member.run();
}

}  // namespace cw::perf
