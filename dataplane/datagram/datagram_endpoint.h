// The station behind a WAN port for peers that cost bytes, not links: the members of a group, which
// share one QP, one line and one epoch. Slots are placed where they belong as they come; what
// leaves is in rows that wait at the pacer as a few bytes each.
//
//   in    datagram -> check (SPEC.md 18.2) -> claim, copy -> DatagramUser::on_placed(), a burst
//         envelope -> membership.h -> DatagramUser::on_record()
//   out   rows of slots and words -> pacer -> Sends, headers and envelopes made as they leave
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/core/counters.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/datagram/datagram_user.h"
#include "dataplane/datagram/landing.h"
#include "dataplane/datagram/membership.h"
#include "dataplane/wan.h"

namespace cw::group {

struct DatagramOptions {
  MembershipOptions membership;
  uint16_t group_peer = 0xf000;           ///< what the port calls the group
  size_t landings = 4;                    ///< open at a time, at most 8
  uint32_t slots_max = 0;                 ///< of a landing
  uint32_t overhead_bytes = 0;            ///< on the wire around each packet
  Duration horizon;                       ///< how far ahead of now packets are handed out
  Duration rtt = Duration::from_us(200);  ///< until it is measured
};

/// Of the longest slot that a port carries, and with it the JOIN that is padded to its length; less
/// than limits::group_payload_bytes_min: it is a port for no groups.
inline uint32_t slot_bytes_max(const PortFacts& facts) {
  uint32_t bytes = facts.payload_max - std::min<uint32_t>(facts.payload_max, header_bytes);
  if (facts.datagram_max != 0) {
    bytes = facts.datagram_max - std::min(facts.datagram_max, envelope_bytes_beyond_slot);
  }
  return std::min<uint32_t>(bytes, limits::group_payload_bytes_max) & ~3u;
}

/// Slots that are to leave in a row.
struct SlotRow {
  uint8_t landing = 0;
  Kind kind = Kind::Multicast;
  bool is_again = false;  ///< multicast, though not for the first time
  uint16_t to = 0;        ///< not of multicast
  uint32_t first = 0, count = 0;
};

/// Thread: one worker. Nothing allocates once it is made.
class DatagramEndpoint final : public WanStation {
 public:
  static constexpr size_t landings_max = 8;

  /// Port, user and counters outlive it.
  DatagramEndpoint(WanPort& port, DatagramUser& user, Counters& counters, Drops& drops,
                   const DatagramOptions& options);

  Membership& membership() { return membership_; }
  const Membership& membership() const { return membership_; }
  Landing& landing(size_t index) { return landings_[index]; }
  const Landing& landing(size_t index) const { return landings_[index]; }
  /// A step is placed from now on; at most one of 256 in a row.
  void open(uint8_t landing, Step step, const Slots& slots, uint8_t* memory);
  void close(uint8_t landing);

  // False: there is no room at the pacer.
  bool try_push(const SlotRow& row, Instant now);
  bool try_say(const Word& word, Instant now);
  size_t queued_slots() const { return pacer_.queued_packets(Priority::Data); }
  /// Of all that leaves; and what answers may take of it while slots of ours leave for the first
  /// time, in millionths.
  void set_line(Rate rate, uint32_t answers_ppm);
  /// Bytes of a full slot's packet on the wire.
  uint32_t packet_bytes() const;

  /// Round-trip time to a member and its deviation, or what is assumed.
  Duration rtt(uint16_t rank) const;
  Duration deviation(uint16_t rank) const;

  void on_gap(Duration gap, Instant now) override;
  void on_arrivals(std::span<const Arrival> arrivals, Instant now) override;
  bool on_time(Instant now) override;
  size_t collect(std::span<Send> out, Instant now) override;
  void on_done(std::span<const uint64_t> cookies) override;
  Instant next_wakeup() const override;

 private:
  void on_datagram(const Arrival& arrival, Instant now);
  void on_envelope(const Arrival& arrival, Instant now);
  void note_placed(const Placed& placed, Instant now);
  void flush_placed(Instant now);
  bool try_push_part(const SlotRow& row, uint32_t bytes, Instant now);
  bool try_make_slot(uint64_t cookie, Instant at, Send& send);
  bool try_make_word(const Word& word, Instant now, Send& send);
  uint8_t* next_prefix();
  PacerOptions pacer_options(Rate rate, uint32_t answers_ppm) const;

  WanPort& port_;
  DatagramUser& user_;
  Counters& counters_;
  Drops& drops_;
  DatagramOptions options_;
  Membership membership_;
  std::vector<Landing> landings_;
  std::array<uint8_t, 256> by_mark_;  // landing of the step with this mark
  Pacer pacer_;
  Psn psn_;
  std::array<Placed, limits::burst_packets_max> placed_;
  size_t placed_count_ = 0;
  // Headers of what the worker may hold, and as many again.
  std::array<std::array<uint8_t, header_bytes>, 2 * limits::burst_packets_max> prefixes_;
  size_t prefix_next_ = 0;
};

}  // namespace cw::group
