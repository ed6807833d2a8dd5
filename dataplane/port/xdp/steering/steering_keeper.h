// Who keeps our program where it belongs when the gateway has given up the rights for it, or has
// been killed: a process of its own. It looks at the interface now and then, puts the program there
// anew when it has gone and come back, or when somebody has taken it off, and opens sockets for
// queues that are new; and leaves the interface as it was found once the gateway ends. It does
// nothing else, and there is nothing that it can be asked.
//
// Should it be killed too, what is left lets all frames pass, as it has no sockets, and the next
// gateway of this interface takes it off.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port/xdp/steering/steering.h"
#include "dataplane/port/xdp/steering/steering_place.h"
#include "dataplane/wire/outer/frame.h"

namespace cw {

/// Gives the kernel the memory of a queue by a new socket of AF_XDP. Zero, or its reason not to.
using GiveMemory = std::function<int(int fd, uint32_t queue)>;

/// What has become of an interface. Its sockets are AF_XDP's and have their memory, of the queues
/// from the first one on; they are bound to none.
struct SteeringNews {
  SteeringStand stand;
  int reason = 0;  ///< errno: why there is no program on it
  uint32_t mtu = 0, queues = 0;
  MacAddress mac{};
  uint32_t first = 0, sockets = 0;
  std::array<int, STEERING_SOCKETS_MAX> fds{};  ///< the hearer's to close
};

/// Thread: one. To be started while the process has no other threads, whose locks the keeper would
/// have and nobody would open.
class SteeringKeeper {
 public:
  /// Of a program that has been put there, for `queues`. Null: there is no process to be had.
  static std::unique_ptr<SteeringKeeper> start(SteeringPlace& place, xdp_program* program,
                                               uint32_t queues, const GiveMemory& give_memory);
  /// Waits until the program is off.
  ~SteeringKeeper();
  SteeringKeeper(const SteeringKeeper&) = delete;
  SteeringKeeper& operator=(const SteeringKeeper&) = delete;

  /// The next, if there is any. One system call, which does not wait.
  std::optional<SteeringNews> hear();
  /// hear() has found it to have ended before the gateway.
  bool is_gone() const { return is_gone_; }

 private:
  SteeringKeeper(OwnedFd line, pid_t keeper) : line_(std::move(line)), keeper_(keeper) {}

  OwnedFd line_;  // the keeper speaks on it, and sees it close
  pid_t keeper_;
  bool is_gone_ = false;
};

}  // namespace cw
