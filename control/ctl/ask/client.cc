#include "control/ctl/ask/client.h"

#include <curl/curl.h>

#include <cerrno>
#include <cstring>

#include "control/ctl/exits.h"

namespace cw::ctl {
namespace {

constexpr size_t body_bytes_max = 128 << 20;

size_t keep(char* bytes, size_t size, size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > body_bytes_max) return 0;
  text.append(bytes, size * count);
  return size * count;
}

int exit_of(int status, const std::string& code) {
  if (status < 300) return exit_done;
  if (status == 401 || status == 403) return exit_not_allowed;
  if (code == "busy") return exit_busy;
  if (status == 400) return exit_usage;
  return exit_failed;
}

/// Why there is no answer.
void explain(Answer& answer, CURLcode code, CURL* curl, const std::string& where) {
  long number = 0;
  curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
  if (code == CURLE_COULDNT_CONNECT && (number == EACCES || number == EPERM)) {
    answer.exit_code = exit_not_allowed;
    answer.why = "not allowed to connect to " + where +
                 ": its group is api.read_group or "
                 "api.control_group of the gateway's file";
  } else if (code == CURLE_COULDNT_CONNECT) {
    answer.exit_code = exit_no_daemon;
    answer.why =
        "no gateway answers at " + where +
        (number == 0 ? "" : std::string(" (") + std::strerror(static_cast<int>(number)) + ")") +
        "; is causewayd running with this file?";
  } else {
    answer.exit_code = code == CURLE_OPERATION_TIMEDOUT ? exit_no_daemon : exit_failed;
    answer.why = where + ": " + curl_easy_strerror(code);
  }
}

}  // namespace

void Client::Closer::operator()(void* handle) const { curl_easy_cleanup(handle); }

Client::Client(Place place) : place_(std::move(place)), handle_(curl_easy_init()) {}

Client::~Client() = default;

Answer Client::get(const std::string& path, std::chrono::seconds patience) {
  return ask(place_.read_socket, path, nullptr, patience);
}

Answer Client::get_as_controller(const std::string& path) {
  return ask(place_.control_socket, path, nullptr, patience_usual);
}

Answer Client::post(const std::string& path, const Json& body, std::chrono::seconds patience) {
  const std::string text = body.dump();
  return ask(place_.control_socket, path, &text, patience);
}

Answer Client::ask(const std::string& socket, const std::string& path, const std::string* body,
                   std::chrono::seconds patience) {
  Answer answer;
  CURL* const curl = handle_.get();
  curl_easy_reset(curl);
  const bool is_local = place_.url.empty();
  const std::string url = (is_local ? "http://localhost" : place_.url) + path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  if (is_local) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  } else {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, place_.certificate.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, place_.key.c_str());
    curl_easy_setopt(curl, CURLOPT_CAINFO, place_.ca.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::chrono::milliseconds(patience).count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  curl_slist* headers = nullptr;
  if (body != nullptr) {
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "X-Causeway: 1");
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  curl_slist_free_all(headers);
  if (code != CURLE_OK) {
    explain(answer, code, curl, is_local ? socket : place_.url);
    return answer;
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  answer.json = Json::parse_or_null(answer.body);
  std::string its_code;
  if (answer.json.is_object() && answer.json.contains("error")) {
    its_code = answer.json["error"].value("code", "");
    answer.why = answer.json["error"].value("sentence", "");
  }
  answer.exit_code = exit_of(answer.status, its_code);
  if (!answer.is_good() && answer.why.empty()) {
    answer.why = url + " answers " + std::to_string(status);
  }
  return answer;
}

}  // namespace cw::ctl
