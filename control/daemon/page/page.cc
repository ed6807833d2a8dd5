#include "control/daemon/page/page.h"

namespace cw::daemon {

api::Response page_response() {
  return {.body = std::string(page_text),
          .type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", std::string(page_policy)},
                      {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace cw::daemon
