// A data packet on its way from the link to the stream that it is for.
#pragma once

#include <cstdint>

#include "dataplane/wire/immediate.h"
#include "dataplane/wire/roce_inline.h"

namespace cw::sdr {

/// One data packet, parsed, with where it came from.
struct SlotArrival {
  const SlotWrite& slot;
  /// Of its immediate, under the stream's split. No copy: reading it would wait for all stores.
  const ImmediateSplit::Parts& parts;
  const uint8_t* payload = nullptr;  ///< null: in place
  uint16_t channel = 0;
  uint16_t path = 0;
  uint8_t generation = 0;
  bool is_marked = false;  ///< its packet met congestion (CE)
};

}  // namespace cw::sdr
