// What arrives over the TCP connection of causeway-perf, in pieces: at a server from any client, at
// a client from any server.
#include <string>

#include "control/json/json.h"
#include "control/perf/report/words.h"
#include "control/units/lines.h"
#include "dataplane/base/assert.h"

namespace {
using namespace cw;
using namespace cw::perf;

void run_server(const Json& word) {
  const auto parameters = parameters_in(word);
  if (!parameters) {
    CW_ASSERT(word_in(line_of(refusal(parameters.error().sentence)).c_str()));
    return;
  }
  CW_ASSERT(check(*parameters) && sdr::check(stream_config(*parameters)));
  const auto again = parameters_in(*word_in(line_of(hello(*parameters))));
  CW_ASSERT(again && json_of(*again) == json_of(*parameters));
}

void run_client(const Json& word) {
  CW_ASSERT(consent_in(word) || !consent_in(word).error().sentence.empty());
  const Json figures = figures_in(word);
  CW_ASSERT(figures.is_null() || figures.value("whole", uint64_t{0}) == figures.at("whole"));
  if (const auto posted = finish_in(word)) CW_ASSERT(*posted == 0 || word.contains("whole"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t line_bytes_max = 1024;
  std::string_view left(reinterpret_cast<const char*>(data), size);
  Lines lines(line_bytes_max);
  while (!left.empty() && (!lines.is_full() || lines.has_next())) {
    const size_t piece = std::min<size_t>(left.size(), 1 + static_cast<uint8_t>(left[0]));
    lines.take(left.substr(0, piece));
    left.remove_prefix(piece);
    while (const auto line = lines.next()) {
      CW_ASSERT(line->find('\n') == std::string::npos);
      const auto word = word_in(*line);
      if (!word) return 0;  // hung up
      run_server(*word);
      run_client(*word);
    }
    CW_ASSERT(!lines.has_next());
  }
  return 0;
}
