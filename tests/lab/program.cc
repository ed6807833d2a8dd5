#include "tests/lab/program.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace cw::lab {
namespace {

constexpr auto look_every = std::chrono::milliseconds(2);

void set_environment(const Handed& handed) {
  for (const auto& [name, value] : handed.environment) setenv(name.c_str(), value.c_str(), 1);
  if (handed.descriptors.empty()) return;
  std::string names;
  for (const auto& [name, fd] : handed.descriptors) names += (names.empty() ? "" : ":") + name;
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", std::to_string(handed.descriptors.size()).c_str(), 1);
  setenv("LISTEN_FDNAMES", names.c_str(), 1);
}

/// Behind the standard ones. Two steps, as one of them may have the number of another.
void set_descriptors(const Handed& handed) {
  constexpr int first = 3;
  const int behind = first + static_cast<int>(handed.descriptors.size());
  std::vector<int> copies;
  for (const auto& [name, fd] : handed.descriptors) {
    copies.push_back(fcntl(fd, F_DUPFD_CLOEXEC, behind));
  }
  for (size_t i = 0; i < copies.size(); ++i) dup2(copies[i], first + static_cast<int>(i));
}

[[noreturn]] void become(int namespace_fd, const Arguments& arguments, int out, int err,
                         const Handed& handed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  if (setns(namespace_fd, CLONE_NEWNET) == 0 && dup2(nothing, 0) == 0 && dup2(out, 1) == 1 &&
      dup2(err, 2) == 2) {
    err = 2;
    set_environment(handed);
    set_descriptors(handed);
    execvp(pointers[0], pointers.data());
  }
  dprintf(err, "cannot run %s: %s\n", pointers[0], std::strerror(errno));
  _exit(127);
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> bytes;
  while (true) {
    const ssize_t count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<size_t>(count));
  }
}

}  // namespace

Program::Program(int namespace_fd, const Arguments& arguments, const Handed& handed)
    : out_(memfd_create("out", MFD_CLOEXEC)), err_(memfd_create("err", MFD_CLOEXEC)) {
  if (out_ < 0 || err_ < 0) throw std::runtime_error("no memory for a program's output");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no process for " + arguments.front());
  if (pid_ == 0) become(namespace_fd, arguments, out_, err_, handed);
}

Program::~Program() {
  if (!has_ended_) {
    kill(pid_, SIGKILL);
    collect(/*waits=*/true);
  }
  close(out_);
  close(err_);
}

void Program::collect(bool waits) {
  if (has_ended_) return;
  int status = 0;
  if (waitpid(pid_, &status, waits ? 0 : WNOHANG) != pid_) return;
  has_ended_ = true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Program::wait_for(const std::string& text, std::chrono::milliseconds most) {
  const auto end = Time::now() + most;
  while (err_so_far().find(text) == std::string::npos) {
    if (has_ended() || Time::now() >= end) return err_so_far().find(text) != std::string::npos;
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

std::string Program::out_so_far() const { return read_all(out_); }
std::string Program::err_so_far() const { return read_all(err_); }

bool Program::has_ended() {
  collect(/*waits=*/false);
  return has_ended_;
}

void Program::signal(int number) const {
  if (!has_ended_) kill(pid_, number);
}

std::chrono::nanoseconds Program::processor_time() const {
  clockid_t clock;
  timespec time{};
  if (has_ended_ || clock_getcpuclockid(pid_, &clock) != 0) return {};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Outcome Program::finish() {
  collect(/*waits=*/true);
  return {status_, out_so_far(), err_so_far()};
}

}  // namespace cw::lab
