#include "control/daemon/live/live.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "control/config/text/file.h"
#include "control/daemon/status.h"
#include "control/gateway/site/site.h"

namespace cw::daemon {
namespace {

using gateway::Prefix;

/// What has been done, and how to undo it.
class Done {
 public:
  ~Done() {
    for (; !inverses_.empty(); inverses_.pop_back()) inverses_.back()();
  }
  void add(std::function<void()> inverse) { inverses_.push_back(std::move(inverse)); }
  /// All of it stays.
  void keep() { inverses_.clear(); }

 private:
  std::vector<std::function<void()>> inverses_;
};

/// Those of `all` that `others` lacks.
std::vector<Prefix> without(const std::vector<Prefix>& all, const std::vector<Prefix>& others) {
  std::vector<Prefix> rest;
  std::ranges::copy_if(all, std::back_inserter(rest), [&](const Prefix& each) {
    return std::ranges::find(others, each) == others.end();
  });
  return rest;
}

Result<void> set_routes(const std::vector<Prefix>& before, const std::vector<Prefix>& after,
                        RouteSetter& routes, Done& done) {
  for (const Prefix& each : without(after, before)) {
    if (const auto added = routes.add(each); !added) return added;
    done.add([&routes, each] { (void)routes.remove(each); });
  }
  for (const Prefix& each : without(before, after)) {
    if (const auto removed = routes.remove(each); !removed) return removed;
    done.add([&routes, each] { (void)routes.add(each); });
  }
  return {};
}

/// The next status is written there a moment later: until then it says what the old one says.
Result<void> begin_status_file(const std::string& before, const site::Plan& next, Done& done) {
  const std::string& after = next.status_file;
  if (after == before || after.empty()) return {};
  const auto old = before.empty() ? failure("") : config::text_of_file(before);
  const auto written =
      try_write_atomically(after, old ? *old : status_at_start(next).dump() + "\n");
  if (!written) return failure("site.status: " + written.error().sentence);
  done.add([after] { unlink(after.c_str()); });
  return {};
}

}  // namespace

Result<void> apply_live(site::Plan& next, site::Site& site, const Log& log,
                        const Surroundings& around, Duration patience) {
  const std::string old_file = site.plan().status_file;
  // Who said on the command line how lines are to look is not overruled.
  const bool is_format_ours = log.format() == site.plan().log_format;
  Done done;
  if (around.routes != nullptr) {
    const auto set = set_routes(site.plan().lan_routes, next.lan_routes, *around.routes, done);
    if (!set) return set;
  }
  if (const auto begun = begin_status_file(old_file, next, done); !begun) return begun;
  if (const auto applied = site.apply(next, patience); !applied) return applied;
  done.keep();
  log.change(next.log_level, is_format_ours ? next.log_format : log.format());
  if (next.status_file == old_file) return {};
  if (around.on_status_file) around.on_status_file(next.status_file);
  if (!old_file.empty()) unlink(old_file.c_str());
  return {};
}

}  // namespace cw::daemon
