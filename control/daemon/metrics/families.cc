#include "control/daemon/metrics/families.h"

#include <prometheus/text_serializer.h>

#include <limits>
#include <sstream>

#include "dataplane/base/assert.h"

namespace cw::daemon {

prometheus::ClientMetric& Families::add(const std::string& name, const std::string& sentence,
                                        prometheus::MetricType type, const Labels& labels) {
  const auto [place, is_new] = places_.try_emplace(name, families_.size());
  if (is_new) {
    families_.push_back({.name = "causeway_" + name, .help = sentence, .type = type, .metric = {}});
  }
  prometheus::MetricFamily& family = families_[place->second];
  CW_ASSERT(family.type == type);
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  return metric;
}

void Families::count(const std::string& name, const std::string& sentence, const Labels& labels,
                     double value) {
  add(name, sentence, prometheus::MetricType::Counter, labels).counter.value = value;
  ++series_;
}

void Families::gauge(const std::string& name, const std::string& sentence, const Labels& labels,
                     double value) {
  add(name, sentence, prometheus::MetricType::Gauge, labels).gauge.value = value;
  ++series_;
}

void Families::histogram(const std::string& name, const std::string& sentence, const Labels& labels,
                         const std::vector<double>& bounds, const std::vector<uint64_t>& counts,
                         double sum) {
  CW_ASSERT(counts.size() == bounds.size() + 1);
  auto& histogram = add(name, sentence, prometheus::MetricType::Histogram, labels).histogram;
  uint64_t so_far = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    so_far += counts[i];
    const bool is_last = i == bounds.size();
    histogram.bucket.push_back(
        {.cumulative_count = so_far,
         .upper_bound = is_last ? std::numeric_limits<double>::infinity() : bounds[i]});
  }
  histogram.sample_count = so_far;
  histogram.sample_sum = sum;
  series_ += counts.size() + 2;
}

std::string Families::text() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families_);
  return text.str();
}

}  // namespace cw::daemon
