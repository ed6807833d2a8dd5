#include "control/daemon/notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace cw::daemon {
namespace {

/// A service manager's socket; a name that begins with @ lies in no file system.
class Manager {
 public:
  explicit Manager(const std::string& name) : name_(name), fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    close(fd_);
    unlink(name_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string heard() const {
    char text[100];
    const ssize_t count = recv(fd_, text, sizeof(text), MSG_DONTWAIT);
    return count < 0 ? "nothing" : std::string(text, static_cast<size_t>(count));
  }

 private:
  std::string name_;
  int fd_;
};

TEST(Notify, tells_the_socket_that_the_environment_names) {
  const Manager manager(testing::TempDir() + "notify_" + std::to_string(getpid()));
  EXPECT_TRUE(notify_manager("READY=1"));
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(Notify, knows_names_outside_of_the_file_system) {
  const Manager manager("@causeway_notify_" + std::to_string(getpid()));
  EXPECT_TRUE(notify_manager("STOPPING=1"));
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST(Notify, is_silent_when_nobody_asks_and_says_when_nobody_hears) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_manager("READY=1"));
  setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
  EXPECT_FALSE(notify_manager("READY=1"));
  setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(notify_manager("READY=1"));
  unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace cw::daemon
