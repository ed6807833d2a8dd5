// Queue pairs and the states that they are led through. UC pairs are used one way each: who sends
// is connected to a number of the peer's, who receives takes what comes from its address.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/port/verbs/device/device.h"

namespace cw::verbs {

/// How many work requests a queue holds.
struct Depth {
  uint32_t sends = 1, receives = 1;
};

/// A UD pair whose requests have two pieces of memory each.
struct GroupPair {
  QueuePair pair;
  bool keeps_own_back = false;  ///< what it multicasts does not come back to it
};

/// In state INIT. Errors: the device's, with the step that failed.
Result<QueuePair> make_uc(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth);
/// The same, ready to send and receive.
Result<QueuePair> make_ud(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                          uint32_t queue_key);
/// The same for groups. Whether own multicast is kept back is the device's to say.
Result<GroupPair> make_group_ud(const Device& device, ibv_cq& sends, ibv_cq& receives, Depth depth,
                                uint32_t queue_key);

/// Takes writes that come this way. Waits for the neighbour's address, a second at most.
Result<void> begin_receiving(ibv_qp& uc, const ibv_ah_attr& way, ibv_mtu path_mtu);
/// Sends to `target_qp`, the first packet with this number. Waits likewise.
Result<void> begin_sending(ibv_qp& uc, const ibv_ah_attr& way, ibv_mtu path_mtu, uint32_t target_qp,
                           uint32_t psn);
/// Whatever it holds is given up, and its number stays: back in INIT.
Result<void> renew_uc(ibv_qp& uc);
/// The same of a UD pair, which is ready then.
Result<void> renew_ud(ibv_qp& ud, uint32_t queue_key);

}  // namespace cw::verbs
