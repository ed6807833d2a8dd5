// Processes that are the other end of a wire, one after the other, and die as processes do.
#pragma once

#include <sys/types.h>

#include <functional>

namespace cw::test {

/// To be made before the EAL of this process is started, from which none can be forked. What is
/// there is killed with it.
class OtherProcess {
 public:
  /// Each starts an EAL of its own and then lives as told, until it is killed.
  explicit OtherProcess(std::function<void()> life);
  ~OtherProcess();
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  /// Neither waits.
  void start() { order('s'); }
  void kill() { order('k'); }

 private:
  void order(char what);

  pid_t starter_ = -1;
  int orders_ = -1;
};

}  // namespace cw::test
