#include "control/sim/simulation.h"

#include <algorithm>
#include <chrono>

#include "dataplane/sdr/link/trace/stream_trace.h"
#include "dataplane/wire/roce_inline.h"

namespace cw {
namespace {

// Whatever the line can hold in the longest delay, twice over, and more than a burst of control.
size_t wire_packets(const Scenario& scenario) {
  Duration longest;
  for (const PathScenario& path : scenario.paths) {
    for (const Impairment* way : {&path.there, &path.back}) {
      longest = std::max(longest, way->delay + way->jitter_max + way->reorder_delay);
    }
  }
  const Bytes held = scenario.pacer.rate.bytes_in(longest);
  const uint64_t packets = held.count() / scenario.stream.payload_bytes;
  return static_cast<size_t>(2 * packets * scenario.receivers + 16384);
}

// What a data packet and its resends share, for Impairment::targeted. Comes again when the id has
// lived through all its generations.
uint64_t identity_of(const Packet& packet) {
  SlotWrite slot;
  const size_t bytes = size_t{packet.bytes} + packet.payload_bytes;
  if (!try_parse_slot_write({packet.data, packet.bytes}, bytes, slot)) return 0;
  return uint64_t{slot.target_qp} << 32 | slot.immediate;
}

SimOptions network_options(const Scenario& scenario) {
  SimOptions options;
  options.seed = scenario.run.seed;
  options.paths = static_cast<uint16_t>(scenario.paths.size());
  options.payload_max = scenario.stream.payload_bytes;
  options.wire_packets = wire_packets(scenario);
  options.carry_bytes = scenario.run.carry_bytes;
  options.key = identity_of;
  return options;
}

}  // namespace

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario),
      network_(network_options(scenario)),
      payload_(scenario.workload.largest(), scenario.run.seed) {}

Result<std::unique_ptr<Simulation>> Simulation::make(const Scenario& scenario) {
  std::unique_ptr<Simulation> simulation(new Simulation(scenario));
  if (const auto joined = simulation->join(); !joined) return std::unexpected(joined.error());
  return simulation;
}

Result<void> Simulation::join() {
  Prng seeds(scenario_.run.seed);
  SimPort& port = network_.add_port();
  sites_.push_back(std::make_unique<Site>(port, scenario_, Site::Role::Sender, seeds.next()));
  for (uint16_t i = 0; i < scenario_.receivers; ++i) {
    SimPort& far_port = network_.add_port();
    const SimPeers peers = network_.join(port, far_port);
    shape(port, far_port, peers);
    sites_.push_back(
        std::make_unique<Site>(far_port, scenario_, Site::Role::Receiver, seeds.next()));
    const auto source = sites_.front()->add_peer(peers.of_first, network_.now());
    if (!source) return std::unexpected(source.error());
    const auto sink = sites_.back()->add_peer(peers.of_second, network_.now());
    if (!sink) return std::unexpected(sink.error());
    if (ends_.empty()) ends_ = {*source, *sink};
    transfers_.push_back(
        std::make_unique<Transfer>(**source, **sink, scenario_, payload_, seeds.next()));
  }
  return {};
}

void Simulation::record(size_t bytes_max) {
  for (const cw_role role : {CW_SOURCE, CW_SINK}) {
    traces_.push_back(std::make_shared<sdr::PolicyTrace>(bytes_max));
    sdr::Link& link = *ends_[role];
    // The links are not up yet: it begins with them.
    (void)sdr::begin_trace(link, scenario_.stream.qp, role, traces_.back(), network_.now());
  }
}

trace::TraceDocument Simulation::recorded() const {
  trace::TraceDocument document{.site = "simulation", .streams = {}};
  for (size_t end = 0; end < traces_.size(); ++end) {
    trace::StreamTrace& stream =
        document.streams.emplace_back(trace::stream_trace_of(*traces_[end]));
    stream.peer = end == 0 ? "receiver" : "sender";
    stream.class_name = "stream";
    stream.is_outward = end == 0;
  }
  return document;
}

void Simulation::shape(SimPort& sender, SimPort& receiver, SimPeers peers) {
  const auto paths = static_cast<uint16_t>(scenario_.paths.size());
  for (uint16_t path = 0; path < paths; ++path) {
    const PathScenario& ways = scenario_.paths[path];
    network_.set_impairment(sender, {peers.of_first, path}, ways.there);
    network_.set_impairment(receiver, {peers.of_second, path}, ways.back);
  }
}

void Simulation::turn(Instant now) {
  for (const auto& site : sites_) site->turn_if_due(now);
  for (size_t i = 0; i < transfers_.size(); ++i) {
    if (!transfers_[i]->turn(now, sites_.front()->had_turn())) continue;
    sites_.front()->forget_wakeup();
    sites_[i + 1]->forget_wakeup();
  }
}

Instant Simulation::next_event() {
  Instant next = network_.next_event();
  for (const auto& site : sites_) next = std::min(next, site->next_wakeup());
  for (const auto& transfer : transfers_) next = std::min(next, transfer->next_deadline());
  return next;
}

bool Simulation::is_done() const {
  return std::ranges::all_of(transfers_, [](const auto& each) { return each->is_done(); });
}

uint64_t Simulation::finished_count() const {
  uint64_t count = 0;
  for (const auto& transfer : transfers_) count += transfer->finished_count();
  return count;
}

Report Simulation::run(const std::function<void(uint64_t)>& on_progress) {
  constexpr uint64_t turns_between_progress = 1 << 14;
  const auto start = std::chrono::steady_clock::now();
  const Instant limit = network_.now() + scenario_.run.limit;
  for (uint64_t turns = 1;; ++turns) {
    const Instant now = network_.now();
    turn(now);
    if (turns % turns_between_progress == 0) on_progress(finished_count());
    const Instant next = next_event();
    if (is_done() || now >= limit || next == Instant::never()) break;
    network_.advance_to(std::min(std::max(next, now + scenario_.run.turn), limit));
  }
  Report done = report();
  done.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return done;
}

Report Simulation::report() const {
  Report report;
  std::vector<Duration>& times = report.completion_times;
  Instant started = Instant::never(), ended;
  Bytes bytes;
  for (const auto& transfer : transfers_) {
    report.messages += scenario_.workload.messages;
    report.completed += transfer->completed();
    report.bytes_wrong += transfer->bytes_wrong();
    bytes += transfer->bytes_completed();
    started = std::min(started, transfer->started());
    ended = std::max(ended, transfer->ended());
    times.insert(times.end(), transfer->completion_times().begin(),
                 transfer->completion_times().end());
  }
  const Site& sender = *sites_.front();
  report.policy = scenario_.policy->name;
  report.seed = scenario_.run.seed;
  report.virtual_seconds = (network_.now() - Instant()).seconds();
  report.completion = CompletionTimes::of(times);
  if (ended > started) {
    report.goodput_gbps = static_cast<double>(bytes.count()) * 8e-9 / (ended - started).seconds();
  }
  report.packets = network_.counters().sent;
  report.lost_packets = network_.counters().lost;
  report.resent_packets = sender.count_of(Counter::resends_sent);
  report.repair_packets = sender.count_of(Counter::repairs_sent);
  for (const auto& site : sites_) {
    report.quarantined += site->count_of(Counter::policies_quarantined);
  }
  report.trace_hash = network_.trace_hash();
  return report;
}

}  // namespace cw
