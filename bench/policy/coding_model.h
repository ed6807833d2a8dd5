// The completion-time model of erasure coding from SDR-RDMA (arXiv 2505.05366), beside that of
// selective repeat (paper_model.h).
//
// A message of M chunks is cut into L = M / k blocks, each sent with m repair chunks. A block that
// cannot be rebuilt falls back: after a timer of beta RTT beyond the injection of everything, all
// its k chunks are repeated selectively. The paper's bound counts the fallback's round trip twice
// when nothing fails; here
//   E[T] = (M + ceil(M m / k)) T + RTT + sum over f > 0 of P(F = f) (beta RTT + E[T_SR(f k)])
// with F, the number of failed blocks, binomial.
#pragma once

#include <cstdint>

#include "bench/policy/paper_model.h"

namespace cw {

enum class PaperCode : uint8_t {
  Mds,  ///< any k of k + m chunks rebuild the block
  Xor,  ///< m groups; in each, one chunk of data and repair together may be lost
};

struct CodingSetting {
  /// chunks: M, a multiple of k. rto_ms: of the selective repeat that a block falls back to.
  PaperSetting line{};
  PaperCode code = PaperCode::Mds;
  uint32_t k = 32, m = 8;
  double beta = 0.5;
};

/// The probability that one block cannot be rebuilt: 1 - P_EC. Exact to the last digits however
/// small it is.
double block_failure(const CodingSetting& setting);

/// The probability that any block of the message cannot.
double fallback_probability(const CodingSetting& setting);

/// E[T].
double coding_mean_ms(const CodingSetting& setting);

/// E[T] when a fallback throws nothing away: of a block that failed only the lost data is resent,
/// and only until the code can do the rest. What is resent once more costs an RTO. Its injection
/// counts for nothing.
double keeping_mean_ms(const CodingSetting& setting);

/// The probability that a chunk of `packets` packets is lost when each packet is with `loss`.
double chunk_loss(double loss, uint32_t packets);

}  // namespace cw
