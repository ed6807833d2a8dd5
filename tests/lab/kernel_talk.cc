#include "tests/lab/kernel_talk.h"

#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/lab/pings.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;

constexpr uint16_t ssh = 22;
constexpr int look_every_ms = 50;
constexpr auto question_every = milliseconds(10), ping_every = milliseconds(50);
constexpr int pings_by_memory = 4;  // then ARP is asked anew
constexpr auto ping_patience = milliseconds(1000);
constexpr size_t ping_bytes = 77, last_ping_bytes = 78;  // as no other pings of the lab

/// Keys that somebody types, and screens that are shown: up to two segments.
size_t bytes_of(uint64_t question) { return 1 + question * 977 % 2500; }

uint8_t byte_at(uint64_t question, size_t place) {
  return static_cast<uint8_t>(question * 31 + place * 7 + (place >> 8) * 13);
}

uint8_t answer_to(uint8_t byte) { return static_cast<uint8_t>(~byte); }

bool is_ready(int fd, short events) {
  pollfd state{.fd = fd, .events = events, .revents = 0};
  return poll(&state, 1, look_every_ms) == 1;
}

/// A permanent entry too. False: the kernel would not.
bool try_forget_mac(const KernelTalker& whose, const char* address) {
  const int fd = whose.space.socket(AF_INET, SOCK_DGRAM);
  arpreq request{};
  const sockaddr_in name = socket_name(address, 0);
  std::memcpy(&request.arp_pa, &name, sizeof(name));
  std::strncpy(request.arp_dev, whose.interface, sizeof(request.arp_dev) - 1);
  const bool is_done = ioctl(fd, SIOCDARP, &request) == 0 || errno == ENXIO;  // it knew none
  close(fd);
  return is_done;
}

}  // namespace

KernelTalk::KernelTalk(const KernelTalker& near, const KernelTalker& far) : near_(near), far_(far) {
  const sockaddr_in name = socket_name(far.address, ssh);
  const auto* const address = reinterpret_cast<const sockaddr*>(&name);
  const int listener = far.space.socket(AF_INET, SOCK_STREAM), yes = 1;
  asker_ = near.space.socket(AF_INET, SOCK_STREAM);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool is_open = bind(listener, address, sizeof(name)) == 0 && listen(listener, 1) == 0 &&
                       connect(asker_, address, sizeof(name)) == 0;
  if (is_open) answerer_ = accept(listener, nullptr, nullptr);
  const int error = errno;
  close(listener);
  if (answerer_ < 0) {
    close(asker_);
    throw std::runtime_error(std::string("no TCP between kernels: ") + std::strerror(error));
  }
  for (const int fd : {asker_, answerer_}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  }
  asking_ = std::thread([this] { ask_all(); });
  answering_ = std::thread([this] { answer_all(); });
  pinging_ = std::thread([this] { ping_all(); });
}

KernelTalk::~KernelTalk() {
  is_over_ = is_given_up_ = true;
  for (std::thread* each : {&asking_, &answering_, &pinging_}) each->join();
  close(asker_);
  close(answerer_);
}

void KernelTalk::note(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  if (counts_.trouble.empty()) counts_.trouble = trouble;
}

/// False: the connection has broken, or is given up.
bool KernelTalk::try_send(int fd, const uint8_t* bytes, size_t count) {
  while (count > 0 && !is_given_up_) {
    if (!is_ready(fd, POLLOUT)) continue;
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) {
      note(std::string("send: ") + std::strerror(errno));
      return false;
    }
    if (sent < 0) continue;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return count == 0;
}

bool KernelTalk::try_answer_right(uint64_t question, size_t count) {
  std::vector<uint8_t> answer(count);
  for (size_t place = 0; place < count && !is_given_up_;) {
    if (!is_ready(asker_, POLLIN)) continue;
    const ssize_t got = recv(asker_, answer.data() + place, count - place, 0);
    if (got <= 0) {
      note(got == 0 ? "it was closed" : std::string("recv: ") + std::strerror(errno));
      return false;
    }
    place += static_cast<size_t>(got);
  }
  if (is_given_up_) return false;
  bool is_right = true;
  for (size_t place = 0; place < count; ++place) {
    is_right &= answer[place] == answer_to(byte_at(question, place));
  }
  const std::lock_guard lock(mutex_);
  ++counts_.answers;
  counts_.is_wrong |= !is_right;
  return is_right;
}

void KernelTalk::ask_all() {
  std::vector<uint8_t> bytes;
  for (uint64_t question = 0; !is_over_; ++question) {
    bytes.resize(bytes_of(question));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(question, i);
    {
      const std::lock_guard lock(mutex_);
      ++counts_.questions;
    }
    if (!try_send(asker_, bytes.data(), bytes.size())) return;
    if (!try_answer_right(question, bytes.size())) return;
    std::this_thread::sleep_for(question_every);
  }
}

void KernelTalk::answer_all() {
  std::array<uint8_t, 4096> piece;
  while (!is_given_up_) {
    if (!is_ready(answerer_, POLLIN)) continue;
    const ssize_t got = recv(answerer_, piece.data(), piece.size(), 0);
    if (got < 0) note(std::string("recv of the other: ") + std::strerror(errno));
    if (got <= 0) return;
    for (uint8_t& byte : piece) byte = answer_to(byte);
    if (!try_send(answerer_, piece.data(), static_cast<size_t>(got))) return;
  }
}

void KernelTalk::forget() {
  if (!try_forget_mac(near_, far_.address) || !try_forget_mac(far_, near_.address)) {
    return note("ARP cannot be forgotten");
  }
  const std::lock_guard lock(mutex_);
  ++counts_.forgotten;
}

void KernelTalk::ping_all() {
  Pings pings(near_.space, far_.address);
  for (int round = 0; !is_over_; ++round) {
    if (round % pings_by_memory == 0) forget();
    const bool has_pong = pings.ping(ping_bytes, ping_patience).has_value();
    {
      const std::lock_guard lock(mutex_);
      ++counts_.pings;
      counts_.pongs += has_pong;
    }
    std::this_thread::sleep_for(ping_every);
  }
}

KernelTalkCounts KernelTalk::finish(milliseconds most) {
  is_over_ = true;
  const auto end = Time::now() + most;
  const auto is_waiting = [&] {
    const std::lock_guard lock(mutex_);
    return counts_.answers < counts_.questions && counts_.trouble.empty() && !counts_.is_wrong;
  };
  while (is_waiting() && Time::now() < end) std::this_thread::sleep_for(milliseconds(5));
  forget();
  Pings pings(near_.space, far_.address);
  bool has_pong = false;
  while (!has_pong && Time::now() < end) {
    has_pong = pings.ping(last_ping_bytes, ping_patience).has_value();
  }
  const std::lock_guard lock(mutex_);
  counts_.ends_in_touch = has_pong;
  return counts_;
}

std::string text_of(const KernelTalkCounts& counts) {
  return std::to_string(counts.answers) + " of " + std::to_string(counts.questions) +
         " questions over TCP answered, " + std::to_string(counts.pongs) + " of " +
         std::to_string(counts.pings) + " pings, ARP asked anew " +
         std::to_string(counts.forgotten) + " times" + (counts.is_wrong ? ", WRONG BYTES" : "") +
         (counts.trouble.empty() ? "" : ", " + counts.trouble);
}

}  // namespace cw::lab
