// A file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace cw {

/// Closed with the object; negative: there is none.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  /// It is the caller's to close.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace cw
