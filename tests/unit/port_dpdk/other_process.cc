#include "tests/unit/port_dpdk/other_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {

pid_t start_life(const std::function<void()>& life) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  start_small_eal();
  life();
  _exit(0);
}

/// Starts a life at every `s` that is written to `orders` and kills it at every `k`.
[[noreturn]] void start_lives(const std::function<void()>& life, int orders) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pid_t child = -1;
  for (char order; read(orders, &order, 1) == 1;) {
    if (order == 's') {
      child = start_life(life);
    } else {
      ::kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  _exit(0);
}

}  // namespace

OtherProcess::OtherProcess(std::function<void()> life) {
  int orders[2];
  if (pipe(orders) != 0) throw std::runtime_error("no pipe");
  starter_ = fork();
  if (starter_ == 0) start_lives(life, orders[0]);
  close(orders[0]);
  orders_ = orders[1];
}

OtherProcess::~OtherProcess() {
  ::kill(starter_, SIGKILL);
  waitpid(starter_, nullptr, 0);
  close(orders_);
}

void OtherProcess::order(char what) {
  if (write(orders_, &what, 1) != 1) throw std::runtime_error("nobody starts processes");
}

}  // namespace cw::test
