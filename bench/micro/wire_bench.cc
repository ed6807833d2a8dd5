// Nanoseconds per packet to write and read a slot's packet: headers alone, and with 4 KiB of
// payload under an ICRC, beside memcpy of the same bytes. The packets lie in a ring of buffers
// larger than the second-level cache, as they do behind a NIC.
//
// The counter vs_memcpy is this packet's time divided by that of the memcpy measured in the same
// run; vs_memcpy and Mpps are what a report should quote.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/machine.h"
#include "dataplane/wire/group/check.h"
#include "dataplane/wire/group/datagram_inline.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/roce_inline.h"
#include "offload/crc32.h"

namespace {
using namespace cw;

constexpr size_t payload_bytes = 4096;
constexpr size_t buffer_bytes = 4352;
constexpr size_t buffer_count = 4096;  // 17 MiB

FrameAddress make_address() {
  FrameAddress address;
  address.vlan = 100;
  address.source_ip = {10, 0, 0, 1};
  address.target_ip = {10, 0, 0, 2};
  address.source_udp_port = 49152;
  return address;
}

const FrameAddress address = make_address();
const size_t outer_bytes = outer_header_bytes(address, FrameStart::Ethernet);
const size_t link_bytes = link_header_bytes(address, FrameStart::Ethernet);
constexpr size_t transport_bytes = slot_write_header_bytes + payload_bytes;
const size_t frame_bytes = outer_bytes + transport_bytes + icrc_bytes;

SlotWrite make_slot(uint32_t nth, uint32_t bytes) {
  SlotWrite slot;
  slot.target_qp = 0x11;
  slot.psn = Psn(nth);
  slot.address = 0x7f0000000000 + uint64_t{nth} * payload_bytes;
  slot.key = 0x2c9;
  slot.immediate = nth;
  slot.payload_bytes = bytes;
  return slot;
}

/// Buffers in a circle, so that each packet is met cold.
class Buffers {
 public:
  Buffers() : bytes_(buffer_bytes * buffer_count, 0x5a) {}
  std::span<uint8_t> next() {
    nth_ = (nth_ + 1) % buffer_count;
    return std::span(bytes_).subspan(nth_ * buffer_bytes, buffer_bytes);
  }
  uint32_t nth() const { return static_cast<uint32_t>(nth_); }

