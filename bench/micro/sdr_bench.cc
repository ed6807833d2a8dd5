// The way of a slot through the SDR room on one core: from a burst of received packets to chunk
// bits (pass::read, Endpoint::on_arrivals: parse, look-up, transmission number, packet bit, copy,
// chunk bit, facts for the policy), and from an open message to a burst of packets
// (Endpoint::collect) and that on the wire.
//
// Two real endpoints meet over the simulated network; what one sends is kept in a ring of buffers
// larger than the second-level cache, as behind a NIC, and given to the other while the clock runs.
//
// Mpps and vs_memcpy are what a report should quote: packets per second, and the speed as a share
// of that of plain memcpy between the same buffers, measured in turns with it. `--self-check`
// instead fails when a placed slot of 4 KiB falls below a safe share.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "dataplane/pass/pass.h"
#include "dataplane/port/sim/network.h"
#include "dataplane/sdr/shard.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/roce_inline.h"
#include "offload/crc32.h"
#include "policies/policies.h"

namespace {
using namespace cw;
using namespace cw::literals;

constexpr uint32_t slot_bytes = 4096;
constexpr uint32_t buffer_bytes = 4352;
constexpr uint32_t message_slots = 1024;
constexpr uint32_t messages = 4;
constexpr uint32_t round_packets = messages * message_slots;  // in 17 MiB of buffers
constexpr size_t ip_and_udp_bytes = 28;

/// One end of the link.
struct End {
  End(SimPort& sim_port, uint16_t peer_number, uint64_t seed, Instant now)
      : prng(seed), sdr(sim_port, sdr::RandomSource::of(prng)) {
    const char secret[] = "a shared secret of this pair";
    cw_mac key;
    cw_mac_init(&key, secret, sizeof secret);
    sdr::LinkOptions options;
    options.peer = peer_number;
    options.control.payload_bytes = slot_bytes;
    options.pacer.rate = Rate::from_gbps(9'000);
    options.pacer.horizon = 10_us;
    options.fallback = {cw_policy_passthrough(), {}};
    sdr::QpOptions qp;
    qp.stream.messages = messages;
    qp.stream.data_slots_max = message_slots;
    qp.policy = {cw_policy_passthrough(), {}};
    options.qps.push_back(qp);
    link = *sdr.add_link(options, key, now);
  }
  size_t collect(std::span<Send> out, Instant now) {
    sdr.endpoint().on_time(now);
    return sdr.endpoint().collect(out, now);
  }

  Prng prng;
  sdr::Shard sdr;
  sdr::Link* link = nullptr;
};

class Bench {
 public:
  Bench()
      : network_({.port_packets = 8192, .payload_max = slot_bytes, .carry_bytes = false}),
        a_port_(network_.add_port()),
        b_port_(network_.add_port()),
        peers_(network_.join(a_port_, b_port_)),
        a_(a_port_, peers_.of_first, 1, network_.now()),
        b_(b_port_, peers_.of_second, 2, network_.now()),
        buffers_(size_t{round_packets} * buffer_bytes, 0x5a),
        source_(size_t{message_slots} * slot_bytes, 0xa5),
        target_(size_t{round_packets} * slot_bytes),
        packets_(round_packets) {
    while (!a_.link->is_up() || !b_.link->is_up()) exchange();
  }

  /// Has the ring full of the packets of the next messages, with receives posted for them. Returns
  /// the nanoseconds per packet that sending took, in the median burst.
  double fill(bool with_payload) {
    for (uint32_t i = 0; i < messages; ++i) {
      uint8_t* memory = &target_[size_t{i} * message_slots * slot_bytes];
      receives_[i] = *b_.link->sink(0).try_post({memory, message_slots * slot_bytes});
      sends_[i] = *a_.link->source(0).try_open({});
      CW_ASSERT(a_.link->source(0).append(sends_[i], 0, source_));
      CW_ASSERT(a_.link->source(0).close(sends_[i]));
    }
    filled_ = 0;
    bursts_ns_.clear();
    while (filled_ < round_packets) exchange(with_payload);
    std::ranges::nth_element(bursts_ns_, bursts_ns_.begin() + bursts_ns_.size() / 2);
    return bursts_ns_[bursts_ns_.size() / 2];
  }

