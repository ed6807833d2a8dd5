// What leaves a DatagramEndpoint: rows and words wait at the pacer as cookies, and become packets
// when it is their time.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "dataplane/datagram/datagram_endpoint.h"
#include "dataplane/wire/group/datagram_inline.h"

namespace cw::group {
namespace {

// What waits at the pacer:
//
//   slot    0 | landing 3 | kind 2 | again 1 | mark 8 | to 16 | 0 6 | single | message | slot 24
//   word    1 | type 15 | to 16 | about 32
//
// To whom a multicast slot goes is 0, or 1: those of our site. Of a single message, whose outbox
// knows to whom it goes, the number of that outbox stands there; its mark is of its number.
constexpr uint64_t word_bit = uint64_t{1} << 63;
constexpr uint64_t message_bit = uint64_t{1} << 24, single_bit = uint64_t{1} << 25;

uint64_t slot_cookie(const SlotRow& row, uint8_t mark) {
  return uint64_t{static_cast<uint8_t>(row.kind)} << 58 | uint64_t{row.is_again} << 57 |
         uint64_t{mark} << 48 | row.first;
}
uint64_t word_cookie(const Word& word) {
  return word_bit | uint64_t{static_cast<uint8_t>(word.type)} << 48 | uint64_t{word.to} << 32 |
         word.about;
}
Word word_of(uint64_t cookie) {
  return {.type = static_cast<RecordType>(cookie >> 48 & 0xff),
          .to = static_cast<uint16_t>(cookie >> 32),
          .about = static_cast<uint32_t>(cookie)};
}

uint16_t last_bytes_of(const Slots& slots) {
  return static_cast<uint16_t>(slots.bytes_of(slots.count() - 1));
}

}  // namespace

uint64_t DatagramEndpoint::cookie_of(const SlotRow& row) const {
  if (!row.is_message) {
    const uint64_t to = row.is_for_site ? 1 : row.to;
    return slot_cookie(row, mark_of(landings_[row.landing].step())) | uint64_t{row.landing} << 60 |
           to << 32;
  }
  const Outbox& outbox = outboxes_[row.landing];
  if (!is_single(row.landing)) {
    return slot_cookie(row, mark_of(outbox.step)) | message_bit | uint64_t{row.landing} << 60 |
           uint64_t{row.to} << 32;
  }
  return slot_cookie(row, static_cast<uint8_t>(outbox.message)) | message_bit | single_bit |
         uint64_t{row.landing - landings_.size()} << 32;
}

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
  const auto packet = static_cast<uint32_t>(datagram_header_bytes + header_bytes) + bytes;
  Departure departure{.cookie = cookie_of(row),
                      .cookie_step = 1,
                      .count = row.count,
                      .bytes = packet + static_cast<uint32_t>(pad_bytes_for(bytes)),
                      .priority = Priority::Data};
  const bool is_first = row.kind != Kind::Fetched && !row.is_again;
  bool is_pushed = (is_first || are_answers_alike()) && pacer_.try_push(departure, now);
  if (!is_pushed && !is_first) {
    departure.priority = Priority::Resend;
    is_pushed = pacer_.try_push(departure, now);
  }
  if (is_pushed && row.is_message && is_single(row.landing)) {
    outboxes_[row.landing].waiting += row.count;
  }
  return is_pushed;
}

bool DatagramEndpoint::try_say(const Word& word, Instant now) {
  // As long as most envelopes are.
  constexpr uint32_t envelope_bytes = 160;
  said_to_ = word.to;
  return pacer_.try_push(
      {.cookie = word_cookie(word), .bytes = envelope_bytes, .priority = Priority::Control}, now);
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
                                            : try_make_slot(each.cookie, each.at, now, send);
  }
  return filled;
}

uint8_t* DatagramEndpoint::next_prefix() {
  prefix_next_ = (prefix_next_ + 1) % prefixes_.size();
  return prefixes_[prefix_next_].data();
}

/// Nothing: its step, or its message, is over.
std::optional<DatagramEndpoint::Origin> DatagramEndpoint::origin_of(uint64_t cookie) const {
  return (cookie & message_bit) == 0 ? origin_in_landing(cookie) : origin_in_outbox(cookie);
}

std::optional<DatagramEndpoint::Origin> DatagramEndpoint::origin_in_landing(uint64_t cookie) const {
  const size_t index = cookie >> 60 & 7;
  const auto slot = static_cast<uint32_t>(cookie & 0xffffff);
  const Landing& landing = landings_[index];
  if (!landing.is_open() || mark_of(landing.step()) != (cookie >> 48 & 0xff)) return std::nullopt;
  return Origin{.step = landing.step(),
                .message_slots = landing.slots().part_slots(),
                .bytes = landing.slots().bytes_of(slot),
                .memory = landing.at(slot),
                .is_last = landing.slots().is_last(slot),
                .box = index,
                .to = static_cast<uint16_t>(cookie >> 32)};
}

