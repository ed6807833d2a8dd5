#include "bench/policy/which/headline.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/policy/which/scenes.h"
#include "bench/policy/which/slowdown.h"
#include "control/units/text.h"
#include "tests/sim/model/box.h"

namespace cw::which {
namespace {

using model::FallbackLaw;

constexpr Reading of_chunks{.is_loss_of_packets = false};
constexpr Reading as_published{};
constexpr double published_size = 64 << 20, published_loss = 3e-3;
constexpr Reading of_one_size{.size_bytes = published_size};
constexpr Reading short_timeout{.alpha = 1};
constexpr Reading over_lossless{.is_over_lossless = true};
constexpr Reading any_code{.is_any_code = true};
constexpr Reading our_law{.law = FallbackLaw::Keeping};
constexpr Reading our_law_of_packets{.is_by_packet = true, .law = FallbackLaw::Keeping};

std::string where_of(const Slowdown& it) {
  return text_of("%s, %s", size_text(it.size_bytes).c_str(), loss_text(it.loss).c_str());
}

void print_reading(const char* what, const Slowdown& mean, const Slowdown& tail) {
  std::printf("| %s | **%.1f** | %s | %.1f / %.1f | **%.1f** | %s | %.1f / %.1f |\n", what,
              mean.mean_ratio(), where_of(mean).c_str(), mean.repeat.mean_ms, mean.code.mean_ms,
              tail.tail_ratio(), where_of(tail).c_str(), tail.repeat.tail_ms, tail.code.tail_ms);
  std::fflush(stdout);
}

void print_largest(const char* what, const Reading& reading) {
  std::fprintf(stderr, "sweeps: %s\n", what);
  print_reading(what, largest(reading, false), largest(reading, true));
}

void print_readings() {
  std::printf(
      "| what is compared | mean | where | ms | p99.9 | where | ms |\n|---|---|---|---|---|---|---|"
      "\n| as published | **6.5** | | | **12.2** | | |\n");
  print_largest("a: losses are of chunks; the paper's law; 32 + 8", of_chunks);
  print_largest("b: as a, but losses are of packets", as_published);
  print_largest("b, 64 MiB alone", of_one_size);
  const Slowdown there = slowdown_of(as_published, published_size, published_loss, true);
  print_reading("b, 64 MiB and 3e-3 alone", there, there);
  print_largest("c: as b, but a timeout of two RTTs", short_timeout);
  print_largest("d: as b, but over a message that loses nothing", over_lossless);
  print_largest("e: as b, but over the best of ten codes", any_code);
  print_largest("f: as b, but the law of our policies", our_law);
  print_largest("g: as f, but packets are sent again and coded, not chunks", our_law_of_packets);
}

/// A message of the simulator: a slot is a chunk, at the same time per chunk, or a packet.
struct Run {
  uint64_t messages = 0;
  CompletionTimes repeat, code;
};

CompletionTimes run_one(BoxPoint point, const char* policy, uint64_t messages, uint64_t seed) {
  point.policy = policy;
  std::fprintf(stderr, "simulates %s\n", point.text().c_str());
  return run_point(point, messages, seed).completion;
}

/// How a point is simulated.
struct Manner {
  bool is_by_packet = false;
  uint64_t in_flight = 1;
};

Run run_both(const Slowdown& at, const Manner& manner, uint64_t messages, uint64_t seed) {
  constexpr uint64_t slots_max = 20'000'000;  // some minutes
  constexpr double slot = 4096, chunk = 65536, slots_a_turn = 15;
  const bool is_by_packet = manner.is_by_packet;
  const double gbps = is_by_packet ? 400 : 400 * slot / chunk;
  const BoxPoint point{
      .slots = static_cast<uint64_t>(at.size_bytes / (is_by_packet ? slot : chunk)),
      .gbps = gbps,
      .rtt_ms = 25,
      .loss = unit_loss(is_by_packet ? our_law_of_packets : our_law, at.loss),
      .in_flight = manner.in_flight,
      .turn_us = slots_a_turn * slot * 8e-3 / gbps};
  Run run{.messages = std::min(messages, slots_max / point.slots)};
  run.repeat = run_one(point, "selective_repeat:detect=rto,alpha=2", run.messages, seed);
  run.code =
      run_one(point, is_by_packet ? "erasure:k=32,m=8,m_max=8" : "erasure:k=32,m=8,m_max=8,rows=1",
              run.messages, seed);
  return run;
}

void print_model(const char* what, const Slowdown& it) {
  std::printf("| %s | | %.2f | %.2f | **%.2f** | %.1f | %.1f | **%.2f** |\n", what,
              it.repeat.mean_ms, it.code.mean_ms, it.mean_ratio(), it.repeat.tail_ms,
              it.code.tail_ms, it.tail_ratio());
}

std::string tail_text(const CompletionTimes& times) {
  return text_of("%.1f (%.1f to %.1f)", times.p999, times.p999_low, times.p999_high);
}

void print_run(const char* what, const Run& run) {
  std::printf("| %s | %llu | %.2f ± %.2f | %.2f ± %.2f | **%.2f** | %s | %s | **%.2f** |\n", what,
              static_cast<unsigned long long>(run.messages), run.repeat.mean,
              1.96 * run.repeat.mean_error, run.code.mean, 1.96 * run.code.mean_error,
              run.repeat.mean / run.code.mean, tail_text(run.repeat).c_str(),
              tail_text(run.code).c_str(), run.repeat.p999 / run.code.p999);
  std::fflush(stdout);
}

/// The point at which b is largest, by every law and by the simulator.
void print_point(const Slowdown& at, bool is_tail, uint64_t messages, uint64_t seed) {
  std::printf(
      "\n**%s, %s of the packets lost, %s of the chunks: where b is largest in %s**\n\n"
      "| by | messages | mean, repeat | mean, code | | p99.9, repeat | p99.9, code | |\n"
      "|---|---|---|---|---|---|---|---|\n",
      size_text(at.size_bytes).c_str(), loss_text(at.loss).c_str(),
      loss_text(unit_loss(as_published, at.loss)).c_str(), is_tail ? "p99.9" : "the mean");
  const auto here = [&](const Reading& reading) {
    return slowdown_of(reading, at.size_bytes, at.loss, is_tail);
  };
  print_model("b, the paper's law", here(as_published));
  print_model("f, our law of chunks", here(our_law));
  print_run("simulated, a slot for a chunk", run_both(at, {}, messages, seed));
  print_run("the same, four messages in flight", run_both(at, {.in_flight = 4}, messages, seed));
  print_model("g, our law of packets", here(our_law_of_packets));
  print_run("simulated, packet by packet", run_both(at, {.is_by_packet = true}, messages, seed));
}

}  // namespace

void print_headline(uint64_t messages, uint64_t seed) {
  print_readings();
  for (const bool is_tail : {false, true}) {
    print_point(largest(as_published, is_tail), is_tail, messages, seed);
  }
}

}  // namespace cw::which
