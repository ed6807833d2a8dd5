// What a link shares with the others of its endpoint.
#pragma once

#include "dataplane/core/counters.h"
#include "dataplane/wan.h"
#include "offload/stage/stage.h"

namespace cw::sdr {

class CodeDesk;
class PacketStock;

struct LinkRooms {
  WanPort& port;
  PacketStock& stock;  ///< of the port; outlives the link
  CodeDesk& desk;      ///< stopped before the link ends
  BitStage* stage;     ///< outlives the link; null where the port places nothing
  Counters& counters;
  Drops& drops;
};

}  // namespace cw::sdr
