// The document that says what the API has: openapi.json, as it lies beside this.
#pragma once

#include <string_view>

namespace cw::daemon {

extern const std::string_view openapi_text;

}  // namespace cw::daemon
