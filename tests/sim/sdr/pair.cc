#include "tests/sim/sdr/pair.h"

namespace cw::sim {
namespace {

/// Of each port.
size_t packets_of(const PairOptions& options) {
  if (options.packets > 0) return options.packets;
  const SiteOptions& site = options.a;
  const size_t slots = site.weights.size() * site.stream.messages * site.stream.data_slots_max;
  return 512 + (site.send.slot_by_slot ? slots : 0);
}

}  // namespace

PairOptions reliable_pair(uint64_t seed) {
  SiteOptions site;
  site.policy = cw_policy_selective_repeat();
  site.stream.data_slots_max = 64;
  site.stream.messages = 8;
  return {.seed = seed, .a = site, .b = site};
}

Pair::Pair(const PairOptions& options, const WireScript& a_script, const WireScript& b_script)
    : options_(options),
      network_({.seed = options.seed,
                .paths = options.a.paths,
                .port_packets = packets_of(options),
                .wire_packets = 2048,
                .payload_max = 1024}),
      a_sim_(network_.add_port()),
      b_sim_(network_.add_port()),
      peers_(network_.join(a_sim_, b_sim_, options.wire)),
      a_port_(a_sim_, a_script),
      b_port_(b_sim_, b_script),
      stage_(network_) {
  restart_a();
  restart_b();
  stage_.add(a_turns_);
  stage_.add(b_turns_);
  stage_.add(a_port_);
  stage_.add(b_port_);
  stage_.add(courier_);
}

// Threads that code write to the courier's memory until their site has ended: it goes first, here
// and below.
Pair::~Pair() {
  a.reset();
  b.reset();
}

void Pair::restart_sender() {
  restart_a();
  courier_.sender_was_restarted();
}

void Pair::restart_receiver() {
  restart_b();
  courier_.receiver_was_restarted();
}

bool Pair::run_until(const std::function<bool()>& is_reached, Duration time) {
  return stage_.run_until(is_reached, network_.now() + time) == StageEnd::Reached;
}

void Pair::run_for(Duration time) {
  (void)stage_.run_until([] { return false; }, network_.now() + time);
}

bool Pair::delivers(uint64_t count, Duration time) {
  const uint64_t goal = courier_.delivered_count() + count;
  return run_until([&] { return courier_.delivered_count() >= goal; }, time);
}

void Pair::restart(std::unique_ptr<Site>& site, Port& port, uint16_t peer, SiteOptions options,
                   uint64_t which) {
  Dropped& total = which == 1 ? a_dropped_ : b_dropped_;
  for (size_t i = 0; site && i < drop_reason_count; ++i) {
    total[i] += site->drops().read_any_thread(static_cast<DropReason>(i));
  }
  options.seed = options_.seed * 1'000'003 + ++lives_ * 2 + which;
  site.reset();
  site = std::make_unique<Site>(port, peer, options, network_.now());
}

uint64_t Pair::dropped(const Dropped& before, Site& site, DropReason reason) {
  return before[static_cast<size_t>(reason)] + site.drops().read_any_thread(reason);
}

}  // namespace cw::sim