  /// Seconds per packet for everything that the ring holds; `before` sees each packet first.
  template <class Before>
  double receive(Before before) {
    const double start = bench::cpu_seconds();
    for (size_t i = 0; i < round_packets; i += limits::burst_packets_max) {
      for (size_t j = 0; j < arrivals_.size(); ++j) {
        before(packets_[i + j]);
        pass::read(packets_[i + j], arrivals_[j]);
      }
      b_.sdr.endpoint().on_arrivals(arrivals_, network_.now());
    }
    const double seconds = (bench::cpu_seconds() - start) / round_packets;
    return seconds;
  }
  /// The same bytes between the same buffers.
  double copy() {
    const double start = bench::cpu_seconds();
    for (size_t i = 0; i < round_packets; ++i) {
      std::memcpy(&target_[i * slot_bytes], packets_[i].data + slot_write_header_bytes, slot_bytes);
      benchmark::ClobberMemory();
    }
    return (bench::cpu_seconds() - start) / round_packets;
  }

  /// Ends the round. False when a slot had not arrived.
  bool complete() {
    bool is_whole = true;
    for (uint32_t i = 0; i < messages; ++i) {
      is_whole &= b_.link->sink(0).info(receives_[i]).slots_in_place == message_slots;
      b_.link->sink(0).complete(receives_[i], network_.now());
      a_.link->source(0).forget(sends_[i]);
    }
    while (!a_.link->source(0).is_idle()) exchange();
    return is_whole;
  }

 private:
  /// A turn of both ends in which data goes to the ring and control to the other end.
  void exchange(bool with_payload = true) {
    network_.advance_to(network_.now() + 10_us);
    const Instant now = network_.now();
    const double start = bench::cpu_seconds();
    const size_t count = a_.collect(sends_out_, now);
    a_.sdr.port().send(std::span(sends_out_).first(count), now);
    if (count == sends_out_.size()) {
      bursts_ns_.push_back((bench::cpu_seconds() - start) * 1e9 / double(count));
    }
    std::array<uint64_t, limits::burst_packets_max> done;
    a_.sdr.endpoint().on_done({done.data(), a_.sdr.port().take_done(done)});
    b_.sdr.port().send(std::span(sends_out_).first(b_.collect(sends_out_, now)), now);
    network_.advance_to(now + 1_us);
    const size_t back = a_.sdr.port().receive(arrivals_, network_.now());
    a_.sdr.endpoint().on_arrivals(std::span(arrivals_).first(back), network_.now());
    a_.sdr.port().end_arrivals();
    std::array<Packet*, limits::burst_packets_max> out;
    const size_t there = b_port_.rx_burst(out, network_.now());
    for (size_t i = 0; i < there; ++i) take(out[i], with_payload);
  }
  void take(Packet* packet, bool with_payload) {
    SlotWrite slot;
    const size_t bytes = size_t{packet->bytes} + packet->payload_bytes;
    if (!try_parse_slot_write({packet->data, packet->bytes}, bytes, slot)) {
      Arrival arrival;
      pass::read(*packet, arrival);
      b_.sdr.endpoint().on_arrivals({&arrival, 1}, network_.now());
      return b_port_.give_back({&packet, 1});
    }
    Packet& kept = packets_[filled_];
    kept = *packet;
    kept.data = &buffers_[filled_ * buffer_bytes];
    kept.payload = nullptr;
    kept.payload_bytes = 0;
    if (!with_payload) slot.payload_bytes = 0;
    encode_slot_write(slot, {kept.data, buffer_bytes});
    kept.bytes = static_cast<uint32_t>(slot_write_header_bytes + slot.payload_bytes);
    ++filled_;
    b_port_.give_back({&packet, 1});
  }

