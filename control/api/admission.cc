#include "control/api/admission.h"

#include <microhttpd.h>

#include <algorithm>
#include <map>
#include <utility>

namespace cw::api {
namespace {

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

/// "[2001:db8::1]:9443" and "localhost" without the port.
std::string without_port(const std::string& host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  return has_port ? host.substr(0, colon) : host;
}

std::string header_of(MHD_Connection* connection, const char* name) {
  return text_or_empty(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

Response unknown_host(const std::string& host) {
  return error_response(403, "unknown_host",
                        "this server is not called " + host + "; api.hosts has its names");
}

/// What a page in somebody's browser cannot send to us: it may not set these without our leave.
std::optional<Response> refusal_of_order(MHD_Connection* connection) {
  if (!header_of(connection, "Content-Type").starts_with("application/json")) {
    return error_response(415, "no_json", "what is ordered is written as application/json");
  }
  if (header_of(connection, "X-Causeway").empty()) {
    return error_response(403, "no_header", "an order bears the header X-Causeway: 1");
  }
  return std::nullopt;
}

MHD_Result keep_argument(void* query, MHD_ValueKind, const char* key, const char* value) {
  (*static_cast<std::map<std::string, std::string>*>(query))[key] = text_or_empty(value);
  return MHD_YES;
}

}  // namespace

Admission::Admission(std::vector<Route> routes, std::vector<std::string> hosts)
    : routes_(std::move(routes)), hosts_(std::move(hosts)) {
  hosts_.insert(hosts_.end(), {"localhost", "127.0.0.1", "[::1]"});
}

Admission::Verdict Admission::find(std::string_view method, const std::string& path) const {
  const bool is_get = method == "GET" || method == "HEAD";
  const Route* other = nullptr;
  for (const Route& each : routes_) {
    if (each.path != path) continue;
    other = &each;
    if (each.method == Method::Get ? is_get : method == "POST") return {&each, std::nullopt};
  }
  if (other != nullptr) {
    const char* const takes = other->method == Method::Get ? "GET" : "POST";
    return {nullptr, error_response(405, "no_such_method", path + " takes " + takes)};
  }
  return {nullptr,
          error_response(404, "no_such_path",
                         "there is no " + path + " here; /v1/openapi.json has all there are")};
}

bool Admission::is_known(const std::string& host) const {
  return std::ranges::find(hosts_, host) != hosts_.end();
}

Admission::Verdict Admission::judge(MHD_Connection* connection, std::optional<Role> role,
                                    bool is_tls, std::string_view method, Request& request) const {
  if (!role) {
    return {nullptr, error_response(401, "no_certificate",
                                    "a certificate of this gateway's authority is needed")};
  }
  const std::string host = without_port(header_of(connection, "Host"));
  // A page elsewhere whose name has come to mean this machine would else read what is here. Over
  // TLS no browser takes our certificate for such a name; and none leaves Host out.
  if (!is_tls && !host.empty() && !is_known(host)) return {nullptr, unknown_host(host)};
  Verdict verdict = find(method, request.path);
  if (verdict.route == nullptr) return verdict;
  if (*role < verdict.route->needs) {
    const bool is_order = verdict.route->needs == Role::Control;
    verdict.refusal =
        error_response(403, "not_allowed",
                       is_order ? "this takes the right to control: the socket control.sock, "
                                  "or a certificate that has it"
                                : "metrics alone are told here; read.sock and control.sock, and "
                                  "api.listen, tell the rest");
    return verdict;
  }
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, keep_argument, &request.query);
  if (verdict.route->method == Method::Post) {
    verdict.refusal = refusal_of_order(connection);
    if (!verdict.refusal && !is_known(host)) verdict.refusal = unknown_host(host);
  }
  return verdict;
}

}  // namespace cw::api
