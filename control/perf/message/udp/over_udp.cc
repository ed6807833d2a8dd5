#include "control/perf/message/udp/over_udp.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>

#include "control/perf/shared/udp_stand.h"
#include "dataplane/base/prng.h"
#include "dataplane/message/end/message_end.h"

namespace cw::perf {
namespace {

using group::Completion;
using group::MessageEnd;
using group::Step;

constexpr uint64_t shifts = 1 << 16;    // of a message's bytes in the pattern
constexpr uint64_t signal_bytes = 8;    // of a message that only says: here
constexpr uint32_t least_places = 256;  // of messages that are open

class UdpMember {
 public:
  UdpMember(const MessageOptions& options, const Recovery& recovery, const StopFlag& stop)
      : options_(options),
        recovery_(recovery),
        stop_(stop),
        pattern_(options.size.count() + shifts),
        received_(options.size.count() * options.hosts) {
    Prng prng(options.seed);  // the same at all members
    for (uint8_t& byte : pattern_) byte = static_cast<uint8_t>(prng.next());
  }

  Result<void> open() {
    if (auto opened = stand_.open(options_.place, {}, options_.seed); !opened) return opened;
    group::MessageEndOptions end;
    stand_.describe(options_.place, options_.payload_bytes, end);
    end.rate = options_.rate;
    end.reorder = options_.reorder;
    end.bytes_max = std::max<uint64_t>(options_.size.count(), share_bytes());
    end.sends_max = end.receives_max = std::max(2 * options_.hosts, least_places);
    end.policy = recovery_.choice;
    end.fallback = recovery_.fallback;
    end.deadline = patience;
    auto made = MessageEnd::make(stand_.wire(), end);
    if (!made) return std::unexpected(made.error());
    end_ = std::move(*made);
    return {};
  }

  Result<LoadReport> run() {
    const bool is_up = turn_until([&] { return end_->messages().is_up(); }, join_patience);
    if (!is_up) return failure(why_apart(end_->messages().membership()));
    stand_.wire().set_rx_impairment(0, {.loss = options_.loss, .delay = options_.delay});
    for (uint32_t round = 0; round < options_.rounds && !stop_; ++round) {
      // So that nobody is waited for in what is timed.
      if (auto done = signal(Step(2 * round)); !done) return std::unexpected(done.error());
      if (auto done = run_step(round); !done) return std::unexpected(done.error());
    }
    if (stop_) return failure("interrupted");
    note_counts();
    if (auto done = gather_shares(); !done) return std::unexpected(done.error());
    turn_until([] { return false; }, linger);
    return report_of(options_, recovery_.choice.ops->name, counts_, tally_);
  }

 private:
  uint16_t rank() const { return options_.place.rank; }
  uint64_t share_bytes() const {
    return sizeof(LoadCounts) + sizeof(uint64_t) +
           sizeof(double) * options_.rounds * options_.hosts;
  }
  const uint8_t* pattern_of(uint32_t from, uint32_t to, uint32_t round) const {
    return &pattern_[(from * 4099u + to * 257u + round * 61u) % shifts];
  }

  template <class IsOver>
  bool turn_until(const IsOver& is_over, Duration most) {
    return stand_.turn_until(*end_, is_over, most, stop_);
  }

  Result<void> receive(uint16_t from, Step step, uint8_t* memory, uint64_t bytes) {
    const auto posted = end_->messages().post_receive(
        {.from = from, .step = step, .memory = memory, .bytes = bytes}, stand_.now());
    return posted ? Result<void>() : failure(posted.error().why);
  }
  Result<void> send(uint16_t to, Step step, const uint8_t* memory, uint64_t bytes) {
    const auto posted = end_->messages().post_send({.to = to,
                                                    .step = step,
                                                    .memory = memory,
                                                    .bytes = bytes,
                                                    .step_bytes = bytes,
                                                    .is_last = true},
                                                   stand_.now());
    return posted ? Result<void>() : failure(posted.error().why);
  }

  /// So many completions, each of a message that is whole.
  Result<void> await(size_t count, const std::function<void(const Completion&)>& on_ended) {
    std::string why;
    const auto is_over = [&] {
      std::array<Completion, 64> ended;
      while (const size_t polled = end_->messages().poll(ended)) {
        for (const Completion& each : std::span(ended).first(polled)) {
          on_ended(each);
          if (!each.is_whole && why.empty()) {
            why = "a message " + std::string(each.is_send ? "to" : "of") + " rank " +
                  std::to_string(each.peer) + " failed, reason " +
                  std::to_string(static_cast<int>(each.reason)) + " of SPEC.md 18.16";
          }
        }
        count -= polled;
      }
      return count == 0 || !why.empty();
    };
    if (!turn_until(is_over, patience)) return failure("messages did not end in time");
    return why.empty() ? Result<void>() : failure(why);
  }

