#include "control/trace/replaying.h"

#include <array>
#include <cstdio>
#include <utility>

#include "control/trace/replay.h"
#include "control/trace/trace_text.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"

namespace cw::trace {
namespace {

using sdr::TracedCall;
using sdr::TracedWord;

/// A call, and what became of it this time.
struct Replayed {
  const TracedCall& call;
  const std::vector<TracedWord>& decided;
  bool is_same = true;
  uint64_t number = 0;
};

bool is_about(const auto& its, uint64_t message) {
  if constexpr (requires { its.message; }) return its.message == message;
  return false;
}

/// Whether the fact, or one of the decisions, is about that message.
bool is_shown(const Replayed& replayed, const ReplayOptions& options) {
  if (options.shows_differences_only && replayed.is_same) return false;
  if (!options.message) return true;
  const auto is_its = [&](const auto& variant) {
    return std::visit([&](const auto& its) { return is_about(its, *options.message); }, variant);
  };
  bool is_any = is_its(replayed.call.fact);
  for (const TracedWord& each : replayed.call.decided) is_any |= is_its(each.decision);
  for (const TracedWord& each : replayed.decided) is_any |= is_its(each.decision);
  return is_any;
}

/// Plays it; `show` is told of each call that is to be shown.
Result<ReplayReport> play(const StreamTrace& stream, const ReplayOptions& options,
                          const FindPolicy& find,
                          const std::function<void(const sdr::TraceHead&)>& begin,
                          const std::function<void(const Replayed&)>& show) {
  auto reader = sdr::TraceReader::open(stream.bytes);
  if (!reader) return std::unexpected(reader.error());
  const sdr::TraceHead& head = reader->head();
  const auto policy = find(options.policy.empty() ? head.policy : options.policy);
  if (!policy) return std::unexpected(policy.error());
  auto player = Replay::make(head, **policy);
  if (!player) return std::unexpected(player.error());
  ReplayReport report{.policy = (*policy)->name, .version = (*policy)->version};
  if (report.policy != head.policy || report.version != head.version) {
    report.remark = "recorded of " + head.policy + " " + head.version;
  }
  begin(head);
  // What a trace without room for more ends with may have been decided about and not written.
  const bool ends_early = stream.state == sdr::name_of(sdr::TraceState::Full);
  auto next = reader->next();
  while (next && *next) {
    const TracedCall call = std::move(**next);
    next = reader->next();
    const auto decided = (*player)->tell(call);
    if (!decided) {
      return failure("call " + std::to_string(report.facts + 1) + ": " + decided.error().sentence);
    }
    ++report.facts;
    report.decisions += decided->size();
    const bool is_last = next && !*next;
    const bool is_same = are_same(call.decided, *decided) || (is_last && ends_early);
    if (!is_same && report.differences++ == 0) report.first_difference = report.facts;
    const Replayed replayed{call, *decided, is_same, report.facts};
    if (is_shown(replayed, options)) show(replayed);
  }
  if (!next) return std::unexpected(next.error());
  return report;
}

std::string number_text(uint64_t number, double ms, bool is_same) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%s%7llu %12.3f ms  ", is_same ? " " : "!",
                static_cast<unsigned long long>(number), ms);
  return text.data();
}

}  // namespace

Result<ReplayReport> replay(const StreamTrace& stream, const ReplayOptions& options,
                            const FindPolicy& find,
                            const std::function<void(const std::string&)>& show) {
  std::optional<int64_t> begun_ns;
  const std::string indent(25, ' ');
  const auto show_words = [&](const std::vector<TracedWord>& words, int64_t now_ns,
                              const char* mark) {
    for (const TracedWord& each : words) show(indent + mark + text_of(each, now_ns));
    if (words.empty() && *mark != '-') show(indent + mark + "nothing");
  };
  const auto begin = [&](const sdr::TraceHead& head) { show(text_of(head)); };
  const auto show_call = [&](const Replayed& each) {
    const int64_t now_ns = each.call.now_ns;
    if (!begun_ns) begun_ns = now_ns;
    const double ms = static_cast<double>(now_ns - *begun_ns) * 1e-6;
    show(number_text(each.number, ms, each.is_same) + text_of(each.call));
    if (each.is_same) return show_words(each.decided, now_ns, "-> ");
    show_words(each.call.decided, now_ns, "recorded: ");
    show_words(each.decided, now_ns, "replayed: ");
  };
  return play(stream, options, find, begin, show_call);
}

Result<Json> replay_json(const StreamTrace& stream, const ReplayOptions& options,
                         const FindPolicy& find) {
  Json head, calls = Json::array();
  const auto words_json = [](const std::vector<TracedWord>& words) {
    Json json = Json::array();
    for (const TracedWord& each : words) json.push_back(json_of(each));
    return json;
  };
  const auto begin = [&](const sdr::TraceHead& its) { head = json_of(its); };
  const auto add = [&](const Replayed& each) {
    Json json = {{"number", each.number}};
    json.update(json_of(each.call));
    if (!each.is_same) json["recorded"] = words_json(each.call.decided);
    json["replayed"] = words_json(each.decided);
    calls.push_back(std::move(json));
  };
  const auto report = play(stream, options, find, begin, add);
  if (!report) return std::unexpected(report.error());
  return Json({{"head", head}, {"calls", calls}, {"report", json_of(*report)}});
}

Json json_of(const ReplayReport& report) {
  Json json = {{"policy", report.policy},
               {"version", report.version},
               {"facts", report.facts},
               {"decisions", report.decisions},
               {"differences", report.differences}};
  if (report.first_difference != 0) json["first_difference"] = report.first_difference;
  if (!report.remark.empty()) json["remark"] = report.remark;
  return json;
}

std::string text_of(const ReplayReport& report) {
  std::string text = std::to_string(report.facts) + " calls, " + std::to_string(report.decisions) +
                     " decisions of " + report.policy + " " + report.version + ": ";
  if (report.differences == 0) {
    text += "all as recorded";
  } else {
    text += std::to_string(report.differences) + " calls decided otherwise, the first is number " +
            std::to_string(report.first_difference) +
            "; what follows that one would not have come about";
  }
  return report.remark.empty() ? text : text + " (" + report.remark + ")";
}

}  // namespace cw::trace
