// What a packet costs in the bitmap kernel: nanoseconds per record, inline on one core, over whole
// lives of messages (arm, all packets, close, reset), with 76 KiB of packet bits: two windows of
// 25 ms at 400 Gb/s. The baseline reads the same records and does nothing else.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/prng.h"
#include "offload/bitmap.h"

namespace cw {
namespace {

constexpr uint32_t ids = 152, slots = 4096, burst_records = 64;

cw_bits_record record_of(uint8_t kind, uint32_t id, uint32_t slot) {
  cw_bits_record record{};
  record.immediate = id << 22 | slot << 4;
  record.length = slots;
  record.kind = kind;
  return record;
}

/// Every message once; packets as a network brings them, within 256 of their order.
std::vector<cw_bits_record> make_records(uint16_t chunk_slots) {
  std::vector<cw_bits_record> records;
  Prng random(1);
  for (uint32_t id = 0; id < ids; ++id) {
    records.push_back(record_of(CW_BITS_ARM, id, 0));
    records.back().chunk_slots = chunk_slots;
    const size_t first = records.size();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      records.push_back(record_of(CW_BITS_PACKET, id, slot));
      const size_t back = random.chance(0.1) ? random.below(256) : 0;
      const size_t other = records.size() - 1 - back;
      if (other >= first && other < records.size()) std::swap(records.back(), records[other]);
    }
    records.push_back(record_of(CW_BITS_CLOSE, id, 0));
  }
  return records;
}

class Arena {
 public:
  explicit Arena(uint32_t chunk_slots_min) {
    const cw_bits_limits limits = {ids, slots, 0, chunk_slots_min, 1, 18, 4, 0};
    memory_.reset(std::aligned_alloc(64, cw_bits_size(&limits)));
    CW_ASSERT(cw_bits_init(get(), &limits) == 0);
  }
  void* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

void count(benchmark::State& state, size_t records) {
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(records);
  state.counters["records/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["s/record"] =
      benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void run(benchmark::State& state, decltype(&cw_bits_run_lane) kernel) {
  const auto chunk_slots = static_cast<uint16_t>(state.range(0));
  const auto records = make_records(chunk_slots);
  const Arena arena(chunk_slots);
  cw_bits_event events[burst_records];
  for (auto _ : state) {
    size_t chunks = 0;
    for (size_t i = 0; i < records.size(); i += burst_records) {
      const auto n = static_cast<uint32_t>(std::min<size_t>(burst_records, records.size() - i));
      chunks += kernel(arena.get(), 0, &records[i], n, events, burst_records).events;
    }
    // A fast wrong answer is none.
    CW_ASSERT(chunks == ids * (slots / chunk_slots) + ids);
    for (uint32_t id = 0; id < ids; ++id) CW_ASSERT(cw_bits_reset(arena.get(), id) == 0);
  }
  count(state, records.size());
}

void read_records(benchmark::State& state) {
  const auto records = make_records(16);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const cw_bits_record& record : records) {
      sum += record.immediate ^ record.generation ^ record.kind;
      benchmark::DoNotOptimize(sum);
    }
  }
  count(state, records.size());
}

BENCHMARK(read_records);
BENCHMARK_CAPTURE(run, lane, cw_bits_run_lane)->ArgName("chunk_slots")->Arg(1)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(run, shared, cw_bits_run_shared)
    ->ArgName("chunk_slots")
    ->Arg(1)
    ->Arg(16)
    ->Arg(64);

}  // namespace
}  // namespace cw

BENCHMARK_MAIN();
