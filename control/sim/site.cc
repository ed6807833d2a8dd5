#include "control/sim/site.h"

#include <string_view>

#include "policies/policies.h"

namespace cw {
namespace {

// Both ends of a simulation know it; what it keeps out are strangers, and there are none.
constexpr std::string_view pair_key = "the shared secret of a simulated pair";

}  // namespace

Site::Site(SimPort& port, const Scenario& scenario, Role role, uint64_t seed)
    : port_(port),
      scenario_(scenario),
      role_(role),
      prng_(seed),
      sdr_(port, sdr::RandomSource::of(prng_)) {
  sdr_.begin();
}

Result<sdr::Link*> Site::add_peer(uint16_t number, Instant now) {
  sdr::LinkOptions options;
  options.peer = number;
  options.control.site = role_ == Role::Sender ? "sender" : "receiver";
  options.control.payload_bytes = scenario_.stream.payload_bytes;
  options.control.paths = static_cast<uint16_t>(scenario_.paths.size());
  options.pacer = scenario_.pacer;
  options.fallback = {cw_policy_passthrough(), {}};

  sdr::QpOptions qp;
  qp.stream = scenario_.stream;
  qp.policy = {scenario_.policy, scenario_.policy_params};
  qp.send_enable = role_ == Role::Sender;
  qp.recv_enable = role_ == Role::Receiver;
  options.qps.push_back(qp);
  cw_mac key;
  cw_mac_init(&key, pair_key.data(), pair_key.size());
  return sdr_.add_link(options, key, now);
}

}  // namespace cw
