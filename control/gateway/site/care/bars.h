// Policies that were put in quarantine here, with their parameters: no swap brings them again, in
// this life of the gateway or, where it has a folder for its state, in a later one. A new version
// of a plugin's file is another policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/sdr/options.h"
#include "plugins/registry.h"

namespace cw::site {

struct Bar {
  std::string policy, params;  ///< "hybrid/1" and "k=32 m=4"
  std::string file;            ///< of the plugin; empty: built in
  uint64_t hash = 0;           ///< of what it held
  std::string since;           ///< in UTC
};

/// Thread: one, which may take its time.
class Bars {
 public:
  /// `registry` outlives it.
  explicit Bars(const plugins::Registry& registry) : registry_(registry) {}

  /// Reads what an earlier life has left in this folder; from here on all that changes is written
  /// there. Errors, after which nothing is written: what stands there cannot be read.
  Result<void> keep_in(const std::string& folder);
  /// Why the last change could not be written; empty: it was, or nothing is.
  const std::string& trouble() const { return trouble_; }

  void add(const sdr::PolicyChoice& policy);
  /// Null: it is not.
  const Bar* find(const sdr::PolicyChoice& policy) const;
  const std::vector<Bar>& all() const { return bars_; }
  /// All of this name and these parameters, whichever file they were of; returns how many.
  size_t forgive(std::string_view policy, std::string_view params);

 private:
  Bar bar_of(const sdr::PolicyChoice& policy) const;
  Result<void> read();
  Result<void> write() const;
  void save();

  const plugins::Registry& registry_;
  std::string file_;  // empty: there is none
  std::string trouble_;
  std::vector<Bar> bars_;
};

}  // namespace cw::site
