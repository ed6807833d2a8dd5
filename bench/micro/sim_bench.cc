// How many packets per second one core simulates: tx_burst -> model -> rx_burst -> give_back, on
// one direction of one path. The contenders differ in what the path does and in whether the payload
// travels by reference or is copied.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/port/sim/network.h"

namespace cw {
namespace {
using namespace literals;

constexpr size_t header_bytes = 32;
constexpr size_t payload_bytes = 4096;
using Burst = std::array<Packet*, limits::burst_packets_max>;

/// Sends one burst, each packet a header and an external payload.
void send_burst(SimPort& port, const std::vector<uint8_t>& payload, Instant now) {
  Burst burst;
  const size_t count = port.take_burst(burst);
  for (size_t i = 0; i < count; ++i) {
    Packet& packet = *burst[i];
    std::fill_n(packet.data, header_bytes, static_cast<uint8_t>(i));
    packet.bytes = header_bytes;
    packet.payload = payload.data();
    packet.payload_bytes = payload_bytes;
  }
  port.tx_burst({burst.data(), count}, now);
}

size_t receive_all(SimPort& port, Instant now) {
  Burst burst;
  size_t total = 0;
  while (const size_t count = port.rx_burst(burst, now)) {
    port.give_back({burst.data(), count});
    total += count;
  }
  return total;
}

void simulate(benchmark::State& state, const Impairment& impairment, bool carry_bytes) {
  SimNetwork network({.carry_bytes = carry_bytes});
  SimPort& source = network.add_port();
  SimPort& sink = network.add_port();
  network.join(source, sink, impairment);
  const std::vector<uint8_t> payload(payload_bytes, 1);
  const Duration step = (100_Gbps).time_for(Bytes(payload_bytes * limits::burst_packets_max));
  uint64_t packets = 0;
  for (auto _ : state) {
    network.advance_to(network.now() + step);
    send_burst(source, payload, network.now());
    benchmark::DoNotOptimize(receive_all(sink, network.now()));
    packets += limits::burst_packets_max;
  }
  const SimCounters counters = network.counters();
  if (counters.wire_full > 0 || counters.sent != packets) state.SkipWithError("packets got lost");
  state.SetItemsProcessed(static_cast<int64_t>(packets));
}

const Impairment perfect;
const Impairment long_haul{.rate = 200_Gbps, .delay = 1_ms};
const Impairment lossy{.rate = 200_Gbps, .loss = 0.001, .delay = 1_ms};
const Impairment rough{
    .rate = 200_Gbps,
    .queue_bytes = 64_MiB,
    .loss = 0.001,
    .gilbert_elliott = GilbertElliott::from_burst(5, 0.001),
    .bursts = {.loss = 0.001, .profile = *find_burst_profile("amazon")},
    .corrupt = 0.0001,
    .duplicate = 0.001,
    .delay = 1_ms,
    .jitter_max = 10_us,
    .jitter_reorders = true,
};

BENCHMARK_CAPTURE(simulate, perfect_by_reference, perfect, false);
BENCHMARK_CAPTURE(simulate, delay_1ms_by_reference, long_haul, false);
BENCHMARK_CAPTURE(simulate, loss_delay_1ms_by_reference, lossy, false);
BENCHMARK_CAPTURE(simulate, everything_by_reference, rough, false);
BENCHMARK_CAPTURE(simulate, perfect_bytes_carried, perfect, true);
BENCHMARK_CAPTURE(simulate, loss_delay_1ms_bytes_carried, lossy, true);

}  // namespace
}  // namespace cw

BENCHMARK_MAIN();
