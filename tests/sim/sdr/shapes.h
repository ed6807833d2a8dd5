// Keys that pairs may have alike, and the shapes of links with them.
#pragma once

#include "dataplane/sdr/link/epoch/link_shape.h"
#include "tests/sim/sdr/intruder.h"

namespace cw::sim {

inline const sdr::PairKeys first_keys = {{"mtu", "1000"}}, next_keys = {{"mtu", "1200"}};

/// Of a link with one such stream.
inline uint32_t shape_of(const sdr::StreamConfig& stream, const sdr::PairKeys& keys) {
  sdr::LinkShape shape(keys);
  shape.add(sdr::pair_keys(stream));
  return shape.bits();
}

inline EnvelopePeek peek_of(const Packet& packet) {
  return peek_envelope(std::span(packet.data, packet.bytes).subspan(Intruder::headers_bytes));
}

/// Of the hello that it begins with; 0: of none.
inline uint32_t shape_in(const EnvelopePeek& peek) { return peek.hello ? peek.hello->shape() : 0; }

/// Of somebody who has just begun.
inline Hello hello_of(uint32_t shape) {
  return {.capabilities = Hello::swaps | shape << Hello::shape_shift,
          .control_qpn = control_qpn_default,
          .payload_bytes = 1024,
          .control_bytes = 1024,
          .message_id_bits = 10,
          .slot_bits = 18,
          .immediate_bits = 4,
          .generations = 4,
          .channels = 1,
          .paths = 1,
          .qps = 1,
          .description_parts = 1};
}

}  // namespace cw::sim
