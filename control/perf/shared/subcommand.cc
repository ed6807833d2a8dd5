#include "control/perf/shared/subcommand.h"

#include <vector>

namespace cw::perf {

Result<std::string> parse_rest(CommandLine& app, std::span<char* const> arguments) {
  std::vector<const char*> rest = {arguments[0]};
  rest.insert(rest.end(), arguments.begin() + 2, arguments.end());
  return app.parse(rest);
}

}  // namespace cw::perf
