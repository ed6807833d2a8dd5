#include "control/daemon/live/route_helper.h"

#include <net/if.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "control/daemon/system/privileges.h"
#include "control/gateway/keys/prefix.h"
#include "control/gateway/site/ports/lan_setup.h"

namespace cw::daemon {

/// The whole protocol: one of these each way, in turn.
struct RouteHelper::Request {
  enum class Kind : uint8_t { Device, Add, Remove };
  Kind kind = Kind::Device;
  uint32_t device = 0;  // of Device
  gateway::Prefix route;
};

namespace {

std::unexpected<Error> fail(const char* what) {
  return failure(std::string("lan.routes: ") + what + ": " + std::strerror(errno));
}

bool is_prefix(const gateway::Prefix& route) { return route.bits <= (route.is_v6 ? 128 : 32); }

/// Files of the gateway are none of the helper's.
void close_all_but(int fd) {
  if (fd > 0) close_range(0, static_cast<unsigned>(fd) - 1, 0);
  close_range(static_cast<unsigned>(fd) + 1, ~0u, 0);
}

}  // namespace

Result<std::unique_ptr<RouteHelper>> RouteHelper::start(const std::string& user) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail("no socket");
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const pid_t helper = fork();
  if (helper == 0) serve(ends[1], user);
  close(ends[1]);
  if (helper > 0) return std::unique_ptr<RouteHelper>(new RouteHelper(ends[0], helper));
  close(ends[0]);
  return fail("no process for them");
}

RouteHelper::~RouteHelper() {
  end_soon();
  waitpid(helper_, nullptr, 0);
}

void RouteHelper::end_soon() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

// Who stops a service tells all its processes, and this one is needed until the gateway has ended.
void RouteHelper::serve(int fd, const std::string& user) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "routes");
  close_all_but(fd);
  if (!keep_net_admin_alone(user)) _exit(1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  uint32_t device = 0;
  Request request;
  while (recv(fd, &request, sizeof(request), 0) == sizeof(request)) {
    int32_t error = EINVAL;
    if (request.kind == Request::Kind::Device && device == 0) {
      device = request.device;
      error = 0;
    } else if (device != 0 && is_prefix(request.route)) {
      if (request.kind == Request::Kind::Add) error = site::add_lan_route(device, request.route);
      if (request.kind == Request::Kind::Remove) {
        error = site::remove_lan_route(device, request.route);
      }
    }
    if (send(fd, &error, sizeof(error), MSG_NOSIGNAL) != sizeof(error)) break;
  }
  _exit(0);
}

int RouteHelper::ask(const Request& request) const {
  // Signals come here: DPDK has itself told by one of each packet that a tap device has.
  const auto is_whole = [](ssize_t size, const auto& act) {
    ssize_t done = 0;
    while ((done = act()) < 0 && errno == EINTR) {
    }
    return done == size;
  };
  int32_t error = 0;
  const bool is_sent =
      is_whole(sizeof(request), [&] { return send(fd_, &request, sizeof(request), MSG_NOSIGNAL); });
  if (!is_sent) return EPIPE;
  if (is_whole(sizeof(error), [&] { return recv(fd_, &error, sizeof(error), 0); })) return error;
  // An answer that comes after all would be taken for the next one's.
  shutdown(fd_, SHUT_RDWR);
  return EPIPE;
}

Result<void> RouteHelper::tell(const gateway::Prefix& route, int error) const {
  if (error == 0) return {};
  const std::string prefix = site::prefix_text(route);
  if (error != EPIPE) return failure(site::route_sentence(prefix, device_, error));
  return failure("peer.routes: " + prefix + ": the process that sets routes is silent");
}

Result<void> RouteHelper::set_device(const std::string& name) {
  device_ = name;
  const uint32_t index = if_nametoindex(name.c_str());
  errno = ask({.kind = Request::Kind::Device, .device = index, .route = {}});
  if (index == 0 || errno != 0)
    return fail("the process that sets routes does not know the device");
  return {};
}

Result<void> RouteHelper::add(const gateway::Prefix& route) {
  return tell(route, ask({.kind = Request::Kind::Add, .route = route}));
}

Result<void> RouteHelper::remove(const gateway::Prefix& route) {
  return tell(route, ask({.kind = Request::Kind::Remove, .route = route}));
}

}  // namespace cw::daemon
