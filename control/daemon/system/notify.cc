#include "control/daemon/system/notify.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "dataplane/kernel/owned_fd.h"

namespace cw::daemon {

bool notify_manager(std::string_view state) { return notify_manager(state, -1); }

bool notify_manager(std::string_view state, int passed) {
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
  iovec text{.iov_base = const_cast<char*>(state.data()), .iov_len = state.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &passed, sizeof(passed));
  }
  const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
  close(fd);
  return sent == static_cast<ssize_t>(state.size());
}

// The manager reads in order, and closes what comes with a barrier when it has come to it.
void wait_for_manager() {
  int ends[2];
  if (std::getenv("NOTIFY_SOCKET") == nullptr || pipe2(ends, O_CLOEXEC) != 0) return;
  const OwnedFd ours(ends[0]);
  const bool is_told = notify_manager("BARRIER=1", ends[1]);
  close(ends[1]);
  constexpr int patience_ms = 5000;
  pollfd closed{.fd = ours.get(), .events = 0, .revents = 0};
  if (is_told) (void)poll(&closed, 1, patience_ms);
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
