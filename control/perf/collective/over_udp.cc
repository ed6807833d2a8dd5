#include "control/perf/collective/over_udp.h"

#include <optional>
#include <string>
#include <vector>

#include "control/perf/collective/operation_memory.h"
#include "control/perf/shared/udp_stand.h"
#include "dataplane/collective/sdk/group_end.h"

namespace cw::perf {
namespace {

using group::GroupEnd;
using group::OperationView;
using group::Posting;
using group::Stage;
using group::Step;

constexpr uint32_t overhead_bytes = group::GroupEndOptions().overhead_bytes;

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
        memory_(posting_, options.hosts, options.place.rank, options.seed),
        shares_(options.hosts) {}

  Result<void> open() {
    std::vector<std::string> more;
    if (options_.sites > 1) more.push_back(options_.site_group);
    auto opened = stand_.open(options_.place, more, options_.seed);
    if (!opened) return opened;
    group::GroupEndOptions end;
    stand_.describe(options_.place, options_.payload_bytes, end);
    if (options_.sites > 1) {
      end.sites = sites_of(options_);
      end.site_peer = group_peer_first + 1;
      end.rtt_far = end.rtt + options_.far_delay * 2;
      // Gateways ask for what is lost once more, and once more in vain.
      end.recovery_worst = options_.far_delay * 6;
    }
    end.rate = options_.rate;
    const bool is_broadcast = options_.operation == group::Operation::Broadcast;
    const uint64_t bytes = options_.size.count() * (is_broadcast ? 1 : options_.hosts);
    end.bytes_max = std::max<uint64_t>(bytes, sizeof(Share) * options_.hosts);
    end.sum_bytes_max = posting_.is_added_up() ? options_.size.count() : 0;
    end.algorithm = options_.algorithm;
    end.chains = options_.chains;
    end_.emplace(stand_.wire(), end);
    return {};
  }

  Result<Json> run() {
    const bool is_up = turn_until([&] { return end_->group().is_up(); }, join_patience);
    if (!is_up) return failure(why_apart(end_->group().membership()));
    stand_.wire().set_rx_impairment(0, {.loss = options_.loss});
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
  template <class IsOver>
  bool turn_until(const IsOver& is_over, Duration most) {
    return stand_.turn_until(*end_, is_over, most, stop_);
  }

  /// Until it is over at all members, and its memory ours again.
  Result<OperationView> run_one(const Posting& posting) {
    std::expected<Step, group::Group::Refusal> posted;
    const auto try_post = [&] {
      posted = end_->group().post(posting, stand_.now());
      return posted || !posted.error().is_for_now;
    };
    if (!turn_until(try_post, patience)) return failure("an operation could not begin");
    if (!posted) return failure(posted.error().why);
    const Step step = *posted;
    const auto is_over = [&] { return end_->group().stage(step) >= Stage::Done; };
    if (!turn_until(is_over, patience)) return failure("an operation did not end in time");
    ended_ = stand_.now();
    OperationView view = end_->group().view(step);
    if (view.stage == Stage::Failed) return failure(view.failure);
    if (!turn_until([&] { return end_->group().try_release(step); }, patience)) {
      return failure("an operation's memory does not come back");
    }
    return view;
  }

  Result<void> run_timed() {
    const uint64_t before = injected();
    const Instant begun = stand_.now();
    const auto view = run_one(memory_.posting_of(options_.place.rank));
    if (!view) return std::unexpected(view.error());
    times_us_.push_back((ended_ - begun).us());
    own_.injected_bytes += injected() - before;
    own_.fetched_slots += view->fetched;
    own_.bytes_wrong += memory_.wrong();
    return {};
  }

  uint64_t injected() const {
    const PortCounters counters = stand_.port().counters();
    return counters.tx_bytes + counters.tx_packets * overhead_bytes;
  }

  Result<void> gather_shares() {
    stand_.wire().set_rx_impairment(0, {});
    own_.rx_dropped = stand_.port().counters().rx_dropped;
    shares_[options_.place.rank] = own_;
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
  Posting posting_;
  OperationMemory memory_;
  UdpStand stand_;
  std::optional<GroupEnd> end_;
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
