// What client and server say beside a measurement: one JSON object a line. The other end may be
// anybody, so what it says is looked at before it is used. Pure functions; what is no word of ours
// is never a reason to end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/json/json.h"
#include "control/perf/parameters.h"
#include "dataplane/base/result.h"

namespace cw::perf {

/// The object that a line is; nothing: a stranger's.
std::optional<Json> word_in(const std::string& line);
std::string line_of(const Json& word);
/// The number that it says by this name; nothing: another kind of value, or none.
std::optional<uint64_t> count_in(const Json& word, const char* name);

// ---- the client's
Json hello(const Parameters& parameters);
/// Errors: as parameters_of().
Result<Parameters> parameters_in(const Json& word);

/// After `posted` messages; not `is_whole`: the server waits for none that are missing.
Json finish(uint64_t posted, bool is_whole);
/// The messages to wait for, none when it says so in another way; nothing: another word.
std::optional<uint64_t> finish_in(const Json& word);

// ---- the server's
Json ready();
Json refusal(const std::string& sentence);
/// Errors: what the server has against it.
Result<void> consent_in(const Json& word);

Json report(const Json& figures);
/// The server's figures; null: it gives none, or none that can be shown.
Json figures_in(const Json& word);

}  // namespace cw::perf
