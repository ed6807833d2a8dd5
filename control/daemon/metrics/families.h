// Metrics as Prometheus has them: families of one name, type and sentence each, in the order in
// which they are first spoken of.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cw::daemon {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// "causeway_" stands before each name. Sentences begin in lower case and have no full stop, as in
/// counters.def.
class Families {
 public:
  void count(const std::string& name, const std::string& sentence, const Labels& labels,
             double value);
  void gauge(const std::string& name, const std::string& sentence, const Labels& labels,
             double value);
  /// `counts[i]` were at most `bounds[i]`, and above the bound before; the last one is unbounded.
  void histogram(const std::string& name, const std::string& sentence, const Labels& labels,
                 const std::vector<double>& bounds, const std::vector<uint64_t>& counts,
                 double sum);
  /// What a scraper reads: the text format, version 0.0.4.
  std::string text() const;
  /// How many lines of values that has.
  size_t series() const { return series_; }

 private:
  prometheus::ClientMetric& add(const std::string& name, const std::string& sentence,
                                prometheus::MetricType type, const Labels& labels);

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> places_;  // by name
  size_t series_ = 0;
};

}  // namespace cw::daemon
