// A trace of a policy: read to its end or to where it contradicts itself, and played again through
// the policy that it names.
#include <string>

#include "control/json/json.h"
#include "control/trace/replaying.h"
#include "control/trace/trace_document.h"
#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/care/policy_finder.h"
#include "policies/policies.h"

namespace {

cw::Result<const cw_policy_ops*> find(const std::string& name) {
  static cw::sdr::ListedPolicies policies(cw::policy::for_streams());
  const auto found = policies.find(name);
  return found ? *found : cw_policy_passthrough();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)cw::trace::read_document({reinterpret_cast<const char*>(data), size});
  cw::trace::StreamTrace stream;
  stream.bytes.assign(data, data + size);
  size_t shown = 0;
  const auto report =
      cw::trace::replay(stream, {}, find, [&](const std::string& line) { shown += !line.empty(); });
  CW_ASSERT(!report || shown > report->facts);
  std::string text;
  const auto again =
      cw::trace::replay_json(stream, {}, find, [&](const std::string& piece) { text += piece; });
  CW_ASSERT(again.has_value() == report.has_value());
  if (!again) return 0;
  CW_ASSERT(again->differences == report->differences);
  CW_ASSERT(cw::Json::parse(text).at("calls").size() == report->facts);
  return 0;
}