  SimNetwork network_;
  SimPort& a_port_;
  SimPort& b_port_;
  SimPeers peers_;
  End a_, b_;
  std::vector<uint8_t> buffers_, source_, target_;
  std::vector<Packet> packets_;
  std::array<Send, limits::burst_packets_max> sends_out_;
  std::array<Arrival, limits::burst_packets_max> arrivals_;
  std::array<sdr::RecvHandle, messages> receives_;
  std::array<sdr::SendHandle, messages> sends_;
  std::vector<double> bursts_ns_;
  size_t filled_ = 0;
};

template <class Before>
void receive_rounds(benchmark::State& state, bool with_payload, Before before) {
  Bench bench;
  std::vector<double> ratios;
  double total = 0, best = 1;
  for (auto _ : state) {
    bench.fill(with_payload);
    const double copied = bench.copy();
    const double seconds = bench.receive(before);
    if (!bench.complete()) return state.SkipWithError("a slot got lost");
    state.SetIterationTime(seconds * round_packets);
    total += seconds;
    best = std::min(best, seconds);
    ratios.push_back(copied / seconds);
  }
  std::ranges::nth_element(ratios, ratios.begin() + ratios.size() / 2);
  state.counters["Mpps"] = 1e-6 * static_cast<double>(state.iterations()) / total;
  state.counters["Mpps_best"] = 1e-6 / best;
  if (with_payload) state.counters["vs_memcpy"] = ratios[ratios.size() / 2];
}

void receive_headers(benchmark::State& state) {
  receive_rounds(state, false, [](const Packet&) {});
}
void receive_4k(benchmark::State& state) {
  receive_rounds(state, true, [](const Packet&) {});
}
void receive_4k_and_check_icrc(benchmark::State& state) {
  const Icrc icrc(IcrcMode::Exact, cw_crc32, slot_bytes);
  const std::array<uint8_t, ip_and_udp_bytes> outer{0x45};
  receive_rounds(state, true, [&](const Packet& packet) {
    benchmark::DoNotOptimize(icrc.of(outer, std::span<const uint8_t>(packet.data, packet.bytes)));
  });
}

/// Headers only: the payload goes out from where it lies.
void send_by_reference(benchmark::State& state) {
  Bench bench;
  double total = 0;
  for (auto _ : state) {
    const double ns = bench.fill(true);
    bench.receive([](const Packet&) {});
    if (!bench.complete()) return state.SkipWithError("a slot got lost");
    state.SetIterationTime(ns * 1e-9 * round_packets);
    total += ns;
  }
  state.counters["Mpps"] = 1e3 * static_cast<double>(state.iterations()) / total;
}

BENCHMARK(receive_headers)->UseManualTime();
BENCHMARK(receive_4k)->UseManualTime();
BENCHMARK(receive_4k_and_check_icrc)->UseManualTime();
BENCHMARK(send_by_reference)->UseManualTime();

/// The median of many rounds, so that a busy machine does not decide.
int self_check() {
  constexpr double share_min = 0.6;
  Bench bench;
  std::vector<double> ratios;
  for (int round = 0; round < 21; ++round) {
    bench.fill(true);
    const double copied = bench.copy();
    ratios.push_back(copied / bench.receive([](const Packet&) {}));
    if (!bench.complete()) return std::puts("a slot got lost"), 1;
  }
  std::ranges::nth_element(ratios, ratios.begin() + ratios.size() / 2);
  const double share = ratios[ratios.size() / 2];
  std::printf("4 KiB slots are placed at %.2f of the speed of memcpy; at least %.2f is wanted\n",
              share, share_min);
  return share >= share_min ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--self-check") return self_check();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
