// Nanoseconds per packet on the LAN side of a gateway: read, classify, route and hash (admit), and
// into slots (SlotWriter), beside memcpy of the same bytes in the same run. Packets lie in a ring
// of buffers larger than the second-level cache, as behind a NIC.
//
// ns_per_packet is of the thread's own time. vs_memcpy is the time of this packet divided by that
// of the memcpy of its bytes into the same kind of memory; that is what a report should quote.
#include <benchmark/benchmark.h>

#include <cstring>
#include <optional>
#include <vector>

#include "bench/machine.h"
#include "dataplane/base/assert.h"
#include "dataplane/base/prng.h"
#include "dataplane/gateway/ingress/ingress.h"
#include "dataplane/gateway/to_wan/slot_writer.h"
#include "tests/unit/gateway/packets.h"
#include "tests/unit/gateway/slot_wire.h"

namespace {
using namespace cw;
using namespace cw::gateway;
using test::ByteVector;

constexpr size_t buffer_bytes = 2048;
constexpr size_t buffer_count = 8192;  // 16 MiB
constexpr Instant now = Instant::from_ns(1'000'000'000);

/// Packets of `bytes` from many flows to many addresses, in a circle.
class Packets {
 public:
  Packets(size_t bytes, bool is_v6) : memory_(buffer_bytes * buffer_count), bytes_(bytes) {
    Prng prng(7);
    for (size_t i = 0; i < buffer_count; ++i) {
      test::Shape shape{.is_v6 = is_v6};
      shape.source = is_v6 ? test::v6({0xfd00, 1}, static_cast<uint16_t>(i))
                           : test::v4(10, 1, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i));
      const auto low = static_cast<uint16_t>(prng.next());
      shape.target =
          is_v6 ? test::v6({0xfd00, 2, low}, 1)
                : test::v4(10, 2, static_cast<uint8_t>(low >> 8), static_cast<uint8_t>(low));
      shape.payload = i % 2 == 0 ? test::roce(0x07, low) : test::ports(low, 443);
      shape.protocol = i % 2 == 0 ? test::udp : test::tcp;
      shape.payload.resize(bytes - (is_v6 ? 40 : 20));
      const ByteVector packet = make_packet(shape);
      std::memcpy(&memory_[i * buffer_bytes], packet.data(), bytes);
    }
  }
  std::span<uint8_t> next() {
    nth_ = (nth_ + 1) % buffer_count;
    return {&memory_[nth_ * buffer_bytes], bytes_};
  }

 private:
  ByteVector memory_;
  size_t bytes_, nth_ = 0;
};

/// A dozen rules and `routes` prefixes of eight peers.
GatewayOptions make_options(size_t routes) {
  GatewayOptions options;
  for (uint16_t i = 0; i < 12; ++i) {
    ClassOptions rule;
    rule.name = std::to_string(i);
    rule.qp = i;
    rule.matches = {{.dscp = static_cast<uint8_t>(40 + i), .target_ports = PortRange{i, i}}};
    options.classes.push_back(rule);
  }
  options.classes.back().matches.clear();
  for (uint16_t i = 0; i < 8; ++i) options.peers.push_back({i, std::to_string(i), {}});
  options.peers[0].routes = {test::prefix(test::v4(10, 0, 0, 0), 8),
                             test::prefix(test::v6({0xfd00}), 16, true)};
  for (size_t i = 0; i < routes; ++i) {
    auto& of_peer = options.peers[i % 8].routes;
    const auto group = static_cast<uint16_t>(i * 16);
    of_peer.push_back(test::prefix(
        test::v4(10, 2, static_cast<uint8_t>(group >> 8), static_cast<uint8_t>(group)), 28));
    of_peer.push_back(test::prefix(test::v6({0xfd00, 2, group}), 44, true));
  }
  return options;
}

/// Packets are handled in turns with copies of them, so that both meet the same machine.
template <class Step>
void run(benchmark::State& state, Packets& packets, Step step) {
  ByteVector target(buffer_bytes * buffer_count);
  constexpr size_t burst = 64;
  double step_seconds = 0, copy_seconds = 0;
  size_t count = 0, at = 0;
  for (auto _ : state) {
    const double start = bench::cpu_seconds();
    for (size_t i = 0; i < burst; ++i) step(packets.next());
    const double middle = bench::cpu_seconds();
    for (size_t i = 0; i < burst; ++i) {
      const auto packet = packets.next();
      at = (at + 1) % buffer_count;
      std::memcpy(&target[at * buffer_bytes], packet.data(), packet.size());
      benchmark::ClobberMemory();
    }
    copy_seconds += bench::cpu_seconds() - middle;
    step_seconds += middle - start;
    count += burst;
  }
  state.counters["ns_per_packet"] = step_seconds * 1e9 / static_cast<double>(count);
  state.counters["ns_memcpy"] = copy_seconds * 1e9 / static_cast<double>(count);
  state.counters["vs_memcpy"] = step_seconds / copy_seconds;
}

void admit(benchmark::State& state) {
  Packets packets(static_cast<size_t>(state.range(0)), state.range(1) == 6);
  auto ingress = Ingress::make(make_options(static_cast<size_t>(state.range(2))));
  CW_ASSERT(ingress);
  run(state, packets, [&](std::span<uint8_t> packet) {
    Admitted admitted;
    DropReason why{};
    const bool may_cross = ingress->try_admit(packet, admitted, why);
    if (!may_cross) state.SkipWithError("a good packet was refused");
    benchmark::DoNotOptimize(admitted);
  });
}

void write_slots(benchmark::State& state) {
  Packets packets(static_cast<size_t>(state.range(0)), false);
  const test::SlotWire::Shape shape{
      .messages = 16, .slots = 1024, .payload_bytes = static_cast<uint32_t>(state.range(1))};
  test::SlotWire wire(shape);
  SlotWriter writer = SlotWriter::make(wire.source()).value();
  wire.start(shape.payload_bytes, now);
  writer.restart(now);
  uint32_t number = 0;
  run(state, packets, [&](std::span<uint8_t> packet) {
    const FrameHeader header{static_cast<uint16_t>(packet.size()), 1, ++number};
    if (writer.append(header, packet, {.since = now}, now) == Appended::Taken) return;
    // All places are used up: a new epoch, which costs little once in thousands of frames.
    wire.stop(now);
    wire.start(shape.payload_bytes, now);
    writer.restart(now);
  });
}

BENCHMARK(admit)
    ->ArgNames({"bytes", "ip", "routes"})
    ->ArgsProduct({{64, 1500}, {4, 6}, {10, 4000}});
BENCHMARK(write_slots)
    ->ArgNames({"bytes", "payload"})
    ->ArgsProduct({{64, 1500}, {1024, 1400, 4096}});

}  // namespace

BENCHMARK_MAIN();
