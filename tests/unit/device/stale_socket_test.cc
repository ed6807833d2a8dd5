// The socket of a memif's server: one that was killed leaves it behind, and one that lives keeps
// it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "dataplane/device/device_obstacle.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw {
namespace {

std::string own_path() {
  return (std::filesystem::temp_directory_path() / ("cw-stale-" + std::to_string(getpid())))
      .string();
}

OwnedFd listen_at(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(listen(fd.get(), 1), 0);
  return fd;
}

std::string server_at(const std::string& path) { return "net_memif0,role=server,socket=" + path; }

TEST(StaleSocket, of_a_server_that_was_killed_is_removed) {
  const std::string path = own_path();
  { const OwnedFd killed = listen_at(path); }
  ASSERT_TRUE(std::filesystem::exists(path));
  remove_stale_socket(server_at(path));
  EXPECT_FALSE(std::filesystem::exists(path));
  remove_stale_socket(server_at(path));  // of nobody
}

// DPDK's driver would end the server's process if its greeting found nobody.
TEST(StaleSocket, of_a_server_that_lives_stays_and_its_greeting_is_heard) {
  const std::string path = own_path();
  const OwnedFd server = listen_at(path);
  ssize_t sent = -1;
  std::thread greeter([&] {
    const OwnedFd caller(accept(server.get(), nullptr, nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sent = send(caller.get(), "hello", 5, MSG_NOSIGNAL);
  });
  remove_stale_socket(server_at(path));
  greeter.join();
  EXPECT_EQ(sent, 5);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cw
