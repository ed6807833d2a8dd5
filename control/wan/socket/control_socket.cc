#include "control/wan/socket/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cw::wan {
namespace {

constexpr size_t answer_bytes = 4096;  // read at once
constexpr timeval answer_patience{1, 0};
constexpr std::string_view ok = "ok\n", error_prefix = "error: ";

/// A socket that is closed unless it is taken.
class Socket {
 public:
  explicit Socket(int flags) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Result<sockaddr_un> name_of(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return failure("the path of a socket has 1 to " + std::to_string(sizeof(name.sun_path) - 1) +
                   " bytes, not " + std::to_string(path.size()));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  return name;
}

const sockaddr* as_address(const sockaddr_un& name) {
  return reinterpret_cast<const sockaddr*>(&name);
}

/// A socket that nobody listens at any more is in the way of the next.
Result<void> clear(const std::string& path, const sockaddr_un& name) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) return failure(path + " is there and no socket");
  const Socket knock(SOCK_NONBLOCK);
  if (connect(knock.fd(), as_address(name), sizeof(name)) == 0 || errno == EAGAIN) {
    return failure(path + " belongs to a link that runs");
  }
  if (errno == ECONNREFUSED) unlink(path.c_str());
  return {};
}

bool is_over(const std::string& answer) {
  return answer.ends_with('\n') && (answer.starts_with(error_prefix) || answer.ends_with(ok));
}

/// What the link says to one line.
Result<std::string> hear(int fd) {
  std::string answer;
  std::array<char, answer_bytes> bytes;
  while (!is_over(answer)) {
    const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
    if (count <= 0) return failure("the link does not answer");
    answer.append(bytes.data(), static_cast<size_t>(count));
  }
  if (answer.starts_with(error_prefix)) {
    return failure(answer.substr(error_prefix.size(), answer.size() - error_prefix.size() - 1));
  }
  return answer.substr(0, answer.size() - ok.size());
}

}  // namespace

Result<ControlSocket> ControlSocket::open(const std::string& path) {
  const auto name = name_of(path);
  if (!name) return std::unexpected(name.error());
  if (const auto cleared = clear(path, *name); !cleared) return std::unexpected(cleared.error());
  Socket made(SOCK_NONBLOCK);
  const bool is_made = made.fd() >= 0 && bind(made.fd(), as_address(*name), sizeof(*name)) == 0 &&
                       chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0 && listen(made.fd(), 8) == 0;
  if (!is_made) return failure(path + ": " + std::strerror(errno));
  return ControlSocket(made.take(), path);
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)),
      peer_(std::exchange(other.peer_, -1)),
      path_(std::move(other.path_)),
      lines_(std::move(other.lines_)) {}

ControlSocket::~ControlSocket() {
  hang_up();
  if (listener_ < 0) return;
  close(listener_);
  unlink(path_.c_str());
}

void ControlSocket::hang_up() {
  if (peer_ >= 0) close(peer_);
  peer_ = -1;
  lines_.clear();
}

std::optional<std::string> ControlSocket::try_receive() {
  if (peer_ < 0) peer_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (peer_ < 0) return std::nullopt;
  if (!lines_.has_next()) {
    std::array<char, line_bytes_max> bytes;
    const ssize_t count = recv(peer_, bytes.data(), bytes.size(), 0);
    const bool is_idle = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (count > 0) lines_.take({bytes.data(), static_cast<size_t>(count)});
    if (count <= 0 && !is_idle) hang_up();
  }
  auto line = lines_.next();
  if (!line && lines_.is_full()) hang_up();
  return line;
}

void ControlSocket::answer(std::string_view text) {
  const ssize_t count = send(peer_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count != static_cast<ssize_t>(text.size())) hang_up();
}

Result<std::string> ask(const std::string& path, std::string_view request) {
  const auto name = name_of(path);
  if (!name) return std::unexpected(name.error());
  const Socket own(0);
  setsockopt(own.fd(), SOL_SOCKET, SO_RCVTIMEO, &answer_patience, sizeof(answer_patience));
  const std::string line = std::string(request) + "\n";
  if (connect(own.fd(), as_address(*name), sizeof(*name)) != 0 ||
      send(own.fd(), line.data(), line.size(), MSG_NOSIGNAL) < 0) {
    return failure(path + ": " + std::strerror(errno));
  }
  const auto answer = hear(own.fd());
  if (!answer) return failure(path + ": " + answer.error().sentence);
  return *answer;
}

}  // namespace cw::wan
