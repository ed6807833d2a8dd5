#include "control/config/text/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cw::config {
namespace {

std::unexpected<Error> unreadable(const std::string& file, int error) {
  return failure(file + " cannot be read (" + std::strerror(error) + ")");
}

/// Fills `room` as far as there are bytes; -1 and errno as read() has them.
ssize_t fill(int fd, std::span<char> room) {
  size_t have = 0;
  while (have < room.size()) {
    const ssize_t count = read(fd, room.data() + have, room.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  return static_cast<ssize_t>(have);
}

}  // namespace

Result<size_t> read_file(const std::string& file, std::span<char> room) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return unreadable(file, errno);
  const ssize_t count = fill(fd, room);
  char beyond = 0;
  const ssize_t more = count < 0 ? -1 : fill(fd, {&beyond, 1});
  const int error = errno;
  close(fd);
  if (more < 0) return unreadable(file, error);
  if (more == 0) return static_cast<size_t>(count);
  return failure(file + " holds more than the " + std::to_string(room.size()) +
                 " bytes that are accepted");
}

Result<std::string> text_of_file(const std::string& file) {
  std::string text(text_bytes_max, '\0');
  const auto count = read_file(file, text);
  if (!count) return std::unexpected(count.error());
  text.resize(*count);
  return text;
}

}  // namespace cw::config