 private:
  std::vector<uint8_t> bytes_;
  size_t nth_ = 0;
};

const Icrc icrc(IcrcMode::Exact, cw_crc32, payload_bytes);

/// Outer headers and slot headers.
void write_headers(std::span<uint8_t> out, uint32_t nth) {
  encode_outer_headers(address, FrameStart::Ethernet, transport_bytes, out);
  encode_slot_write(make_slot(nth, payload_bytes), out.subspan(outer_bytes));
}

void write_frame(std::span<uint8_t> out, uint32_t nth, std::span<const uint8_t> payload) {
  write_headers(out, nth);
  const auto transport = out.subspan(outer_bytes, transport_bytes);
  std::memcpy(transport.data() + slot_write_header_bytes, payload.data(), payload_bytes);
  const uint32_t value = icrc.of(out.subspan(link_bytes, outer_bytes - link_bytes), transport);
  Icrc::write(value, out.subspan(outer_bytes + transport_bytes).first<icrc_bytes>());
}

/// Seconds per memcpy of so many bytes from one ring to the other, measured here and now: the best
/// of a few rounds, the first of which only brings the pages in.
double memcpy_seconds(size_t bytes) {
  Buffers from, to;
  double best = 1;
  for (int round = 0; round < 5; ++round) {
    const double start = bench::cpu_seconds();
    for (size_t i = 0; i < buffer_count; ++i) {
      std::memcpy(to.next().data(), from.next().data(), bytes);
      benchmark::ClobberMemory();
    }
    best = std::min(best, (bench::cpu_seconds() - start) / buffer_count);
  }
  return best;
}

template <class Step>
void run(benchmark::State& state, size_t compared_bytes, Step step) {
  const double start = bench::cpu_seconds();
  for (auto _ : state) step();
  const double seconds = (bench::cpu_seconds() - start) / static_cast<double>(state.iterations());
  state.counters["Mpps"] = 1e-6 / seconds;
  if (compared_bytes != 0) state.counters["vs_memcpy"] = seconds / memcpy_seconds(compared_bytes);
}

void memcpy_frame(benchmark::State& state) {
  Buffers from, to;
  run(state, frame_bytes, [&] {
    std::memcpy(to.next().data(), from.next().data(), frame_bytes);
    benchmark::ClobberMemory();
  });
}

void memcpy_headers(benchmark::State& state) {
  Buffers from, to;
  run(state, slot_write_header_bytes, [&] {
    std::memcpy(to.next().data(), from.next().data(), slot_write_header_bytes);
    benchmark::ClobberMemory();
  });
}

void encode_slot_headers(benchmark::State& state) {
  Buffers to;
  run(state, slot_write_header_bytes, [&] {
    const auto out = to.next();
    encode_slot_write(make_slot(to.nth(), payload_bytes), out);
    benchmark::ClobberMemory();
  });
}

void encode_all_headers(benchmark::State& state) {
  Buffers to;
  run(state, outer_bytes + slot_write_header_bytes, [&] {
    const auto out = to.next();
    write_headers(out, to.nth());
    benchmark::ClobberMemory();
  });
}

/// What a resend costs on a port with scatter and gather: headers, and an ICRC by combination.
void encode_headers_and_known_icrc(benchmark::State& state) {
  Buffers to;
  run(state, frame_bytes, [&] {
    const auto out = to.next();
    write_headers(out, to.nth());
    const KnownPayload known = {to.nth(), payload_bytes};
    const uint32_t value = icrc.of(out.subspan(link_bytes, outer_bytes - link_bytes),
                                   out.subspan(outer_bytes, slot_write_header_bytes), known);
    benchmark::DoNotOptimize(value);
  });
}

void encode_frame_4k(benchmark::State& state) {
  Buffers from, to;
  run(state, frame_bytes, [&] {
    write_frame(to.next(), to.nth(), from.next());
    benchmark::ClobberMemory();
  });
}

/// Slots without payload, all alike, for benches of parsing alone.
void fill_with_slots(Buffers& buffers) {
  for (size_t i = 0; i < buffer_count; ++i) {
    const auto out = buffers.next();
    encode_slot_write(make_slot(buffers.nth(), 0), out);
  }
}

void parse_slot_headers(benchmark::State& state) {
  Buffers from;
  fill_with_slots(from);
  SlotWrite slot;
  run(state, slot_write_header_bytes, [&] {
    const auto bytes = from.next().first(slot_write_header_bytes);
    if (!try_parse_slot_write(bytes, slot)) state.SkipWithError("a slot was declined");
    benchmark::DoNotOptimize(slot);
  });
}

/// The same with all packets in the first-level cache: the cost of the instructions.
void parse_slot_headers_warm(benchmark::State& state) {
  std::vector<uint8_t> bytes(slot_write_header_bytes);
  encode_slot_write(make_slot(7, 0), bytes);
  SlotWrite slot;
  run(state, 0, [&] {
    benchmark::ClobberMemory();
    if (!try_parse_slot_write(bytes, slot)) state.SkipWithError("a slot was declined");
    benchmark::DoNotOptimize(slot);
  });
}

// ---- groups: what stands before each slot, of an Allgather of 1,024 members ----

constexpr group::Member member = {.group_key = 1, .own_key = 2, .members = 1024, .rank = 1023};
constexpr group::Slots group_slots({.part_bytes = 16 * payload_bytes,
                                    .payload_bytes = payload_bytes,
                                    .sources = 1024});
constexpr size_t group_bytes = group::datagram_header_bytes + group::header_bytes;

void write_group_headers(std::span<uint8_t> out, uint32_t nth) {
  const uint32_t slot = nth % (1023 * group_slots.part_slots());
  const group::Header header = {.is_last_slot = group_slots.is_last(slot),
                                .source = group_slots.source_of(slot),
                                .key = member.group_key,
                                .step = group::Step(7),
                                .slot = slot,
                                .message_slots = group_slots.part_slots()};
  const size_t offset = group::encode_datagram({.target_qp = group::multicast_qp,
                                                .psn = Psn(nth),
                                                .immediate = header.immediate(),
                                                .payload_bytes = group::header_bytes},
                                               out);
  group::encode_header(header, out.subspan(offset));
}

void encode_group_headers(benchmark::State& state) {
  Buffers to;
  run(state, group_bytes, [&] {
    const auto out = to.next();
    write_group_headers(out, to.nth());
    benchmark::ClobberMemory();
  });
}

/// Transport headers, header and every check; `bytes` is a packet with all of its slot, of which
/// only the headers are looked at.
bool takes_group_slot(std::span<const uint8_t> bytes) {
  group::Datagram datagram;
  group::Header header;
  if (!group::try_parse_datagram(bytes, bytes.size(), datagram)) return false;
  const auto payload = bytes.subspan(group::datagram_header_bytes);
  const auto error = group::check(
      datagram.immediate, payload, member,
      [](const group::Header& read) {
        return read.step == group::Step(7) ? &group_slots : nullptr;
      },
      header);
  benchmark::DoNotOptimize(header);
  return !error;
}

void check_group_headers(benchmark::State& state) {
  Buffers from;
  for (size_t i = 0; i < buffer_count; ++i) {
    const auto out = from.next();
    write_group_headers(out, from.nth());
  }
  run(state, group_bytes, [&] {
    const auto bytes = from.next().first(group_bytes + payload_bytes);
    if (!takes_group_slot(bytes)) state.SkipWithError("a slot was refused");
  });
}

void check_group_headers_warm(benchmark::State& state) {
  std::vector<uint8_t> bytes(group_bytes + payload_bytes);
  write_group_headers(bytes, 7);
  run(state, 0, [&] {
    benchmark::ClobberMemory();
    if (!takes_group_slot(bytes)) state.SkipWithError("a slot was refused");
  });
}

void parse_any_transport(benchmark::State& state) {
  Buffers from;
  fill_with_slots(from);
  run(state, slot_write_header_bytes, [&] {
    const auto packet = parse_transport(from.next().first(slot_write_header_bytes));
    if (!packet) state.SkipWithError("a slot was refused");
    benchmark::DoNotOptimize(packet);
  });
}

void fill_with_frames(Buffers& buffers) {
  const std::vector<uint8_t> payload(payload_bytes, 0xa5);
  for (size_t i = 0; i < buffer_count; ++i) {
    const auto out = buffers.next();
    write_frame(out, buffers.nth(), payload);
  }
}

void parse_frame_headers(benchmark::State& state) {
  Buffers from;
  fill_with_frames(from);
  SlotWrite slot;
  run(state, outer_bytes + slot_write_header_bytes, [&] {
    const std::span<const uint8_t> bytes = from.next().first(frame_bytes);
    const auto frame = parse_frame(bytes, FrameStart::Ethernet);
    if (!try_parse_slot_write(frame->transport_of(bytes), slot)) state.SkipWithError("declined");
    benchmark::DoNotOptimize(slot);
  });
}

void parse_frame_4k_and_check_icrc(benchmark::State& state) {
  Buffers from;
  fill_with_frames(from);
  SlotWrite slot;
  run(state, frame_bytes, [&] {
    const std::span<const uint8_t> bytes = from.next().first(frame_bytes);
    const auto frame = parse_frame(bytes, FrameStart::Ethernet);
    if (!icrc.is_right(frame->ip_and_udp_of(bytes), frame->covered_of(bytes)) ||
        !try_parse_slot_write(frame->transport_of(bytes), slot)) {
      state.SkipWithError("a good frame was refused");
    }
    benchmark::DoNotOptimize(slot);
  });
}

void shift_crc_by_table(benchmark::State& state) {
  const Crc32Shift shift(payload_bytes);
  uint32_t crc = 1;
  for (auto _ : state) benchmark::DoNotOptimize(crc = shift(crc));
}

void shift_crc_in_general(benchmark::State& state) {
  uint32_t crc = 1;
  for (auto _ : state) benchmark::DoNotOptimize(crc = shift_crc32(crc, payload_bytes - 1));
}

BENCHMARK(memcpy_headers);
BENCHMARK(encode_slot_headers);
BENCHMARK(encode_all_headers);
BENCHMARK(parse_slot_headers);
BENCHMARK(parse_slot_headers_warm);
BENCHMARK(encode_group_headers);
BENCHMARK(check_group_headers);
BENCHMARK(check_group_headers_warm);
BENCHMARK(parse_any_transport);
BENCHMARK(parse_frame_headers);
BENCHMARK(memcpy_frame);
BENCHMARK(encode_headers_and_known_icrc);
BENCHMARK(encode_frame_4k);
BENCHMARK(parse_frame_4k_and_check_icrc);
BENCHMARK(shift_crc_by_table);
BENCHMARK(shift_crc_in_general);

}  // namespace

BENCHMARK_MAIN();
