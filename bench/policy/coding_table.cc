// Prints, as Markdown, erasure coding by the real endpoints beside its formulas, what it gains over
// selective repeat by timeout (the paper's headline), and what coding rows gains over coding whole
// chunks. Times in ms.
//
//   coding_table [--messages N] [--seed N]      1,000 messages per cell unless told
#include <cmath>
#include <cstdio>

#include "bench/policy/coding_run.h"
#include "bench/policy/paper_run.h"
#include "bench/policy/run_size.h"

namespace {

const char* name_of(cw::PaperCode code) { return code == cw::PaperCode::Mds ? "MDS" : "XOR"; }

void print_model_row(const cw::CodingCell& cell) {
  const cw::model::Prediction model = cw::predict_coding(cell);
  const cw::CodingReport ours = cw::run_coding_cell(cell);
  const cw::CompletionTimes& times = ours.report.completion;
  const double paper = cw::predict_coding(cell, cw::model::FallbackLaw::Paper).mean_ms;
  const double keeping = model.mean_ms, fallback = model.fallback_probability;
  const cw::Interval interval = cw::share_interval(ours.fell_back, ours.settled);
  std::printf("| %s | %u | %g | %.2f | %.2f | %.2f ± %.2f | %+.1f %% | %+.1f %% | %.2g | ",
              name_of(cell.code), cell.slots, cell.loss, paper, keeping, times.mean,
              1.96 * times.mean_error, 100 * (times.mean / paper - 1),
              100 * (times.mean / keeping - 1), fallback);
  std::printf("%.4f (%.4f to %.4f) | %s |\n", ours.fallback(), interval.low, interval.high,
              interval.low <= fallback && fallback <= interval.high ? "yes" : "no");
  std::fflush(stdout);
}

void print_model_table(const cw::RunSize& size) {
  std::printf(
      "| code | chunks | loss | mean, paper's formula | mean, keeping | mean, ours | off paper | "
      "off keeping | fallback, model | fallback, ours | within |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto code : {cw::PaperCode::Mds, cw::PaperCode::Xor}) {
    for (const uint32_t chunks : {512u, 2048u}) {
      for (const double loss : {1e-4, 1e-3, 1e-2, 3e-2, 5e-2, 1e-1}) {
        print_model_row({.code = code,
                         .slots = chunks,
                         .loss = loss,
                         .messages = size.messages,
                         .seed = size.seed});
      }
    }
  }
}

/// A line of the published comparison: chunks of 64 KiB at 400 Gbit/s, and what it says selective
/// repeat with an RTO of three RTTs costs over coding. `packet_loss`: 0 where `loss` is a chunk's.
struct Headline {
  uint32_t chunks;
  double loss, packet_loss, mean_ratio, tail_ratio;
};
constexpr Headline headlines[] = {
    {512, 1e-3, 0, 2.15, 3.90},   {512, 1e-2, 0, 4.02, 6.80},   {2048, 1e-5, 0, 1.03, 3.62},
    {2048, 1e-4, 0, 1.46, 3.62},  {2048, 1e-3, 0, 3.26, 6.22},  {2048, 1e-2, 0, 4.10, 8.87},
    {2048, 0, 1e-4, 3.51, 6.25},  {2048, 0, 1e-3, 4.69, 8.90},  {1024, 0, 3e-3, 6.60, 12.22},
    {2048, 0, 3e-3, 6.74, 11.55}, {2048, 0, 5e-3, 8.05, 14.19}, {2048, 0, 1e-2, 10.98, 19.47},
};

void print_headline(const Headline& it, const cw::RunSize& size) {
  const double loss = it.packet_loss > 0 ? cw::model::chunk_loss(it.packet_loss, 16) : it.loss;
  const cw::model::Law repeat = cw::paper_law_of({.chunks = it.chunks, .loss = loss});
  const double mean = repeat.mean_ms(), tail = repeat.quantile_ms(0.999);
  const cw::CodingReport coded = cw::run_coding_cell(
      {.slots = it.chunks, .loss = loss, .messages = size.messages, .seed = size.seed});
  const cw::CompletionTimes& ours = coded.report.completion;
  std::printf(
      "| %u MiB | %g %s | %.2f | %.2f | %.4f | %.2f | %.2f | **%.2f** (%.2f) | "
      "**%.2f** (%.2f) |\n",
      it.chunks / 16, it.packet_loss > 0 ? it.packet_loss : it.loss,
      it.packet_loss > 0 ? "packet" : "chunk", mean, ours.mean, coded.fallback(), tail, ours.p999,
      mean / ours.mean, it.mean_ratio, tail / ours.p999, it.tail_ratio);
  std::fflush(stdout);
}

void print_headlines(const cw::RunSize& size) {
  std::printf(
      "\n| message | loss of a | mean SR3 | mean EC | EC fell back | p99.9 SR3 | p99.9 EC | "
      "SR3/EC mean (published) | p99.9 (published) |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Headline& each : headlines) print_headline(each, size);
}

void print_unit(const char* name, double packet_loss, const cw::CodingCell& cell) {
  const cw::CodingReport ours = cw::run_coding_cell(cell);
  const cw::CompletionTimes& times = ours.report.completion;
  const double data = double(cell.slots) * double(cell.messages + 8);  // 8 warm up
  std::printf("| %g | %s | %.2g | %.4f | %.2f ± %.2f | %.2f | %.3f %% |\n", packet_loss, name,
              cw::predict_coding(cell).fallback_probability, ours.fallback(), times.mean,
              1.96 * times.mean_error, times.p99, 100 * double(ours.report.resent_packets) / data);
  std::fflush(stdout);
}

/// 128 MiB in chunks of 16 packets. Whole: a chunk is one slot, sixteen times as long, and lost
/// when any of its packets is.
void print_units(const cw::RunSize& size) {
  std::printf(
      "\n| packet loss | coded | fallback, model | fallback, ours | mean | p99 | resent per data "
      "|\n"
      "|---|---|---|---|---|---|---|\n");
  const uint64_t messages = size.messages / 10 + 1;
  for (const double loss : {1e-3, 1e-2}) {
    print_unit("whole chunks", loss,
               {.loss = cw::model::chunk_loss(loss, 16), .messages = messages, .seed = size.seed});
    print_unit("rows", loss,
               {.slots = 32768,
                .rows = 16,
                .gbps = 400,
                .loss = loss,
                .messages = messages,
                .seed = size.seed});
  }
}

}  // namespace

int main(int argc, char** argv) {
  cw::RunSize size{.messages = 1000};
  if (!cw::read_run_size({argv + 1, argv + argc}, size)) {
    std::fprintf(stderr, "usage: coding_table [--messages N] [--seed N]\n");
    return 2;
  }
  print_model_table(size);
  print_headlines(size);
  print_units(size);
}
