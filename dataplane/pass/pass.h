// What every raw port does alike: descriptors to the bytes of a transport packet, BTH to pad, and
// back. The ICRC stays with the port below, since it begins with outer headers that only that one
// knows.
//
// Thread: any; functions of their arguments. Nothing allocates.
#pragma once

#include <cstdint>

#include "dataplane/port.h"
#include "dataplane/seal/sealer.h"
#include "dataplane/wan.h"

namespace cw::pass {

/// Whether the packet can name the payload where it lies, for the port below to gather.
inline bool may_gather(const Send& send, bool port_gathers) {
  return port_gathers && send.packet == nullptr && pad_bytes_for(send.head.payload_bytes) == 0;
}

/// Writes headers and pad around the payload, which lies in `send.packet` and has that alone.
void write_in_place(const Send& send);
/// Writes all of it into an empty packet, save for a payload that may be gathered: that is named.
/// Returns whether the payload has been copied.
bool write(const Send& send, Packet& packet, bool port_gathers);

/// The same sealed, always with a copy; `sealer` has keys for its peer. False: none are left for
/// it.
bool try_write_sealed(const Send& send, Packet& packet, seal::Sealer& sealer);

/// What a port can do once this stands before it: a payload is shorter by its seal.
PortFacts sealed_facts(PortFacts facts, const seal::Sealer& sealer);

/// Reads what has come. `packet` is hostile, its bytes are checked here.
void read(const Packet& packet, Arrival& arrival);

}  // namespace cw::pass
