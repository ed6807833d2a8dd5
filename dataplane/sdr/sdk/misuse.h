// The sentence behind CW_ERROR: cw_last_error().
#pragma once

#include "dataplane/base/result.h"
#include "dataplane/sdr/sdr.h"

namespace cw::sdk {

/// Keeps the sentence for this thread (cut at 255 bytes) and returns CW_ERROR. Allocates nothing.
[[gnu::format(printf, 1, 2)]] int misuse(const char* format, ...);
inline int misuse(const Error& error) { return misuse("%s", error.sentence.c_str()); }

}  // namespace cw::sdk
