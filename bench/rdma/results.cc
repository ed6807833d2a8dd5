#include "bench/rdma/results.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "control/json/json.h"

namespace cw::bench {
namespace {

Json json_of(const Sample& it) {
  Json json;
  if (!it.failure.empty()) json["failure"] = it.failure;
  if (it.mbps > 0) json["mbps"] = it.mbps;
  if (it.p50_us > 0) json["p50_us"] = it.p50_us;
  if (it.p99_us > 0) json["p99_us"] = it.p99_us;
  json["retransmits"] = it.retransmits;
  json["commit"] = it.commit;
  return json;
}

Sample sample_of(const Json& json) {
  return {.mbps = json.value("mbps", 0.0),
          .p50_us = json.value("p50_us", 0.0),
          .p99_us = json.value("p99_us", 0.0),
          .retransmits = json.value("retransmits", uint64_t{0}),
          .failure = json.value("failure", ""),
          .commit = json.value("commit", "")};
}

Cell cell_of(const Json& json) {
  return {.mtu = json.at("mtu").get<uint32_t>(),
          .rtt = json.at("rtt").get<std::string>(),
          .loss = json.at("loss").get<std::string>(),
          .policy = json.at("policy").get<std::string>(),
          .operation = json.at("operation").get<std::string>()};
}

}  // namespace

Result<Results> Results::read(const std::string& path) {
  Results results;
  if (!std::filesystem::exists(path)) return results;
  std::ifstream stream(path);
  try {
    std::stringstream text;
    text << stream.rdbuf();
    const Json json = Json::parse(text.str());
    for (const Json& each : json.at("cells")) {
      std::vector<Sample>& samples = results.cells_[cell_of(each)];
      for (const Json& sample : each.at("samples")) samples.push_back(sample_of(sample));
    }
  } catch (const Json::Error& error) {
    return failure(path + " holds no results: " + error.what() + "; --fresh begins anew");
  }
  return results;
}

void Results::write(const std::string& path) const {
  // A line per cell, so that versions can be compared.
  std::string text = "{\"cells\": [";
  for (const char* between = "\n"; const auto& [cell, samples] : cells_) {
    Json json{{"mtu", cell.mtu},
              {"rtt", cell.rtt},
              {"loss", cell.loss},
              {"policy", cell.policy},
              {"operation", cell.operation}};
    for (const Sample& each : samples) json["samples"].push_back(json_of(each));
    text += between + json.dump();
    between = ",\n";
  }
  text += "\n]}\n";
  const std::string part = path + ".part";
  if (!(std::ofstream(part) << text << std::flush)) {
    throw std::runtime_error(part + " cannot be written");
  }
  std::filesystem::rename(part, path);
}

size_t Results::count(const Cell& cell) const { return values(cell, &Sample::mbps).size(); }

std::vector<double> Results::values(const Cell& cell, double Sample::*figure) const {
  std::vector<double> values;
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return values;
  for (const Sample& each : found->second) {
    if (each.failure.empty()) values.push_back(each.*figure);
  }
  return values;
}

std::optional<double> Results::median(const Cell& cell, double Sample::*figure) const {
  std::vector<double> sorted = values(cell, figure);
  if (sorted.empty()) return {};
  std::ranges::sort(sorted);
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

uint64_t Results::retransmits(const Cell& cell) const {
  const auto found = cells_.find(cell);
  uint64_t sum = 0;
  if (found == cells_.end()) return sum;
  for (const Sample& each : found->second) sum += each.retransmits;
  return sum;
}

}  // namespace cw::bench
