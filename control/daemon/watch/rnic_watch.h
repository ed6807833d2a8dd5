// What the log says of the RNIC that the WAN goes by: a line when something has changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/log.h"
#include "dataplane/base/units.h"
#include "dataplane/port/verbs/verbs_options.h"

namespace cw::daemon {

class RnicWatch {
 public:
  /// What has not happened again for so long is over.
  static constexpr Duration calm = Duration::from_s(10);

  /// `log` outlives it.
  explicit RnicWatch(const Log& log) : log_(log) {}

  void look(const VerbsPortStatus& rnic, Instant now);
  /// As Watcher::alarms().
  std::vector<std::string> alarms() const;
  /// The device is lost for as long as this process has it.
  bool is_lost() const { return last_.fatal > 0; }

 private:
  /// A count that grows for a while.
  struct Bout {
    Instant grew;
    bool is_on = false;
  };
  struct BoutWords {
    const char *event, *over, *meaning, *advice;
  };

  void look_at_port(const VerbsPortStatus& rnic);
  void look_at_address(const VerbsPortStatus& rnic);
  void look_at_queues(const VerbsPortStatus& rnic);
  void look_at_bout(Bout& bout, const BoutWords& words, uint64_t before, uint64_t count,
                    Instant now);
  static const BoutWords starving, overrunning;

  const Log& log_;
  VerbsPortStatus last_;
  Bout starved_, overrun_;
};

}  // namespace cw::daemon
