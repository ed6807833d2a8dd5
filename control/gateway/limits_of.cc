#include "control/gateway/limits_of.h"

#include "dataplane/core/paths.h"
#include "dataplane/sdr/policy_host.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::site {

cw_policy_limits limits_of(const cw_policy_ops& policy, std::span<const double> params,
                           const Config& config) {
  cw_policy_limits limits{};
  const auto table = sdr::complete_policy_table(policy);
  if (!table || config.link_rate() == Rate()) return limits;
  cw_env env{};
  env.size = sizeof(env);
  env.role = CW_SOURCE;
  env.peers = 1;
  env.messages = 64;
  env.data_slots_max = 4096;
  env.chunk_slots = 64;
  env.paths = 1;
  env.payload_bytes = config.payload_bytes();
  env.note_bytes_max =
      static_cast<uint32_t>(std::min<size_t>(limits::note_bytes_max, env.payload_bytes / 2));
  env.slot_wire_bytes = env.payload_bytes + static_cast<uint32_t>(slot_write_header_bytes);
  env.rate_bps = config.link_rate().bps();
  env.params = params.data();

  cw_path_facts path{};
  path.rtt_min_ns = path.rtt_smooth_ns = config.pair.rtt.ns();
  path.reorder_ns = PathOptions().reorder_floor.ns();
  path.is_up = 1;
  path.mtu = config.pair.mtu;
  cw_fact_link link{};
  link.paths = 1;
  link.rate_bps = env.rate_bps;
  link.rtt_ns = config.pair.rtt.ns();
  link.path = &path;
  table->limits(&env, &link, &limits);
  return limits;
}

}  // namespace cw::site
