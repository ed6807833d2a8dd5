// causewayd when something is wrong with it or around it: a policy that loops, a log that nobody
// reads, signals in rows, files that are not what they should be.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/un.h>

#include <atomic>

#include "tests/integration/daemon_lab.h"

#ifndef __has_feature  // GCC 12
#define __has_feature(feature) 0
#endif

namespace cw::lab {
namespace {

class CausewaydUnderStrain : public Causewayd {
 protected:
  /// A gateway whose policy stands in a fact while the file "loop" is there, and its peer.
  void start_with_loop(const Arguments& environment = {}) {
    std::ofstream("loop") << "stand";
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
    Arguments arguments{"env", "CAUSEWAY_TEST_LOOP=" + (folder_ / "loop").string()};
    arguments.insert(arguments.end(), environment.begin(), environment.end());
    for (const std::string& each : command("a", looping(config_of(true)))) {
      arguments.push_back(each);
    }
    a_.emplace(sites_->namespace_of(At::GatewayA), arguments);
    start(b_, At::GatewayB, looping(config_of(false)));
    ASSERT_TRUE(a_->wait_for("info up")) << a_->err_so_far();
  }
  static std::string looping(const std::string& config) {
    return replaced(config, "[site]\n",
                    "[site]\nstate_folder = 'state'\nplugins = ['" CW_LOOPING_PLUGIN "']\n") +
           "[[class]]\nname = 'all'\npolicy = 'loops'\n";
  }
  void say_something() const {
    const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
    from.send(to, 1);
  }
  bool has_state(const std::string& state) const {
    const auto end = Time::now() + seconds(30);
    while (Time::now() < end) {
      const Json json = Json::parse_or_null(text_of("south.json"));
      if (json.is_object() && json.value("state", "") == state) return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }
  /// Its end, if it comes.
  static std::optional<int> end_of(Program& program) {
    const auto end = Time::now() + seconds(30);
    while (!program.has_ended() && Time::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return program.has_ended() ? std::optional(program.finish().status) : std::nullopt;
  }
};

TEST_F(CausewaydUnderStrain, says_which_policy_loops_and_ends_when_told) {
  start_with_loop();
  say_something();
  ASSERT_TRUE(a_->wait_for("error worker_stuck since=20")) << a_->err_so_far();
  EXPECT_NE(a_->err_so_far().find(CW_LOOPING_PLUGIN), std::string::npos) << a_->err_so_far();
  EXPECT_NE(a_->err_so_far().find(" policy=loops "), std::string::npos) << a_->err_so_far();
  ASSERT_TRUE(has_state("worker stuck"));
  const Json first = status("south.json"), later = status("south.json");
  EXPECT_LT(first["written"], later["written"]);
  EXPECT_LT(first["stuck_since"], first["written"]);
  EXPECT_EQ(first["peers"][0]["name"], "north");  // the last that was known
  a_->signal(SIGTERM);
  EXPECT_EQ(end_of(*a_), 3);
  EXPECT_NE(a_->err_so_far().find("error ended_by_force"), std::string::npos) << a_->err_so_far();
  EXPECT_FALSE(fs::exists("south.json"));
  EXPECT_NE(sites_->space(At::GatewayA).run({"ip", "link", "show", "causeway0"}).status, 0);
}

/// So that a service manager's restart is not the next loop's beginning.
TEST_F(CausewaydUnderStrain, begins_with_another_policy_after_one_that_looped) {
  fs::create_directory("state");
  start_with_loop();
  say_something();
  ASSERT_TRUE(a_->wait_for("error worker_stuck since=20")) << a_->err_so_far();
  a_->signal(SIGTERM);
  EXPECT_EQ(end_of(*a_), 3);
  start(a_, At::GatewayA, looping(config_of(true)));
  EXPECT_TRUE(a_->wait_for("loops/0 is barred since 20")) << a_->err_so_far();
  ASSERT_TRUE(a_->wait_for("info up")) << a_->err_so_far();
  EXPECT_EQ(status("south.json")["classes"][0]["policy"]["out"], "selective_repeat");
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  from.send(to, 7);
  EXPECT_EQ(to.receive(), 7u);
}

TEST_F(CausewaydUnderStrain, goes_on_when_a_policy_does_and_tells_its_manager_meanwhile) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = "notify"};
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  const timeval most{.tv_sec = 30, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  const auto hears = [fd](const std::string& wanted) {
    std::string heard;
    do {
      char text[200] = "";
      if (recv(fd, text, sizeof(text) - 1, 0) <= 0) return false;
      heard = text;
    } while (!heard.starts_with(wanted));
    return true;
  };
  start_with_loop({"NOTIFY_SOCKET=" + (folder_ / "notify").string(), "WATCHDOG_USEC=200000"});
  EXPECT_TRUE(hears("READY=1"));
  EXPECT_TRUE(hears("WATCHDOG=1"));
  say_something();
  EXPECT_TRUE(hears("STATUS=worker stuck since "));
  // It says no more that it lives, and its manager would end it.
  char text[200] = "";
  const timeval little{.tv_sec = 1, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof(little));
  EXPECT_LT(recv(fd, text, sizeof(text), 0), 0) << text;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  fs::remove("loop");
  EXPECT_TRUE(a_->wait_for("warning worker_turns after_s=")) << a_->err_so_far();
  EXPECT_TRUE(hears("STATUS=carrying packets"));
  EXPECT_TRUE(hears("WATCHDOG=1"));
  EXPECT_TRUE(has_state("running"));
  EXPECT_FALSE(status("south.json").contains("stuck_since"));
  a_->signal(SIGTERM);
  EXPECT_EQ(end_of(*a_), 0);
  close(fd);
}

// ThreadSanitizer holds a signal back until the call that it meets is over, and this one never is.
#if !__has_feature(thread_sanitizer)
// Whoever reads the log may stand still: the pipe is full, and every line waits.
TEST_F(CausewaydUnderStrain, ends_when_told_twice_though_nobody_reads_its_log) {
  ASSERT_EQ(mkfifo("log", 0600), 0);
  const int log = open("log", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(log, 0);
  std::string line = "exec 2>log; exec";
  for (const std::string& each :
       command("a", replaced(config_of(true), "status = 'south.json'\n", ""))) {
    line += " " + each;
  }
  a_.emplace(sites_->namespace_of(At::GatewayA), Arguments{"sh", "-c", line});
  std::string said;
  const auto end = Time::now() + seconds(30);
  while (said.find("info ready") == std::string::npos && Time::now() < end) {
    char text[4096];
    const ssize_t count = read(log, text, sizeof(text));
    if (count > 0) said.append(text, static_cast<size_t>(count));
    std::this_thread::sleep_for(milliseconds(10));
  }
  ASSERT_NE(said.find("info ready"), std::string::npos) << said;
  while (write(log, "x", 1) == 1) continue;  // from now on every line waits
  a_->signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(a_->has_ended());
  a_->signal(SIGTERM);
  EXPECT_EQ(end_of(*a_), 3);
  close(log);
}
#endif

TEST_F(CausewaydUnderStrain, hears_the_end_among_thousands_of_other_signals) {
  start(a_, At::GatewayA, config_of(true));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  std::atomic<bool> is_over = false;
  std::thread storm([&] {
    while (!is_over && kill(a_->pid(), SIGHUP) == 0) continue;
  });
  std::this_thread::sleep_for(milliseconds(300));
  kill(a_->pid(), SIGTERM);
  EXPECT_TRUE(a_->wait_for("info draining", seconds(10))) << a_->err_so_far();
  is_over = true;
  storm.join();
  EXPECT_EQ(end_of(*a_), 0);
}

TEST_F(CausewaydUnderStrain, says_why_a_file_cannot_be_read) {
  const auto& space = sites_->space(At::GatewayA);
  const auto said_of = [&](const std::string& file) {
    const Outcome outcome = space.run({CW_DAEMON_PROGRAM, "--check", "--config", file});
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_EQ(said_of("/nowhere.toml"), "/nowhere.toml cannot be read (No such file or directory)\n");
  EXPECT_EQ(said_of(folder_), folder_.string() + " cannot be read (Is a directory)\n");
  EXPECT_EQ(said_of("/dev/zero"),
            "/dev/zero holds more than the 1048576 bytes that are accepted\n");
  const std::string config = config_of(true);
  command("c", replaced(config, "'pair.key'", "'.'"));
  EXPECT_NE(said_of("c.toml").find("pair.key_file: . cannot be read (Is a directory)\n"),
            std::string::npos)
      << said_of("c.toml");
  command("c", replaced(config, "'pair.key'", "'/dev/zero'"));
  EXPECT_NE(said_of("c.toml").find("/dev/zero holds more than the 4096 bytes"), std::string::npos)
      << said_of("c.toml");
  command("c", replaced(config, "[site]\n", "[site]\nplugins = ['.']\n"));
  EXPECT_NE(said_of("c.toml").find("is not a regular file"), std::string::npos);
  command("c", replaced(config, "'north'", "\"no\\u0000rth\""));
  EXPECT_NE(said_of("c.toml").find("peer.name holds a control character"), std::string::npos)
      << said_of("c.toml");
}

// A killed gateway leaves its status, which tells its age, and nothing that is in the next one's
// way.
TEST_F(CausewaydUnderStrain, starts_over_what_a_killed_one_has_left) {
  start(a_, At::GatewayA, config_of(true));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  const Json old = status("south.json");
  EXPECT_TRUE(old["written"].get<std::string>().ends_with("Z")) << old;
  EXPECT_GT(old["machine_uptime_s"], old["uptime_s"]);
  a_->signal(SIGKILL);
  a_->finish();
  EXPECT_TRUE(fs::exists("south.json"));
  start(a_, At::GatewayA, config_of(true));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  EXPECT_GT(status("south.json")["written"], old["written"]);
}

// Whoever fills a disk has stopped no gateway, nor what starts it again.
TEST_F(CausewaydUnderStrain, starts_and_goes_on_beside_a_full_disk) {
  fs::create_directory("small");
  ASSERT_EQ(mount("small", "small", "tmpfs", 0, "size=8k"), 0);
  std::ofstream("small/filler") << std::string(64 << 10, 'x');
  start(a_, At::GatewayA,
        replaced(config_of(true), "'south.json'",
                 "'" + (folder_ / "small/south.json").string() + "'"));
  EXPECT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("error no_status why=\"site.status: ")) << a_->err_so_far();
  fs::remove("small/filler");
  const auto end = Time::now() + seconds(30);
  while (!fs::exists("small/south.json") && Time::now() < end) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(fs::exists("small/south.json"));
  a_->signal(SIGTERM);
  EXPECT_EQ(a_->finish().status, 0);
  EXPECT_EQ(umount2("small", MNT_DETACH), 0);
}

}  // namespace
}  // namespace cw::lab
