// By which packets' threads call whoever makes policies.
#pragma once

namespace cw::site {

/// Thread: as said.
class CareBell {
 public:
  CareBell();
  ~CareBell();
  CareBell(const CareBell&) = delete;
  CareBell& operator=(const CareBell&) = delete;

  /// Cost: a system call.
  void ring_any_thread();
  /// Whoever was called takes what rang until now for heard. Thread: one.
  void hush();
  /// Readable from a ring to the next hush(); -1 where the process has no descriptors left.
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace cw::site
