#include "control/daemon/system/notify.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cw::daemon {

bool notify_manager(std::string_view state) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(name);
  if (length == 0 || length >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = '\0';  // a name in no file system
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const timeval patience{.tv_sec = 1, .tv_usec = 0};  // a manager that does not listen
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), bytes);
  close(fd);
  return sent == static_cast<ssize_t>(state.size());
}

std::optional<Duration> watchdog_interval() {
  const auto number_in = [](const char* variable) -> std::optional<int64_t> {
    const char* text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    int64_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
  };
  const auto pid = number_in("WATCHDOG_PID");
  const auto us = number_in("WATCHDOG_USEC");
  constexpr int64_t us_max = INT64_MAX / 1000;
  if (!us || *us <= 0 || *us > us_max || (pid && *pid != getpid())) return std::nullopt;
  return Duration::from_us(*us) / 2;
}

}  // namespace cw::daemon
