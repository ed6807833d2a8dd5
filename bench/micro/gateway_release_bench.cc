// What a frame costs on its way out of a gateway, from the slot in place to the packet of the LAN
// port: nanoseconds per frame in slots of 1400 bytes, of which 5.7 MB are posted; in order, and
// with the slots of each burst turned round, so that every frame is held for a while. The baseline
// copies the same bytes from the same memory to the same packets and does nothing else.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/gateway/inbound.h"
#include "tests/unit/gateway/lan_port.h"
#include "tests/unit/gateway/slots.h"

namespace cw::gateway {
namespace {

constexpr SlotReaderOptions slots{.messages = 4, .data_slots_max = 1024, .payload_bytes_max = 1400};
constexpr uint32_t burst = 64;

/// A stream whose messages hold the same bytes in each epoch.
class Posted final : public Receives {
 public:
  std::optional<sdr::RecvHandle> try_post(sdr::RecvMemory& lender, uint64_t) override {
    if (next_ == slots.messages) return std::nullopt;
    const sdr::RecvHandle handle{next_, MessageSeq(next_)};
    lender_ = &lender;
    ++next_;
    return handle;
  }
  void complete(sdr::RecvHandle, Instant) override {}
  /// All whole, none of them marked.
  sdr::SlotArrivals arrivals(sdr::RecvHandle) const override {
    return {marked_.data(), short_by_.data(), payload_bytes()};
  }
  uint32_t payload_bytes() const override { return slots.payload_bytes_max; }

  void begin_epoch() { next_ = 0; }
  /// Each message gets the same memory every time: what came back last is lent first.
  void take_memory() {
    for (uint32_t i = 0; i < slots.messages; ++i) {
      const uint32_t m = is_first_ ? i : slots.messages - 1 - i;
      memory_[m] = lender_->lend({m, MessageSeq(m)});
    }
    is_first_ = false;
  }
  uint8_t* memory(uint32_t message) const { return memory_[message]; }

 private:
  uint32_t next_ = 0;
  bool is_first_ = true;
  sdr::RecvMemory* lender_ = nullptr;
  std::array<uint8_t*, slots.messages> memory_{};
  std::array<uint64_t, slots.data_slots_max / 64> marked_{};
  std::array<uint16_t, slots.data_slots_max> short_by_{};
};

struct Site {
  explicit Site(size_t frame_bytes) {
    inbound->on_time(now);
    posted.take_memory();
    Prng random(1);
    const test::ByteRow packet = test::ip_packet(random, frame_bytes);
    test::Packer packer(slots.payload_bytes_max, slots.data_slots_max);
    for (uint32_t seq = 0; packer.messages().size() <= slots.messages; ++seq) {
      // Flows take turns.
      test::TestFrame frame{{.bucket = static_cast<uint16_t>(seq % 64), .bucket_seq = seq / 64},
                            packet};
      packer.add(frame);
      if (frame.message < slots.messages) ++frames;
    }
    for (uint32_t m = 0; m < slots.messages; ++m) {
      const auto& rows = packer.messages()[m];
      lengths[m] = static_cast<uint32_t>(rows.size());
      for (size_t s = 0; s < rows.size(); ++s) {
        std::ranges::copy(rows[s], posted.memory(m) + s * slots.payload_bytes_max);
      }
    }
  }
  /// Everything once, 64 slots per turn. Returns how many frames left.
  size_t run(bool is_in_order) {
    size_t left = 0;
    for (uint32_t m = 0; m < slots.messages; ++m) {
      const sdr::RecvHandle handle{m, MessageSeq(m)};
      std::array<uint64_t, slots.data_slots_max / 64> placed{};
      for (uint32_t first = 0; first < lengths[m]; first += burst) {
        const uint32_t word = first / 64;
        const uint32_t count = std::min(burst, lengths[m] - first);
        const uint64_t all = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
        // Backwards in two halves: the first half of the slots comes last.
        if (!is_in_order) {
          placed[word] = all & ~uint64_t{0xffffffff};
          inbound->on_placed(handle, word, word + 1, placed.data(), now);
        }
        placed[word] = all;
        inbound->on_placed(handle, word, word + 1, placed.data(), now);
        left += leave();
      }
      inbound->on_length(handle, {lengths[m]}, now);
    }
    posted.begin_epoch();
    inbound->on_reset(now);
    inbound->on_time(now);
    posted.take_memory();
    return left;
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

  Instant now = Instant::from_ns(1'000'000'000);
  Counters counters;
  Drops drops;
  test::LanPort lan{64, 1500};
  Posted posted;
  Release release{{.rate = Rate::from_gbps(8'000), .burst_bytes = 64 << 20}, lan, counters, drops};
  std::unique_ptr<Inbound> inbound =
      Inbound::make({.slots = slots}, posted, release, drops).value();
  std::array<uint32_t, slots.messages> lengths{};
  size_t frames = 0;
};

void count(benchmark::State& state, size_t frames) {
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(frames);
  state.counters["s/frame"] =
      benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void run(benchmark::State& state, bool is_in_order) {
  Site site(static_cast<size_t>(state.range(0)));
  for (auto _ : state) CW_ASSERT(site.run(is_in_order) == site.frames);
  count(state, site.frames);
}

void copy_only(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Site site(bytes);
  const size_t in_message = site.frames / slots.messages;
  std::array<Packet*, limits::burst_packets_max> out;
  for (auto _ : state) {
    for (uint32_t m = 0; m < slots.messages; ++m) {
      for (size_t i = 0; i < in_message; i += out.size()) {
        site.lan.take_burst(out);
        for (size_t k = 0; k < out.size(); ++k) {
          const size_t at = std::min(i + k, in_message - 1) * (bytes + frame_header_bytes);
          std::memcpy(out[k]->data, site.posted.memory(m) + at, bytes);
          benchmark::DoNotOptimize(out[k]->data);
        }
        benchmark::ClobberMemory();
        site.lan.give_back(out);
      }
    }
  }
  count(state, in_message * slots.messages);
}

BENCHMARK(copy_only)->ArgName("bytes")->Arg(64)->Arg(400)->Arg(1500);
BENCHMARK_CAPTURE(run, in_order, true)->ArgName("bytes")->Arg(64)->Arg(400)->Arg(1500);
BENCHMARK_CAPTURE(run, turned_round, false)->ArgName("bytes")->Arg(64)->Arg(400)->Arg(1500);

}  // namespace
}  // namespace cw::gateway

BENCHMARK_MAIN();
