// What fabrics do to packets in tests, and what is in those that get lost there.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "dataplane/base/prng.h"
#include "dataplane/port.h"
#include "dataplane/port/impair/impairment.h"
#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/control/record.h"
#include "dataplane/wire/group/header.h"
#include "dataplane/wire/group/records.h"

namespace cw::group {

/// Whatever a network does to packets.
inline Impairment some_faults(Prng& prng) {
  Impairment faults;
  faults.loss = prng.chance(0.3) ? 0 : prng.uniform() * 0.1;
  faults.duplicate = prng.chance(0.5) ? 0 : prng.uniform() * 0.05;
  faults.reorder = prng.chance(0.5) ? 0 : prng.uniform() * 0.05;
  faults.reorder_delay = Duration::from_us(static_cast<int64_t>(prng.between(1, 100)));
  return faults;
}

/// How many faulty worlds are tried; the night asks for more.
inline uint64_t worlds(uint64_t by_day) {
  const char* const text = std::getenv("CW_WORLDS");
  return text == nullptr ? by_day : std::stoull(text);
}

// ---- packets ----

inline constexpr size_t datagram_bytes = 20, immediate_bytes = 4;
inline constexpr uint8_t send_only = 0x64, send_only_with_immediate = 0x65;

using IsIt = std::function<bool(const Packet&)>;

inline bool has_record(const Packet& packet, RecordType type) {
  if (packet.data[0] != send_only) return false;
  const std::span<const uint8_t> all(packet.data, packet.bytes);
  RecordReader records(all.subspan(datagram_bytes + envelope_header_bytes,
                                   all.size() - datagram_bytes - envelope_bytes_min),
                       Records::types);
  while (const auto record = records.next()) {
    if (record->type == std::to_underlying(type)) return true;
  }
  return false;
}
inline bool is_of_kind(const Packet& packet, Kind kind) {
  if (packet.data[0] != send_only_with_immediate) return false;
  return (packet.data[datagram_bytes + immediate_bytes] & 15) == static_cast<uint8_t>(kind);
}
inline IsIt of(RecordType type) {
  return [type](const Packet& packet) { return has_record(packet, type); };
}
inline IsIt of(Kind kind) {
  return [kind](const Packet& packet) { return is_of_kind(packet, kind); };
}

}  // namespace cw::group
