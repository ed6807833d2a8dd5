// What a link is asked over causeway-wan's control socket: lines, each of which changes it as a
// whole or not at all, and settings that make another link what this one is.
#include <sstream>
#include <string>

#include "control/units/lines.h"
#include "control/wan/link/link_change.h"
#include "dataplane/base/assert.h"

namespace {
using namespace cw;
using namespace cw::wan;

std::string in_one_line(std::string settings) {
  for (char& each : settings) each = each == '\n' ? ' ' : each;
  return settings;
}

void check_alike(const BothDirections& link) {
  const auto again = changed({}, in_one_line(settings_of(link)));
  CW_ASSERT(again && settings_of(*again) == settings_of(link));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  BothDirections link;
  Lines lines(4096);
  lines.take({reinterpret_cast<const char*>(data), size});
  while (const auto line = lines.next()) {
    const auto made = changed(link, *line);
    if (!made) {
      CW_ASSERT(!made.error().sentence.empty());
      continue;
    }
    link = *made;
    check_alike(link);
  }
  return 0;
}