std::optional<DatagramEndpoint::Origin> DatagramEndpoint::origin_in_outbox(uint64_t cookie) const {
  const bool is_one = (cookie & single_bit) != 0;
  const size_t index =
      is_one ? landings_.size() + (cookie >> 32 & 0xffff) : static_cast<size_t>(cookie >> 60 & 7);
  const auto slot = static_cast<uint32_t>(cookie & 0xffffff);
  const Outbox& outbox = outboxes_[index];
  const uint8_t mark = is_one ? static_cast<uint8_t>(outbox.message) : mark_of(outbox.step);
  if (!outbox.is_open || mark != (cookie >> 48 & 0xff)) return std::nullopt;
  const Slots& slots = *outbox.slots;
  if (is_one && slot >= slots.count()) return std::nullopt;  // of the one before, 256 numbers ago
  const auto to = is_one ? outbox.to : static_cast<uint16_t>(cookie >> 32);
  const uint32_t in_memory = is_one ? slot : slots.slot_of(to, slot);
  const uint32_t message = is_one ? outbox.message : message_to(to);
  const bool is_again = (cookie >> 57 & 1) != 0;
  return Origin{.step = outbox.step,
                .message = message,
                .message_slots = slots.part_slots(),
                .bytes = slots.bytes_of(in_memory),
                .memory = outbox.memory + slots.offset_of(in_memory),
                .is_last = slots.is_last(in_memory),
                .box = index,
                .slot = slot,
                .to = to,
                .path = is_again ? spray_.other_path(to, message, slot, psn_.value())
                                 : spray_.path_of(to, message, slot),
                .marks = outbox.marks};
}

bool DatagramEndpoint::try_make_slot(uint64_t cookie, Instant at, Instant now, Send& send) {
  const std::optional<Origin> origin = origin_of(cookie);
  if (!origin) return false;
  const auto kind = static_cast<Kind>(cookie >> 58 & 3);
  const auto slot = static_cast<uint32_t>(cookie & 0xffffff);
  // A message of an operation is sent when it is asked for, and so for the first time.
  const bool is_again = (cookie >> 57 & 1) != 0 || (kind == Kind::Fetched && origin->message == 0);
  const uint16_t to = origin->to;
  const bool is_multicast = kind == Kind::Multicast;
  const MemberRow& row = membership_.row(is_multicast ? membership_.rank() : to);
  const MessageMarks& marks = origin->marks;
  const bool is_status_due = marks.status_every != 0 && (slot + 1) % marks.status_every == 0;
  Header header{.kind = kind,
                .is_last_slot = origin->is_last,
                .is_last_message = marks.is_last_message,
                .wants_status = is_status_due || (marks.status_every != 0 && origin->is_last),
                .source = membership_.rank(),
                .key = is_multicast ? membership_.epoch().key : row.key,
                .step = origin->step,
                .message = origin->message,
                .slot = slot,
                .message_slots = origin->message_slots,
                .source_slots = marks.source_slots,
                .clock_us = clock_us_of(at),
                .path = origin->path,
                .resends = is_again ? uint8_t{1} : uint8_t{0}};
  if (is_for_pool(header.message)) header.last_bytes = last_bytes_of(*outboxes_[origin->box].slots);
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
  send.source_qp = membership_.qpn();
  send.peer = !is_multicast ? row.peer : to == 0 ? options_.group_peer : options_.site_peer;
  send.path = origin->path;
  lend(*origin, send);
  note_left(*origin, is_again, now);
  counters_.add(is_again ? Counter::resends_sent : Counter::data_sent);
  return true;
}

/// The packet names memory of its box until it comes back with the cookie.
void DatagramEndpoint::lend(const Origin& origin, Send& send) {
  if (origin.message == 0) {
    landings_[origin.box].lend();
    send.cookie = origin.box + 1;
  } else {
    Outbox& outbox = outboxes_[origin.box];
    ++outbox.under_way;
    outbox.left = std::max(outbox.left, origin.slot + 1);
    send.cookie = origin.box + 1 + landings_max;
  }
}

void DatagramEndpoint::note_left(const Origin& origin, bool is_again, Instant now) {
  if (origin.message == 0 || !is_single(origin.box)) return;
  Outbox& outbox = outboxes_[origin.box];
  if (outbox.waiting == 0) return;
  --outbox.waiting;
  if (outbox.waiting > 0) return;
  user_.on_all_left(origin.box - landings_.size(), is_again, now);
}

bool DatagramEndpoint::try_make_word(const Word& word, Instant now, Send& send) {
  Packet* packet = nullptr;
  if (port_.take_burst({&packet, 1}) == 0) return user_.on_unsaid(word), false;
  const size_t header = header_bytes_of(Form::Datagram);
  const size_t most =
      std::min<size_t>(packet->bytes_max - header, membership_.envelope_bytes_max());
  const std::span<uint8_t> body(packet->data + header, most);
  bool is_said = false;
  const size_t bytes = membership_.write(word.to, body, now, [&](EnvelopeWriter& writer) {
    is_said = word.type == RecordType::Pad ? writer.try_add(Pad{}) : user_.write(word, writer, now);
    return is_said;
  });
  if (!is_said) user_.on_unsaid(word);  // a JOIN may leave all the same
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

}  // namespace cw::group
