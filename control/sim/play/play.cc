#include "control/sim/play/play.h"

#include <cstdio>

#include "control/config/text/file.h"
#include "control/json/json.h"
#include "control/trace/replaying.h"
#include "control/trace/trace_document.h"

namespace cw {
namespace {

constexpr int exit_different = 1;
constexpr int exit_mistake = 2;
constexpr size_t file_bytes_max = size_t{64} << 20;

int refuse(const std::string& file, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", file.c_str(), sentence.c_str());
  return exit_mistake;
}

Result<const cw_policy_ops*> find_policy(const Policies& policies, const std::string& name) {
  std::string all;
  for (const cw_policy_ops* each : policies.known) {
    if (name == each->name) return each;
    all += std::string(all.empty() ? "" : ", ") + each->name;
  }
  return failure("there is no policy \"" + name + "\" here; there are " + all +
                 ", and those of --plugin");
}

std::string title_of(const trace::TraceDocument& document, const trace::StreamTrace& stream) {
  return "site " + document.site + ", class " + stream.class_name + ", " +
         (stream.is_outward ? "to " : "from ") + stream.peer + ", link " +
         std::to_string(stream.link) + ": " + std::to_string(stream.bytes.size()) + " bytes, " +
         stream.state + (stream.why.empty() ? "" : ", " + stream.why);
}

}  // namespace

int play(const PlayOptions& options, const Policies& policies, bool as_json) {
  const auto text = config::text_of_file(options.file, file_bytes_max);
  if (!text) return refuse(options.file, text.error().sentence);
  const auto document = trace::read_document(*text);
  if (!document) return refuse(options.file, document.error().sentence);
  const trace::ReplayOptions wanted = {.policy = options.policy,
                                       .message = options.message,
                                       .shows_differences_only = options.shows_differences_only};
  const auto find = [&](const std::string& name) { return find_policy(policies, name); };
  const auto show = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  bool is_same = true;
  Json streams = Json::array();
  for (const trace::StreamTrace& each : document->streams) {
    const std::string title = title_of(*document, each);
    if (!as_json) show(title);
    if (each.bytes.empty()) continue;  // it never began
    if (as_json) {
      auto json = trace::replay_json(each, wanted, find);
      if (!json) return refuse(options.file, title + ": " + json.error().sentence);
      is_same &= json->at("report").at("differences") == Json(0);
      streams.push_back(std::move(*json));
    } else {
      const auto report = trace::replay(each, wanted, find, show);
      if (!report) return refuse(options.file, title + ": " + report.error().sentence);
      is_same &= report->differences == 0;
      show(trace::text_of(*report) + "\n");
    }
  }
  if (as_json) show(Json({{"streams", streams}}).dump(1));
  return is_same ? 0 : exit_different;
}

}  // namespace cw
