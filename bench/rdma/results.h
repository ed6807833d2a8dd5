// What was measured across the grid, kept in one file: a run adds to what earlier ones left, so
// that it may be interrupted, and begins where it was.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace cw::bench {

/// One place of the grid. `loss` is a share, and behind a slash the mean burst: "1%/8".
struct Cell {
  uint32_t mtu = 1500;
  std::string rtt, loss, policy, operation;

  auto operator<=>(const Cell&) const = default;
};

/// One run in one cell. What does not apply is 0.
struct Sample {
  double mbps = 0;                ///< of messages' bytes
  double p50_us = 0, p99_us = 0;  ///< one way
  uint64_t retransmits = 0;       ///< of both hosts
  std::string failure;            ///< not empty: it came to nothing else
  std::string commit;             ///< what was built
};

class Results {
 public:
  /// What the file holds; empty when there is none. The sentence tells why it cannot be read.
  static Result<Results> read(const std::string& path);
  /// Replaces the file. Throws when that is not possible.
  void write(const std::string& path) const;

  void add(const Cell& cell, const Sample& sample) { cells_[cell].push_back(sample); }
  /// Of the runs that succeeded: those that did not are made again.
  size_t count(const Cell& cell) const;
  const std::map<Cell, std::vector<Sample>>& cells() const { return cells_; }

  /// Of the runs that succeeded; nothing without one.
  std::optional<double> median(const Cell& cell, double Sample::* figure) const;
  /// Of all runs together.
  uint64_t retransmits(const Cell& cell) const;

 private:
  std::vector<double> values(const Cell& cell, double Sample::* figure) const;

  std::map<Cell, std::vector<Sample>> cells_;
};

}  // namespace cw::bench
