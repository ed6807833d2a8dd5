#include "control/daemon/system/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "control/daemon/system/notify.h"

namespace cw::daemon {
namespace {

constexpr int first_fd = 3;
constexpr size_t many = 4096;  // more than any manager hands over

std::string text_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

size_t number_in(const char* variable) {
  const std::string text = text_in(variable);
  size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

/// The row between colons, as long as it is.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    c == ':' ? (void)names.emplace_back() : names.back().push_back(c);
  }
  return names;
}

}  // namespace

Descriptors::Descriptors(const Log& log)
    : log_(log), kept_max_(text_in("NOTIFY_SOCKET").empty() ? 0 : number_in("FDSTORE")) {
  if (number_in("LISTEN_PID") != static_cast<size_t>(getpid())) return;
  const size_t count = std::min(number_in("LISTEN_FDS"), many);
  const std::vector<std::string> names = names_in(text_in("LISTEN_FDNAMES"));
  for (size_t i = 0; i < count; ++i) {
    const int fd = first_fd + static_cast<int>(i);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) continue;
    found_.push_back({i < names.size() ? names[i] : "unknown", OwnedFd(fd)});
  }
  // They are no other process's business.
  for (const char* each : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(each);
  kept_ = found_.size();
}

std::vector<std::string> Descriptors::names(std::string_view prefix) const {
  std::vector<std::string> names;
  for (const Kept& each : found_) {
    if (each.name.starts_with(prefix)) names.push_back(each.name);
  }
  std::ranges::sort(names);
  return names;
}

int Descriptors::look_at(const std::string& name) const {
  const auto found = std::ranges::find(found_, name, &Kept::name);
  return found == found_.end() ? -1 : found->descriptor.get();
}

int Descriptors::take(const std::string& name) {
  const auto found = std::ranges::find(found_, name, &Kept::name);
  if (found == found_.end()) return -1;
  const int fd = found->descriptor.release();
  found_.erase(found);
  ++taken_;
  return fd;
}

/// Without FDPOLL=0 it would be thrown out of the store when it has an error to tell, which sockets
/// have that hear of ICMP.
void Descriptors::keep(const std::string& name, int fd) {
  if (kept_ >= kept_max_) return;
  if (notify_manager("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name, fd)) ++kept_;
}

void Descriptors::let_go(std::string_view prefix, const std::string& why) {
  std::set<std::string> gone;
  for (Kept& each : found_) {
    if (each.name.starts_with(prefix)) gone.insert(each.name);
  }
  if (gone.empty()) return;
  kept_ -= std::erase_if(found_, [&](const Kept& each) { return gone.contains(each.name); });
  for (const std::string& name : gone) notify_manager("FDSTOREREMOVE=1\nFDNAME=" + name);
  wait_for_manager();
  const Fields names(gone);
  log_.warning("let_go", {{"descriptors", names}, {"why", why}});
}

}  // namespace cw::daemon
