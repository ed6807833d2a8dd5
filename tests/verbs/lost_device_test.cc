// A whole gateway whose RNIC is lost: it ends, so that whoever starts it opens the device anew.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "control/daemon/daemon.h"
#include "control/daemon/log.h"
#include "control/gateway/plan.h"
#include "tests/unit/port/network_space.h"
#include "tests/verbs/stand_in.h"

namespace cw {
namespace {

namespace fs = std::filesystem;

std::string file_in(const fs::path& folder) {
  return "[site]\nname = \"here\"\nuser = \"\"\n[api]\nfolder = \"" + folder.string() +
         "\"\n[lan]\ndevice = \"cw0\"\naddresses = [\"10.20.1.1/24\"]\n[wan]\nport = \"verbs\"\n"
         "device = \"rnic0\"\naddress = \"10.9.0.1\"\nrate = \"100 Mbit/s\"\n[pair]\n"
         "key_file = \"pair.key\"\nrtt = \"5 ms\"\n[[peer]]\nname = \"there\"\n"
         "address = \"10.9.0.2\"\nroutes = [\"10.20.2.0/24\"]\n";
}

/// In a process of its own: the gateway, at a device that is lost as soon as it is open.
[[noreturn]] void run_and_lose(const fs::path& folder) {
  const test::NetworkSpace space;
  stand_in::Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_1024);
  const std::string file = folder / "gateway.toml", text = file_in(folder);
  auto plan = site::read_plan(file, text);
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.error().sentence.c_str());
    _exit(daemon::exit_refused);
  }
  std::thread([] {
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (!stand_in::Fabric::the().lose_device("rnic0"));
  }).detach();
  const daemon::Log log(site::LogLevel::Info, site::LogFormat::Text);
  _exit(daemon::run({file, text}, std::move(*plan), log));
}

struct End {
  int code = -1;
  std::string said;
};

End life_in(const fs::path& folder) {
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    run_and_lose(folder);
  }
  close(pipe_ends[1]);
  End end;
  std::array<char, 4096> row;
  for (ssize_t got = 0; (got = read(pipe_ends[0], row.data(), row.size())) > 0;) {
    end.said.append(row.data(), static_cast<size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

TEST(GatewayOverRnic, ends_when_its_device_is_lost_so_that_the_next_one_opens_it_anew) {
  CW_NEEDS_NETWORK_SPACE();
  const fs::path folder = fs::path(testing::TempDir()) / ("lost-" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "pair.key") << std::string(64, 'a');
  fs::permissions(folder / "pair.key", fs::perms::owner_read | fs::perms::owner_write);
  const End end = life_in(folder);
  EXPECT_EQ(end.code, daemon::exit_failed) << end.said;
  EXPECT_TRUE(end.said.contains(" error rnic_lost device=rnic0 ")) << end.said;
  EXPECT_TRUE(end.said.contains(" info stopped")) << end.said;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cw
