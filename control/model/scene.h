// What is asked of a model: a link, and a message that crosses it. A chunk is what is lost, sent
// again and coded as one; what our policies do with slots is told by chunks of one slot.
#pragma once

#include <cstdint>
#include <optional>

#include "control/model/law/loss.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::model {

/// How a link loses packets, or chunks where `of_chunks` says so: one of the three.
struct LinkLoss {
  double independent = 0;  ///< probability of each
  std::optional<GilbertElliott> gilbert_elliott;
  std::optional<BurstLoss> bursts;
  bool of_chunks = true;
};

struct Link {
  Rate bandwidth = Rate::from_gbps(100);
  Duration rtt = Duration::from_ms(25);
  LinkLoss loss;
};

struct Transfer {
  Bytes size = Bytes(1 << 20);
  Bytes chunk = Bytes(4096);
  Bytes payload = Bytes(4096);  ///< of a packet; where packets are lost
  uint32_t in_flight = 1;       ///< messages of this size at once
};

/// Both, as laws want them. Copies are cheap but for cloud profiles.
struct Scene {
  Link link;
  Transfer transfer;
  uint64_t slots = 1;  ///< chunks of a message
  double slot_ms = 0;  ///< to leave
  double rtt_ms = 0;
  LossChain loss = LossChain::independent(0);  ///< of chunks
};

/// Errors: a sentence for each value that cannot be meant, one a line.
Result<Scene> make_scene(const Link& link, const Transfer& transfer);

}  // namespace cw::model
