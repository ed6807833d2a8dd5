#include "control/perf/report/words.h"

#include <algorithm>

#include "control/json/json.h"

namespace cw::perf {
namespace {

bool is_count(const Json& json) { return json.is_number_unsigned(); }

/// What the client's own report takes out of it.
bool can_be_shown(const Json& figures) {
  if (!figures.is_object()) return false;
  const auto has_count = [&](const char* name) {
    const auto found = figures.find(name);
    return found != figures.end() && is_count(*found);
  };
  const auto drops = figures.find("drops");
  return has_count("whole") && has_count("incomplete") && has_count("bytes_wrong") &&
         drops != figures.end() && drops->is_object() && std::ranges::all_of(*drops, is_count);
}

}  // namespace

std::optional<Json> word_in(const std::string& line) {
  Json json = Json::parse_or_null(line);
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

std::string line_of(const Json& word) {
  // A sentence may quote what is no UTF-8, an argument for one.
  return word.dump() + "\n";
}

std::optional<uint64_t> count_in(const Json& word, const char* name) {
  const auto found = word.find(name);
  if (found == word.end() || !is_count(*found)) return std::nullopt;
  return found->get<uint64_t>();
}

Json hello(const Parameters& parameters) { return {{"hello", json_of(parameters)}}; }

Result<Parameters> parameters_in(const Json& word) {
  return parameters_of(word.value("hello", Json::object()));
}

Json finish(uint64_t posted, bool is_whole) { return {{"finish", posted}, {"whole", is_whole}}; }

std::optional<uint64_t> finish_in(const Json& word) {
  if (!word.contains("finish")) return std::nullopt;
  const Json &posted = word.at("finish"), whole = word.value("whole", Json());
  return is_count(posted) && whole == Json(true) ? posted.get<uint64_t>() : 0;
}

Json ready() { return {{"ready", true}}; }

Json refusal(const std::string& sentence) { return {{"refused", sentence}}; }

Result<void> consent_in(const Json& word) {
  if (word.contains("ready")) return {};
  const Json refused = word.value("refused", Json());
  return failure("the server refuses: " +
                 (refused.is_string() ? refused.get<std::string>() : word.dump()));
}

Json report(const Json& figures) { return {{"report", figures}}; }

Json figures_in(const Json& word) {
  Json figures = word.value("report", Json());
  return can_be_shown(figures) ? figures : Json();
}

}  // namespace cw::perf
