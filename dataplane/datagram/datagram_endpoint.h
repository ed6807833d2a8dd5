// The station behind a WAN port for peers that cost bytes, not links: the members of a group, which
// share one QP, one line and one epoch. Slots are placed where they belong as they come; what
// leaves is in rows that wait at the pacer as a few bytes each.
//
//   in    datagram -> check (SPEC.md 18.2) -> claim, copy -> DatagramUser::on_placed(), a burst
//         envelope -> membership.h -> DatagramUser::on_record()
//   out   rows of slots and words -> pacer -> Sends, headers and envelopes made as they leave
//
// What all come to have lies in landings. A message from one member to another leaves from an
// outbox and comes to lie in an inbox. Operations have an outbox beside each landing, with a part
// for every rank: message i of rank r is for rank r + i (SPEC.md 18.1). Others hold one message.
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
#include "dataplane/core/lazy_memory.h"
#include "dataplane/core/rate/pacer.h"
#include "dataplane/core/turn/station.h"
#include "dataplane/datagram/datagram_user.h"
#include "dataplane/datagram/landing.h"
#include "dataplane/datagram/membership.h"
#include "dataplane/datagram/message_index.h"
#include "dataplane/datagram/spray.h"
#include "dataplane/wan.h"

namespace cw::group {

struct DatagramOptions {
  MembershipOptions membership;
  uint16_t group_peer = group_peer_first;  ///< what the port calls the group
  uint16_t site_peer = group_peer_first;   ///< and those of it that are of our site
  size_t landings = 4;                     ///< open at a time, at most 8
  uint32_t slots_max = 0;                  ///< of a landing
  uint32_t message_slots_max = 0;          ///< of an inbox
  uint32_t inboxes = 2;
  uint32_t outboxes = 0;        ///< for one message each, besides one beside each landing
  uint32_t paths = 1;           ///< at most as many as the port has
  uint32_t overhead_bytes = 0;  ///< on the wire around each packet
  Duration horizon;             ///< how far ahead of now packets are handed out
  Duration lag;  ///< how late a turn may come besides before time of the line is lost
  Duration rtt = Duration::from_us(200);  ///< until it is measured
  Duration rtt_far;                       ///< to other sites, likewise
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
  uint16_t landing = 0;     ///< or outbox
  bool is_message = false;  ///< of an outbox: `first` counts in the message to `to`
  Kind kind = Kind::Multicast;
  bool is_again = false;     ///< multicast, though not for the first time
  bool is_for_site = false;  ///< multicast to our site alone
  uint16_t to = 0;           ///< not of multicast
  uint32_t first = 0, count = 0;
};

/// A message, as its sender or its receiver calls it.
struct MessageName {
  Step step;
  uint16_t peer = 0;  ///< the rank at the other end
  uint32_t message = 0;
};

/// What its packets say of it besides.
struct MessageMarks {
  uint32_t status_every = 0;  ///< slots, the last of which asks for STATUS; 0: none does
  uint32_t source_slots = 0;
  bool is_last_message = false;
};

/// Thread: one worker. Nothing allocates once it is made.
class DatagramEndpoint final : public WanStation {
 public:
  static constexpr size_t landings_max = 8, outboxes_max = 1 << 16;

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

  /// What each member is to get of us in a step: a part for each rank, in `memory`. Beside a
  /// landing of the same number.
  void open_outbox(uint8_t index, Step step, const Slots& slots, const uint8_t* memory);
  void close_outbox(size_t index) { outboxes_[index].is_open = false; }
  /// The number of the outbox for one message that was made as the nth, from 0 on.
  size_t outbox_of(size_t nth) const { return landings_.size() + nth; }
  void open_outbox(size_t index, const MessageName& name, const Slots& slots, const uint8_t* memory,
                   const MessageMarks& marks);
  Landing& inbox(size_t index) { return inboxes_[index].landing; }
  const Landing& inbox(size_t index) const { return inboxes_[index].landing; }
  /// A message is placed from now on; no other of this name is.
  void open_inbox(size_t index, const MessageName& name, const Slots& slots, uint8_t* memory);
  void close_inbox(size_t index);
  /// In an operation, the number of the message that this rank has for us.
  uint32_t message_from(uint16_t rank) const;
  /// Packets that name memory of a landing, or of the outbox of the same number.
  uint32_t under_way_count(uint8_t index) const {
    return landings_[index].under_way_count() + outboxes_[index].under_way;
  }
  uint32_t outbox_under_way_count(size_t index) const { return outboxes_[index].under_way; }
  /// Of one message: up to which slot all have left once, when they are pushed in order.
  uint32_t outbox_left(size_t index) const { return outboxes_[index].left; }
  void want_status_every(size_t index, uint32_t slots) {
    outboxes_[index].marks.status_every = slots;
  }
  Spray& spray() { return spray_; }
  const Spray& spray() const { return spray_; }

