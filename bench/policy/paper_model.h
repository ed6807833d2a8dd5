// The completion-time model of selective repeat from SDR-RDMA (arXiv 2505.05366).
//
// A message is M chunks, injected one per T. A chunk is dropped with probability P, each time anew;
// a drop costs O = RTO + T. Chunk i is in place after X_i = i T + O (Y_i - 1), where Y_i is
// geometric; the message is complete at the sender after max X_i + RTT. Exact while M T <= RTO: no
// resend then competes with a first send.
#pragma once

#include <cstdint>

namespace cw {

struct PaperSetting {
  uint32_t chunks = 512;          ///< M
  double loss = 1e-3;             ///< P, of a chunk
  double inject_ms = 1.31072e-3;  ///< T: 4 KiB at 25 Gbit/s, or 64 KiB at 400
  double rtt_ms = 25;
  double rto_ms = 75;  ///< three RTTs: "SR3"; one: "SR1"
};

/// Mean and standard deviation of the completion time.
struct PaperMoments {
  double mean_ms = 0, deviation_ms = 0;
};
PaperMoments paper_moments(const PaperSetting& setting);

/// The time that a share `q` of messages does not exceed.
double paper_quantile_ms(const PaperSetting& setting, double q);

}  // namespace cw
