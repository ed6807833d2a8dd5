// What a typical control packet costs: a clear-to-send with two placements, a note of 64 bytes and
// an echo reply, sealed and opened. Most of it is SHA-256, measured beside it on the same bytes.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/wire/control/envelope.h"
#include "offload/mac.h"

namespace {
using namespace cw;

constexpr Placement placements[2] = {{be32(1), be32(2), be64(3), be32(4), be64(5)},
                                     {be32(6), be32(7), be64(8), be32(9), be64(10)}};
constexpr uint8_t note_bytes[64] = {1, 2, 3};

using Buffer = std::array<uint8_t, 1024>;

MacKey make_key() {
  static cw_mac mac;
  cw_mac_init(&mac, "bench", 5);
  return {&mac, cw_mac_compute};
}

size_t write_typical(Buffer& buffer, uint64_t sequence, const MacKey& key) {
  EnvelopeWriter writer(buffer, {1, 2, sequence});
  ClearToSend clear;
  clear.message_limit = MessageSeq(100);
  clear.placements = placements;
  Note note;
  note.bytes = note_bytes;
  const bool is_all = writer.try_add(clear) && writer.try_add(note) &&
                      writer.try_add(Echo{.flags = Echo::reply, .path = 1, .token = 2});
  return is_all ? writer.seal(key) : 0;
}

/// Opens it and adds up something of every record, so that nothing is optimised away.
uint64_t read_typical(std::span<const uint8_t> bytes, const MacKey& key) {
  const auto envelope = open_envelope(bytes, key);
  if (!envelope) return 0;
  uint64_t sum = 0;
  RecordReader reader = envelope->reader();
  while (const auto view = reader.next()) {
    if (const auto type = RecordType{view->type}; type == RecordType::ClearToSend) {
      if (const auto clear = parse<ClearToSend>(*view)) sum += clear->message_limit.value();
    } else if (type == RecordType::Note) {
      if (const auto note = parse<Note>(*view)) sum += note->bytes.size();
    } else if (const auto echo = parse<Echo>(*view)) {
      sum += echo->token;
    }
  }
  return sum;
}

void seal_typical(benchmark::State& state) {
  const MacKey key = make_key();
  Buffer buffer;
  uint64_t sequence = 0;
  for (auto _ : state) benchmark::DoNotOptimize(write_typical(buffer, ++sequence, key));
}
BENCHMARK(seal_typical);

void open_typical(benchmark::State& state) {
  const MacKey key = make_key();
  Buffer buffer;
  const size_t bytes = write_typical(buffer, 1, key);
  if (read_typical(std::span(buffer).first(bytes), key) != 166) state.SkipWithError("misread");
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_typical(std::span(buffer).first(bytes), key));
  }
}
BENCHMARK(open_typical);

void mac_alone(benchmark::State& state) {
  const MacKey key = make_key();
  Buffer buffer;
  const size_t bytes = write_typical(buffer, 1, key) - envelope_mac_bytes;
  uint8_t mac[32];
  for (auto _ : state) {
    key.compute(key.state, buffer.data(), bytes, mac);
    benchmark::DoNotOptimize(mac);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(mac_alone);

}  // namespace

BENCHMARK_MAIN();
