#include "control/wan/link/direction.h"

#include <cstring>

#include "control/wan/socket/frame.h"

namespace cw::wan {
namespace {

constexpr size_t mac_addresses_bytes = 12;

uint8_t* append(uint8_t* out, std::span<const uint8_t> bytes) {
  std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

size_t copies_max(const Impairment& impairment, const DirectionLimits& limits) {
  if (limits.may_change) return impairment_copies_max;
  return impairment.duplicate > 0 ? impairment.copies_max : 1;
}

uint8_t* append16(uint8_t* out, uint16_t value) {
  *out++ = static_cast<uint8_t>(value >> 8);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

}  // namespace

Direction::Direction(const Impairment& impairment, Prng prng, DirectionLimits limits,
                     bool impairs_arp)
    : model_(impairment, prng),
      impairs_arp_(impairs_arp),
      arena_(limits.frames_max, limits.frame_bytes_max),
      queue_(limits.frames_max * copies_max(impairment, limits)) {}

void Direction::admit(const Arrival& arrival) {
  ++counters_.received;
  const bool has_tag = arrival.has_vlan_tag && arrival.bytes.size() >= mac_addresses_bytes;
  const size_t bytes = arrival.bytes.size() + (has_tag ? vlan_tag_bytes : 0);
  if (arrival.is_truncated || bytes > arena_.frame_bytes_max()) {
    ++counters_.failures.too_long;
    return;
  }
  if (arena_.free_count() == 0) {
    ++counters_.failures.no_memory;
    return;
  }
  const Verdict verdict = judge(arrival, bytes);
  if (verdict.copies == 0) return;
  const uint32_t frame = store(arrival, verdict, bytes);
  for (size_t i = 0; i < verdict.copies; ++i) queue_.push(verdict.at[i], frame);
}

Verdict Direction::judge(const Arrival& arrival, size_t bytes) {
  if (!impairs_arp_ && is_neighbour_traffic(arrival.bytes)) {
    ++counters_.unimpaired;
    return {.copies = 1, .at = {arrival.at}};
  }
  // Frames have no identity that their resends share; their number makes --drop count.
  const uint64_t key = model_.counters().packets + 1;
  const bool has_hole = model_.impairment().hole.flow != 0;
  const uint32_t flow = has_hole ? udp_source_port(arrival.bytes) : 0;
  return model_.on_packet(Bytes(bytes), arrival.at, key, flow);
}

/// Copies the frame as it was on the wire and does to it what the model says.
uint32_t Direction::store(const Arrival& arrival, const Verdict& verdict, size_t bytes) {
  const uint32_t frame = arena_.take(bytes, verdict.copies);
  const std::span<uint8_t> stored = arena_.bytes(frame);
  const size_t tag_bytes = bytes - arrival.bytes.size();
  uint8_t* out = stored.data();
  if (tag_bytes > 0) {
    out = append(out, arrival.bytes.first(mac_addresses_bytes));
    out = append16(append16(out, arrival.vlan_type), arrival.vlan_tag);
    append(out, arrival.bytes.subspan(mac_addresses_bytes));
  } else {
    append(out, arrival.bytes);
  }
  if (arrival.is_checksum_unfinished) {
    finish_checksum(stored, arrival.checksum_start + tag_bytes, arrival.checksum_offset);
    ++counters_.checksums_finished;
  }
  if (verdict.is_marked) counters_.marked += try_mark_congestion(stored);
  if (verdict.is_corrupted && !stored.empty()) {
    stored[verdict.corrupt_bit / 8] ^= static_cast<uint8_t>(1u << verdict.corrupt_bit % 8);
  }
  return frame;
}

size_t Direction::take_due(Instant now, std::span<Due> out) {
  size_t count = 0;
  for (; count < out.size() && queue_.earliest() <= now; ++count) {
    const ReleaseQueue::Entry entry = queue_.pop();
    out[count] = {entry, arena_.bytes(entry.frame)};
  }
  return count;
}

void Direction::sent(const Due& due) {
  ++counters_.forwarded;
  counters_.forwarded_bytes += due.bytes.size();
  arena_.give_back(due.entry.frame);
}

void Direction::refused(const Due& due) {
  ++counters_.failures.refused;
  arena_.give_back(due.entry.frame);
}

}  // namespace cw::wan
