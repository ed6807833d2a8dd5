// The page that shows a running gateway to people: page.html, as it lies beside this.
#pragma once

#include <string_view>

#include "control/api/request.h"

namespace cw::daemon {

extern const std::string_view page_text;
/// What a browser may do for it: run its own script and style, and ask this server; nothing else.
extern const std::string_view page_policy;

api::Response page_response();

}  // namespace cw::daemon
