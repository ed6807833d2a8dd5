// The keys of a [[class]], and how long its frames may wait for repair.
#include <algorithm>
#include <array>
#include <cmath>

#include "control/config/policy_keys.h"
#include "control/gateway/derive.h"
#include "control/gateway/keys/config.h"
#include "control/gateway/keys/prefix.h"
#include "policies/policies.h"

namespace cw::site {

using config::KeyKind;
using config::Section;
using gateway::ClassMatch;
using gateway::PacketKind;

namespace {

/// What a host's timeout must leave besides the round trip and the repair: turns, and queues of
/// both LANs.
constexpr Duration margin = Duration::from_ms(5);
/// Of hosts, at most, besides three round trips (control/daemon/README.md).
constexpr Duration restart_silence = Duration::from_ms(300);
constexpr Duration hold_default = Duration::from_ms(250);
constexpr Duration block_age_default = Duration::from_ms(2);
// A block costs repair and a record however little is in it: more than 2,000 a second tax the hosts
// more than the time that they save.
constexpr Duration block_age_least = Duration::from_us(500);

// A QP's timeout is 4.096 us x 2^n.
constexpr unsigned roce_timeout_default = 14;
constexpr unsigned roce_timeout_max = 31;
constexpr Duration roce_timeout(unsigned n) { return Duration::from_ns(int64_t{4096} << n); }

struct MatchDraft {
  ClassMatch match;
  std::string source, target, source_ports, target_ports, ports;
};

void read_prefix(Section& row, const char* key, const std::string& text,
                 std::optional<gateway::Prefix>& target) {
  if (text.empty()) return;
  const auto prefix = parse_prefix(text);
  if (!prefix) return row.complain(key, row.path_of(key) + ": " + prefix.error().sentence);
  target = *prefix;
}

void read_ports(Section& row, const char* key, const std::string& text,
                std::optional<gateway::PortRange>& target) {
  if (text.empty()) return;
  const auto ports = parse_ports(text);
  if (!ports) return row.complain(key, row.path_of(key) + ": " + ports.error().sentence);
  target = *ports;
}

void finish_match(Section& row, const MatchDraft& draft, ClassConfig& it) {
  ClassMatch match = draft.match;
  read_prefix(row, "source", draft.source, match.source);
  read_prefix(row, "target", draft.target, match.target);
  read_ports(row, "source_ports", draft.source_ports, match.source_ports);
  read_ports(row, "target_ports", draft.target_ports, match.target_ports);
  const bool has_ports = match.source_ports || match.target_ports || !draft.ports.empty();
  if (has_ports && match.kind && *match.kind != PacketKind::Tcp && *match.kind != PacketKind::Udp) {
    row.complain("kind", row.path_of("kind") + " has no ports to match; \"tcp\" and \"udp\" have");
  }
  if (draft.ports.empty()) return it.matches.push_back(match);
  if (match.source_ports || match.target_ports) {
    return row.complain("ports", row.path_of("ports") +
                                     " means either side; leave out source_ports and target_ports");
  }
  ClassMatch other = match;
  read_ports(row, "ports", draft.ports, match.source_ports);
  other.target_ports = match.source_ports;
  it.matches.push_back(match);
  it.matches.push_back(other);
}

void declare_match(Section& row, ClassConfig& it) {
  const auto draft = std::make_shared<MatchDraft>();
  row.all_are(KeyKind::Live);
  row.choice("kind", size_t{0}, {"any", "tcp", "udp", "icmp", "roce", "roce_datagram", "other"},
             "What is in the packet; roce is RoCEv2 of reliable connections.", [draft](size_t i) {
               if (i > 0) draft->match.kind = static_cast<PacketKind>(i - 1);
             });
  row.add({"dscp", config::Type::Integer,
           [draft](const config::Value& value) {
             draft->match.dscp.reset();
             if (!value.is_none) draft->match.dscp = static_cast<uint8_t>(value.number);
           },
           "none", "Its DSCP."})
      .range(0, 63)
      .or_none();
  row.key("source", draft->source, "Where it comes from, such as \"10.1.4.0/24\".");
  row.key("target", draft->target, "Where it goes.");
  row.key("ports", draft->ports, "TCP or UDP, of either side, such as \"5000-5999\".");
  row.key("source_ports", draft->source_ports, "Only of its source.");
  row.key("target_ports", draft->target_ports, "Only of its target.");
  row.then([draft, &it](Section& here) { finish_match(here, *draft, it); });
}

bool has_only_roce(const ClassConfig& it) {
  return !it.matches.empty() && std::ranges::all_of(it.matches, [](const ClassMatch& match) {
    return match.kind == PacketKind::RoceRc;
  });
}

/// What to change at the hosts so that `needed` fits.
std::string advice_for_hosts(Duration needed, const ClassConfig& it) {
  if (!has_only_roce(it)) {
    return "raise the hosts' timeout above " + about(needed) + ", and host_timeout with it";
  }
  unsigned n = roce_timeout_default;
  while (n < roce_timeout_max && roce_timeout(n) <= needed) ++n;
  const std::string number = std::to_string(n);
  return "give the hosts' QPs timeout " + number + " (perftest -u " + number +
         ", NCCL_IB_TIMEOUT=" + number + ") and write host_timeout = \"" + about(roce_timeout(n)) +
         "\"";
}

void check_hold(Section& row, ClassConfig& it, const Config& config) {
  const std::string name = "class \"" + it.name + "\": ";
  const std::string policy = it.policy->name;
  if (it.hold < it.recovery_worst()) {
    row.complain("hold", name + "hold is " + about(it.hold) + ", but " + policy + " needs " +
                             about(it.recovery_worst()) + " to mend a loss over pair.rtt " +
                             about(config.pair.rtt) +
                             "; raise hold, or take a policy that does not resend");
  }
  if (it.queue != Duration::max() && it.queue >= it.hold) {
    row.complain("queue", name + "queue is " + about(it.queue) + " and must be below hold " +
                              about(it.hold));
  }
}

// A frame that needs repair waits for its block to close, on top of the way there; longer than half
// an RTT it might as well be asked for.
void settle_block_age(Section& row, ClassConfig& it, const Config& config) {
  const Duration rtt = config.pair.rtt,
                 most = std::max(rtt / 10, std::min(rtt / 2, block_age_least));
  if (it.block_age == Duration::max()) it.block_age = std::min(block_age_default, most);
  if (!has_only_roce(it) || it.block_age <= most) return;
  row.complain("block_age", "class \"" + it.name + "\": block_age is " + about(it.block_age) +
                                "; RC hosts wait in order for what is repaired, so over pair.rtt " +
                                about(rtt) + " at most " + about(most) + " is accepted");
}

}  // namespace

std::string about(Duration time) {
  const auto text = [](double value, const char* unit) {
    return config::real_text(std::round(value * 10) / 10) + unit;
  };
  if (time < Duration::from_ms(1)) return text(time.us(), " us");
  if (time < Duration::from_s(10)) return text(time.ms(), " ms");
  return text(time.seconds(), " s");
}

std::string about(Rate rate) {
  return config::quantity_text(config::Quantity::Rate, static_cast<double>(rate.bps()));
}

Duration hold_of(const ClassConfig& it, const Config& config) {
  Duration hold = hold_default;
  for (const ClassPolicy& each : it.policies) {
    const cw_policy_limits needs = needs_at(config.pair.rtt_max, each, config);
    hold = std::max(hold, Duration::from_ns(needs.recovery_worst_ns) * 2);
  }
  return hold;
}

static void settle_hold(Section& row, ClassConfig& it, const Config& config) {
  if (has_only_roce(it) && it.host_timeout == Duration::max()) {
    it.host_timeout = roce_timeout(roce_timeout_default);
  }
  if (it.host_timeout == Duration::max()) {
    it.holds_by_default = it.hold == Duration::max();
    if (it.holds_by_default) it.hold = hold_of(it, config);
    return check_hold(row, it, config);
  }
  const std::string name = "class \"" + it.name + "\": ";
  const Duration rtt = config.pair.rtt, mended = rtt + it.recovery_worst() + margin;
  if (mended >= it.host_timeout) {
    return row.complain("host_timeout",
                        name + "pair.rtt " + about(rtt) + ", a loss mended by " + it.policy->name +
                            " in " + about(it.recovery_worst()) + " and " + about(margin) +
                            " of margin make " + about(mended) +
                            ", but the hosts give up after host_timeout " + about(it.host_timeout) +
                            "; " + advice_for_hosts(mended, it));
  }
  const Duration most = it.host_timeout - rtt - margin;
  if (it.hold == Duration::max()) it.hold = most;
  if (it.hold > most) {
    return row.complain("hold", name + "hold " + about(it.hold) + ", pair.rtt " + about(rtt) +
                                    " and " + about(margin) + " of margin make " +
                                    about(it.hold + rtt + margin) +
                                    ", but the hosts give up after host_timeout " +
                                    about(it.host_timeout) + "; hold may be " + about(most) +
                                    ", or " + advice_for_hosts(it.hold + rtt + margin, it));
  }
  check_hold(row, it, config);
}

// A QP sends seven times before it gives up, others are taken at their word.
std::vector<std::string> take_warnings(Config& config) {
  constexpr int tries = 7;
  const Duration silence = restart_silence + config.pair.rtt * 3;
  for (const auto& each : config.classes) {
    const ClassConfig& it = *each;
    if (it.host_timeout == Duration::max()) continue;
    const bool is_roce = has_only_roce(it);
    const Duration borne = is_roce ? it.host_timeout * tries : it.host_timeout;
    if (borne > silence) continue;
    config.warnings.push_back("class \"" + it.name + "\": its hosts give up after " + about(borne) +
                              (is_roce ? ", seven times host_timeout," : ", host_timeout,") +
                              " and a restart of a gateway is a silence of up to " +
                              about(silence) + "; " +
                              advice_for_hosts(is_roce ? silence / tries : silence, it));
  }
  return std::move(config.warnings);
}

void settle_class(Section& row, ClassConfig& it, const Config& config) {
  if (config.pair.rtt == Duration() || it.policy == nullptr) return;  // told elsewhere
  settle_named(it, config);
  settle_block_age(row, it, config);
  settle_hold(row, it, config);
  settle_unnamed(it, config);
}

void declare_class(Section& row, ClassConfig& it, const ConfigPtr& config) {
  row.all_are(KeyKind::Live);
  row.key("name", it.name, "What both sites call it.").required().kind(KeyKind::Relink);
  row.rows("match", "Packets that it takes: all keys must hold, of any match. None: every packet.",
           [&it](Section& match, size_t) {
             it.is_for_all = false;
             declare_match(match, it);
           });
  declare_own_policy(row, it, config);
  declare_others(row, it, config);
  it.fallback = config->policy_called("selective_repeat");
  row.choice("fallback",
             static_cast<size_t>(std::ranges::find(config->policies, it.fallback) -
                                 config->policies.begin()),
             config::names_of(config->policies),
             "What both sites swap to when the policy has exceeded its quotas at one of them.",
             [&it, config](size_t i) { it.fallback = config->policies[i]; })
      .kind(KeyKind::Relink);
  row.key("weight", it.weight, "Its share of the link when classes compete.").range(1, 1000);
  row.choice("order", it.order, {"by_kind", "always", "never"},
             "Which packets of a flow wait for their elders: by_kind is all but UDP and ICMP.");
  row.key("hold", it.hold,
          "A packet is given up when it is this old; none: what host_timeout leaves, or 250 ms, or "
          "twice what mending a loss takes over pair.rtt_max.")
      .range("1 ms", "60 s")
      .or_none();
  row.key("host_timeout", it.host_timeout,
          "When the hosts send again by themselves; none: not known, for RoCE 67.1 ms.")
      .range("1 ms", "60 s")
      .or_none();
  row.key("queue", it.queue,
          "What may wait for the link; none: four RTTs as measured, from 50 ms to half of hold. "
          "Senders of a queue that stands are told long before.")
      .range("1 ms", "10 s")
      .or_none();
  row.key("mark", it.mark, "Whether ECN tells them, where they understand it, and not a drop.");
  row.key("fair", it.fair,
          "Whether flows of the class take turns, and who sends little goes first.")
      .kind(KeyKind::Relink);
  row.key("block_age", it.block_age,
          "Where the policy codes: repair follows when the oldest packet without is this old; "
          "none: a tenth of pair.rtt, from 0.5 ms (half of a shorter one) to 2 ms.")
      .range("10 us", "1 s")
      .or_none();
  row.then([&it, config](Section& here) {
    if (!it.has_policy && has_only_roce(it)) it.policy = config->policy_called("hybrid");
    settle_adapt(here, it, *config);
    Section& params = here.table("params", "What the policy lets one choose.");
    params.all_are(KeyKind::Swap);
    if (here.is_wrong("policy")) {
      it.params = config::default_params(*it.policy);
      return params.leave_rest();
    }
    if (!it.adapts) config::declare_params(params, *it.policy, it.params);
  });
  row.then([&it, config](Section& here) {
    settle_class(here, it, *config);
    check_class(here, it, *config);
  });
}

std::unique_ptr<ClassConfig> class_for_all() {
  auto it = std::make_unique<ClassConfig>();
  it->name = "all";
  it->policy = it->fallback = cw_policy_selective_repeat();
  it->params = config::default_params(*it->policy);
  return it;
}

}  // namespace cw::site
