#include "control/perf/end/end.h"

#include <algorithm>
#include <cmath>

#include "dataplane/sdr/seat/policy_needs.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"

namespace cw::perf {
namespace {

// A turn over sockets of the kernel takes some ten microseconds, and comes late on a busy machine:
// what the line could have carried meanwhile may leave at once.
constexpr Duration pacer_horizon = Duration::from_us(20);
constexpr Duration pacer_lag = Duration::from_ms(1);
constexpr uint64_t pacer_burst_max = 256 << 10;
constexpr uint32_t outbox_ranges = 1 << 14;

PacerOptions pacer_options(const EndOptions& options) {
  PacerOptions pacer;
  pacer.rate = options.parameters.rate;
  pacer.packet_overhead_bytes = options.packet_overhead_bytes;
  pacer.burst_bytes =
      static_cast<uint32_t>(std::min(pacer.rate.bytes_in(pacer_lag).count(), pacer_burst_max));
  pacer.horizon = pacer_horizon;
  pacer.overhead_ppm = static_cast<uint32_t>(std::lround(options.parameters.overhead * 1e6));
  return pacer;
}

/// With blocks where the policy wants them. A message shorter than a block is still given one.
sdr::StreamConfig coded_stream(const Parameters& parameters, const cw_policy_ops& policy,
                               std::span<const double> params) {
  sdr::StreamConfig stream = stream_config(parameters);
  const auto needs = sdr::needs_of({&policy, params}, stream, {.rate = parameters.rate});
  stream.data_slots_max = std::max(stream.data_slots_max, needs.rows * needs.k);
  return fit_split(sdr::coded(stream, needs, code::all()));
}

}  // namespace

End::End(AnyWanPort port, plugins::PolicyRef policy, std::vector<double> params,
         const sdr::RandomSource& random)
    : port_(port), policy_(std::move(policy)), params_(std::move(params)), sdr_(port, random) {
  sdr_.begin();
}

Result<std::unique_ptr<End>> End::make(AnyWanPort port, plugins::Registry& policies,
                                       const EndOptions& options, Instant now) {
  auto policy = policies.find(options.parameters.policy);
  if (!policy) return failure("--policy: " + policy.error().sentence);
  auto params = plugins::parse_params(policy->table(), options.parameters.settings);
  if (!params) return failure("--policy-param: " + params.error().sentence);
  std::unique_ptr<End> end(new End(port, std::move(*policy), std::move(*params), options.random));
  if (const auto joined = end->join(options, now); !joined) return std::unexpected(joined.error());
  return end;
}

Result<void> End::join(const EndOptions& options, Instant now) {
  cw_mac key;
  cw_mac_init(&key, options.key.data(), options.key.size());
  sdr::LinkOptions link;
  link.peer = options.peer;
  link.control.site = options.role == Role::Sender ? "client" : "server";
  link.control.payload_bytes = options.parameters.payload_bytes;
  link.control.paths = port_.facts().paths;
  link.pacer = pacer_options(options);
  link.fallback = {cw_policy_passthrough(), {}};

  sdr::QpOptions qp;
  qp.stream = coded_stream(options.parameters, policy_.table(), params_);
  qp.send.extents_max = 1;
  qp.send.outbox_ranges = outbox_ranges;
  qp.policy = {&policy_.table(), params_};
  qp.send_enable = options.role == Role::Sender;
  qp.recv_enable = options.role == Role::Receiver;
  link.qps.push_back(qp);
  const auto added = sdr_.add_link(link, key, now);
  if (!added) return std::unexpected(added.error());
  link_ = *added;
  return {};
}

}  // namespace cw::perf
