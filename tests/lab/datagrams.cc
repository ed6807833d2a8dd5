#include "tests/lab/datagrams.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace cw::lab {
namespace {

using std::chrono::milliseconds;

constexpr int socket_bytes = 64 << 20;
constexpr auto look_every = milliseconds(2);

struct Name {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Name name_of(const char* address, uint16_t udp_port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  if (getaddrinfo(address, std::to_string(udp_port).c_str(), &hints, &found) != 0) {
    throw std::logic_error(std::string("no address: ") + address);
  }
  Name name;
  name.size = found->ai_addrlen;
  std::memcpy(&name.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return name;
}

void set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

uint64_t mixed(uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

/// What datagram `number` of a run consists of.
void fill(std::vector<uint8_t>& bytes, uint64_t run, uint64_t number) {
  std::memcpy(bytes.data(), &run, 8);
  std::memcpy(bytes.data() + 8, &number, 8);
  uint64_t word = mixed(run ^ mixed(number));
  for (size_t at = 16; at < bytes.size(); at += 8) {
    std::memcpy(bytes.data() + at, &word, std::min<size_t>(8, bytes.size() - at));
    word = word * 6364136223846793005 + 1442695040888963407;
  }
}

}  // namespace

Datagrams::Datagrams(const Space& from, const Space& to, const DatagramsOptions& options)
    : options_(options),
      run_(mixed(static_cast<uint64_t>(Time::now().time_since_epoch().count()))) {
  const Name source = name_of(options.source, options.udp_port),
             target = name_of(options.target, options.udp_port);
  const int family = source.bytes.ss_family;
  from_ = from.socket(family, SOCK_DGRAM);
  to_ = to.socket(family, SOCK_DGRAM);
  set(to_, SOL_SOCKET, SO_RCVBUFFORCE, socket_bytes);
  set(from_, SOL_SOCKET, SO_SNDBUFFORCE, socket_bytes);
  const timeval patience{.tv_sec = 0, .tv_usec = 20'000};
  setsockopt(to_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (bind(to_, target.get(), target.size) != 0 || bind(from_, source.get(), source.size) != 0 ||
      connect(from_, target.get(), target.size) != 0) {
    throw std::runtime_error(std::string("no sockets for datagrams: ") + std::strerror(errno));
  }
  all_.reserve(1 << 20);
  receiver_ = std::thread([this] { receive_all(); });
}

Datagrams::~Datagrams() {
  stop();
  stops_receiving_ = true;
  receiver_.join();
  close(from_);
  close(to_);
}

void Datagrams::start() {
  sender_ = std::thread([this] { send_all(); });
}

void Datagrams::stop() {
  stops_sending_ = true;
  if (sender_.joinable()) sender_.join();
}

void Datagrams::send_all() {
  const auto begin = Time::now();
  const std::chrono::nanoseconds interval(1'000'000'000 / options_.per_second);
  constexpr uint64_t together_max = 64;  // after a pause of the machine
  std::vector<uint8_t> bytes(options_.bytes);
  uint64_t due_before = 0;
  for (uint64_t number = 0; !stops_sending_;) {
    const auto due = static_cast<uint64_t>((Time::now() - begin) / interval);
    uint64_t count = std::min(due - due_before, together_max);
    due_before = due;  // what it was too late for is never sent
    for (; count > 0; --count, ++number) {
      fill(bytes, run_, number);
      {
        const std::lock_guard lock(mutex_);
        all_.push_back({.sent = Time::now(), .taken = Time::time_point::max(), .arrived = {}});
      }
      const bool was_taken = send(from_, bytes.data(), bytes.size(), 0) > 0;
      const std::lock_guard lock(mutex_);
      all_[number].was_taken = was_taken;
      all_[number].taken = Time::now();
      taken_ += was_taken;
    }
    std::this_thread::sleep_until(begin + interval * (due + 1));
  }
}

void Datagrams::receive_all() {
  std::vector<uint8_t> bytes(65536);
  while (!stops_receiving_) {
    const ssize_t size = recv(to_, bytes.data(), bytes.size(), 0);
    if (size >= 0) note(bytes, static_cast<size_t>(size), Time::now());
  }
}

void Datagrams::note(const std::vector<uint8_t>& bytes, size_t size, Time::time_point now) {
  uint64_t number = 0;
  if (size == options_.bytes) std::memcpy(&number, bytes.data() + 8, 8);
  std::vector<uint8_t> right(options_.bytes);
  fill(right, run_, number);
  const bool is_right =
      size == options_.bytes && std::memcmp(right.data(), bytes.data(), size) == 0;
  const std::lock_guard lock(mutex_);
  if (!is_right || number >= all_.size()) {
    ++wrong_;
    return;
  }
  last_arrival_ = now;
  One& one = all_[number];
  if (one.arrived != Time::time_point()) {
    ++doubled_;
    return;
  }
  one.arrived = now;
  ++distinct_;
}

void Datagrams::settle(milliseconds quiet) const {
  const auto begin = Time::now();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (distinct_ == taken_ || Time::now() - std::max(last_arrival_, begin) > quiet) return;
    }
    std::this_thread::sleep_for(look_every);
  }
}

void Datagrams::wait_for_all(Time::time_point from, Time::time_point to) const {
  const auto end = Time::now() + std::chrono::seconds(10);
  while (counts(from, to).lost() > 0 && Time::now() < end) std::this_thread::sleep_for(look_every);
}

DatagramCounts Datagrams::counts() const {
  return counts(Time::time_point::min(), Time::time_point::max());
}

DatagramCounts Datagrams::counts(Time::time_point from, Time::time_point to) const {
  const std::lock_guard lock(mutex_);
  DatagramCounts counts{.doubled = doubled_, .wrong = wrong_};
  for (const One& one : all_) {
    if (one.sent < from || one.taken >= to) continue;
    ++(one.was_taken ? counts.sent : counts.refused);
    counts.arrived += one.was_taken && one.arrived != Time::time_point();
  }
  return counts;
}

std::optional<Time::time_point> Datagrams::first_arrival_after(Time::time_point moment) const {
  const std::lock_guard lock(mutex_);
  std::optional<Time::time_point> first;
  for (const One& one : all_) {
    if (one.arrived > moment && (!first || one.arrived < *first)) first = one.arrived;
  }
  return first;
}

std::optional<Time::time_point> Datagrams::wait_for_arrival(Time::time_point moment,
                                                            milliseconds most) const {
  const auto end = Time::now() + most;
  while (true) {
    if (const auto first = first_arrival_after(moment)) return first;
    if (Time::now() > end) return std::nullopt;
    std::this_thread::sleep_for(look_every);
  }
}

Time::duration longest_between(std::vector<Time::time_point> arrivals, Time::time_point from,
                               Time::time_point to) {
  std::erase_if(arrivals, [&](Time::time_point at) { return at < from || at >= to; });
  std::ranges::sort(arrivals);
  arrivals.insert(arrivals.begin(), from);
  arrivals.push_back(to);
  Time::duration longest{};
  for (size_t i = 1; i < arrivals.size(); ++i) {
    longest = std::max(longest, arrivals[i] - arrivals[i - 1]);
  }
  return longest;
}

Time::duration Datagrams::longest_silence(Time::time_point from, Time::time_point to) const {
  std::vector<Time::time_point> arrivals;
  {
    const std::lock_guard lock(mutex_);
    for (const One& one : all_) arrivals.push_back(one.arrived);
  }
  return longest_between(std::move(arrivals), from, to);
}

Time::duration Datagrams::unsafe_since(Time::time_point moment) const {
  const std::lock_guard lock(mutex_);
  Time::duration longest{};
  for (const One& one : all_) {
    if (!one.was_taken || one.arrived != Time::time_point()) continue;
    longest = std::max(longest, one.sent - moment);
  }
  return longest;
}

std::vector<Time::duration> Datagrams::delays() const {
  const std::lock_guard lock(mutex_);
  std::vector<Time::duration> delays;
  for (const One& one : all_) {
    if (one.arrived != Time::time_point()) delays.push_back(one.arrived - one.sent);
  }
  return delays;
}

std::string text_of(const DatagramCounts& counts) {
  return std::to_string(counts.sent) + " sent, " + std::to_string(counts.lost()) + " lost, " +
         std::to_string(counts.doubled) + " doubled, " + std::to_string(counts.wrong) + " wrong, " +
         std::to_string(counts.refused) + " refused";
}

}  // namespace cw::lab
