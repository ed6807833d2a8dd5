// Descriptors of the ports that the service manager keeps from one life of the gateway to the
// next, in the protocol of sd_notify(3) and sd_listen_fds(3): FDSTORE=1 there, LISTEN_FDS back.
//
// It keeps them where FDSTORE says how many: systemd sets that from version 254 on, the unit file
// for older ones. Nobody who merely wants to be notified is sent any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/daemon/log.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/port/descriptor_store.h"

namespace cw::daemon {

class Descriptors final : public DescriptorStore {
 public:
  /// Takes what this process was started with, before it opens anything: numbers from 3 on. `log`
  /// outlives it.
  explicit Descriptors(const Log& log);

  std::vector<std::string> names(std::string_view prefix) const override;
  int look_at(const std::string& name) const override;
  int take(const std::string& name) override;
  void keep(const std::string& name, int fd) override;
  void let_go(std::string_view prefix, const std::string& why) override;
  /// How many were taken.
  size_t taken() const { return taken_; }

 private:
  struct Kept {
    std::string name;
    OwnedFd descriptor;
  };
  const Log& log_;
  size_t kept_max_ = 0, kept_ = 0, taken_ = 0;
  std::vector<Kept> found_;
};

}  // namespace cw::daemon
