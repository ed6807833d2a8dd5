// What the policy of a test's stream is told of its surroundings.
#pragma once

#include "dataplane/sdr/stream_config.h"

namespace cw::gateway::test {

inline cw_env env_of(const sdr::StreamConfig& config, cw_role role) {
  cw_env env{};
  env.size = sizeof(env);
  env.role = role;
  env.peers = 1;
  env.messages = config.messages;
  env.data_slots_max = config.data_slots_max;
  env.chunk_slots = config.chunk_slots;
  env.paths = 1;
  env.payload_bytes = config.payload_bytes;
  env.rate_bps = 1'000'000'000;
  return env;
}

}  // namespace cw::gateway::test
