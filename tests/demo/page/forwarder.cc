#include "tests/demo/page/forwarder.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/lab/space.h"

namespace cw::demo {
namespace {

constexpr uint16_t port_usual = 8080;
constexpr size_t question_bytes_max = 128 << 10;
constexpr size_t connections_max = 32;
constexpr int look_ms = 100;
constexpr timeval silence_max{.tv_sec = 15, .tv_usec = 0};
// The page then looks for the line, which no gateway has.
constexpr std::string_view to_page =
    "HTTP/1.1 302 Found\r\nLocation: /?line\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr std::string_view nobody =
    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    R"({"error": {"code": "no_gateway", "sentence": "no gateway is behind this"}})";

/// None where that is taken; errno tells.
OwnedFd listen_at(uint16_t port) {
  const sockaddr_in name = lab::socket_name("127.0.0.1", port);
  const int on = 1;
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool is_ours =
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 &&
      listen(fd.get(), static_cast<int>(connections_max)) == 0;
  return is_ours ? std::move(fd) : OwnedFd();
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

/// False: nothing more comes.
bool read_more(int fd, std::string& text) {
  std::array<char, 16384> bytes;
  const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  if (count > 0) text.append(bytes.data(), static_cast<size_t>(count));
  return count > 0;
}

std::string lower(std::string_view text) {
  std::string its(text);
  std::ranges::transform(its, its.begin(), [](unsigned char c) { return std::tolower(c); });
  return its;
}

/// What stands behind "name: " in a head of lines; empty: it is not there.
std::string header_of(std::string_view head, std::string_view name) {
  const std::string all = lower(head), mark = "\r\n" + std::string(name) + ":";
  const size_t at = all.find(mark);
  if (at == std::string::npos) return {};
  const size_t start = at + mark.size(), end = all.find("\r\n", start);
  std::string value = all.substr(start, end - start);
  value.erase(0, value.find_first_not_of(' '));
  return value;
}

/// One, with its body; nothing: it did not come whole, or is longer than any of the page's.
std::optional<std::string> read_question(int fd) {
  std::string text;
  size_t head = std::string::npos;
  while ((head = text.find("\r\n\r\n")) == std::string::npos) {
    if (text.size() > question_bytes_max || !read_more(fd, text)) return std::nullopt;
  }
  const std::string length =
      header_of(std::string_view(text).substr(0, head + 2), "content-length");
  size_t body = 0;
  std::from_chars(length.data(), length.data() + length.size(), body);
  if (body > question_bytes_max) return std::nullopt;
  while (text.size() < head + 4 + body) {
    if (!read_more(fd, text)) return std::nullopt;
  }
  return text.substr(0, head + 4 + body);
}

/// Whoever answers ends the connection then, so that its end is the answer's.
std::string for_one_answer(const std::string& question) {
  std::string its = question;
  const size_t end = its.find("\r\n\r\n");
  const size_t at = lower(std::string_view(its).substr(0, end + 2)).find("\r\nconnection:");
  if (at != std::string::npos) its.erase(at, its.find("\r\n", at + 2) - at);
  return its.insert(its.find("\r\n"), "\r\nConnection: close");
}

OwnedFd connect_to(const std::string& file) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  if (file.size() >= sizeof(name.sun_path)) return OwnedFd();
  std::ranges::copy(file, name.sun_path);
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool is_there =
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  return is_there ? std::move(fd) : OwnedFd();
}

void limit_silence(int fd) {
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence_max, sizeof(silence_max));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence_max, sizeof(silence_max));
}

void carry(int browser, const Behind& behind) {
  limit_silence(browser);
  const auto question = read_question(browser);
  if (!question) return;
  if (question->starts_with("GET / ")) return void(write_all(browser, to_page));
  const size_t path = question->find(' ');
  const bool is_ours = question->compare(path + 1, 6, "/demo/") == 0;
  const OwnedFd server = connect_to(is_ours ? behind.demo : behind.gateway);
  if (server.get() < 0) return void(write_all(browser, nobody));
  limit_silence(server.get());
  if (!write_all(server.get(), for_one_answer(*question))) return;
  for (std::string part; read_more(server.get(), part); part.clear()) {
    if (!write_all(browser, part)) return;
  }
}

/// A connection and whoever carries it.
struct Carrier {
  explicit Carrier(OwnedFd its) : browser(std::move(its)) {}
  ~Carrier() { shutdown(browser.get(), SHUT_RDWR); }  // who waits there then ends
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  OwnedFd browser;
  std::atomic<bool> is_done = false;
  std::jthread thread;  // ends first
};

}  // namespace

Result<Forwarder> Forwarder::open(uint16_t port) {
  OwnedFd listener = listen_at(port == 0 ? port_usual : port);
  if (listener.get() < 0 && port == 0) listener = listen_at(0);
  if (listener.get() < 0) {
    return failure("127.0.0.1:" + std::to_string(port) +
                   " cannot be listened at: " + std::strerror(errno));
  }
  sockaddr_in name{};
  socklen_t size = sizeof(name);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size);
  return Forwarder(std::move(listener), ntohs(name.sin_port));
}

void Forwarder::run(const Behind& behind, const std::atomic<bool>& is_ended) const {
  std::list<Carrier> carriers;
  while (!is_ended) {
    carriers.remove_if([](const Carrier& each) { return each.is_done.load(); });
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (poll(&waiting, 1, look_ms) <= 0 || carriers.size() >= connections_max) continue;
    OwnedFd browser(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (browser.get() < 0) continue;
    Carrier& its = carriers.emplace_back(std::move(browser));
    its.thread = std::jthread([&its, &behind] {
      carry(its.browser.get(), behind);
      shutdown(its.browser.get(), SHUT_RDWR);
      its.is_done = true;
    });
  }
  for (const Carrier& each : carriers) shutdown(each.browser.get(), SHUT_RDWR);
}

}  // namespace cw::demo
