#include "control/api/request.h"

namespace cw::api {

Response json_response(const Json& json, int status) {
  return {.status = status, .body = json.dump(2) + "\n"};
}

Response error_response(int status, std::string_view code, std::string_view sentence) {
  return json_response({{"error", {{"code", code}, {"sentence", sentence}}}}, status);
}

}  // namespace cw::api
