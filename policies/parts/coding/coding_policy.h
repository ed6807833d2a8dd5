// What the policies that code have in common beside their two ends: the rest of their tables. A
// policy adds its name, its parameters and settings_of(env), which turns them into CodingSettings.
#pragma once

#include "policies/parts/adapt.h"
#include "policies/parts/coding/coded_sink.h"
#include "policies/parts/coding/coded_source.h"

namespace cw::policy {

/// `Own::settings_of(const cw_env&)` makes the settings.
template <class Own>
struct CodingPolicy {
  struct Source final : CodedSource {
    explicit Source(const cw_env& env) : CodedSource(env, Own::settings_of(env)) {}
  };
  struct Sink final : CodedSink {
    explicit Sink(const cw_env& env) : CodedSink(env, Own::settings_of(env)) {}
  };
  static constexpr const char* version = "1.0";
  static constexpr uint32_t wire_version = note_layout::version;
  static constexpr uint32_t message_state_bytes =
      std::max(sizeof(SourceMessage), sizeof(CodedSinkMessage));

  static const char* refusal(const cw_env& env) {
    return coding_refusal(Own::settings_of(env), env);
  }
  static void limits(const cw_env& env, const cw_fact_link& link, cw_policy_limits& limits) {
    limits = coding_limits(Own::settings_of(env), env, link);
  }

 private:
  CodingPolicy() = default;
  friend Own;
};

inline Duration duration_param(const cw_env& env, int param) {
  return Duration::from_ns(static_cast<int64_t>(env.params[param]));
}
inline uint8_t shard_param(const cw_env& env, int param) {
  return static_cast<uint8_t>(env.params[param]);
}

}  // namespace cw::policy
