#include "control/perf/shared/policies.h"

#include "policies/policies.h"

namespace cw::perf {

Result<std::string> gather(plugins::Registry& policies, const std::string& plugin,
                           const char* usual) {
  for (const cw_policy_ops* each : policy::all()) {
    if (const auto added = policies.add(*each); !added) return std::unexpected(added.error());
  }
  if (plugin.empty()) return usual;
  const auto loaded = policies.load(plugin);
  if (!loaded) return failure("--plugin: " + loaded.error().sentence);
  return std::string(loaded->table().name);
}

}  // namespace cw::perf
