// The text of a scenario, as causeway-sim reads it: mistakes, or a scenario that can be run.
#include <string>

#include "control/sim/scenario.h"
#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenario = cw::read_scenario("fuzz.toml", text);
  if (!scenario) {
    CW_ASSERT(scenario.error().sentence.starts_with("fuzz.toml:"));
    return 0;
  }
  CW_ASSERT(!scenario->paths.empty() && scenario->paths.size() <= cw::limits::paths_max);
  CW_ASSERT(scenario->receivers > 0 && scenario->policy != nullptr);
  CW_ASSERT(scenario->policy_params.size() == scenario->policy->param_count);
  CW_ASSERT(cw::sdr::check(scenario->stream));
  CW_ASSERT(scenario->stream.message_bytes_max() >= scenario->workload.largest().count());
  return 0;
}
