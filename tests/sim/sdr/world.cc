#include "tests/sim/sdr/world.h"

#include <algorithm>

#include "dataplane/sdr/seat/policy_offer.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "dataplane/sdr/swap/swap_end.h"
#include "tests/made_identity.h"

namespace cw::sim {
namespace {

/// A site may hold its written control packets, one burst on its way out, and one that it reads.
constexpr uint64_t packets_lent_max = 64 + 2 * limits::burst_packets_max;
constexpr uint32_t payload_max = 2048;
constexpr Duration faults_max = Duration::from_s(100);
constexpr size_t kept_max = 2048;
// Each end's turn, the courier's piece, and what they answer each other.
constexpr uint64_t turns_per_packet = 10, turns_per_second = 40'000;

Impairment calm_of(const WorldOptions& options) { return {.delay = options.back.delay}; }

size_t kept_by_stranger(const WorldOptions& options) {
  return options.stranger.interval == Duration::max() ? 0 : kept_max;
}

}  // namespace

void World::End::turn(Instant now) {
  if (resumes_at) {
    if (*resumes_at > now) return;
    resumes_at.reset();
    return site->turn_after_pause(now);
  }
  // As a worker that sleeps: one that forgets to say when it wants a turn gets none.
  if (port.next_event() <= now || site->next_deadline() <= now) site->turn(now);
}

World::World(const WorldOptions& options)
    : options_(options),
      network_({.seed = options.seed,
                .paths = options.site.paths,
                .wire_packets = options.wire_packets,
                .payload_max = payload_max,
                .carry_bytes = true}),
      a_port_(network_.add_port()),
      b_port_(network_.add_port()),
      peers_(network_.join(a_port_, b_port_, options.back)),
      a_(a_port_, peers_.of_first, options.seed + 1, kept_by_stranger(options)),
      b_(b_port_, peers_.of_second, options.seed + 2, kept_by_stranger(options)),
      courier_(a_.site, b_.site, options.courier),
      stranger_(options.stranger, a_.tap, b_.tap),
      stage_(network_),
      conservation_([this] { return ledger(); }),
      turns_(turns_per_packet, turns_per_second, [this] { return packets(); }),
      converged_(options.calm_max, [this] { return is_settled(); }) {
  for (uint16_t path = 0; path < options.site.paths; ++path) {
    network_.set_impairment(a_port_, {peers_.of_first, path}, options.wires[path]);
  }
  for (End* end : {&a_, &b_}) {
    start(*end);
    stage_.add(*end);
    memory_.add_gauge("packets lent", [end] { return end->site->port().held(); }, packets_lent_max);
  }
  stage_.add(courier_);
  stage_.add(stranger_);
  memory_.warm_up_ends();
  for (Checker* checker : courier_.checkers()) stage_.watch(*checker);
  for (Checker* checker :
       std::initializer_list<Checker*>{&conservation_, &memory_, &at_rest_, &arrivals_, &clock_,
                                       &turns_, &epochs_, &policies_, &converged_}) {
    stage_.watch(*checker);
  }
}

void World::start(End& end) {
  SiteOptions site = options_.site;
  site.seed = options_.seed * 1'000'003 + ++lives_;
  site.has_rnic = &end == &a_ ? options_.sender_has_rnic : options_.receiver_has_rnic;
  site.offload = options_.is_sealed ? 0 : options_.offload;
  if (options_.is_sealed) {
    const auto own = static_cast<uint8_t>(&end == &a_ ? 1 : 2);
    site.identity = test::made_identity(own);
    site.other_key = test::made_identity(static_cast<uint8_t>(3 - own)).public_key;
  }
  end.site = std::make_unique<Site>(end.tap, end.peer, site, network_.now());
}

/// As a process that is killed: nobody is told, and its port has back what was lent.
void World::stop(End& end) {
  end.sent_before = end.sent();
  end.received_before = end.received();
  for (size_t i = 0; i < drop_reason_count; ++i) {
    end.dropped_before[i] += end.site->drops().read_any_thread(static_cast<DropReason>(i));
  }
  for (size_t i = 0; i < counter_count; ++i) {
    end.counts_before[i] += end.site->counters().read_any_thread(static_cast<Counter>(i));
  }
  end.site.reset();
  end.resumes_at.reset();
  end.port.stand_still_until(network_.now());
  const size_t lent = end.port.lent_count();
  if (lent > 0) at_rest_.broken("a site that is gone keeps " + std::to_string(lent) + " packets");
}

void World::strike(const Blow& blow) {
  for (End* end : {&a_, &b_}) {
    if (!(end == &a_ ? blow.hits_sender : blow.hits_receiver)) continue;
    if (blow.what == Blow::What::Swap) {
      order(blow, *end);
      continue;
    }
    if (blow.what == Blow::What::Pause) {
      // An epoch that nobody has confirmed lives through 300 ms, and two pauses in one are longer.
      if (end->resumes_at && *end->resumes_at > network_.now()) continue;
      end->resumes_at = network_.now() + blow.pause;
      end->port.stand_still_until(*end->resumes_at);
      continue;
    }
    ++restarts_;
    stop(*end);
    end == &a_ ? courier_.sender_was_restarted() : courier_.receiver_was_restarted();
    start(*end);
  }
}

void World::order(const Blow& blow, End& end) {
  const auto offer = sdr::PolicyOffer::of({blow.policy, blow.params});
  (void)end.site->link().order_swap(0, &end == &a_ ? CW_SOURCE : CW_SINK,
                                    {std::string_view(offer.name), std::string_view(offer.params)},
                                    network_.now());
}

/// Of a swap whose boundary no message has reached, because all were sent, both ends know.
bool World::has_swapped() {
  const auto source = a_.site->link().swap(0, CW_SOURCE)->state();
  const auto sink = b_.site->link().swap(0, CW_SINK)->state();
  const auto is_at_rest = [](sdr::SwapState state) {
    return state == sdr::SwapState::Idle || state == sdr::SwapState::Draining;
  };
  return is_at_rest(source) && is_at_rest(sink);
}

void World::check_policies() {
  if (!a_.site->is_up() || !b_.site->is_up()) return;
  run_for(Duration::from_s(30), [&] { return has_swapped(); });
  if (!has_swapped()) return policies_.broken("a swap does not come to its end");
  sdr::Seat& source = a_.site->send_stream().seat();
  sdr::Seat& sink = b_.site->recv_stream().seat();
  const auto is_same = [](const sdr::PolicyChoice& one, const sdr::PolicyChoice& other) {
    return one.ops == other.ops && std::ranges::equal(one.params, other.params);
  };
  const bool have_epoch = source.current().policy_epoch() == sink.current().policy_epoch();
  if (have_epoch && is_same(source.policy(), sink.policy())) return;
  policies_.broken("the sender has " + sdr::PolicyOffer::of(source.policy()).name +
                   " and the receiver " + sdr::PolicyOffer::of(sink.policy()).name);
}

void World::run_for(Duration time, const std::function<bool()>& is_enough) {
  stage_.run_until(is_enough, network_.now() + time);
}

void World::run_faults() {
  for (const Blow& blow : options_.blows) {
    run_for(blow.after, [] { return false; });
    strike(blow);
  }
  run_for(faults_max, [&] { return courier_.sent_count() >= options_.calm_from; });
}

std::string World::run_calm() {
  network_.set_all_impairments(calm_of(options_));
  stranger_.leave();
  converged_.calm_begins(network_.now());
  run_for(options_.calm_max + Duration::from_s(1),
          [&] { return converged_.settled_at().has_value(); });
  courier_.check_graves();
  check_policies();
  if (a_.tap.goes_back() || b_.tap.goes_back())
    arrivals_.broken("a packet came before one that came earlier");
  if (restarts_ == 0 && courier_.lost_sends() + courier_.lost_receives() > 0) {
    epochs_.broken("an epoch ended though neither site was restarted");
  }
  const auto complaint = stage_.final_complaint();
  if (!complaint) return "";
  return converged_.settled_at() ? *complaint : *complaint + "; " + state();
}

Ledger World::ledger() const {
  Ledger ledger = ledger_of(network_);
  ledger.entered = a_.sent() + b_.sent() + injected_count();
  ledger.delivered = a_.received() + b_.received();
  return ledger;
}

/// Who sleeps still has at hand what it sent from: one more turn, and it is given back.
bool World::is_settled() {
  if (!courier_.is_done()) return false;
  for (End* end : {&a_, &b_}) end->site->turn(network_.now());
  return a_.site->port().held() == 0 && b_.site->port().held() == 0;
}

std::string World::state() const {
  const auto of = [](const End& end) {
    return std::string(end.site->is_up() ? "up" : "down") + " with " +
           std::to_string(end.site->port().held()) + " packets";
  };
  return "sender " + of(a_) + ", receiver " + of(b_) + "; " + courier_.state();
}

uint64_t World::dropped(DropReason reason) const {
  const auto i = static_cast<size_t>(reason);
  return a_.dropped_before[i] + b_.dropped_before[i] + a_.site->drops().read_any_thread(reason) +
         b_.site->drops().read_any_thread(reason);
}

uint64_t World::count(Counter counter) const {
  const auto i = static_cast<size_t>(counter);
  return a_.counts_before[i] + b_.counts_before[i] + a_.site->counters().read_any_thread(counter) +
         b_.site->counters().read_any_thread(counter);
}

}  // namespace cw::sim
