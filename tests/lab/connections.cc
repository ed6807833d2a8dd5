#include "tests/lab/connections.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cw::lab {
namespace {

constexpr uint16_t tcp_port = 7100;
constexpr int look_every_ms = 20;

struct Name {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  explicit Name(const char* address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(address, std::to_string(tcp_port).c_str(), &hints, &found) != 0) {
      throw std::logic_error(std::string("no address: ") + address);
    }
    size = found->ai_addrlen;
    std::memcpy(&bytes, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// Byte `at` of what connection `index` sends.
uint8_t byte_of(size_t index, size_t at) {
  return static_cast<uint8_t>((index * 131 + at * 7 + (at >> 8) * 13) & 0xff);
}

void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

/// Gives everybody back what they send, until the listener is shut down.
class Mirror {
 public:
  explicit Mirror(int listener) : listener_(listener), thread_([this] { run(); }) {}
  ~Mirror() {
    is_over_ = true;
    thread_.join();
    for (const Guest& guest : guests_) close(guest.fd);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

 private:
  struct Guest {
    int fd;
    std::string waiting;
    bool has_ended = false;
  };

  void run() {
    while (!is_over_) {
      std::vector<pollfd> fds{{listener_, POLLIN, 0}};
      for (const Guest& guest : guests_) {
        const bool is_full = guest.waiting.size() > (1 << 16);
        const int in = guest.has_ended || is_full ? 0 : POLLIN;
        fds.push_back(
            {guest.fd, static_cast<short>(in | (guest.waiting.empty() ? 0 : POLLOUT)), 0});
      }
      poll(fds.data(), fds.size(), look_every_ms);
      for (size_t i = 0; i < guests_.size(); ++i) serve(guests_[i], fds[i + 1].revents);
      std::erase_if(guests_, [](const Guest& guest) {
        const bool is_done = guest.has_ended && guest.waiting.empty();
        if (is_done) close(guest.fd);
        return is_done;
      });
      for (int fd;
           (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        guests_.push_back({.fd = fd, .waiting = {}});
      }
    }
  }

  static void serve(Guest& guest, short events) {
    std::array<char, 16384> bytes;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !guest.has_ended) {
      const ssize_t size = recv(guest.fd, bytes.data(), bytes.size(), 0);
      if (size > 0) guest.waiting.append(bytes.data(), static_cast<size_t>(size));
      if (size == 0 || (size < 0 && errno != EAGAIN)) guest.has_ended = true;
    }
    if ((events & POLLOUT) == 0) return;
    const ssize_t size = send(guest.fd, guest.waiting.data(), guest.waiting.size(), MSG_NOSIGNAL);
    if (size > 0) guest.waiting.erase(0, static_cast<size_t>(size));
    if (size < 0 && errno != EAGAIN) guest.waiting.clear(), guest.has_ended = true;
  }

  int listener_;
  std::vector<Guest> guests_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// One connection of the many.
struct Client {
  int fd = -1;
  size_t index = 0, bytes = 0, sent = 0, received = 0;
  bool is_wrong = false, has_failed = false;

  bool is_done() const { return has_failed || is_wrong || received == bytes; }

  void push() {
    std::array<uint8_t, 8192> piece;
    const size_t size = std::min(piece.size(), bytes - sent);
    for (size_t i = 0; i < size; ++i) piece[i] = byte_of(index, sent + i);
    const ssize_t count = send(fd, piece.data(), size, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<size_t>(count);
    if (count < 0 && errno != EAGAIN) has_failed = true;
  }
  void pull() {
    std::array<uint8_t, 8192> piece;
    const ssize_t count = recv(fd, piece.data(), piece.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) has_failed = true;
    for (ssize_t i = 0; i < count; ++i, ++received) {
      is_wrong |= received >= bytes || piece[static_cast<size_t>(i)] != byte_of(index, received);
    }
  }
};

}  // namespace

ConnectionCounts run_connections(const Sites& sites, const ConnectionsOptions& options,
                                 std::chrono::milliseconds most) {
  const Name target(options.target);
  const int listener = sites.space(At::HostB).socket(target.bytes.ss_family, SOCK_STREAM);
  if (bind(listener, target.get(), target.size) != 0 || listen(listener, 1024) != 0) {
    throw std::runtime_error("no TCP listener");
  }
  make_nonblocking(listener);
  std::vector<Client> clients(options.connections);
  for (size_t i = 0; i < clients.size(); ++i) {
    clients[i] = {.fd = sites.space(At::HostA).socket(target.bytes.ss_family, SOCK_STREAM),
                  .index = i,
                  .bytes = options.bytes};
    make_nonblocking(clients[i].fd);
    const bool is_under_way =
        connect(clients[i].fd, target.get(), target.size) == 0 || errno == EINPROGRESS;
    clients[i].has_failed = !is_under_way;
  }
  {
    const Mirror mirror(listener);
    const auto end = Time::now() + most;
    while (Time::now() < end && !std::ranges::all_of(clients, &Client::is_done)) {
      std::vector<pollfd> fds;
      for (const Client& client : clients) {
        const int out = client.sent < client.bytes ? POLLOUT : 0;
        fds.push_back({client.is_done() ? -1 : client.fd, static_cast<short>(POLLIN | out), 0});
      }
      poll(fds.data(), fds.size(), look_every_ms);
      for (size_t i = 0; i < clients.size(); ++i) {
        if ((fds[i].revents & POLLOUT) != 0) clients[i].push();
        if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) clients[i].pull();
      }
    }
  }
  ConnectionCounts counts;
  for (const Client& client : clients) {
    close(client.fd);
    if (client.is_wrong) {
      ++counts.wrong;
    } else {
      ++(client.received == client.bytes ? counts.whole : counts.failed);
    }
  }
  close(listener);
  return counts;
}

}  // namespace cw::lab
