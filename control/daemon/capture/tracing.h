// What the policies at this site's end of one stream are told and decide, for a while: begun with
// policies that have been told nothing, so that a simulator can play them again (control/trace).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/capture/watch.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

struct TraceOrder {
  static constexpr int64_t seconds_max = 60, seconds = 5;  // the latter: unless it says so
  static constexpr size_t bytes_max = 4 << 20;             // of each direction

  uint16_t class_index = 0, peer = 0, link = 0;
  bool is_outward = true, is_inward = true;
  Duration time = Duration::from_s(seconds);
};

class Tracing final : public Watch {
 public:
  /// Begins.
  Tracing(site::Site& site, const TraceOrder& order, Instant now, Duration patience);
  /// Ends it, if it has not.
  ~Tracing() override { end(); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  bool look(Instant now) override;
  /// A trace document (control/trace/trace_document.h).
  api::Response finish() override;

 private:
  /// A change of policy takes some round trips, and a link that is down may come up; where one
  /// direction has begun, the other is waited for no longer than this.
  static constexpr Duration begin_patience = Duration::from_s(8),
                            other_patience = Duration::from_s(2);

  struct End {
    cw_role role = CW_SOURCE;
    std::shared_ptr<sdr::PolicyTrace> trace;
    std::string why;  // it has not begun
  };
  static sdr::TraceState state_of(const End& end) { return end.trace->state(); }
  void end();

  site::Site& site_;
  const TraceOrder order_;
  const std::string site_name_, peer_, class_;  // as they were called when it began
  const Duration patience_;
  const Instant asked_;
  std::optional<Instant> begun_;  // all that will
  std::vector<End> ends_;
  bool is_over_ = false;
};

}  // namespace cw::daemon
