#include "tests/lab/enclosure.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "tests/lab/space.h"

namespace cw::lab {
namespace {

constexpr int exit_failed = 3;

pid_t inside = -1;

/// Says so first: whoever waits for figures would otherwise see nothing at all.
[[noreturn]] void end_at_once(int number) {
  const char* const sentence = number == SIGINT    ? "ended by SIGINT before it was done\n"
                               : number == SIGTERM ? "ended by SIGTERM before it was done\n"
                                                   : "ended by SIGHUP before it was done\n";
  [[maybe_unused]] const ssize_t count = write(STDERR_FILENO, sentence, std::strlen(sentence));
  _exit(128 + number);
}
void pass_on(int number) { kill(inside, number); }

void on_signals(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

void must(bool has_worked, const char* what) {
  if (!has_worked) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

/// /proc as this process namespace sees it, and a folder in memory.
void mount_own() {
  // "/" is no mount point of its own in a plain chroot.
  must(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
       "making mounts private (in a chroot: mount --bind its folder onto itself first)");
  must(mount("proc", "/proc", "proc", 0, nullptr) == 0, "mounting /proc");
  must(mount("causeway", enclosure_folder, "tmpfs", 0, "mode=0755") == 0, "mounting a tmpfs");
}

/// Whether the parent, who holds the other end, is there still.
bool is_held(int pipe_end) {
  pollfd waiting{pipe_end, POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

[[noreturn]] void work_inside(const std::function<int()>& work, int pipe_end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!is_held(pipe_end)) _exit(exit_failed);  // it ended before it could be watched
  // The first process of a namespace ignores signals that it does not handle.
  on_signals(end_at_once);
  int status = exit_failed;
  try {
    must(unshare(CLONE_NEWNS) == 0, "a mount namespace");
    mount_own();
    status = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

int run_enclosed(const std::function<int()>& work) {
  must(unshare(CLONE_NEWPID) == 0, "a process namespace");
  int held[2];
  must(pipe2(held, O_CLOEXEC) == 0, "a pipe");
  inside = fork();
  must(inside >= 0, "a process");
  if (inside == 0) {
    close(held[1]);
    work_inside(work, held[0]);
  }
  on_signals(pass_on);
  int status = 0;
  while (waitpid(inside, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "killed before it was done, by signal %d (%s)%s\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)),
                 WTERMSIG(status) == SIGKILL ? ": by somebody, or for want of memory" : "");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_measurement(const std::string& name,
                    const std::function<int(const std::filesystem::path& programs)>& work) {
  constexpr int exit_wrong = 1;
  const auto tell = [&](const std::string& what, int exit) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
    return exit;
  };
  try {
    // In there the path is one of mounts outside, and in a chroot leads nowhere.
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return run_enclosed([&] {
      const std::string why_not = obstacle();
      return why_not.empty() ? work(programs) : tell(why_not, exit_failed);
    });
  } catch (const std::exception& error) {
    return tell(error.what(), exit_wrong);
  }
}

}  // namespace cw::lab
