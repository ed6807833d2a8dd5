#include "tests/demo/wander/transfers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>

namespace cw::demo {
namespace {

using lab::Time;
using std::chrono::nanoseconds;

constexpr uint16_t transfers_port = 7008;
constexpr size_t ip_and_udp_bytes = 20 + 8;
constexpr int socket_room = 16 << 20;
constexpr nanoseconds interval_least = std::chrono::milliseconds(10);
// Between two looks at the clock; two cores carry all of this.
constexpr size_t train_datagrams = 8;

nanoseconds line_time(Rate rate, size_t bytes) {
  return nanoseconds(rate.time_for(Bytes(bytes)).ns());
}

}  // namespace

uint64_t TransferTimes::whole() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(ms, [](double each) { return std::isfinite(each); }));
}

double TransferTimes::quantile_ms(double share) const { return lab::nearest_rank(ms, share); }

Transfers::Transfers(const lab::Sites& sites, const Options& options)
    : payload_bytes_(options.mtu - ip_and_udp_bytes),
      pieces_((bytes + payload_bytes_ - 1) / payload_bytes_),
      rate_(options.rate),
      interval_(std::max(interval_least, 2 * line_time(rate_, pieces_ * options.mtu))),
      sockets_(sites, {.source = lab::site_a.host,
                       .target = lab::site_b.host,
                       .port = transfers_port,
                       .send_room = socket_room,
                       .receive_room = socket_room}) {}

size_t Transfers::bytes_of(size_t index) const {
  return std::min(payload_bytes_, bytes - index * payload_bytes_);
}

/// Whose it is, and then words that follow from that.
std::vector<uint8_t> Transfers::datagram(uint32_t transfer, uint32_t index) const {
  std::vector<uint8_t> words(bytes_of(index));
  uint64_t word = uint64_t{transfer} << 32 | index;
  for (size_t at = 0; at < words.size(); at += sizeof(word)) {
    std::memcpy(words.data() + at, &word, std::min(sizeof(word), words.size() - at));
    word = word * 6364136223846793005 + 1442695040888963407;
  }
  return words;
}

void Transfers::send_one(uint32_t stretch) {
  const auto number = forgotten_ + static_cast<uint32_t>(all_.size());
  const auto start = Time::now();
  all_.push_back({.stretch = stretch,
                  .began_ns = lab::StampedSockets::now_ns(),
                  .missing = pieces_,
                  .has = std::vector<bool>(pieces_)});
  for (size_t i = 0; i < pieces_; ++i) {
    if (i % train_datagrams == 0) {
      std::this_thread::sleep_until(start +
                                    line_time(rate_, i * (payload_bytes_ + ip_and_udp_bytes)));
    }
    const std::vector<uint8_t> words = datagram(number, static_cast<uint32_t>(i));
    // One that the kernel does not take is one that is lost.
    sockets_.send(words);
  }
}

void Transfers::send_for(nanoseconds time, uint32_t stretch) {
  const auto end = Time::now() + time;
  const auto not_past = [this] { return std::max(next_, Time::now()); };
  for (next_ = not_past(); next_ < end; next_ = not_past()) {
    std::this_thread::sleep_until(next_);
    next_ += interval_;
    send_one(stretch);
    receive();
  }
  std::this_thread::sleep_until(end);
  receive();
}

void Transfers::settle(std::chrono::milliseconds quiet) {
  last_arrival_ = Time::now();
  while (whole_ < all_.size() && Time::now() < last_arrival_ + quiet) {
    std::this_thread::sleep_for(interval_least);
    receive();
  }
}

void Transfers::forget() {
  forgotten_ += static_cast<uint32_t>(all_.size());
  all_.clear();
  whole_ = 0;
}

void Transfers::receive() {
  std::vector<uint8_t> words(payload_bytes_ + 1);
  while (const auto stamped = sockets_.receive(words)) {
    if (!stamped->arrived_ns) {
      throw std::runtime_error("the kernel does not say when a datagram has come");
    }
    note(std::span(words).first(std::min(stamped->bytes, words.size())), *stamped->arrived_ns);
  }
}

void Transfers::note(std::span<const uint8_t> words, int64_t arrived_ns) {
  last_arrival_ = Time::now();
  uint64_t name = 0;
  if (words.size() >= sizeof(name)) std::memcpy(&name, words.data(), sizeof(name));
  const auto number = static_cast<uint32_t>(name >> 32), index = static_cast<uint32_t>(name);
  const bool is_known = number < forgotten_ + all_.size() && index < pieces_;
  if (!is_known || !std::ranges::equal(words, datagram(number, index))) {
    ++wrong_;
    return;
  }
  if (number < forgotten_) return;
  One& one = all_[number - forgotten_];
  if (one.has[index]) return;
  one.has[index] = true;
  one.ended_ns = std::max(one.ended_ns, arrived_ns);
  whole_ += --one.missing == 0;
}

TransferTimes Transfers::times(uint32_t stretch) const {
  TransferTimes times;
  for (const One& one : all_) {
    if (one.stretch != stretch) continue;
    times.ms.push_back(one.missing > 0 ? std::numeric_limits<double>::infinity()
                                       : static_cast<double>(one.ended_ns - one.began_ns) * 1e-6);
  }
  std::ranges::sort(times.ms);
  return times;
}

}  // namespace cw::demo
