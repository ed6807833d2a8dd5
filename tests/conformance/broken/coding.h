// A healthy policy that codes, for twins that lack one property of those: eight data slots and two
// repair slots per row, four rows.
#pragma once

#include "policies/parts/coding/coding_policy.h"

namespace cw::conformance::broken {

/// `Own` may name a Source and a Sink of its own.
template <class Own>
struct Coding : policy::CodingPolicy<Own> {
  static constexpr const char* summary = "For the conformance suite only.";
  static constexpr std::span<const cw_param> params{};

  static policy::CodingSettings settings_of(const cw_env& env) {
    policy::CodingSettings it{.k = 8, .m = 2, .m_max = 2, .rows = 4};
    it.repeat.note_bytes = std::min(1024u, env.note_bytes_max);
    it.repeat.repair_bytes = it.block_bytes(env);
    return it;
  }
};

}  // namespace cw::conformance::broken