  /// A message to and from each other member; others begin with other ones.
  Result<void> exchange(Step step, uint64_t bytes,
                        const std::function<const uint8_t*(uint16_t)>& source,
                        const std::function<uint8_t*(uint16_t)>& target,
                        const std::function<void(const Completion&)>& on_ended) {
    const auto other = [&](uint32_t apart) {
      return static_cast<uint16_t>((rank() + apart) % options_.hosts);
    };
    for (uint32_t apart = 1; apart < options_.hosts; ++apart) {
      const uint16_t from = other(options_.hosts - apart);
      if (auto done = receive(from, step, target(from), bytes); !done) return done;
    }
    for (uint32_t apart = 1; apart < options_.hosts; ++apart) {
      const uint16_t to = other(apart);
      if (auto done = send(to, step, source(to), bytes); !done) return done;
    }
    return await(2 * (size_t{options_.hosts} - 1), on_ended);
  }

  /// Over when all others are as far.
  Result<void> signal(Step step) {
    std::vector<std::array<uint8_t, signal_bytes>> heard(options_.hosts);
    return exchange(
        step, signal_bytes, [&](uint16_t) { return pattern_.data(); },
        [&](uint16_t from) { return heard[from].data(); }, [](const Completion&) {});
  }

  Result<void> run_step(uint32_t round) {
    const uint64_t bytes = options_.size.count();
    const auto target = [&](uint32_t from) { return &received_[from * bytes]; };
    std::ranges::fill(received_, uint8_t{0});
    const Instant begun = stand_.now();
    const auto done = exchange(
        Step(2 * round + 1), bytes, [&](uint16_t to) { return pattern_of(rank(), to, round); },
        target,
        [&](const Completion& ended) {
          if (!ended.is_send) tally_.message_us.push_back((ended.at - begun).us());
        });
    if (!done) return done;
    tally_.step_us.push_back((stand_.now() - begun).us());
    for (uint32_t from = 0; from < options_.hosts; ++from) {
      if (from == rank()) continue;
      const uint8_t *right = pattern_of(from, rank(), round), *came = target(from);
      if (std::memcmp(right, came, bytes) == 0) continue;
      for (uint64_t i = 0; i < bytes; ++i) tally_.bytes_wrong += right[i] != came[i];
    }
    return {};
  }

  void note_counts() {
    counts_.add(end_->messages(), end_->counters(), end_->drops());
    const PortCounters port = stand_.port().counters();
    counts_.dropped = port.rx_dropped;
    counts_.lost = stand_.wire().rx_counters(0).lost_total();
  }

  /// Of our own: counts, wrong bytes, a step's time each, a message's time each.
  std::vector<uint8_t> own_share() const {
    std::vector<uint8_t> share(share_bytes());
    uint8_t* at = share.data();
    const auto put = [&](const void* from, size_t bytes) {
      std::memcpy(at, from, bytes);
      at += bytes;
    };
    put(&counts_, sizeof(counts_));
    put(&tally_.bytes_wrong, sizeof(tally_.bytes_wrong));
    put(tally_.step_us.data(), sizeof(double) * tally_.step_us.size());
    put(tally_.message_us.data(), sizeof(double) * tally_.message_us.size());
    return share;
  }
  void add_share(const std::vector<uint8_t>& share) {
    const uint8_t* at = share.data();
    const auto take = [&](void* to, size_t bytes) {
      std::memcpy(to, at, bytes);
      at += bytes;
    };
    LoadCounts counts;
    uint64_t wrong = 0;
    std::vector<double> steps(options_.rounds);
    std::vector<double> messages(size_t{options_.rounds} * (options_.hosts - 1));
    take(&counts, sizeof(counts));
    take(&wrong, sizeof(wrong));
    take(steps.data(), sizeof(double) * steps.size());
    take(messages.data(), sizeof(double) * messages.size());
    counts_.add(counts);
    tally_.bytes_wrong += wrong;
    for (size_t i = 0; i < steps.size(); ++i) {
      tally_.step_us[i] = std::max(tally_.step_us[i], steps[i]);
    }
    tally_.message_us.insert(tally_.message_us.end(), messages.begin(), messages.end());
  }

  Result<void> gather_shares() {
    stand_.wire().set_rx_impairment(0, {});
    const Step step(2 * options_.rounds);
    if (rank() != 0) {
      const std::vector<uint8_t> share = own_share();
      if (auto done = send(0, step, share.data(), share.size()); !done) return done;
      return await(1, [](const Completion&) {});
    }
    std::vector<std::vector<uint8_t>> shares(options_.hosts, std::vector<uint8_t>(share_bytes()));
    for (uint32_t from = 1; from < options_.hosts; ++from) {
      auto done =
          receive(static_cast<uint16_t>(from), step, shares[from].data(), shares[from].size());
      if (!done) return done;
    }
    auto done = await(options_.hosts - 1, [](const Completion&) {});
    if (!done) return done;
    for (uint32_t from = 1; from < options_.hosts; ++from) add_share(shares[from]);
    return {};
  }

  const MessageOptions& options_;
  const Recovery& recovery_;
  const StopFlag& stop_;
  UdpStand stand_;
  std::unique_ptr<MessageEnd> end_;
  std::vector<uint8_t> pattern_, received_;
  LoadCounts counts_;
  LoadTally tally_;
};

}  // namespace

Result<LoadReport> run_over_udp(const MessageOptions& options, const Recovery& recovery,
                                const StopFlag& stop) {
  UdpMember member(options, recovery, stop);
  if (auto opened = member.open(); !opened) return std::unexpected(opened.error());
  return member.run();
}

}  // namespace cw::perf
