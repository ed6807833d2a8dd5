// Routes of the LAN device take CAP_NET_ADMIN, which a gateway gives up before it carries a packet.
// So a process forked before that keeps this right and nothing else, and sets routes of the one
// device that it was told first: whoever took the gateway over could do no more with it.
//
//   gateway -- device, then: add or remove a prefix --> helper -- netlink --> kernel
//           <-- errno ---------------------------------
//
// It ends with the gateway. What it has set goes with the device.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"

namespace cw::daemon {

/// Sets routes towards the LAN device. Thread: one. Cost: slow, some milliseconds.
class RouteSetter {
 public:
  virtual ~RouteSetter() = default;
  /// Errors: one sentence; the route is then as it was.
  virtual Result<void> add(const gateway::Prefix& route) = 0;
  virtual Result<void> remove(const gateway::Prefix& route) = 0;
  /// Nothing more is asked.
  virtual void end_soon() {}
};

class RouteHelper final : public RouteSetter {
 public:
  /// Forks, while this process has its rights and no other threads; the helper becomes `user`, if
  /// that is not empty. Errors: the system's.
  static Result<std::unique_ptr<RouteHelper>> start(const std::string& user);
  ~RouteHelper() override;
  RouteHelper(const RouteHelper&) = delete;
  RouteHelper& operator=(const RouteHelper&) = delete;

  /// The device of all routes; whatever is said afterwards of another is refused.
  Result<void> set_device(const std::string& name);
  Result<void> add(const gateway::Prefix& route) override;
  Result<void> remove(const gateway::Prefix& route) override;
  /// The process ends while the caller does something else.
  void end_soon() override;

 private:
  struct Request;
  RouteHelper(int fd, pid_t helper) : fd_(fd), helper_(helper) {}
  [[noreturn]] static void serve(int fd, const std::string& user);
  int ask(const Request& request) const;
  Result<void> tell(const gateway::Prefix& route, int error) const;

  int fd_;
  pid_t helper_;
  std::string device_;
};

}  // namespace cw::daemon
