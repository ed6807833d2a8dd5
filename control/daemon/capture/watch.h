// Somebody looks at what crosses for a while, and is answered when it is over.
#pragma once

#include "control/api/request.h"
#include "dataplane/base/units.h"

namespace cw::daemon {

/// Thread: the daemon's, which calls look() a hundred times a second.
class Watch {
 public:
  virtual ~Watch() = default;
  /// Takes in what has crossed; true: that is all that was asked for.
  virtual bool look(Instant now) = 0;
  virtual api::Response finish() = 0;
};

}  // namespace cw::daemon
