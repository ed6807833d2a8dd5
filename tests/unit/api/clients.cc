#include "tests/unit/api/clients.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace cw::api {

using Clock = std::chrono::steady_clock;

TestFolder::TestFolder() {
  std::string name = "/tmp/causeway-api-XXXXXX";
  path_ = mkdtemp(name.data());
}

TestFolder::~TestFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

RawClient::RawClient(const std::string& file)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(file, address.sun_path);
  is_connected_ =
      connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

void RawClient::write(const std::string& bytes) const {
  // A server may have ended the connection.
  (void)send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool RawClient::read_some(std::string& text, Clock::time_point end) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (left <= 0 || poll(&wanted, 1, static_cast<int>(left)) <= 0) return false;
  std::array<char, 4096> bytes;
  const ssize_t count = recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  text.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

std::string RawClient::read_to_end(std::chrono::milliseconds most) const {
  std::string text;
  const auto end = Clock::now() + most;
  while (read_some(text, end)) {
  }
  return text;
}

std::string RawClient::read_answer(std::chrono::milliseconds most) const {
  const std::string length = "Content-Length: ";
  std::string text;
  const auto end = Clock::now() + most;
  while (read_some(text, end)) {
    const size_t body = text.find("\r\n\r\n");
    const size_t at = text.find(length);
    if (body == std::string::npos || at == std::string::npos) continue;
    if (text.size() >= body + 4 + std::strtoul(&text[at + length.size()], nullptr, 10)) break;
  }
  return text;
}

int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string post(const std::string& path, const std::string& body, const std::string& headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace cw::api
