#include "control/daemon/system/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dataplane/kernel/owned_fd.h"

namespace cw::daemon {
namespace {

std::unexpected<Error> fail(const std::string& what) {
  return failure(what + ": " + std::strerror(errno));
}

Result<void> become(const std::string& user) {
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) return failure("site.user \"" + user + "\" does not exist here");
  if (entry->pw_uid == getuid()) return {};
  if (geteuid() != 0) {
    return failure("site.user is \"" + user +
                   "\", and only root can become another user; start as root, or as " + user);
  }
  const bool is_done = initgroups(user.c_str(), entry->pw_gid) == 0 && setgid(entry->pw_gid) == 0 &&
                       setuid(entry->pw_uid) == 0;
  if (!is_done) return fail("site.user: cannot become \"" + user + "\"");
  return {};
}

/// Of the first 32: as many as are of any use here.
Result<void> have_no_capabilities_but(uint32_t kept) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  data[0].effective = data[0].permitted = kept;
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
      syscall(SYS_capset, &header, data) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail("cannot give capabilities up");
  }
  return {};
}

}  // namespace

Result<void> give_capabilities_up() { return have_no_capabilities_but(0); }

Result<void> keep_net_admin_alone(const std::string& user) {
  prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (!user.empty()) {
    if (const auto became = become(user); !became) return became;
  }
  const auto kept = have_no_capabilities_but(1u << CAP_NET_ADMIN);
  return kept ? kept : give_capabilities_up();
}

bool hide_memory() {
  constexpr rlimit none = {0, 0};
  const bool is_without_files = setrlimit(RLIMIT_CORE, &none) == 0;
  // A program that the kernel hands cores to is no file, and gets one without any memory.
  const OwnedFd filter(open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC));
  return filter.get() >= 0 && write(filter.get(), "0", 1) == 1 && is_without_files;
}

void allow_locked_memory() {
  constexpr rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_MEMLOCK, &all);
}

Result<void> drop_privileges(const std::string& user) {
  if (!user.empty()) {
    if (const auto became = become(user); !became) return became;
  }
  return give_capabilities_up();
}

}  // namespace cw::daemon
