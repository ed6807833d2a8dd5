#include "control/daemon/system/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

}  // namespace

Result<void> give_capabilities_up() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
      syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail("cannot give capabilities up");
  }
  return {};
}

Result<void> drop_privileges(const std::string& user) {
  if (!user.empty()) {
    if (const auto became = become(user); !became) return became;
  }
  return give_capabilities_up();
}

}  // namespace cw::daemon
