#include "offload/dpa/emulator_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace cw {
namespace {

constexpr int exit_not_found = 127;  // as shells say it
constexpr auto patience = std::chrono::seconds(1);
constexpr auto look_every = std::chrono::milliseconds(1);

// What the calling thread has been given for the sake of packets is not for an emulator.
void drop_privileges_of_time() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof(all));
  sched_setaffinity(0, sizeof(all), &all);
  const sched_param usual{};
  sched_setscheduler(0, SCHED_OTHER, &usual);
}

// In the child: of the C library only what may be called after a fork of a process with threads.
[[noreturn]] void become(char* const* words, pid_t parent, int memory, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it has ended before it could be tied to
  setpgid(0, 0);                      // a terminal's signals are for whoever ends it
  drop_privileges_of_time();
  // Above what they are to become, so that none is closed by another's coming.
  const int nothing = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
  const int err = fcntl(errors, F_DUPFD_CLOEXEC, 10), ram = fcntl(memory, F_DUPFD_CLOEXEC, 10);
  if (dup2(nothing, 0) == 0 && dup2(nothing, 1) == 1 && dup2(err, 2) == 2 && dup2(ram, 3) == 3) {
    close_range(4, ~0U, 0);
    execvp(words[0], words);
  }
  _exit(exit_not_found);
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
  if (file_ >= 0) close(file_);
}

Result<void> SharedMemory::make(size_t bytes) {
  file_ = memfd_create("causeway-emulated-dpa", MFD_CLOEXEC);
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0) {
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped != MAP_FAILED) {
      data_ = static_cast<char*>(mapped);
      size_ = bytes;
      return {};
    }
  }
  return failure("emulated DPA: " + std::to_string(bytes) +
                 " bytes of shared memory were refused: " + std::strerror(errno));
}

Result<void> EmulatorProcess::start(const std::vector<std::string>& words, int memory_file) {
  errors_ = memfd_create("causeway-emulator-errors", MFD_CLOEXEC);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = errors_ < 0 ? -1 : fork();
  if (child < 0) {
    return failure("emulated DPA: a process for " + words.front() +
                   " was refused: " + std::strerror(errno));
  }
  if (child == 0) become(pointers.data(), parent, memory_file, errors_);
  pid_ = child;
  return {};
}

void EmulatorProcess::collect(int options) {
  int status = 0;
  pid_t got = 0;
  do got = waitpid(pid_, &status, options);
  while (got < 0 && errno == EINTR);
  if (got == 0) return;
  // Where nobody wants to know of children, the system has collected it.
  was_found_ = !(got == pid_ && WIFEXITED(status) && WEXITSTATUS(status) == exit_not_found);
  pid_ = 0;
}

bool EmulatorProcess::has_ended() {
  if (pid_ != 0) collect(WNOHANG);
  return pid_ == 0;
}

std::string EmulatorProcess::last_words() const {
  const off_t size = lseek(errors_, 0, SEEK_END);
  std::string text(size > 0 ? std::min<size_t>(static_cast<size_t>(size), 4096) : 0, '\0');
  const off_t from = size - static_cast<off_t>(text.size());
  if (text.empty() || pread(errors_, text.data(), text.size(), from) <= 0) return "";
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

void EmulatorProcess::end() {
  if (!has_ended()) {
    kill(pid_, SIGTERM);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!has_ended() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(look_every);
    }
  }
  if (pid_ != 0) {
    kill(pid_, SIGKILL);
    collect(0);
  }
  if (errors_ >= 0) close(errors_);
  errors_ = -1;
}

}  // namespace cw
