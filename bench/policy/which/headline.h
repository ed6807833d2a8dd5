// The published comparison (SDR-RDMA, arXiv 2505.05366, section 5.2): up to 6.5 times in the mean
// and 12.2 times in p99.9 is what selective repeat by timeout takes longer. By the model, under
// each reading of what is compared, and by the simulator. Markdown, on standard output.
#pragma once

#include <cstdint>

namespace cw::which {

void print_headline(uint64_t messages, uint64_t seed);

}  // namespace cw::which
