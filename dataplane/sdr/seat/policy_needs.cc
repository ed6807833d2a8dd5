#include "dataplane/sdr/seat/policy_needs.h"

#include <algorithm>
#include <string>

#include "dataplane/core/path/paths.h"
#include "dataplane/sdr/seat/policy_instance.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {
namespace {

/// Without blocks.
cw_env plain_env_of(const StreamConfig& stream, const LinkGuess& link, cw_role role) {
  cw_env env{};
  env.size = sizeof(env);
  env.abi = CW_POLICY_ABI;
  env.seat = CW_SEAT_STREAM;
  env.role = role;
  env.peers = 1;
  env.messages = stream.messages;
  env.data_slots_max = stream.data_slots_max;
  env.chunk_slots = stream.chunk_slots;
  env.codecs = stream.codec_count();
  env.paths = link.paths;
  env.note_bytes_max = note_bytes_for(stream.payload_bytes);
  env.payload_bytes = stream.payload_bytes;
  env.slot_wire_bytes = stream.payload_bytes + static_cast<uint32_t>(slot_write_header_bytes);
  env.rate_bps = link.rate.bps();
  return env;
}

std::string shape_text(uint32_t rows, uint32_t k, uint32_t m_cap) {
  return std::to_string(k) + " chunks of " + std::to_string(rows) + " slots with " +
         std::to_string(m_cap) + " for repair";
}

}  // namespace

Result<cw_env> env_of(const PolicyChoice& policy, const StreamConfig& stream, const LinkGuess& link,
                      cw_role role) {
  cw_env env = plain_env_of(stream, link, role);
  const cw_policy_limits needs = needs_of(policy, stream, link);
  const uint32_t full = needs.rows * needs.k;
  if (full == 0 || stream.rows == 0) return env;
  const uint32_t blocks =
      needs.m_cap == 0 ? 0 : std::min(stream.blocks_max(), stream.repair_slots_max / needs.m_cap);
  const std::string name = std::string("policy ") + policy.ops->name;
  if (needs.rows > stream.rows || needs.k > stream.k || needs.m_cap > stream.m_cap) {
    return failure(name + " needs blocks of " + shape_text(needs.rows, needs.k, needs.m_cap) +
                   ", and there is room for " + shape_text(stream.rows, stream.k, stream.m_cap) +
                   ": name it in `policies`");
  }
  if (uint64_t{blocks} * full < stream.data_slots_max) {
    const uint32_t wanted = (stream.data_slots_max + full - 1) / full;
    return failure(name + " needs " + std::to_string(wanted) + " blocks in a message, with " +
                   std::to_string(needs.m_cap) + " slots for repair each, and there is room for " +
                   std::to_string(blocks) + ": name it in `policies`");
  }
  env.rows = needs.rows;
  env.k = needs.k;
  env.m_cap = needs.m_cap;
  env.repair_slots_max = blocks * needs.m_cap;
  return env;
}

bool serves_endpoints_only(const PolicyChoice& policy) {
  cw_env env = plain_env_of({}, {}, CW_SINK);
  env.messages = env.data_slots_max = env.peers = 1;
  const bool serves_streams = PolicyInstance::make(policy, env).has_value();
  env.seat = CW_SEAT_ENDPOINT;
  return !serves_streams && PolicyInstance::make(policy, env).has_value();
}

cw_policy_limits needs_of(const PolicyChoice& policy, const StreamConfig& stream,
                          const LinkGuess& guess) {
  cw_policy_limits needs{};
  const auto table = complete_policy_table(*policy.ops);
  if (!table) return needs;
  cw_env env = plain_env_of(stream, guess, CW_SOURCE);
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
