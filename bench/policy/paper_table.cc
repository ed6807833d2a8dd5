// Prints the paper's table beside what this program measures, as Markdown. Times in ms, with 95 %
// confidence: of the mean by its standard error, of p99.9 by order statistics.
//
//   paper_table [--messages N] [--seed N]      4,000 messages per cell unless told
#include <cstdio>
#include <string>

#include "bench/policy/paper_run.h"
#include "bench/policy/run_size.h"

namespace {

std::string percent(double ours, double model) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", 100 * (ours / model - 1));
  return text;
}

void print_selective(const char* name, cw::PaperPolicy policy, cw::PaperCell cell) {
  cell.policy = policy;
  const cw::model::Law law = cw::paper_law_of(cell);
  const double mean = law.mean_ms(), tail = law.quantile_ms(0.999);
  const cw::CompletionTimes ours = cw::run_paper_cell(cell).completion;
  std::printf("| %s | %u | %g | %.3f | %.3f ± %.3f | %s | %.2f | %.2f (%.2f to %.2f) | %s |\n",
              name, cell.chunks, cell.loss, mean, ours.mean, 1.96 * ours.mean_error,
              percent(ours.mean, mean).c_str(), tail, ours.p999, ours.p999_low, ours.p999_high,
              percent(ours.p999, tail).c_str());
  std::fflush(stdout);
}

void print_go_back_n(cw::PaperCell cell) {
  cell.policy = cw::PaperPolicy::GoBackN;
  const cw::CompletionTimes ours = cw::run_paper_cell(cell).completion;
  std::printf("| go_back_n | %u | %g | | %.3f ± %.3f | | | %.2f (%.2f to %.2f) | |\n", cell.chunks,
              cell.loss, ours.mean, 1.96 * ours.mean_error, ours.p999, ours.p999_low,
              ours.p999_high);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  cw::RunSize size{.messages = 4000};
  if (!cw::read_run_size({argv + 1, argv + argc}, size)) {
    std::fprintf(stderr, "usage: paper_table [--messages N] [--seed N]\n");
    return 2;
  }
  std::printf(
      "| policy | chunks | loss | mean, model | mean, ours | | p99.9, model | p99.9, ours | |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const uint32_t chunks : {2u, 512u, 2048u}) {
    for (const double loss : {1e-5, 1e-4, 1e-3, 1e-2}) {
      const cw::PaperCell cell{
          .chunks = chunks, .loss = loss, .messages = size.messages, .seed = size.seed};
      print_selective("SR3", cw::PaperPolicy::Sr3, cell);
      print_selective("SR1", cw::PaperPolicy::Sr1, cell);
      print_go_back_n(cell);
    }
  }
}
