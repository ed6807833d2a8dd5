// causeway-perf's command line as a person types it.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "control/perf/options.h"

namespace cw::perf {

inline Result<Options> parse(const std::string& line) {
  std::istringstream stream("causeway-perf " + line);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parse_options(arguments);
}

}  // namespace cw::perf
