// Datagrams between the hosts of two sites at a steady pace, and when they came.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/lab/one_way.h"
#include "tests/lab/sites.h"

namespace cw::bench {

inline constexpr uint16_t flow_port = 7100;
inline constexpr size_t packet_bytes = 1300, frame_bytes = packet_bytes + 28 + 14;  // one in a slot

/// Datagrams from host A to host B at a steady pace, and when they came.
class Flow {
 public:
  Flow(const lab::Sites& sites, double packets_per_second)
      : interval_(static_cast<int64_t>(1e9 / packets_per_second)),
        from_(sites.space(lab::At::HostA).socket(AF_INET, SOCK_DGRAM)),
        to_(sites.space(lab::At::HostB).socket(AF_INET, SOCK_DGRAM)) {
    const timeval step{.tv_sec = 0, .tv_usec = 100'000};
    setsockopt(to_, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step));
    const int room = 8 << 20;
    setsockopt(to_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    const sockaddr_in target = lab::socket_name(lab::site_b.host, flow_port);
    if (bind(to_, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0 ||
        connect(from_, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) {
      throw std::runtime_error("no socket of a host's");
    }
    begin_ = lab::Time::now();
    sender_ = std::thread([this] { send_all(); });
    receiver_ = std::thread([this] { receive_all(); });
  }
  ~Flow() { end(); }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  void end() {
    is_over_ = true;
    for (std::thread* each : {&sender_, &receiver_}) {
      if (each->joinable()) each->join();
    }
    for (int* fd : {&from_, &to_}) {
      if (*fd >= 0) close(std::exchange(*fd, -1));
    }
  }
  uint64_t sent() const { return sent_; }
  /// After end(): when each came, rising.
  const std::vector<lab::Time::time_point>& arrivals() const { return arrivals_; }

 private:
  void send_all() {
    const std::array<uint8_t, packet_bytes> bytes{};
    for (auto next = begin_; !is_over_; next += interval_) {
      std::this_thread::sleep_until(next);
      sent_ += send(from_, bytes.data(), bytes.size(), 0) > 0;
    }
  }
  void receive_all() {
    std::array<uint8_t, 2048> bytes;
    while (!is_over_) {
      if (recv(to_, bytes.data(), bytes.size(), 0) > 0) arrivals_.push_back(lab::Time::now());
    }
  }

  const std::chrono::nanoseconds interval_;
  int from_, to_;
  lab::Time::time_point begin_;
  std::atomic<bool> is_over_ = false;
  std::atomic<uint64_t> sent_ = 0;
  std::vector<lab::Time::time_point> arrivals_;
  std::thread sender_, receiver_;
};

}  // namespace cw::bench
