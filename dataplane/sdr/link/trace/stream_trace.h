// A trace of what the policy at one end of a stream is told and decides, from when it begins.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/seat/trace/policy_trace.h"

namespace cw::sdr {

class Link;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The next policy that begins there is traced. So that one does, this end asks for a change from
/// the one it has to the same: then no fact from before is missing. Errors: it is not configured
/// for this direction; or, and then it is traced once one begins by itself, what Link::order_swap()
/// says. Thread: the link's, between two turns.
Result<void> begin_trace(Link& link, uint16_t qp, cw_role role,
                         const std::shared_ptr<PolicyTrace>& trace, Instant now);
/// It holds no more from here on. Thread: the same.
void end_trace(Link& link, uint16_t qp, cw_role role);

}  // namespace cw::sdr
