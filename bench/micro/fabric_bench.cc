// What a hop costs in the simulated fabric: hosts of a fat tree of radix 32, each of which sends to
// others at random at 80 % of its line, its payload by reference. A hop is an admission to a queue;
// what the hosts' ports do for a packet, to send it and to receive it, is told apart. Beside it, in
// turns in the same run: as many events through a bare std::priority_queue of as many as are under
// way, which is what a simulator costs before it simulates anything; and packets through
// SimNetwork, which have one hop, ports included. The ratios are what a report should quote.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <queue>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/port/sim/fabric/network.h"
#include "dataplane/port/sim/network.h"

namespace {

using namespace cw;
using namespace cw::literals;
using Burst = std::array<Packet*, limits::burst_packets_max>;

constexpr uint32_t header_bytes = 56;  // BTH, DETH, immediate, ours
constexpr uint32_t payload_bytes = 4096;
constexpr uint32_t overhead_bytes = 66;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void fill(Packet& packet, uint16_t peer, uint16_t path, const std::vector<uint8_t>& payload) {
  std::fill_n(packet.data, header_bytes, static_cast<uint8_t>(peer));
  packet.bytes = header_bytes;
  packet.payload = payload.data();
  packet.payload_bytes = payload_bytes;
  packet.peer = peer;
  packet.path = path;
}

void receive_all(Port& port, Instant now) {
  Burst burst;
  while (const size_t count = port.rx_burst(burst, now)) port.give_back({burst.data(), count});
}

struct Cost {
  double hops = 0, ports = 0;  // seconds
  uint64_t hop_count = 0, packet_count = 0;
};

/// Hosts that send to others.
class Crowd {
 public:
  Crowd(size_t hosts, FabricBalance balance)
      : network_(*make_fat_tree({.hosts = hosts, .each = {.port_limit = 512_KiB}}),
                 {.balance = balance,
                  .frames = 1 << 18,
                  .port_packets = 64,
                  .overhead_bytes = overhead_bytes,
                  .carry_bytes = false}),
        hosts_(hosts),
        payload_(payload_bytes, 1) {}

  /// So much of virtual time.
  Cost run(Duration length) {
    const FabricCounters before = network_.counters();
    const Instant end = network_.now() + length;
    Cost cost;
    while (network_.now() < end) {
      cost.ports += seconds_of([&] {
        for (uint16_t host = 0; host < hosts_; ++host) send(host);
      });
      cost.hops += seconds_of([&] { network_.advance_to(network_.now() + step); });
      cost.ports += seconds_of([&] { receive(); });
    }
    cost.hop_count = network_.counters().hops - before.hops;
    cost.packet_count = network_.counters().delivered - before.delivered;
    return cost;
  }
  FabricCounters counters() const { return network_.counters(); }

 private:
  static constexpr size_t row = 4;  // packets of a host at a time
  static constexpr Duration step =
      Rate::from_gbps(80).time_for(Bytes(row * (header_bytes + payload_bytes + overhead_bytes)));

  void send(uint16_t host) {
    Burst burst;
    const size_t count = network_.port(host).take_burst({burst.data(), row});
    for (size_t i = 0; i < count; ++i) {
      const auto other = static_cast<uint16_t>((host + 1 + prng_.below(hosts_ - 1)) % hosts_);
      fill(*burst[i], other, static_cast<uint16_t>(prng_.below(16)), payload_);
      burst[i]->at = network_.now() + Duration::from_ns(int64_t(prng_.below(1000)));
    }
    network_.port(host).tx_burst({burst.data(), count}, network_.now());
  }
  void receive() {
    std::array<uint16_t, 64> ready;
    while (const size_t count = network_.take_ready(ready)) {
      for (size_t i = 0; i < count; ++i) receive_all(network_.port(ready[i]), network_.now());
    }
  }

  FabricNetwork network_;
  size_t hosts_;
  std::vector<uint8_t> payload_;
  Prng prng_{1};
};

/// Events alone, as far ahead as hops are.
class Events {
 public:
  explicit Events(size_t pending) {
    for (uint32_t i = 0; i < pending; ++i) push({}, i);
  }
  void run(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const Event event = queue_.top();
      queue_.pop();
      push(event.at, event.frame);
    }
  }

 private:
  struct Event {
    Instant at;
    uint64_t order;
    uint32_t frame;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void push(Instant now, uint32_t frame) {
    queue_.push({now + Duration::from_ns(int64_t(800 + prng_.below(3000))), order_++, frame});
  }
  std::priority_queue<Event> queue_;
  Prng prng_{1};
  uint64_t order_ = 0;
};

/// One link of SimNetwork.
class OneLink {
 public:
  OneLink() : source_(network_.add_port()), sink_(network_.add_port()), payload_(payload_bytes, 1) {
    network_.join(source_, sink_, {.rate = 100_Gbps, .delay = 500_ns});
  }
  void run(uint64_t packets) {
    Burst burst;
    for (uint64_t sent = 0; sent < packets; sent += burst.size()) {
      const size_t count = source_.take_burst(burst);
      for (size_t i = 0; i < count; ++i) fill(*burst[i], 0, 0, payload_);
      source_.tx_burst({burst.data(), count}, network_.now());
      network_.advance_to(network_.now() + 25_us);
      receive_all(sink_, network_.now());
    }
  }

 private:
  SimNetwork network_{{.overhead_bytes = overhead_bytes, .carry_bytes = false}};
  SimPort& source_;
  SimPort& sink_;
  std::vector<uint8_t> payload_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void tell(const char* name, size_t hosts, FabricBalance balance, int rounds, Duration length) {
  Crowd crowd(hosts, balance);
  crowd.run(20_us);
  Events events(crowd.counters().in_flight);
  OneLink one;
  std::vector<double> hop_ns, port_ns, of_events, of_one;
  for (int round = 0; round < rounds; ++round) {
    const Cost cost = crowd.run(length);
    const double event = seconds_of([&] { events.run(cost.hop_count); }) / double(cost.hop_count);
    const double link = seconds_of([&] { one.run(cost.hop_count); }) / double(cost.hop_count);
    const double hop = cost.hops / double(cost.hop_count);
    hop_ns.push_back(1e9 * hop);
    port_ns.push_back(1e9 * cost.ports / double(cost.packet_count));
    of_events.push_back(hop / event);
    of_one.push_back(hop / link);
  }
  const FabricCounters c = crowd.counters();
  CW_ASSERT(c.no_frame == 0 && c.rx_dropped == 0 && c.delivered > 0);
  std::printf(
      "%s: %.1f ns a hop, %.2f M hops/s, and %.0f ns of ports a packet; a hop is %.2f of a "
      "bare heap's event, %.2f of SimNetwork's packet (medians of %d; %llu under way)\n",
      name, median(hop_ns), 1e3 / median(hop_ns), median(port_ns), median(of_events),
      median(of_one), rounds, static_cast<unsigned long long>(c.in_flight));
}

}  // namespace

int main(int argc, char**) {
  const bool is_test = argc > 1;  // ctest asks every bench for as little as it can do
  const int rounds = is_test ? 1 : 9;
  const Duration length = is_test ? 5_us : 200_us;
  tell("188 hosts, by flow", 188, FabricBalance::Flow, rounds, length);
  tell("1,024 hosts, by flow", 1024, FabricBalance::Flow, rounds, length);
  tell("1,024 hosts, spraying", 1024, FabricBalance::Packet, rounds, length);
  return 0;
}
