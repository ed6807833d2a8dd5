// What a frame costs on its way out of a gateway, from the slot in place to the packet of the LAN
// port: nanoseconds per frame in slots of 1400 bytes, of which 5.7 MB are posted; in order, and
// with the slots of each burst turned round, so that every frame is held for a while. The baseline
// copies the same bytes from the same memory to the same packets and does nothing else.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/to_lan/inbound.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway {
namespace {

constexpr SlotReaderOptions slots{.messages = 4, .data_slots_max = 1024, .payload_bytes_max = 1400};
constexpr uint32_t burst = 64;

/// Messages come in a real stream; its own work is not timed.
struct Site {
  explicit Site(size_t frame_bytes) : packer(slots.payload_bytes_max, slots.data_slots_max) {
    inbound->on_time(now);
    Prng random(1);
    const test::ByteRow packet = test::ip_packet(random, frame_bytes);
    for (uint32_t seq = 0; packer.messages().size() <= slots.messages; ++seq) {
      // Flows take turns.
      test::TestFrame frame{{.bucket = static_cast<uint16_t>(seq % 64), .bucket_seq = seq / 64},
                            packet};
      packer.add(frame);
      if (frame.message < slots.messages) ++frames;
    }
  }
  /// Everything once, 64 slots per turn. Returns how many frames left.
  size_t run(bool is_in_order) {
    size_t left = 0;
    for (uint32_t m = 0; m < slots.messages; ++m) {
      const auto length = static_cast<uint32_t>(packer.messages()[m].size());
      for (uint32_t first = 0; first < length; first += burst) {
        const uint32_t half = first + burst / 2, end = std::min(first + burst, length);
        // Backwards in two halves: the first half of the slots comes last.
        if (!is_in_order) {
          place(m, std::min(half, end), end);
          time([&] { inbound->take_news(now); });
        }
        place(m, first, is_in_order ? end : std::min(half, end));
        time([&] {
          inbound->take_news(now);
          left += leave();
        });
      }
      stream.say_length(packer.seq_of(m), length);
      time([&] { inbound->take_news(now); });
    }
    stream.reset();
    time([&] {
      inbound->take_news(now);
      inbound->on_time(now);
    });
    return left;
  }
  void place(uint32_t message, uint32_t first, uint32_t end) {
    for (uint32_t slot = first; slot < end; ++slot) {
      stream.place(packer.seq_of(message), slot, packer.messages()[message][slot]);
    }
  }
  size_t leave() {
    size_t left = 0;
    std::array<Packet*, limits::burst_packets_max> out;
    while (const size_t count = release.collect(out, now)) {
      lan.tx_burst({out.data(), count}, now);
      left += count;
    }
    now += Duration::from_us(10);
    return left;
  }
  template <class Work>
  void time(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    spent += std::chrono::steady_clock::now() - begin;
  }
  double take_spent_s() { return std::chrono::duration<double>(std::exchange(spent, {})).count(); }

  Instant now = Instant::from_ns(1'000'000'000);
  Counters counters;
  Drops drops;
  test::LanPort lan{64, 1500};
  test::SlotStream stream{slots};
  test::Packer packer;
  Release release{{.rate = Rate::from_gbps(8'000), .burst_bytes = 64 << 20}, lan, counters};
  std::unique_ptr<InboundStock> stock = test::stock_for(slots, drops, 65'536);
  std::unique_ptr<Inbound> inbound =
      std::make_unique<Inbound>(InboundOptions{.slots = slots}, *stock, stream.sink(), release);
  size_t frames = 0;
  std::chrono::steady_clock::duration spent{};
};

void count(benchmark::State& state, size_t frames) {
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(frames);
  state.counters["s/frame"] =
      benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void run(benchmark::State& state, bool is_in_order) {
  Site site(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    CW_ASSERT(site.run(is_in_order) == site.frames);
    state.SetIterationTime(site.take_spent_s());
  }
  count(state, site.frames);
}

/// From as much memory, as far apart.
void copy_only(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Site site(bytes);
  const test::ByteRow memory(slots.messages * slots.message_bytes());
  const size_t in_message = site.frames / slots.messages;
  std::array<Packet*, limits::burst_packets_max> out;
  for (auto _ : state) {
    const auto copy = [&] {
      for (uint32_t m = 0; m < slots.messages; ++m) {
        for (size_t i = 0; i < in_message; i += out.size()) {
          site.lan.take_burst(out);
          for (size_t k = 0; k < out.size(); ++k) {
            const size_t at = std::min(i + k, in_message - 1) * (bytes + frame_header_bytes);
            std::memcpy(out[k]->data, &memory[m * slots.message_bytes() + at], bytes);
            benchmark::DoNotOptimize(out[k]->data);
          }
          benchmark::ClobberMemory();
          site.lan.give_back(out);
        }
      }
    };
    site.time(copy);
    state.SetIterationTime(site.take_spent_s());
  }
  count(state, in_message * slots.messages);
}

BENCHMARK(copy_only)->UseManualTime()->ArgName("bytes")->Arg(64)->Arg(400)->Arg(1500);
BENCHMARK_CAPTURE(run, in_order, true)
    ->UseManualTime()
    ->ArgName("bytes")
    ->Arg(64)
    ->Arg(400)
    ->Arg(1500);
BENCHMARK_CAPTURE(run, turned_round, false)
    ->UseManualTime()
    ->ArgName("bytes")
    ->Arg(64)
    ->Arg(400)
    ->Arg(1500);

}  // namespace
}  // namespace cw::gateway

BENCHMARK_MAIN();
