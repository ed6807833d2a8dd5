#include "tests/sim/sdr/story.h"

namespace cw::sim {
namespace {

/// A site may hold its written control packets, one burst on its way out, and one that it reads.
constexpr uint64_t packets_lent_max = 64 + 2 * limits::burst_packets_max;

SiteOptions with_seed(SiteOptions site, uint64_t seed) {
  site.seed = seed;
  return site;
}

Impairment calm_of(const StoryOptions& options) {
  const bool is_given = options.calm_delay > Duration();
  return {.delay = is_given ? options.calm_delay : options.wire.delay};
}

}  // namespace

Story::Story(const StoryOptions& story_options)
    : options(story_options),
      network({.seed = options.seed,
               .paths = options.site.paths,
               .wire_packets = options.wire_packets,
               .payload_max = options.payload_max,
               .carry_bytes = options.carry_bytes}),
      a_port(network.add_port()),
      b_port(network.add_port()),
      peers(network.join(a_port, b_port, options.wire)),
      a(a_port, peers.of_first, with_seed(options.site, options.seed * 2 + 1), network.now()),
      b(b_port, peers.of_second, with_seed(options.site, options.seed * 2 + 2), network.now()),
      transfer(a, b, options.transfer),
      stage(network, options.seed),
      conservation_([this] { return ledger(); }),
      ages_(options.age_max),
      converged_(options.calm_max, [this] { return is_settled(); }) {
  stage.add(a);
  stage.add(b);
  stage.add(transfer);
  transfer.tell_ages_to(ages_);
  for (const Site* site : {&a, &b}) {
    memory_.add_gauge(
        "packets lent", [site] { return site->port().held(); }, packets_lent_max);
  }
  memory_.warm_up_ends();
  for (Checker* checker : std::initializer_list<Checker*>{&conservation_, &transfer.exactly_once(),
                                                          &transfer.no_wrong_byte(), &memory_,
                                                          &clock_, &ages_, &converged_}) {
    stage.watch(*checker);
  }
}

Story::~Story() = default;

Ledger Story::ledger() const {
  Ledger ledger = ledger_of(network);
  ledger.entered = a.port().sent() + b.port().sent();
  ledger.delivered = a.port().received() + b.port().received();
  return ledger;
}

bool Story::is_settled() const {
  return transfer.is_done() && a.port().held() == 0 && b.port().held() == 0;
}

StageEnd Story::run_faults(Duration at_most) {
  return run_faults(at_most, [&] { return transfer.is_done(); });
}

std::string Story::run_calm() {
  network.set_all_impairments(calm_of(options));
  converged_.calm_begins(network.now());
  stage.run_until([&] { return converged_.settled_at().has_value(); },
                  network.now() + options.calm_max + Duration::from_s(1));
  return stage.final_complaint().value_or("");
}

double Story::resend_share() {
  const auto data = static_cast<double>(a.counters().read_any_thread(Counter::data_sent));
  return static_cast<double>(a.counters().read_any_thread(Counter::resends_sent)) / data;
}

SiteOptions site_under(const cw_policy_ops* policy, std::vector<double> params) {
  SiteOptions options;
  options.policy = policy;
  options.policy_params = std::move(params);
  return options;
}

}  // namespace cw::sim
