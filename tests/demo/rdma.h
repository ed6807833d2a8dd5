// Two real RDMA hosts across the link: what their RC writes get, with and without gateways.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/demo/options.h"
#include "tests/demo/steps.h"
#include "tests/rdma/rdma_sites.h"

namespace cw::demo {

/// One way across.
struct RdmaWay {
  std::vector<double> mbps;  ///< of each run
  uint64_t retransmits = 0;  ///< of the hosts, in all runs

  /// 0 without runs.
  double median_mbps() const;
};

/// `quick`: hosts whose QPs have perftest's own timeout instead of the patient one.
struct RdmaReport {
  Options options;
  RdmaWay plain, plain_quick, plain_lossless, gateway, gateway_lossless;
  double seconds = 0;
};

/// Brings the hosts up and measures; each round has a run of each way. Throws what is in the way.
RdmaReport measure_rdma(const Options& options, const lab::RdmaPrograms& programs, Steps& steps);

/// One object on one line.
std::string to_json(const RdmaReport& report);
std::string to_table(const RdmaReport& report);

}  // namespace cw::demo
