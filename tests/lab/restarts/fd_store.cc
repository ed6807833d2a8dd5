#include "tests/lab/restarts/fd_store.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace cw::lab {
namespace {

constexpr int look_every_ms = 20;
constexpr int kcmp_file = 0;

/// The value of a line NAME=VALUE; empty: there is none.
std::string value_of(std::string_view message, const std::string& name) {
  const std::string lines = "\n" + std::string(message) + "\n", start = "\n" + name + "=";
  const size_t at = lines.find(start);
  if (at == lines.npos) return "";
  const size_t from = at + start.size();
  return lines.substr(from, lines.find('\n', from) - from);
}

}  // namespace

FdStore::FdStore(const std::string& path, size_t most)
    : path_(path), most_(most), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) throw std::logic_error(path + " is too long");
  path.copy(name.sun_path, path.size());
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      chmod(path.c_str(), 0777) != 0) {
    throw std::runtime_error("no socket " + path + ": " + std::strerror(errno));
  }
  thread_ = std::thread([this] { listen(); });
}

FdStore::~FdStore() {
  is_over_ = true;
  thread_.join();
  unlink(path_.c_str());
}

void FdStore::listen() {
  while (!is_over_) {
    pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, look_every_ms) != 1) continue;
    std::array<char, 4096> text;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(253 * sizeof(int))> control;
    iovec bytes{.iov_base = text.data(), .iov_len = text.size()};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0) continue;
    std::vector<OwnedFd> descriptors;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(each) + i * sizeof(int), sizeof(fd));
        descriptors.emplace_back(fd);
      }
    }
    take({text.data(), static_cast<size_t>(size)}, std::move(descriptors));
  }
}

/// One that is there already is not kept twice.
bool FdStore::has(int descriptor) const {
  return std::ranges::any_of(kept_, [&](const Kept& each) {
    return syscall(SYS_kcmp, getpid(), getpid(), kcmp_file, each.descriptor.get(), descriptor) == 0;
  });
}

// What comes with a barrier is closed after all that was said before, which is what it is for.
void FdStore::take(std::string_view message, std::vector<OwnedFd> descriptors) {
  const std::lock_guard lock(mutex_);
  told_ += std::string(message) + "\n";
  const std::string given = value_of(message, "FDNAME"), name = given.empty() ? "stored" : given;
  if (value_of(message, "FDSTOREREMOVE") == "1") {
    std::erase_if(kept_, [&](const Kept& each) { return each.name == name; });
  }
  if (value_of(message, "FDSTORE") != "1") return;
  for (OwnedFd& each : descriptors) {
    if (kept_.size() == most_ || has(each.get())) continue;
    kept_.push_back({name, std::move(each), value_of(message, "FDPOLL") != "0"});
  }
}

Handed FdStore::handed(const std::string& seen_as) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const Kept& each) {
    pollfd state{.fd = each.descriptor.get(), .events = 0, .revents = 0};
    return each.is_polled && poll(&state, 1, 0) == 1;
  });
  Handed handed;
  handed.environment = {{"NOTIFY_SOCKET", seen_as.empty() ? path_ : seen_as},
                        {"FDSTORE", std::to_string(most_)}};
  for (const Kept& each : kept_) handed.descriptors.emplace_back(each.name, each.descriptor.get());
  return handed;
}

std::vector<std::string> FdStore::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  std::ranges::transform(kept_, std::back_inserter(names), &Kept::name);
  std::ranges::sort(names);
  return names;
}

void FdStore::put(const std::string& name, OwnedFd descriptor) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({name, std::move(descriptor)});
}

void FdStore::clear() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

std::string FdStore::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

}  // namespace cw::lab
