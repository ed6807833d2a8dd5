#include "dataplane/datagram/datagram_endpoint.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/core/wire_drops.h"
#include "dataplane/wire/group/datagram_inline.h"

namespace cw::group {
namespace {

constexpr uint8_t no_landing = UINT8_MAX;

constexpr uint64_t lag_bytes_max = 1 << 20;
constexpr size_t words_min = 256, rows_max = 1024, answers_max = 16384;

/// With the number by which its QP goes on the wire, which may be the port's.
MembershipOptions numbered_by(const WanPort& port, MembershipOptions options) {
  options.qpn_on_wire = port.control_queue(options.qpn);
  return options;
}

}  // namespace

DatagramEndpoint::DatagramEndpoint(WanPort& port, DatagramUser& user, Counters& counters,
                                   Drops& drops, const DatagramOptions& options)
    : port_(port),
      user_(user),
      counters_(counters),
      drops_(drops),
      options_(options),
      membership_(numbered_by(port, options.membership)),
      inbox_index_(options.inboxes),
      spray_(options.membership.peers.size(), options.paths),
      pacer_(pacer_options(options.membership.rate, answers_as_all), &queues_) {
  CW_ASSERT(options.landings > 0 && options.landings <= landings_max);
  CW_ASSERT(options.outboxes <= outboxes_max && options.paths <= port.facts().paths);
  landings_.reserve(options.landings);
  for (size_t i = 0; i < options.landings; ++i) landings_.emplace_back(options.slots_max);
  outboxes_.resize(options.landings + options.outboxes);
  inboxes_.reserve(options.inboxes);
  for (uint32_t i = 0; i < options.inboxes; ++i) {
    inboxes_.push_back({Landing(options.message_slots_max)});
  }
  by_mark_.fill(no_landing);
}

PacerOptions DatagramEndpoint::pacer_options(Rate rate, uint32_t answers_ppm) const {
  PacerOptions pacer;
  pacer.rate = rate;
  pacer.packet_overhead_bytes = options_.overhead_bytes;
  pacer.horizon = options_.horizon;
  pacer.burst_bytes =
      static_cast<uint32_t>(std::min<uint64_t>(rate.bytes_in(options_.lag).count(), lag_bytes_max));
  pacer.pause_bytes = pacer.burst_bytes;
  pacer.overhead_ppm = answers_ppm;
  pacer.resend_slack = Duration::max();  // who asks has waited already
  const auto words =
      static_cast<uint32_t>(std::max(words_min, 2 * options_.membership.peers.size()));
  pacer.capacity_packets = {words, answers_max, rows_max, 1};
  return pacer;
}

void DatagramEndpoint::set_line(Rate rate, uint32_t answers_ppm) {
  pacer_.change(pacer_options(rate, answers_ppm));
  answers_ppm_ = answers_ppm;
}

Duration DatagramEndpoint::answers_time() const {
  uint64_t bytes = pacer_.queued_bytes(Priority::Resend).count();
  if (are_answers_alike()) bytes += pacer_.queued_bytes(Priority::Data).count();
  return pacer_.rate().time_for(Bytes(bytes)) * answers_as_all / int64_t{answers_ppm_};
}

uint32_t DatagramEndpoint::packet_bytes() const {
  return static_cast<uint32_t>(datagram_header_bytes + header_bytes) +
         membership_.epoch().payload_bytes + options_.overhead_bytes;
}

void DatagramEndpoint::open(uint8_t landing, Step step, const Slots& slots, uint8_t* memory) {
  landings_[landing].open(step, slots, memory);
  by_mark_[mark_of(step)] = landing;
}

void DatagramEndpoint::close(uint8_t landing) {
  landings_[landing].close();
  by_mark_[mark_of(landings_[landing].step())] = no_landing;
}

void DatagramEndpoint::open_outbox(uint8_t index, Step step, const Slots& slots,
                                   const uint8_t* memory) {
  Outbox& outbox = outboxes_[index];
  CW_ASSERT(!outbox.is_open && outbox.under_way == 0);
  outbox.step = step;
  outbox.slots = slots;
  outbox.memory = memory;
  outbox.is_open = true;
}

void DatagramEndpoint::open_outbox(size_t index, const MessageName& name, const Slots& slots,
                                   const uint8_t* memory, const MessageMarks& marks) {
  Outbox& outbox = outboxes_[index];
  CW_ASSERT(is_single(index) && !outbox.is_open && outbox.under_way == 0);
  outbox = {.step = name.step,
            .slots = slots,
            .memory = memory,
            .message = name.message,
            .to = name.peer,
            .is_open = true,
            .marks = marks};
}

void DatagramEndpoint::open_inbox(size_t index, const MessageName& name, const Slots& slots,
                                  uint8_t* memory) {
  Inbox& inbox = inboxes_[index];
  inbox.source = name.peer;
  inbox.message = name.message;
  inbox_index_.add(name.peer, name.message, static_cast<uint32_t>(index));
  inbox.landing.open(name.step, slots, memory);
}

void DatagramEndpoint::close_inbox(size_t index) {
  Inbox& inbox = inboxes_[index];
  inbox_index_.remove(inbox.source, inbox.message);
  inbox.landing.close();
}

uint32_t DatagramEndpoint::message_from(uint16_t rank) const {
  const uint32_t members = membership_.members();
  return (membership_.rank() + members - rank) % members;
}

uint32_t DatagramEndpoint::message_to(uint16_t rank) const {
  const uint32_t members = membership_.members();
  return (rank + members - membership_.rank()) % members;
}

Duration DatagramEndpoint::assumed_rtt(uint16_t rank) const {
  const bool is_far = membership_.site_of(rank) != membership_.site_of(membership_.rank());
  return is_far ? std::max(options_.rtt, options_.rtt_far) : options_.rtt;
}

Duration DatagramEndpoint::rtt(uint16_t rank) const {
  const MemberRow& row = membership_.row(rank);
  const Duration known = Duration::from_us(row.rtt_us);
  return row.is_rtt_measured() ? known : std::max(known, assumed_rtt(rank));
}

Duration DatagramEndpoint::deviation(uint16_t rank) const {
  const MemberRow& row = membership_.row(rank);
  const Duration known = Duration::from_us(row.rtt_deviation_us);
  return row.is_rtt_measured() ? known : std::max(known, assumed_rtt(rank) / 2);
}

// ---- in ----

void DatagramEndpoint::on_arrivals(std::span<const Arrival> arrivals, Instant now) {
  for (const Arrival& arrival : arrivals) {
    if (arrival.form == Form::DatagramImmediate) {
      on_datagram(arrival, now);
    } else if (arrival.form == Form::Datagram && arrival.head.key == control_qkey &&
               arrival.head.target_qp == membership_.qpn()) {
      flush_placed(now);  // what came before it is known before it
      on_envelope(arrival, now);
    } else {
      drops_.add(arrival.form == Form::Other ? reason_of(arrival.error) : DropReason::qpn_unknown);
    }
  }
  flush_placed(now);
}

void DatagramEndpoint::on_datagram(const Arrival& arrival, Instant now) {
  const bool is_multicast = arrival.head.target_qp == multicast_qp;
  if (arrival.head.key != control_qkey ||
      (!is_multicast && arrival.head.target_qp != membership_.qpn())) {
    return drops_.add(DropReason::qpn_unknown);
  }
  if (!membership_.is_in_force()) return drops_.add(DropReason::link_down);
  uint32_t index = no_landing;
  Landing* landing = nullptr;
  const auto slots_of = [&](const Header& header) -> const Slots* {
    landing = landing_for(header, index, now);
    return landing == nullptr ? nullptr : &landing->slots();
  };
  Header header;
  const size_t prefix_bytes = arrival.prefix == nullptr ? 0 : header_bytes;
  const auto error = check(arrival.head.immediate, {arrival.prefix, prefix_bytes},
                           arrival.head.payload_bytes, membership_.self(), slots_of, header);
  if (error) return drops_.add(reason_of(*error));
  if (is_multicast != (header.kind == Kind::Multicast)) {
    return drops_.add(DropReason::group_kind);
  }
  const bool is_new = landing->try_place(header.slot, arrival.payload);
  if (!is_new) drops_.add(DropReason::packet_duplicate);
  membership_.row(header.source).note_datagram(now);
  note_placed({.slot = header.slot,
               .source = header.source,
               .landing = index,
               .clock_us = header.clock_us,
               .is_message = header.message != 0,
               .kind = header.kind,
               .is_last = header.is_last_slot,
               .is_first = is_multicast && header.resends == 0,
               .is_new = is_new,
               .wants_status = header.wants_status,
               .path = header.path},
              now);
}

/// Null: nothing is open of its step, or of its message.
Landing* DatagramEndpoint::landing_for(const Header& header, uint32_t& index, Instant now) {
  if (header.message == 0) {
    index = by_mark_[mark_of(header.step)];
    const bool is_open = index != no_landing && landings_[index].step() == header.step;
    return is_open ? &landings_[index] : nullptr;
  }
  index = inbox_index_.find(header.source, header.message);
  if (index == MessageIndex::none && is_for_pool(header.message)) {
    flush_placed(now);  // which may give memory back to the pool
    if (!user_.try_open_pooled(header, now)) return nullptr;
    index = inbox_index_.find(header.source, header.message);
  }
  if (index == MessageIndex::none) return user_.on_closed(header), nullptr;
  Landing& landing = inboxes_[index].landing;
  return landing.step() == header.step ? &landing : nullptr;
}

void DatagramEndpoint::note_placed(const Placed& placed, Instant now) {
  placed_[placed_count_++] = placed;
  if (placed_count_ == placed_.size()) flush_placed(now);
}

void DatagramEndpoint::flush_placed(Instant now) {
  if (placed_count_ == 0) return;
  user_.on_placed(std::span(placed_).first(placed_count_), now);
  placed_count_ = 0;
}

void DatagramEndpoint::on_envelope(const Arrival& arrival, Instant now) {
  const auto opened =
      membership_.open(arrival.peer, {arrival.payload, arrival.head.payload_bytes}, now);
  if (!opened) return drops_.add(opened.error());
  counters_.add(Counter::controls_received);
  if (opened->has_begun) {
    set_line(Rate::from_bps(uint64_t{membership_.epoch().rate_kbps} * 1000), answers_as_all);
    user_.on_begun(now);
  }
  if (opened->wants_word) (void)try_say({.to = opened->rank}, now);
  if (opened->is_anew) user_.on_anew(opened->rank, now);
  if (!opened->is_of_epoch) return;
  if (opened->is_greeted) user_.on_greeted(opened->rank, now);
  said_to_.reset();
  RecordReader records = opened->records;
  while (const auto record = records.next()) user_.on_record(opened->rank, *record, now);
  const bool is_answered = said_to_ == opened->rank;
  if (opened->wants_join && !is_answered) (void)try_say({.to = opened->rank}, now);
}

// ---- time ----

void DatagramEndpoint::on_gap(Duration gap, Instant now) {
  pacer_.on_pause(gap, now);
  user_.on_gap(gap);
}

bool DatagramEndpoint::on_time(Instant now) {
  bool has_worked = false;
  if (now >= membership_.join_due()) {
    while (const auto to = membership_.next_join(now)) {
      has_worked = true;
      if (!try_say({.to = *to}, now)) break;
    }
  }
  return user_.on_time(now) || has_worked;
}

Instant DatagramEndpoint::next_wakeup() const {
  return earliest(membership_.join_due(), user_.next_wakeup(), pacer_.next_departure());
}

}  // namespace cw::group
