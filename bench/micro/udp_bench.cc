// How fast packets cross loopback through two UDP ports, one thread doing both ends, beside a plain
// sendmmsg / recvmmsg loop that moves datagrams of the same size and does nothing else: no ICRC, no
// peers, no packets of its own. Seconds are those of
// the thread's processor. `of_plain` is the port's rate by that of the plain loop with bursts
// of the same size in this run; syscalls_per_packet counts both ends.
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "dataplane/port/udp/udp_port.h"
#include "offload/crc32.h"

namespace cw {
namespace {

constexpr size_t burst = limits::burst_packets_max;
constexpr size_t header_bytes = 32;

/// Of this thread's processor: a loaded machine does not count as a slow port.
double seconds_used() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Packets per second of the plain loop, by payload.
std::map<int64_t, double>& plain_rates() {
  static std::map<int64_t, double> rates;
  return rates;
}

void report(benchmark::State& state, double packets, double calls, double seconds) {
  const double rate = packets / seconds;
  const auto payload = state.range(0);
  state.counters["packets_per_s"] = rate;
  state.counters["Gbit_per_s"] = rate * static_cast<double>(payload) * 8e-9;
  state.counters["syscalls_per_packet"] = calls / packets;
  if (plain_rates().contains(payload)) {
    state.counters["of_plain"] = rate / plain_rates()[payload];
  }
}

// ---- plain --------------------------------------------------------------------------------------

struct PlainSocket {
  PlainSocket() : fd(socket(AF_INET, SOCK_DGRAM, 0)) {
    const int bytes = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes_of_name = sizeof name;
    bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name);
    getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes_of_name);
    udp_port = ntohs(name.sin_port);
  }
  ~PlainSocket() { close(fd); }

  int fd;
  uint16_t udp_port;
};

/// A burst of messages with a buffer each.
struct PlainMessages {
  PlainMessages(size_t bytes, sockaddr_in* target) : memory(burst * bytes) {
    for (size_t i = 0; i < burst; ++i) {
      pieces[i] = {memory.data() + i * bytes, bytes};
      headers[i] = {};
      headers[i].msg_hdr.msg_iov = &pieces[i];
      headers[i].msg_hdr.msg_iovlen = 1;
      headers[i].msg_hdr.msg_name = target;
      headers[i].msg_hdr.msg_namelen = target == nullptr ? 0 : sizeof *target;
    }
  }
  std::vector<uint8_t> memory;
  std::array<iovec, burst> pieces;
  std::array<mmsghdr, burst> headers;
};

void plain_loop(benchmark::State& state) {
  const PlainSocket from, to;
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(to.udp_port);
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const size_t bytes = static_cast<size_t>(state.range(0)) + header_bytes + icrc_bytes;
  PlainMessages out(bytes, &target), in(bytes, nullptr);
  double packets = 0, calls = 0;
  const double start = seconds_used();
  for (auto _ : state) {
    sendmmsg(from.fd, out.headers.data(), burst, 0);
    const int count = recvmmsg(to.fd, in.headers.data(), burst, MSG_DONTWAIT, nullptr);
    if (count != static_cast<int>(burst)) return state.SkipWithError("packets got lost");
    packets += count, calls += 2;
  }
  const double seconds = seconds_used() - start;
  plain_rates()[state.range(0)] = packets / seconds;
  report(state, packets, calls, seconds);
}

// ---- the port -----------------------------------------------------------------------------------

std::unique_ptr<UdpPort> make_port(uint16_t own, uint16_t peer, bool has_gso) {
  UdpPortOptions options;
  options.address = "127.0.0.1";
  options.udp_port = own;
  options.peers = {{.address = "127.0.0.1", .udp_port = peer}};
  options.crc32 = cw_crc32;
  options.gso = options.gro = has_gso;
  auto port = UdpPort::make(options);
  return port ? std::move(*port) : nullptr;
}

std::pair<uint16_t, uint16_t> two_free_udp_ports() {
  const PlainSocket a, b;
  return {a.udp_port, b.udp_port};
}

/// A burst of slots whose payload lies elsewhere, as when a program sends them.
size_t send_slots(UdpPort& port, std::span<const uint8_t> payload) {
  std::array<Packet*, burst> packets;
  const size_t count = port.take_burst(packets);
  for (size_t i = 0; i < count; ++i) {
    Packet& packet = *packets[i];
    std::memset(packet.data, 0, header_bytes);
    packet.data[0] = opcode_uc_write_only_immediate;
    packet.bytes = header_bytes;
    packet.payload = payload.data();
    packet.payload_bytes = static_cast<uint32_t>(payload.size());
  }
  return port.tx_burst({packets.data(), count}, Instant());
}

void port_loop(benchmark::State& state, bool has_gso) {
  const auto [a_number, b_number] = two_free_udp_ports();
  const auto from = make_port(a_number, b_number, has_gso);
  const auto to = make_port(b_number, a_number, has_gso);
  if (!from || !to) return state.SkipWithError("no port");
  const std::vector<uint8_t> payload(static_cast<size_t>(state.range(0)), 7);
  double packets = 0;
  std::array<Packet*, burst> received;
  const double start = seconds_used();
  for (auto _ : state) {
    const size_t sent = send_slots(*from, payload);
    size_t count = 0, got;
    while (count < sent && (got = to->rx_burst(received, Instant())) > 0) {
      to->give_back({received.data(), got});
      count += got;
    }
    if (count != burst) return state.SkipWithError("packets got lost");
    packets += static_cast<double>(count);
  }
  const auto calls = from->counters().system_calls + to->counters().system_calls;
  report(state, packets, static_cast<double>(calls), seconds_used() - start);
}

void port_with_gso(benchmark::State& state) { port_loop(state, true); }
void port_without_gso(benchmark::State& state) { port_loop(state, false); }

// The plain loop first: the others are compared with it.
BENCHMARK(plain_loop)->Arg(1400)->Arg(8192);
BENCHMARK(port_without_gso)->Arg(1400)->Arg(8192);
BENCHMARK(port_with_gso)->Arg(1400)->Arg(8192);

}  // namespace
}  // namespace cw

BENCHMARK_MAIN();
