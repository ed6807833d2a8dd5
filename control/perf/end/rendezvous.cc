#include "control/perf/end/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "control/json/json.h"
#include "control/perf/report/words.h"

namespace cw::perf {
namespace {

constexpr int poll_ms = 50;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> look_up(const char* host, uint16_t tcp_port) {
  addrinfo hints{};
  hints.ai_family = host == nullptr ? AF_INET6 : AF_UNSPEC;  // ours: one socket for both families
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host == nullptr ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host, std::to_string(tcp_port).c_str(), &hints, &found);
  if (error != 0) {
    return failure(std::string(host == nullptr ? "any address" : host) + ": " +
                   gai_strerror(error));
  }
  return Addresses(found, &freeaddrinfo);
}

bool is_readable(int fd, int timeout_ms) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, timeout_ms) > 0;
}

int listen_on(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1, off = 0;
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, 4) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Channel::Channel(Channel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      has_hung_up_(other.has_hung_up_),
      lines_(std::move(other.lines_)) {}

Channel::~Channel() {
  if (fd_ >= 0) close(fd_);
}

std::string Channel::peer_address() const {
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  std::array<char, NI_MAXHOST> text{};
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&name), &bytes) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&name), bytes, text.data(), text.size(),
                  nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  // A socket for both families writes IPv4 its own way.
  const std::string address = text.data(), mapped = "::ffff:";
  return address.starts_with(mapped) ? address.substr(mapped.size()) : address;
}

bool Channel::is_v6() const { return peer_address().find(':') != std::string::npos; }

bool Channel::send(const Json& json) {
  const std::string line = line_of(json);
  size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      has_hung_up_ = true;
      return false;
    }
    sent += static_cast<size_t>(count);
  }
  return true;
}

void Channel::read_some() {
  std::array<char, 4096> bytes;
  while (!lines_.is_full()) {
    const ssize_t count = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      has_hung_up_ = true;
      return;
    }
    lines_.take({bytes.data(), static_cast<size_t>(count)});
  }
  if (!lines_.has_next()) has_hung_up_ = true;  // no line of ours is so long
}

std::optional<Json> Channel::try_receive() {
  if (!has_hung_up_) read_some();
  const auto line = lines_.next();
  if (!line) return std::nullopt;
  auto word = word_in(*line);
  if (!word) has_hung_up_ = true;  // a stranger
  return word;
}

Result<Json> Channel::receive(Duration patience, const StopFlag& stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(patience.ns());
  while (true) {
    if (auto json = try_receive()) return std::move(*json);
    if (has_hung_up_) return failure("the other end has hung up");
    if (stop) return failure("stopped");
    if (Clock::now() >= end) {
      return failure("the other end has said nothing for " +
                     std::to_string(patience.ns() / 1000000) + " ms");
    }
    is_readable(fd_, poll_ms);
  }
}

Result<Channel> connect_to(const std::string& host, uint16_t tcp_port) {
  auto addresses = look_up(host.c_str(), tcp_port);
  if (!addresses) return std::unexpected(addresses.error());
  std::string why = "no address";
  for (const addrinfo* each = addresses->get(); each != nullptr; each = each->ai_next) {
    Channel channel(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = channel.fd();
    if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen) == 0) return channel;
    why = std::strerror(errno);
  }
  return failure(host + ", TCP port " + std::to_string(tcp_port) + ": " + why +
                 "; is `causeway-perf server` running there, with the same --udp-port?");
}

Result<Listener> Listener::make(uint16_t tcp_port) {
  const auto addresses = look_up(nullptr, tcp_port);
  if (!addresses) return std::unexpected(addresses.error());
  const int fd = listen_on(**addresses);
  if (fd >= 0) return Listener(fd);
  return failure("--udp-port: TCP port " + std::to_string(tcp_port) +
                 " cannot be listened on: " + std::strerror(errno));
}

Listener::Listener(Listener&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
}

std::optional<Channel> Listener::accept(const StopFlag& stop) {
  while (!stop) {
    if (!is_readable(fd_, poll_ms)) continue;
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return Channel(fd);
  }
  return std::nullopt;
}

}  // namespace cw::perf
