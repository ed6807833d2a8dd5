// What a packet costs in the bitmap work on one core, over whole lives of messages, with 76 KiB of
// packet bits: two windows of 25 ms at 400 Gb/s. What it costs a turn that others relieve of it:
// bench/micro/offload_bench.cc.
//
//   read_records   reads the records and does nothing else: the baseline
//   claims         claimed and counted one by one, as where the turn copies
//   kernel         a row served in bursts, its events taken and merged
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "bench/micro/offload_records.h"
#include "dataplane/base/assert.h"
#include "offload/slot_map.h"

namespace cw::bench {
namespace {

void count(benchmark::State& state, size_t records) {
  const auto all = static_cast<double>(state.iterations()) * static_cast<double>(records);
  state.counters["records/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["s/record"] =
      benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

SlotMap map_of(uint32_t chunk_slots) {
  return SlotMap({.ids = load_ids,
                  .data_slots_max = load_slots,
                  .repair_slots_max = 0,
                  .chunk_slots = chunk_slots});
}

void read_records(benchmark::State& state) {
  const auto records = load_records();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const cw_bits_record& record : records) {
      sum += record.immediate ^ record.generation ^ record.kind;
      benchmark::DoNotOptimize(sum);
    }
  }
  count(state, records.size());
}

void claims(benchmark::State& state) {
  const auto records = load_records();
  SlotMap map = map_of(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    size_t chunks = 0;
    for (const cw_bits_record& record : records) {
      const uint32_t id = load_id_of(record), slot = load_slot_of(record);
      if (record.kind == CW_BITS_ARM) map.arm(id, load_slots);
      if (record.kind == CW_BITS_CLOSE) map.clear(id);
      if (record.kind == CW_BITS_PACKET && map.try_claim(id, slot)) chunks += map.count(id, slot);
    }
    // A fast wrong answer is none.
    CW_ASSERT(chunks == load_ids * (load_slots / static_cast<size_t>(state.range(0))));
  }
  count(state, records.size());
}

void kernel(benchmark::State& state) {
  const auto records = load_records();
  SlotMap map = map_of(static_cast<uint32_t>(state.range(0)));
  LoadRow row(/*capacity=*/256);
  for (auto _ : state) {
    size_t chunks = 0;
    for (size_t at = 0; at < records.size(); at += CW_BITS_BURST) {
      row.push(std::span(records).subspan(at).first(
          std::min<size_t>(CW_BITS_BURST, records.size() - at)));
      row.serve();
      row.take([&](const cw_bits_event& event) {
        const uint32_t id = load_id_of(event.about);
        if (event.about.kind == CW_BITS_ARMED) map.arm(id, load_slots);
        if (event.about.kind == CW_BITS_CLOSED) map.clear(id);
        if (event.about.kind != CW_BITS_PLACED) return;
        chunks += map.merge(id, load_slot_of(event.about) / 64, event.bits).chunks;
      });
    }
    CW_ASSERT(chunks == load_ids * (load_slots / static_cast<size_t>(state.range(0))));
  }
  count(state, records.size());
}

BENCHMARK(read_records);
BENCHMARK(claims)->ArgName("chunk_slots")->Arg(1)->Arg(16)->Arg(64);
BENCHMARK(kernel)->ArgName("chunk_slots")->Arg(1)->Arg(16)->Arg(64);

}  // namespace
}  // namespace cw::bench

BENCHMARK_MAIN();
