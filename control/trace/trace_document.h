// Traces of a stream as a file has them: JSON, each trace's bytes in base64 (RFC 4648). A bundle
// has the same under "trace".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/json/json.h"
#include "dataplane/base/result.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"

namespace cw::trace {

/// One end of one stream.
struct StreamTrace {
  std::string peer, class_name;
  uint16_t link = 0;
  bool is_outward = true;  ///< of what this site sends: its policy is the source's
  std::string state;       ///< sdr::TraceState's name
  std::string why;         ///< that nothing was traced; else empty
  std::vector<uint8_t> bytes;
};

/// What there is of it by now, of a stream that is yet to be named.
StreamTrace stream_trace_of(const sdr::PolicyTrace& trace);

struct TraceDocument {
  std::string site;
  std::vector<StreamTrace> streams;
};

Json json_of(const TraceDocument& document);
/// `text` is somebody's. Errors: it is neither such a file nor a bundle with one.
Result<TraceDocument> read_document(std::string_view text);

std::string base64_of(std::span<const uint8_t> bytes);
/// Errors: it is none.
Result<std::vector<uint8_t>> bytes_of_base64(std::string_view text);

}  // namespace cw::trace
