#include "tests/lab/restarts/tcp_file.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace cw::lab {
namespace {

constexpr auto step = std::chrono::milliseconds(5);
constexpr int look_every_ms = 50;
constexpr size_t piece_max = 64 << 10;

uint8_t byte_at(uint64_t place) {
  return static_cast<uint8_t>(place * 7 + (place >> 8) * 13 + (place >> 17) * 29);
}

bool is_ready(int fd, short events) {
  pollfd state{.fd = fd, .events = events, .revents = 0};
  return poll(&state, 1, look_every_ms) == 1;
}

}  // namespace

TcpFile::TcpFile(const Sites& sites, uint64_t bytes_per_second, uint16_t port)
    : bytes_per_second_(bytes_per_second) {
  const sockaddr_in name = socket_name(site_b.host, port);
  const int listener = sites.space(At::HostB).socket(AF_INET, SOCK_STREAM);
  from_ = sites.space(At::HostA).socket(AF_INET, SOCK_STREAM);
  const auto* const address = reinterpret_cast<const sockaddr*>(&name);
  const bool is_open = bind(listener, address, sizeof(name)) == 0 && listen(listener, 1) == 0 &&
                       connect(from_, address, sizeof(name)) == 0;
  if (is_open) to_ = accept(listener, nullptr, nullptr);
  const int error = errno;
  close(listener);
  if (to_ < 0) throw std::runtime_error(std::string("no TCP between hosts: ") + strerror(error));
  const int yes = 1;
  setsockopt(from_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  sender_ = std::thread([this] { send_all(); });
  receiver_ = std::thread([this] { receive_all(); });
}

TcpFile::~TcpFile() {
  is_over_ = is_given_up_ = true;
  sender_.join();
  receiver_.join();
  close(from_);
  close(to_);
}

void TcpFile::send_all() {
  const auto begin = Time::now();
  std::vector<uint8_t> piece;
  uint64_t sent = 0;
  while (!is_given_up_) {
    const auto passed = std::chrono::duration<double>(Time::now() - begin).count();
    const auto due = static_cast<uint64_t>(passed * static_cast<double>(bytes_per_second_));
    if (is_over_) break;
    if (due <= sent) {
      std::this_thread::sleep_for(step);
      continue;
    }
    if (!is_ready(from_, POLLOUT)) continue;
    piece.resize(std::min<uint64_t>(due - sent, piece_max));
    for (size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(sent + i);
    const ssize_t count = send(from_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    const std::lock_guard lock(mutex_);
    if (count < 0 && errno != EAGAIN) counts_.trouble = std::strerror(errno);
    if (!counts_.trouble.empty()) break;
    if (count > 0) counts_.sent = sent += static_cast<uint64_t>(count);
  }
  shutdown(from_, SHUT_WR);
}

void TcpFile::receive_all() {
  std::array<uint8_t, piece_max> piece;
  uint64_t received = 0;
  while (!is_given_up_) {
    if (!is_ready(to_, POLLIN)) continue;
    const ssize_t count = recv(to_, piece.data(), piece.size(), 0);
    const std::lock_guard lock(mutex_);
    if (count < 0) counts_.trouble = std::strerror(errno);
    if (count <= 0) return;
    arrivals_.push_back(Time::now());
    for (ssize_t i = 0; i < count; ++i, ++received) {
      counts_.is_wrong |= piece[static_cast<size_t>(i)] != byte_at(received);
    }
    counts_.received = received;
  }
}

TcpFileCounts TcpFile::finish(std::chrono::milliseconds most) {
  is_over_ = true;
  const auto end = Time::now() + most;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      const bool is_done = counts_.received == counts_.sent || !counts_.trouble.empty();
      if (is_done || Time::now() > end) return counts_;
    }
    std::this_thread::sleep_for(step);
  }
}

std::vector<Time::time_point> TcpFile::arrivals() const {
  const std::lock_guard lock(mutex_);
  return arrivals_;
}

}  // namespace cw::lab
