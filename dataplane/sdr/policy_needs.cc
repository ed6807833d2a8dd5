#include "dataplane/sdr/policy_needs.h"

#include <algorithm>

#include "dataplane/core/paths.h"
#include "dataplane/sdr/seat/policy_host.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {

cw_env env_of(const StreamConfig& stream, const LinkGuess& link, cw_role role) {
  cw_env env{};
  env.size = sizeof(env);
  env.role = role;
  env.peers = 1;
  env.messages = stream.messages;
  env.data_slots_max = stream.data_slots_max;
  env.repair_slots_max = stream.repair_slots_max;
  env.chunk_slots = stream.chunk_slots;
  env.rows = stream.rows;
  env.k = stream.k;
  env.m_cap = stream.m_cap;
  env.codecs = stream.codec_count();
  env.paths = link.paths;
  env.note_bytes_max = note_bytes_for(stream.payload_bytes);
  env.payload_bytes = stream.payload_bytes;
  env.slot_wire_bytes = stream.payload_bytes + static_cast<uint32_t>(slot_write_header_bytes);
  env.rate_bps = link.rate.bps();
  return env;
}

cw_policy_limits needs_of(const PolicyChoice& policy, const StreamConfig& stream,
                          const LinkGuess& guess) {
  cw_policy_limits needs{};
  const auto table = complete_policy_table(*policy.ops);
  if (!table) return needs;
  cw_env env = env_of(stream, guess, CW_SOURCE);
  env.params = policy.params.data();
  cw_path_facts path{};
  path.rtt_min_ns = path.rtt_smooth_ns = std::max<int64_t>(guess.rtt.ns(), 1);
  path.reorder_ns = PathOptions().reorder_floor.ns();
  path.is_up = 1;
  cw_fact_link link{};
  link.paths = 1;
  link.rate_bps = env.rate_bps;
  link.rtt_ns = path.rtt_smooth_ns;
  link.path = &path;
  table->limits(&env, &link, &needs);
  return needs;
}

}  // namespace cw::sdr
