// A trace of a policy: read to its end or to where it contradicts itself, and played again.

#include <string>

#include "control/trace/replaying.h"
#include "control/trace/trace_document.h"
#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/trace/trace_reader.h"
#include "policies/policies.h"

namespace {

cw::Result<const cw_policy_ops*> passthrough(const std::string&) { return cw_policy_passthrough(); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)cw::trace::read_document(text);
  cw::trace::StreamTrace stream;
  stream.bytes.assign(data, data + size);
  size_t shown = 0;
  const auto report = cw::trace::replay(stream, {}, passthrough,
                                        [&](const std::string& line) { shown += !line.empty(); });
  CW_ASSERT(!report || shown > report->facts);
  const auto json = cw::trace::replay_json(stream, {}, passthrough);
  CW_ASSERT(json.has_value() == report.has_value());
  CW_ASSERT(!json || json->at("calls").size() == report->facts);
  return 0;
}
