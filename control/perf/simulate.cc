#include "control/perf/report/figures.h"

#include "control/json/json.h"
#include "control/perf/measure.h"
#include "dataplane/base/prng.h"
#include "dataplane/port/sim/network.h"

namespace cw::perf {
namespace {

// Headers of a data packet below its payload, as on the UDP port over IPv4.
constexpr uint32_t packet_overhead_bytes = 14 + 20 + 8 + 4;
// A worker's turn over a fast port; also the granularity of virtual time under load.
constexpr Duration turn_time = Duration::from_us(20);
constexpr Duration up_patience = Duration::from_s(60);

/// Whatever the line can hold in the longest delay, twice over, and more than a burst of control.
size_t wire_packets(const Options& options) {
  const Impairment& link = options.impairment;
  const Duration longest = link.delay + link.jitter_max + link.reorder_delay;
  const Bytes held = options.parameters.rate.bytes_in(longest);
  return static_cast<size_t>(2 * held.count() / options.parameters.payload_bytes + 16384);
}

SimOptions network_options(const Options& options) {
  SimOptions network;
  network.seed = options.parameters.seed;
  network.payload_max = options.parameters.payload_bytes;
  network.wire_packets = wire_packets(options);
  network.overhead_bytes = packet_overhead_bytes;
  network.carry_bytes = false;  // what is sent never changes
  return network;
}

/// Both ends, their programs and the wire between them.
class Simulation {
 public:
  explicit Simulation(const Options& options)
      : options_(options),
        network_(network_options(options)),
        payload_(options.parameters.size, options.parameters.seed),
        prngs_{Prng(options.parameters.seed), Prng(options.parameters.seed + 1)} {}

  Result<void> join(plugins::Registry& policies) {
    SimPort& near = network_.add_port();
    SimPort& far = network_.add_port();
    const SimPeers peers = network_.join(near, far, options_.impairment);
    if (auto made = make_end(near, policies, Role::Sender, peers.of_first); !made) return made;
    if (auto made = make_end(far, policies, Role::Receiver, peers.of_second); !made) return made;
    sender_.emplace(ends_[0]->link(), options_.parameters, payload_);
    receiver_.emplace(ends_[1]->link(), options_.parameters, payload_);
    return {};
  }

  Result<Outcome> run(const StopFlag& stop) {
    Progress progress;
    const auto is_over = [&] {
      return stop || (sender_->is_done() && receiver_->received() >= sender_->posted());
    };
    while (!is_over()) {
      const Instant now = network_.now();
      turn(now);
      progress.show(*sender_, options_.parameters, *ends_[0], now);
      if (sender_->posted() == 0 && now - Instant() > up_patience) {
        return failure("the simulated link does not come up: " + ends_[0]->link().why());
      }
      const Instant next = next_event();
      if (next == Instant::never()) break;  // a policy has forgotten something
      network_.advance_to(std::max(next, now + turn_time));
    }
    progress.clear();
    return outcome(stop ? ended_interrupted : ended_done);
  }

 private:
  Result<void> make_end(SimPort& port, plugins::Registry& policies, Role role, uint16_t peer) {
    EndOptions options;
    options.role = role;
    options.peer = peer;
    options.parameters = options_.parameters;
    options.key = options_.key;
    options.random = sdr::RandomSource::of(prngs_[ends_.size()]);
    options.packet_overhead_bytes = packet_overhead_bytes;
    auto end = End::make(port, policies, options, network_.now());
    if (!end) return failure(end.error().sentence);
    ends_.push_back(std::move(*end));
    ports_.push_back(&port);
    return {};
  }

  void turn(Instant now) {
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (std::min(ports_[i]->next_event(), ends_[i]->next_wakeup()) > now) continue;
      ends_[i]->sleeps_until(now);
      ends_[i]->turn(now);
    }
    sender_->turn(now);
    receiver_->turn(now);
  }

  Instant next_event() const {
    Instant next = std::min(network_.next_event(), receiver_->next_deadline());
    for (const auto& end : ends_) next = std::min(next, end->next_wakeup());
    return next;
  }

  Outcome outcome(const char* ended) {
    const bool is_stuck = !sender_->is_done() && ended == ended_done;
    Json report = report_of(options_.parameters, *sender_, figures_of(*ends_[0], {}),
                            figures_of(*receiver_, *ends_[1], {}),
                            is_stuck ? "the policy waits for nothing" : ended);
    report["link"] = {{"packets", network_.counters().sent}, {"lost", network_.counters().lost}};
    // As text: 64 bits do not fit the numbers of every JSON reader.
    report["trace_hash"] = std::to_string(network_.trace_hash());
    return {std::move(report), ended == ended_done && !is_stuck};
  }

  const Options& options_;
  SimNetwork network_;
  Payload payload_;
  Prng prngs_[2];
  std::vector<SimPort*> ports_;
  std::vector<std::unique_ptr<End>> ends_;  // the sender first
  std::optional<Sender> sender_;
  std::optional<Receiver> receiver_;
};

}  // namespace

Result<Outcome> simulate(const Options& options, plugins::Registry& policies,
                         const StopFlag& stop) {
  Simulation simulation(options);
  if (const auto joined = simulation.join(policies); !joined)
    return failure(joined.error().sentence);
  return simulation.run(stop);
}

}  // namespace cw::perf
