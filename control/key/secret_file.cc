#include "control/key/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "control/config/text/file.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw::key {
namespace {

std::string reason() { return std::strerror(errno); }

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<seal::Secret> read_secret_file(const std::string& path, const char* how_to_make) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    const bool is_missing = errno == ENOENT;
    return failure(
        path + " cannot be read (" + reason() + ")" +
        (is_missing ? "; `" + std::string(how_to_make) + " " + path + "` makes one" : ""));
  }
  struct stat about{};
  if (fstat(fd.get(), &about) != 0) return failure(path + " cannot be read (" + reason() + ")");
  if (S_ISREG(about.st_mode) && (about.st_mode & config::of_others) != 0) {
    return failure(path + " has mode " + config::mode_text(about.st_mode) +
                   ", and a secret is its owner's alone; `chmod 600 " + path +
                   "`, and take another secret if somebody may have read it");
  }
  std::array<char, 64> room{};  // some more than a secret has, so that a longer file is told apart
  const ssize_t count = config::fill(fd.get(), room);
  if (count < 0) return failure(path + " cannot be read (" + reason() + ")");
  const auto secret =
      seal::parse_secret(without_line_end({room.data(), static_cast<size_t>(count)}));
  explicit_bzero(room.data(), room.size());
  if (!secret) {
    return failure(path + " holds no secret of 32 bytes in Base64; `" + how_to_make +
                   "` with another file makes one");
  }
  return *secret;
}

Result<void> write_secret_file(const std::string& path, const seal::Secret& secret) {
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    return failure(errno == EEXIST
                       ? path +
                             " is there already, and a secret is not written over; take it away "
                             "first if it is not needed any more"
                       : path + " cannot be written (" + reason() + ")");
  }
  std::string text = seal::text_of(secret.bytes()) + "\n";
  const bool is_written = config::try_write_all(fd.get(), text) && fsync(fd.get()) == 0;
  const std::string why = is_written ? "" : reason();
  explicit_bzero(text.data(), text.size());
  if (is_written) return {};
  unlink(path.c_str());
  return failure(path + " cannot be written (" + why + ")");
}

}  // namespace cw::key
