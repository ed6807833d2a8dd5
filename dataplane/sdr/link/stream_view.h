// How one end of a stream is, at a moment: plain values, for a person.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/policy.h"

namespace cw::sdr {

class Link;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

struct StreamView {
  bool is_started = false;      ///< the link is up
  uint32_t messages = 0;        ///< of a source: begun and not over; of a sink: posted
  uint32_t places = 0;          ///< at most so many
  uint64_t waiting_bytes = 0;   ///< of a source: given to it, and not sent yet
  uint16_t policy_epoch = 0;    ///< which policy of the stream it is, since the link began anew
  bool is_swapping = false;     ///< the one before has messages left
  bool is_quarantined = false;  ///< another stands in for it
  uint64_t refused = 0;         ///< decisions of the policy that could not be carried out
};

/// Nothing: not configured for this direction. Thread: the link's.
std::optional<StreamView> view_of(Link& link, uint16_t qp, cw_role role);

}  // namespace cw::sdr
