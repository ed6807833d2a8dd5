// The parts of xdp_beside, each of which measures its contenders in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/e2e/xdp/report.h"
#include "tests/lab/program.h"
#include "tests/lab/space.h"

namespace cw::bench {

struct Asked {
  uint32_t rounds = 3, seconds = 3, per_second = 40'000;
  std::vector<uint32_t> offered = {40'000,  60'000,  80'000,  100'000, 130'000,
                                   160'000, 190'000, 220'000, 250'000};
  std::string end;  ///< as which end of the cable this process runs
  std::vector<std::string> parts{"port", "gateways", "program", "flood", "forward", "table"};
  bool is_json = false;
};

/// dpdk-testpmd over net_af_xdp at these interfaces, its forwarding on `core`, of two.
lab::Arguments testpmd(const std::vector<std::string>& interfaces, const char* mode, unsigned core);

/// At an interface since it was made, as its kernel counts them. Throws: there is none.
uint64_t frames_come(const lab::Space& space, const std::string& interface);

void measure_gateways(const Asked& asked, Report& report);
void measure_flood(const Asked& asked, Report& report);
void measure_forward(const Asked& asked, Report& report);
void measure_table(const Asked& asked, Report& report);

}  // namespace cw::bench
