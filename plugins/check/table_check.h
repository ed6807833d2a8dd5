// Whether a table can be trusted to describe its policy or its codec: everything that validation,
// help and the core read from it before an instance exists.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/codec.h"
#include "dataplane/policy.h"

namespace cw::plugins::limits {

inline constexpr size_t name_bytes_max = 32;
inline constexpr size_t sentence_bytes_max = 400;
inline constexpr uint32_t params_max = 32;
/// The core keeps this much for every message of every stream.
inline constexpr uint32_t message_state_bytes_max = 64u << 10;
/// Values are doubles: above this a whole number is no longer exact.
inline constexpr double whole_number_max = 9007199254740992.0;  // 2^53

}  // namespace cw::plugins::limits

namespace cw::plugins {

/// What the two doors differ in.
template <class Ops>
struct DoorOf;
template <>
struct DoorOf<cw_policy_ops> {
  static constexpr const char* kind = "policy";
  static constexpr const char* symbol = "cw_policy_table";
};
template <>
struct DoorOf<cw_codec_ops> {
  static constexpr const char* kind = "codec";
  static constexpr const char* symbol = "cw_codec_table";
};

/// Copies a table of any size and minor version into one as this program knows it: what the policy
/// did not know of is zero, what this program does not know of is left out.
///
/// Errors: another major version; a size too small to be a table. The sentence lacks its subject,
/// which is the file or the policy: "speaks ABI 2.1 ...".
Result<cw_policy_ops> adopt_table(const cw_policy_ops& foreign);
Result<cw_codec_ops> adopt_table(const cw_codec_ops& foreign);

/// Errors: a name or a parameter that is malformed, twice there or contradicts itself; missing
/// functions, for a codec those that its traits promise; a size beyond the limits. One sentence
/// without its subject, about the first mistake.
Result<void> check_table(const cw_policy_ops& table);
Result<void> check_table(const cw_codec_ops& table);

}  // namespace cw::plugins
