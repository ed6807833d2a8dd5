// A trace, played through a policy from its first call to its last, and shown as it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "control/json/json.h"
#include "control/trace/trace_document.h"
#include "dataplane/base/result.h"
#include "dataplane/policy.h"

namespace cw::trace {

struct ReplayOptions {
  std::string policy;               ///< empty: that of the trace
  std::optional<uint64_t> message;  ///< shows what is about this one alone
  bool shows_differences_only = false;
};

/// What came of it.
struct ReplayReport {
  uint64_t facts = 0, decisions = 0;
  uint64_t differences = 0;       ///< calls in which it decided otherwise
  uint64_t first_difference = 0;  ///< the number of the first, from 1 on; 0: none
  std::string policy, version;    ///< that was played
  std::string remark;             ///< why differences may be none of the policy's; else empty
};

/// The table of that name, or an Error that says which there are.
using FindPolicy = std::function<Result<const cw_policy_ops*>(const std::string& name)>;

/// Shows each call by `show`, line by line, without their ends. Errors: there is no such policy, it
/// does not start, the trace contradicts itself.
Result<ReplayReport> replay(const StreamTrace& stream, const ReplayOptions& options,
                            const FindPolicy& find,
                            const std::function<void(const std::string&)>& show);

/// The same for programs: {"head", "calls": [{"fact", ..., "recorded"?, "replayed"}], "report"}.
Result<Json> replay_json(const StreamTrace& stream, const ReplayOptions& options,
                         const FindPolicy& find);

Json json_of(const ReplayReport& report);
std::string text_of(const ReplayReport& report);

}  // namespace cw::trace
