#include "control/config/text/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "dataplane/kernel/owned_fd.h"

namespace cw::config {
namespace {

std::unexpected<Error> unreadable(const std::string& file, int error) {
  return failure(file + " cannot be read (" + std::strerror(error) + ")");
}

/// What a folder has is on the disk.
bool try_sync_folder(const std::string& folder) {
  const OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.get() >= 0 && fsync(fd.get()) == 0;
}

}  // namespace

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

bool try_write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

std::string mode_text(mode_t mode) {
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "%04o", mode & 07777u);
  return text.data();
}

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

Result<std::string> text_of_file(const std::string& file, size_t bytes_max) {
  std::string text(bytes_max, '\0');
  const auto count = read_file(file, text);
  if (!count) return std::unexpected(count.error());
  text.resize(*count);
  return text;
}

std::string draft_of(const std::string& file) { return file + ".new"; }

std::expected<void, ReplaceTrouble> replace_file(const std::string& file, std::string_view text,
                                                 Lasting lasting) {
  const std::string draft = draft_of(file);
  const bool lasts = lasting == Lasting::Yes;
  unlink(draft.c_str());
  const auto fail = [&](bool is_replacing) {
    const int error = errno;
    unlink(draft.c_str());
    return std::unexpected(ReplaceTrouble{error, is_replacing});
  };
  {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const OwnedFd fd(open(draft.c_str(), flags, 0644));
    const bool is_written =
        fd.get() >= 0 && try_write_all(fd.get(), text) && (!lasts || fsync(fd.get()) == 0);
    if (!is_written) return fail(/*is_replacing=*/false);
  }
  if (rename(draft.c_str(), file.c_str()) != 0) return fail(/*is_replacing=*/true);
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (lasts && !try_sync_folder(folder.empty() ? "." : folder)) return fail(true);
  return {};
}

}  // namespace cw::config
