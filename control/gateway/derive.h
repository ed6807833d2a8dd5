// The numbers that nobody should have to write: how a class's messages are cut, and the memory that
// all of it takes. Both sites come to the same ones, since all that goes in is [pair]'s.
#pragma once

#include "control/gateway/keys/config.h"
#include "dataplane/base/result.h"
#include "dataplane/sdr/stream/stream_config.h"

namespace cw::site {

/// What every class's messages have in common.
sdr::StreamConfig outline_of(const Config& config);

/// Messages for a class: so many and so long that a place is free again before its turn comes, even
/// when a hole in it was held for all of `hold` (twice that, for slots that leave short). Errors: a
/// link too fast and long for the slots of a message.
Result<sdr::StreamConfig> stream_of(const ClassConfig& it, uint16_t qp, const Config& config);

/// For frames that wait for full links, should the RTT grow to pair.rtt_max.
Bytes queue_memory_of(const Config& config);
/// Links that wan.rate can fill together.
size_t full_links(const Config& config);
/// Frames in flight and held, both ways: those sent in the WAN port's packets, with all its others;
/// and what each link has for itself; for every core. Of plugins it is not known what they take.
/// The most that it comes to, when all links are busy.
Bytes memory_of(const Config& config);
/// Of that, what links take while none of them carries anything, about; before they were ever busy.
Bytes idle_links_memory_of(const Config& config);

/// Packets that the LAN port of one core needs, for bursts.
size_t lan_packets(const Config& config);
/// Packets that the WAN port of one core needs: for bursts, for what [wan.impair] delays, and for
/// slots.
size_t wan_packets(const Config& config);
/// What DPDK takes for the packets of its ports and for its own, or what the file says; zero: no
/// port is over it.
Bytes eal_memory_of(const Config& config);
size_t impaired_packets(const Config& config);

}  // namespace cw::site
