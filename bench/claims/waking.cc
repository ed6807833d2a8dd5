// How long a packet waits for a worker that sleeps: from before it is sent until the worker has it
// in its hands, in the worker's own wait over a UDP port; and in turns with it the same of a thread
// that does nothing but poll() and recv().
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "bench/claims/figures.h"
#include "dataplane/core/turn/clock.h"
#include "dataplane/core/turn/idle.h"
#include "dataplane/port/udp/udp_port.h"
#include "dataplane/wire/roce.h"
#include "offload/crc32.h"

namespace cw::claims {
namespace {

constexpr auto apart = std::chrono::milliseconds(1);
constexpr size_t payload_bytes = 1024;

/// When the last packet was sent; told by who sends it, asked for by who gets it.
class Stopwatch {
 public:
  void start() { started_ = clock_.read().ns(); }
  void stop() { times_us_.push_back(1e-3 * static_cast<double>(clock_.read().ns() - started_)); }
  std::vector<double>& times_us() { return times_us_; }

 private:
  MonotonicClock clock_;
  std::atomic<int64_t> started_ = 0;
  std::vector<double> times_us_;
};

/// A thread that waits as anybody would.
class PlainSleeper {
 public:
  PlainSleeper() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds_) != 0) {
      throw std::runtime_error("no pair of sockets");
    }
    thread_ = std::thread([this] { run(); });
  }
  ~PlainSleeper() {
    shutdown(fds_[0], SHUT_RDWR);
    thread_.join();
    for (const int fd : fds_) close(fd);
  }
  void send_one() {
    watch.start();
    const std::array<char, payload_bytes> bytes{};
    if (send(fds_[0], bytes.data(), bytes.size(), 0) < 0) throw std::runtime_error("not sent");
  }

  Stopwatch watch;

 private:
  void run() {
    std::array<char, payload_bytes> bytes;
    while (true) {
      pollfd waiting{fds_[1], POLLIN, 0};
      poll(&waiting, 1, -1);
      if (recv(fds_[1], bytes.data(), bytes.size(), 0) <= 0) return;
      watch.stop();
    }
  }
  int fds_[2];
  std::thread thread_;
};

std::unique_ptr<UdpPort> make_port(uint16_t own, uint16_t peer) {
  UdpPortOptions options;
  options.address = "127.0.0.1";
  options.udp_port = own;
  options.peers = {{.address = "127.0.0.1", .udp_port = peer}};
  options.crc32 = cw_crc32;
  auto port = UdpPort::make(options);
  if (!port) throw std::runtime_error(port.error().sentence);
  return std::move(*port);
}

/// A thread that waits as a worker does.
class WorkerSleeper {
 public:
  WorkerSleeper()
      : from_(make_port(own_udp_port + 1, own_udp_port)),
        to_(make_port(own_udp_port, own_udp_port + 1)),
        ports_{to_.get()},
        idle_(IdleOptions(), ports_) {
    thread_ = std::thread([this] { run(); });
  }
  ~WorkerSleeper() {
    stop_ = true;
    idle_.wake_any_thread();
    thread_.join();
  }
  void send_one() {
    watch.start();
    Packet* packet = nullptr;
    if (from_->take_burst({&packet, 1}) != 1) throw std::runtime_error("no packet to send");
    std::memset(packet->data, 0, payload_bytes);
    packet->data[0] = opcode_uc_write_only_immediate;
    packet->bytes = payload_bytes;
    from_->tx_burst({&packet, 1}, Instant());
  }

  Stopwatch watch;

 private:
  static constexpr uint16_t own_udp_port = 47910;

  void run() {
    const MonotonicClock clock;
    std::array<Packet*, limits::burst_packets_max> burst;
    while (!stop_) {
      const Instant now = clock.read();
      const size_t count = to_->rx_burst(burst, now);
      if (count > 0) watch.stop();
      to_->give_back({burst.data(), count});
      const Instant wake = idle_.plan(count > 0, now, Instant::never());
      if (wake > now) idle_.wait(wake - now);
    }
  }

  std::unique_ptr<UdpPort> from_, to_;
  std::array<PortBase*, 1> ports_;
  IdleWait idle_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

Figures of_waking(const Effort& effort) {
  std::vector<double> ours, plain;
  {
    WorkerSleeper worker;
    PlainSleeper sleeper;
    for (unsigned i = 0; i < effort.wakes; ++i) {
      std::this_thread::sleep_for(apart);
      worker.send_one();
      std::this_thread::sleep_for(apart);
      sleeper.send_one();
    }
    std::this_thread::sleep_for(50 * apart);
    ours = worker.watch.times_us();
    plain = sleeper.watch.times_us();
  }
  if (ours.size() < effort.wakes / 2) throw std::runtime_error("packets on loopback got lost");
  Figures figures;
  for (const auto& [name, share] : {std::pair("p50", 0.5), {"p99", 0.99}}) {
    const double own = quantile(ours, share), other = quantile(plain, share);
    figures.push_back({std::string("a sleeping worker has a packet, ") + name, own, "us",
                       own / other, "a thread in poll(), woken over a pair of sockets"});
  }
  return figures;
}

}  // namespace cw::claims
