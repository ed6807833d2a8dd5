#include "dataplane/port/xdp/steering/steering_keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

constexpr int look_every_ms = 100;
constexpr int looks_between_queries = 10;  // a query waits for all who change any interface

/// Of maps, programs and what is known of their types.
bool is_of_bpf(int fd) {
  char target[64];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  const std::string_view name(target, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return name.starts_with("anon_inode:bpf") || name.starts_with("anon_inode:btf");
}

void close_all_but(int line, int name) {
  std::vector<int> others;
  if (DIR* const all = opendir("/proc/self/fd")) {
    while (const dirent* const each = readdir(all)) {
      const int fd = std::atoi(each->d_name);
      if (fd > 2 && fd != line && fd != name && fd != dirfd(all) && !is_of_bpf(fd)) {
        others.push_back(fd);
      }
    }
    closedir(all);
  }
  for (const int fd : others) close(fd);
  // Whoever reads what the gateway says is to see its end.
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) dup2(nothing, fd);
  close(nothing);
}

// ---- news, and the descriptors that go with them

struct Letter {
  SteeringNews news;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * STEERING_SOCKETS_MAX)] = {};
  iovec part{};
  msghdr message{};

  explicit Letter(const SteeringNews& told = {}) : news(told) {
    part = {&news, sizeof news};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;
};

bool try_tell(int line, const SteeringNews& news) {
  Letter letter(news);
  const size_t bytes = sizeof(int) * news.sockets;
  if (bytes > 0) {
    cmsghdr* const header = CMSG_FIRSTHDR(&letter.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), news.fds.data(), bytes);
    letter.message.msg_controllen = CMSG_SPACE(bytes);
  } else {
    letter.message.msg_control = nullptr;
    letter.message.msg_controllen = 0;
  }
  return sendmsg(line, &letter.message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

// ---- the keeper's own process

class Keeper {
 public:
  Keeper(SteeringPlace& place, xdp_program* program, uint32_t queues, const GiveMemory& give_memory,
         int line)
      : place_(place), program_(program), give_memory_(give_memory), line_(line) {
    told_.stand = place.stand();
    told_.queues = queues_ = sockets_ = queues;
  }

  [[noreturn]] void run() {
    pollfd line{.fd = line_, .events = POLLIN, .revents = 0};
    // The gateway never says a word: what can be read is its end.
    while (poll(&line, 1, look_every_ms) <= 0) look();
    place_.take_off(program_);
    place_.spread_as_before();
    _exit(0);
  }

 private:
  static bool is_same(const SteeringNews& a, const SteeringNews& b) {
    return a.stand.index == b.stand.index && a.reason == b.reason && a.mtu == b.mtu &&
           a.queues == b.queues && a.mac == b.mac;
  }

  void look() {
    SteeringNews seen;
    const uint32_t index = kernel_index(place_.interface());
    const bool is_due = ++looks_ % looks_between_queries == 0;
    const bool is_another = index != place_.stand().index;
    seen.reason = mend(index, is_another, is_due);
    seen.stand = place_.stand();
    if (index != 0 && (is_another || is_due)) queues_ = kernel_rx_queues(place_.interface());
    look_at_facts(seen);
    if (kernel_index(place_.interface()) != index) return;  // facts of none, or of two
    open_sockets(seen);
    if (seen.sockets > 0 || !is_same(seen, told_)) tell(seen);
    for (uint32_t i = 0; i < seen.sockets; ++i) close(seen.fds[i]);
  }

  /// Puts the program there if it is not; why not, if it cannot be.
  int mend(uint32_t index, bool is_another, bool is_due) {
    if (index == 0) return place_.take_off(program_), ENODEV;
    if (!is_another && (!is_due || place_.is_there())) return 0;
    const bool has_failed = is_another && index == claimed_;
    if (has_failed && !is_due) return told_.reason;
    if (index != claimed_ && !place_.try_claim(index)) return EEXIST;
    claimed_ = index;
    return place_.put(program_, index);
  }

  void look_at_facts(SteeringNews& seen) const {
    seen.mtu = kernel_mtu(place_.interface());
    seen.mac = kernel_mac(place_.interface());
    seen.queues = queues_;
  }

  /// Those of an interface that is another one have gone with it.
  void open_sockets(SteeringNews& seen) const {
    if (seen.stand.index == 0) return;
    seen.first = seen.stand.index == sockets_of_ ? sockets_ : 0;
    const uint32_t most = std::min<uint32_t>(queues_, STEERING_SOCKETS_MAX);
    for (uint32_t queue = seen.first; queue < most; ++queue) {
      const int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
      seen.reason = fd < 0 ? errno : give_memory_(fd, queue);
      if (seen.reason != 0) return (void)(fd < 0 || close(fd));
      seen.fds[seen.sockets++] = fd;
    }
  }

  /// A gateway that stands still hears it later.
  void tell(const SteeringNews& seen) {
    if (!try_tell(line_, seen)) return;
    if (seen.sockets > 0) {
      sockets_of_ = seen.stand.index;
      sockets_ = seen.first + seen.sockets;
    }
    told_ = seen;
  }

  SteeringPlace& place_;
  xdp_program* const program_;
  const GiveMemory& give_memory_;
  const int line_;
  SteeringNews told_;  // of the MTU and the MAC nothing: they may have changed since the port asked
  uint32_t claimed_ = place_.stand().index;
  uint32_t sockets_of_ = claimed_;
  uint32_t queues_ = 0, sockets_ = 0;  // of the interface; of those that have a socket
  int looks_ = 0;
};

[[noreturn]] void keep(SteeringPlace& place, xdp_program* program, uint32_t queues,
                       const GiveMemory& give_memory, int line) {
  // What ends the gateway by its terminal or its service manager is not for us.
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(signal_number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_NAME, "causeway-xdp");
  close_all_but(line, place.name_fd());
  Keeper(place, program, queues, give_memory, line).run();
}

}  // namespace

std::unique_ptr<SteeringKeeper> SteeringKeeper::start(SteeringPlace& place, xdp_program* program,
                                                      uint32_t queues,
                                                      const GiveMemory& give_memory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  OwnedFd theirs(ends[0]), ours(ends[1]);
  const pid_t keeper = fork();
  if (keeper < 0) return nullptr;
  if (keeper == 0) {
    ours = OwnedFd();
    keep(place, program, queues, give_memory, theirs.get());
  }
  return std::unique_ptr<SteeringKeeper>(new SteeringKeeper(std::move(ours), keeper));
}

SteeringKeeper::~SteeringKeeper() {
  line_ = OwnedFd();
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<SteeringNews> SteeringKeeper::hear() {
  Letter letter;
  const ssize_t bytes = recvmsg(line_.get(), &letter.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  is_gone_ |= bytes == 0;
  if (bytes != static_cast<ssize_t>(sizeof letter.news)) return std::nullopt;
  letter.news.sockets = 0;
  const cmsghdr* const header = CMSG_FIRSTHDR(&letter.message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    letter.news.sockets = static_cast<uint32_t>(std::min(count, letter.news.fds.size()));
    std::memcpy(letter.news.fds.data(), CMSG_DATA(header), letter.news.sockets * sizeof(int));
  }
  return letter.news;
}

}  // namespace cw
