#include "dataplane/datagram/datagram_endpoint.h"

#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/core/wire_drops.h"
#include "dataplane/wire/group/datagram_inline.h"

namespace cw::group {
namespace {

constexpr uint8_t no_landing = UINT8_MAX;

// What waits at the pacer:
//
//   slot   | 0 | landing 3 | kind 2 | again 1 | mark 8 | to 16 | 0 7 | message 1 | slot 24 |
//   word   | 1 | type 15             | to 16               | about 32             |
//
// To whom a multicast slot goes is 0, or 1: those of our site.
constexpr uint64_t word_bit = uint64_t{1} << 63, message_bit = uint64_t{1} << 24;

uint64_t cookie_of(const SlotRow& row, Step step) {
  return uint64_t{row.landing} << 60 | uint64_t{static_cast<uint8_t>(row.kind)} << 58 |
         uint64_t{row.is_again} << 57 | uint64_t{mark_of(step)} << 48 |
         uint64_t{row.is_for_site ? uint16_t{1} : row.to} << 32 |
         (row.is_message ? message_bit : 0) | row.first;
}
uint64_t cookie_of(const Word& word) {
  return word_bit | uint64_t{static_cast<uint8_t>(word.type)} << 48 | uint64_t{word.to} << 32 |
         word.about;
}
Word word_of(uint64_t cookie) {
  return {.type = static_cast<RecordType>(cookie >> 48 & 0xff),
          .to = static_cast<uint16_t>(cookie >> 32),
          .about = static_cast<uint32_t>(cookie)};
}

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
      pacer_(pacer_options(options.membership.rate, answers_as_all), &queues_) {
  CW_ASSERT(options.landings > 0 && options.landings <= landings_max);
  landings_.reserve(options.landings);
  for (size_t i = 0; i < options.landings; ++i) landings_.emplace_back(options.slots_max);
  outboxes_.resize(options.landings);
  for (size_t i = 0; i < inboxes; ++i) inboxes_.push_back({Landing(options.message_slots_max)});
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

void DatagramEndpoint::open_inbox(size_t index, Step step, uint16_t source, const Slots& slots,
                                  uint8_t* memory) {
  Inbox& inbox = inboxes_[index];
  inbox.source = source;
  const uint32_t members = membership_.members();
  inbox.message = (membership_.rank() + members - source) % members;
  inbox.landing.open(step, slots, memory);
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
  const uint32_t us = membership_.row(rank).rtt_us;
  return us == 0 ? assumed_rtt(rank) : Duration::from_us(us);
}

Duration DatagramEndpoint::deviation(uint16_t rank) const {
  const MemberRow& row = membership_.row(rank);
  return row.rtt_us == 0 ? assumed_rtt(rank) / 2 : Duration::from_us(row.rtt_deviation_us);
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
  uint8_t index = no_landing;
  Landing* landing = nullptr;
  const auto slots_of = [&](const Header& header) -> const Slots* {
    landing = landing_for(header, index);
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
  membership_.row(header.source).heard = now;
  note_placed({.slot = header.slot,
               .source = header.source,
               .landing = index,
               .is_message = header.message != 0,
               .kind = header.kind,
               .is_last = header.is_last_slot,
               .is_first = is_multicast && header.resends == 0,
               .is_new = is_new},
              now);
}

/// Null: nothing is open of its step, or of its message.
Landing* DatagramEndpoint::landing_for(const Header& header, uint8_t& index) {
  if (header.message == 0) {
    index = by_mark_[mark_of(header.step)];
    const bool is_open = index != no_landing && landings_[index].step() == header.step;
    return is_open ? &landings_[index] : nullptr;
  }
  for (index = 0; index < inboxes; ++index) {
    Inbox& inbox = inboxes_[index];
    if (inbox.landing.is_open() && inbox.landing.step() == header.step &&
        inbox.source == header.source && inbox.message == header.message) {
      return &inbox.landing;
    }
  }
  return nullptr;
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
  RecordReader records = opened->records;
  while (const auto record = records.next()) user_.on_record(opened->rank, *record, now);
}

// ---- out ----

bool DatagramEndpoint::try_push(const SlotRow& row, Instant now) {
  // Rows at the pacer are of packets alike: the last slot of a part is one of its own.
  const Slots& slots =
      row.is_message ? *outboxes_[row.landing].slots : landings_[row.landing].slots();
  SlotRow rest = row;
  while (rest.count > 0) {
    const uint32_t before_last = slots.part_slots() - 1 - slots.nth_of(rest.first);
    SlotRow part = rest;
    part.count = before_last == 0 ? 1 : std::min(rest.count, before_last);
    if (!try_push_part(part, slots.bytes_of(part.first), now)) return false;
    rest.first += part.count;
    rest.count -= part.count;
  }
  return true;
}

bool DatagramEndpoint::try_push_part(const SlotRow& row, uint32_t bytes, Instant now) {
  const Step step = row.is_message ? outboxes_[row.landing].step : landings_[row.landing].step();
  const auto packet = static_cast<uint32_t>(datagram_header_bytes + header_bytes) + bytes;
  Departure departure{.cookie = cookie_of(row, step),
                      .cookie_step = 1,
                      .count = row.count,
                      .bytes = packet + static_cast<uint32_t>(pad_bytes_for(bytes)),
                      .priority = Priority::Data};
  const bool is_first = row.kind != Kind::Fetched && !row.is_again;
  if ((is_first || are_answers_alike()) && pacer_.try_push(departure, now)) return true;
  departure.priority = Priority::Resend;
  return !is_first && pacer_.try_push(departure, now);
}

bool DatagramEndpoint::try_say(const Word& word, Instant now) {
  // As long as most envelopes are.
  constexpr uint32_t envelope_bytes = 160;
  return pacer_.try_push(
      {.cookie = cookie_of(word), .bytes = envelope_bytes, .priority = Priority::Control}, now);
}

size_t DatagramEndpoint::collect(std::span<Send> out, Instant now) {
  std::array<Departed, limits::burst_packets_max> departed;
  const size_t most = std::min(out.size(), departed.size());
  const size_t count = pacer_.depart(now, std::span(departed).first(most), {}).departed;
  size_t filled = 0;
  for (const Departed& each : std::span(departed).first(count)) {
    Send& send = out[filled];
    send = {};
    send.at = each.at;
    filled += (each.cookie & word_bit) != 0 ? try_make_word(word_of(each.cookie), now, send)
                                            : try_make_slot(each.cookie, each.at, send);
  }
  return filled;
}

uint8_t* DatagramEndpoint::next_prefix() {
  prefix_next_ = (prefix_next_ + 1) % prefixes_.size();
  return prefixes_[prefix_next_].data();
}

/// Nothing: its step is over.
std::optional<DatagramEndpoint::Origin> DatagramEndpoint::origin_of(uint64_t cookie) const {
  const size_t index = cookie >> 60 & 7;
  const auto slot = static_cast<uint32_t>(cookie & 0xffffff);
  const uint64_t mark = cookie >> 48 & 0xff;
  if ((cookie & message_bit) == 0) {
    const Landing& landing = landings_[index];
    if (!landing.is_open() || mark_of(landing.step()) != mark) return std::nullopt;
    return Origin{.step = landing.step(),
                  .message_slots = landing.slots().part_slots(),
                  .bytes = landing.slots().bytes_of(slot),
                  .memory = landing.at(slot),
                  .is_last = landing.slots().is_last(slot)};
  }
  const Outbox& outbox = outboxes_[index];
  if (!outbox.is_open || mark_of(outbox.step) != mark) return std::nullopt;
  const auto to = static_cast<uint16_t>(cookie >> 32);
  const Slots& slots = *outbox.slots;
  const uint32_t in_memory = slots.slot_of(to, slot);
  return Origin{.step = outbox.step,
                .message = message_to(to),
                .message_slots = slots.part_slots(),
                .bytes = slots.bytes_of(in_memory),
                .memory = outbox.memory + slots.offset_of(in_memory),
                .is_last = slots.is_last(in_memory)};
}

bool DatagramEndpoint::try_make_slot(uint64_t cookie, Instant at, Send& send) {
  const std::optional<Origin> origin = origin_of(cookie);
  if (!origin) return false;
  const auto index = static_cast<uint8_t>(cookie >> 60 & 7);
  const auto kind = static_cast<Kind>(cookie >> 58 & 3);
  // A message is sent when it is asked for, and so for the first time.
  const bool is_again = (cookie >> 57 & 1) != 0 || (kind == Kind::Fetched && origin->message == 0);
  const auto to = static_cast<uint16_t>(cookie >> 32);
  const bool is_multicast = kind == Kind::Multicast;
  const MemberRow& row = membership_.row(is_multicast ? membership_.rank() : to);
  const Header header{.kind = kind,
                      .is_last_slot = origin->is_last,
                      .source = membership_.rank(),
                      .key = is_multicast ? membership_.epoch().key : row.key,
                      .step = origin->step,
                      .message = origin->message,
                      .slot = static_cast<uint32_t>(cookie & 0xffffff),
                      .message_slots = origin->message_slots,
                      .clock_us = static_cast<uint32_t>(at.ns() / 1000),
                      .resends = is_again ? uint8_t{1} : uint8_t{0}};
  uint8_t* const prefix = next_prefix();
  encode_header(header, {prefix, header_bytes});
  send.form = Form::DatagramImmediate;
  send.head.target_qp = is_multicast ? multicast_qp : membership_.qpn_of(to);
  send.head.psn = psn_;
  psn_ = psn_ + 1;
  send.head.key = control_qkey;
  send.head.immediate = header.immediate();
  send.head.payload_bytes = origin->bytes;
  send.payload = origin->memory;
  set_prefix(send, prefix);
  send.cookie = index + 1 + (origin->message == 0 ? 0 : landings_max);
  send.source_qp = membership_.qpn();
  send.peer = !is_multicast ? row.peer : to == 0 ? options_.group_peer : options_.site_peer;
  if (origin->message == 0) {
    landings_[index].lend();
  } else {
    ++outboxes_[index].under_way;
  }
  counters_.add(is_again ? Counter::resends_sent : Counter::data_sent);
  return true;
}

bool DatagramEndpoint::try_make_word(const Word& word, Instant now, Send& send) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return false;
  const size_t header = header_bytes_of(Form::Datagram);
  const size_t most =
      std::min<size_t>(packet->bytes_max - header, membership_.envelope_bytes_max());
  const std::span<uint8_t> body(packet->data + header, most);
  const size_t bytes = membership_.write(word.to, body, [&](EnvelopeWriter& writer) {
    if (word.type == RecordType::Pad) return writer.try_add(Pad{});
    return user_.write(word, writer, now);
  });
  if (bytes == 0) {
    port_.give_back({&packet, 1});
    return false;
  }
  send.form = Form::Datagram;
  send.head.target_qp = membership_.qpn_of(word.to);
  send.head.key = control_qkey;
  send.head.payload_bytes = static_cast<uint32_t>(bytes);
  send.source_qp = membership_.qpn();
  send.payload = body.data();
  send.packet = packet;
  send.has_packet_alone = true;
  send.peer = membership_.row(word.to).peer;
  counters_.add(Counter::controls_sent);
  return true;
}

void DatagramEndpoint::on_done(std::span<const uint64_t> cookies) {
  for (const uint64_t cookie : cookies) {
    if (cookie <= landings_max) {
      landings_[cookie - 1].take_back();
    } else {
      --outboxes_[cookie - 1 - landings_max].under_way;
    }
  }
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
