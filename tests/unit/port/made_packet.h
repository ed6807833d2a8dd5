// Packets for WAN ports that tell where they got to, and whether whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "dataplane/port.h"

namespace cw::test {

/// Takes a packet and makes it UC WRITE ONLY with immediate; byte i of the payload is seed + i.
/// Null: the port has none left.
Packet* make_packet(Port& port, size_t payload_bytes, uint8_t seed);
/// Whether `packet` is what make_packet() made.
bool is_made_packet(const Packet& packet, size_t payload_bytes, uint8_t seed);

/// Has one packet sent three times by `send`, which waits until the far end has it, and kept
/// meanwhile; in the end the port has as many as before.
void expect_kept_and_given_back(Port& port, const std::function<void(Packet&)>& send);

}  // namespace cw::test
