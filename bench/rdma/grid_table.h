// The results as a page for people, and whether they hold what is promised.
#pragma once

#include <string>
#include <vector>

#include "bench/rdma/results.h"

namespace cw::bench {

/// A promise: a share of one median in another.
struct Promise {
  std::string what;
  Cell of, over;
  enum { Met, Missed, Open } outcome = Open;
  double ratio = 0;
  size_t rounds = 0;  ///< the fewer of both
};

/// What is asked of RC writes over 20 ms: with `erasure` and `hybrid` at least 95 % at 1 % loss of
/// what the same gateways carry without loss, and without loss at least 95 % of what gateways that
/// only forward do. Medians of five rounds or more; else it is open.
std::vector<Promise> promises_of(const Results& results);

/// Markdown. `command` made it last.
std::string page_of(const Results& results, const std::string& command);

}  // namespace cw::bench
