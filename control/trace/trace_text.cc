#include "control/trace/trace_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>

namespace cw::trace {
namespace {

using namespace std::string_view_literals;
using sdr::TracedCall;
using sdr::TracedWord;

/// Fields that are one of a few, as policy.h numbers them.
struct Choice {
  std::string_view field;
  std::span<const std::string_view> names;
};
constexpr std::array send_kinds = {"data"sv, "resend"sv, "repair"sv};
constexpr std::array path_choices = {"any"sv, "id"sv, "not_last"sv};
constexpr std::array statuses = {"ok"sv, "given_up"sv};
constexpr std::array results = {"ok"sv, "singular"sv, "need_more"sv};
constexpr std::array decisions = {"none"sv,    "send"sv,   "code"sv,   "note"sv, "timer"sv,
                                  "release"sv, "finish"sv, "layout"sv, "ask"sv};
constexpr std::array reasons = {"none"sv,    "path"sv, "expired"sv, "quota"sv, "range"sv,
                                "message"sv, "full"sv, "codec"sv,   "peer"sv,  "seat"sv};
constexpr std::array choices = {Choice{"kind", send_kinds},    Choice{"path_choice", path_choices},
                                Choice{"status", statuses},    Choice{"result", results},
                                Choice{"decision", decisions}, Choice{"reason", reasons}};

std::string_view name_of(std::string_view field, uint64_t number) {
  const auto found = std::ranges::find(choices, field, &Choice::field);
  const bool is_one = found != choices.end() && number < found->names.size();
  return is_one ? found->names[number] : "";
}

/// A moment of the clock, else a length of time.
bool is_moment(std::string_view field) {
  constexpr std::array moments = {"deadline_ns"sv, "departed_ns"sv,   "by_ns"sv,        "at_ns"sv,
                                  "answered_ns"sv, "not_before_ns"sv, "drop_after_ns"sv};
  return std::ranges::find(moments, field) != moments.end();
}

std::string ms_text(double ns, const char* sign) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%s%.3f ms", sign, ns * 1e-6);
  return text.data();
}

std::string time_text(std::string_view field, int64_t ns, int64_t now_ns) {
  if (!is_moment(field)) return ms_text(static_cast<double>(ns), "");
  if (ns == CW_NEVER_NS) return "never";
  const double ahead = static_cast<double>(ns) - static_cast<double>(now_ns);
  return ahead == 0 ? "now" : ms_text(ahead, ahead > 0 ? "+" : "");
}

template <class Field>
std::string field_text(std::string_view name, Field field, int64_t now_ns) {
  if (name.ends_with("_ns")) return time_text(name, static_cast<int64_t>(field), now_ns);
  if constexpr (std::is_same_v<Field, double>) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.4g", field);
    return text.data();
  } else {
    if (const auto its = name_of(name, field); !its.empty()) return std::string(its);
    if (std::is_same_v<Field, uint32_t> && sdr::trace_number(field) == CW_UNKNOWN) return "unknown";
    return std::to_string(field);
  }
}

/// What is zero says nothing, save which message and where.
bool says_something(std::string_view name, uint64_t number) {
  return number != 0 || name == "message" || name == "first" || name == "kind" || name == "status";
}

std::string fields_text(const auto& fields, int64_t now_ns) {
  std::string text;
  sdr::fields_of(fields, [&](std::string_view name, auto field) {
    if (!says_something(name, sdr::trace_number(field))) return;
    std::string_view shown = name;
    if (shown.ends_with("_ns")) shown.remove_suffix(3);
    text += (text.empty() ? "" : ", ") + std::string(shown) + " " + field_text(name, field, now_ns);
  });
  return text;
}

std::string hex_of(std::span<const uint8_t> bytes, size_t bytes_max) {
  std::string text;
  for (const uint8_t each : bytes.first(std::min(bytes.size(), bytes_max))) {
    std::array<char, 4> two;
    std::snprintf(two.data(), two.size(), "%02x", each);
    text += two.data();
  }
  return text + (bytes.size() > bytes_max ? "..." : "");
}

/// As the bits are numbered: the first of a word is its last digit's lowest.
Json hex_of(const std::vector<uint64_t>& words) {
  Json json = Json::array();
  for (const uint64_t each : words) {
    std::array<char, 20> text;
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(each));
    json.push_back(std::string(text.data()));
  }
  return json;
}

std::string line(const char* name, const std::string& fields) {
  std::string text(name);
  if (fields.empty()) return text;
  text.resize(std::max<size_t>(text.size() + 1, 13), ' ');
  return text + fields;
}

Json fields_json(const auto& fields) {
  Json json = Json::object();
  sdr::fields_of(fields, [&](const char* name, auto field) { json[name] = Json(field); });
  return json;
}

constexpr size_t note_bytes_shown = 32;

}  // namespace

std::string text_of(const TracedCall& call) {
  std::string fields =
      std::visit([&](const auto& fact) { return fields_text(fact, call.now_ns); }, call.fact);
  for (const cw_path_facts& each : call.paths) {
    fields += "; path: " + fields_text(each, call.now_ns);
  }
  if (!call.note.empty()) fields += ": " + hex_of(call.note, note_bytes_shown);
  return line(sdr::traced_fact_names[call.fact.index()], fields);
}

std::string text_of(const TracedWord& word, int64_t now_ns) {
  std::string fields = std::visit(
      [&](const auto& decision) { return fields_text(decision, now_ns); }, word.decision);
  if (word.note) fields += ": " + hex_of(*word.note, note_bytes_shown);
  return line(sdr::traced_decision_names[word.decision.index()], fields);
}

std::string text_of(const sdr::TraceHead& head) {
  std::string text = head.policy + " " + head.version + ", ";
  text += head.env.role == CW_SOURCE ? "source" : "sink";
  for (const auto& [name, value] : head.params)
    text += ", " + name + " " + field_text("", value, 0);
  return text + "\nmade for " + fields_text(head.env, 0);
}

Json json_of(const TracedCall& call) {
  Json json = {{"fact", sdr::traced_fact_names[call.fact.index()]}, {"now_ns", call.now_ns}};
  json.update(std::visit([](const auto& fact) { return fields_json(fact); }, call.fact));
  for (const cw_path_facts& each : call.paths) json["path_facts"].push_back(fields_json(each));
  if (!call.note.empty()) json["note"] = hex_of(call.note, call.note.size());
  if (!call.data_words.empty()) json["data_words"] = hex_of(call.data_words);
  if (!call.repair_words.empty()) json["repair_words"] = hex_of(call.repair_words);
  return json;
}

Json json_of(const TracedWord& word) {
  Json json = {{"decision", sdr::traced_decision_names[word.decision.index()]}};
  const Json fields =
      std::visit([](const auto& decision) { return fields_json(decision); }, word.decision);
  json.update(fields);
  if (word.note) json["note"] = hex_of(*word.note, word.note->size());
  return json;
}

Json json_of(const sdr::TraceHead& head) {
  Json params = Json::object();
  for (const auto& [name, value] : head.params) params[name] = value;
  return {{"policy", head.policy},
          {"version", head.version},
          {"notes", head.wire_version},
          {"params", params},
          {"made_for", fields_json(head.env)}};
}

}  // namespace cw::trace
