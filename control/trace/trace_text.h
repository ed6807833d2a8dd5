// A policy's facts and decisions for a person, and for a program: fields by their names in
// policy.h, times as they count from the call, and what is zero left out.
#pragma once

#include <cstdint>
#include <string>

#include "control/json/json.h"
#include "dataplane/sdr/seat/trace/trace_reader.h"

namespace cw::trace {

/// "sent  message 7, first 0, count 32, departed now".
std::string text_of(const sdr::TracedCall& call);
std::string text_of(const sdr::TracedWord& word, int64_t now_ns);
/// Whose it is, on two lines.
std::string text_of(const sdr::TraceHead& head);

/// {"fact": "sent", "message": 7, ...}, times in ns of the gateway's clock.
Json json_of(const sdr::TracedCall& call);
Json json_of(const sdr::TracedWord& word);
Json json_of(const sdr::TraceHead& head);

}  // namespace cw::trace