  // False: there is no room at the pacer.
  bool try_push(const SlotRow& row, Instant now);
  bool try_say(const Word& word, Instant now);
  size_t queued_slots() const { return pacer_.queued_packets(Priority::Data); }
  /// Of all that leaves; and what answers may take of it beside slots of ours that leave for the
  /// first time, in millionths: all of them means as they come, like those.
  static constexpr uint32_t answers_as_all = 1'000'000;
  void set_line(Rate rate, uint32_t answers_ppm);
  /// How long those that wait will take, beside what leaves for the first time.
  Duration answers_time() const;
  /// How long a slot that is pushed now waits for the line.
  Duration backlog(Instant now) const { return pacer_.backlog(now); }
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
  struct Outbox {
    Step step;
    std::optional<Slots> slots;
    const uint8_t* memory = nullptr;
    uint32_t under_way = 0;
    uint32_t message = 0;  ///< of one message
    uint32_t left = 0;     ///< likewise
    uint32_t waiting = 0;  ///< likewise: slots at the pacer
    uint16_t to = 0;
    bool is_open = false;
    MessageMarks marks;
  };
  struct Inbox {
    Landing landing;
    uint16_t source = 0;
    uint32_t message = 0;
  };
  /// Where a slot that leaves is read.
  struct Origin {
    Step step;
    uint32_t message = 0, message_slots = 0;
    uint32_t bytes = 0;
    const uint8_t* memory = nullptr;
    bool is_last = false;
    size_t box = 0;  ///< landing, or outbox
    uint32_t slot = 0;
    uint16_t to = 0;
    uint8_t path = 0;
    MessageMarks marks;
  };
  Landing* landing_for(const Header& header, uint32_t& index, Instant now);
  std::optional<Origin> origin_of(uint64_t cookie) const;
  std::optional<Origin> origin_in_landing(uint64_t cookie) const;
  std::optional<Origin> origin_in_outbox(uint64_t cookie) const;
  bool is_single(size_t outbox) const { return outbox >= landings_.size(); }
  uint64_t cookie_of(const SlotRow& row) const;
  uint32_t message_to(uint16_t rank) const;
  void on_datagram(const Arrival& arrival, Instant now);
  void on_envelope(const Arrival& arrival, Instant now);
  void note_placed(const Placed& placed, Instant now);
  void flush_placed(Instant now);
  bool try_push_part(const SlotRow& row, uint32_t bytes, Instant now);
  bool try_make_slot(uint64_t cookie, Instant at, Instant now, Send& send);
  void lend(const Origin& origin, Send& send);
  void note_left(const Origin& origin, bool is_again, Instant now);
  bool try_make_word(const Word& word, Instant now, Send& send);
  uint8_t* next_prefix();
  bool are_answers_alike() const { return answers_ppm_ == answers_as_all; }
  Duration assumed_rtt(uint16_t rank) const;
  PacerOptions pacer_options(Rate rate, uint32_t answers_ppm) const;

  WanPort& port_;
  DatagramUser& user_;
  Counters& counters_;
  Drops& drops_;
  DatagramOptions options_;
  Membership membership_;
  std::vector<Landing> landings_;
  std::vector<Outbox> outboxes_;
  std::vector<Inbox> inboxes_;
  MessageIndex inbox_index_;
  Spray spray_;
  std::array<uint8_t, 256> by_mark_;  // landing of the step with this mark
  LazyMemory queues_;                 // of the pacer, long enough for the busiest member
  Pacer pacer_;
  uint32_t answers_ppm_ = answers_as_all;
  Psn psn_;
  std::optional<uint16_t> said_to_;  // since an envelope came
  std::array<Placed, limits::burst_packets_max> placed_;
  size_t placed_count_ = 0;
  // Headers of what the worker may hold, and as many again.
  std::array<std::array<uint8_t, header_bytes>, 2 * limits::burst_packets_max> prefixes_;
  size_t prefix_next_ = 0;
};

}  // namespace cw::group
