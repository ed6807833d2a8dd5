// Our program's place on an interface: a name that no other gateway has, the program put there
// beside those of others, and taken off.
//
// It is put there by libxdp, whose dispatcher calls all programs of an interface in turn, in the
// driver where that can do it, else in the kernel's generic place. Where no bpffs is mounted
// (/sys/fs/bpf) there is no dispatcher, and ours must be the only one.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"

struct xdp_program;

namespace cw {

/// How a program stands.
struct SteeringStand {
  uint32_t index =
      0;  ///< of the interface; zero: the kernel has none of this name, or no program on it
  bool is_native = false;  ///< in the driver
  bool has_dispatcher = false;
};

/// Thread: one. Calls are system calls. A fork has its own, and either may take the program off.
class SteeringPlace {
 public:
  explicit SteeringPlace(std::string interface) : interface_(std::move(interface)) {}

  /// Has the interface's name for us, if need be once a gateway that has just ended has let go of
  /// it, and takes off what one has left that was killed. Errors: another gateway's.
  Result<void> claim();
  /// Likewise, but at once. False: another gateway's.
  bool try_claim(uint32_t index);
  /// Has the interface receive by so many queues, also when it is another one. Zero, or the
  /// kernel's reason not to.
  int spread(uint32_t queues);
  void spread_as_before() const;
  /// Zero, or the kernel's reason not to.
  int put(xdp_program* program, uint32_t index);
  /// Whether it is where it was put.
  bool is_there();
  void take_off(xdp_program* program);

  const std::string& interface() const { return interface_; }
  const SteeringStand& stand() const { return stand_; }
  int name_fd() const { return name_.get(); }

  /// What the kernel's reason means to a person. Also of what else needs rights.
  Error refusal(int reason) const;

 private:
  std::string interface_;
  OwnedFd name_;
  SteeringStand stand_;
  uint32_t queues_ = 0, queues_before_ = 0;  // zero: as they were
  uint32_t id_ = 0;  // of what the kernel runs first: our program or a dispatcher
};

}  // namespace cw
