// What a service manager keeps for a service while that does not run: descriptors by name, as
// systemd's sd_notify(3) has it (FDSTORE=1, FDSTOREREMOVE=1, BARRIER=1), handed to the next life.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dataplane/kernel/owned_fd.h"
#include "tests/lab/program.h"

namespace cw::lab {

/// Thread: one, besides its own.
class FdStore {
 public:
  /// Listens at `path`, to programs of any user, and keeps at most so many.
  explicit FdStore(const std::string& path, size_t most = 64);
  ~FdStore();
  FdStore(const FdStore&) = delete;
  FdStore& operator=(const FdStore&) = delete;

  /// For a program that starts now and sees the socket as `seen_as`, if that is not empty. What it
  /// gets stays in the store, as its duplicate; and what has failed meanwhile does not, unless it
  /// came with FDPOLL=0.
  Handed handed(const std::string& seen_as = "");
  std::vector<std::string> names() const;
  /// Puts one in by hand, or takes all out.
  void put(const std::string& name, OwnedFd descriptor);
  void clear();
  /// All that was said so far.
  std::string told() const;

 private:
  struct Kept {
    std::string name;
    OwnedFd descriptor;
    bool is_polled = true;
  };
  void listen();
  void take(std::string_view message, std::vector<OwnedFd> descriptors);
  bool has(int descriptor) const;

  const std::string path_;
  const size_t most_;
  OwnedFd socket_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
  std::string told_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cw::lab
