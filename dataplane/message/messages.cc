#include "dataplane/message/messages.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/datagram/digest.h"

namespace cw::group {
namespace {

constexpr size_t asked_runs_min = 256;
constexpr Duration timer_resolution = Duration::from_us(1);

uint32_t slots_max_of(const MessagesOptions& options) {
  const uint64_t payload = options.datagrams.membership.payload_bytes;
  return static_cast<uint32_t>((options.bytes_max + payload - 1) / payload);
}

/// What is alike at all members.
uint32_t digest_of(const MessagesOptions& options) {
  Digest digest;
  digest.add("address", options.address);
  digest.add("algorithm", std::string("messages"));
  digest.add("bytes_max", options.bytes_max);
  digest.add_members(options.datagrams.membership);
  return digest.value();
}

DatagramOptions with_boxes(const MessagesOptions& options) {
  DatagramOptions datagrams = options.datagrams;
  datagrams.landings = 1;
  datagrams.slots_max = 1;
  datagrams.message_slots_max = slots_max_of(options);
  datagrams.inboxes = options.receives_max;
  datagrams.outboxes = options.sends_max;
  datagrams.membership.greets = true;
  datagrams.membership.digest = digest_of(options);
  return datagrams;
}

std::vector<uint32_t> all_free(uint32_t count) {
  std::vector<uint32_t> places(count);
  for (uint32_t i = 0; i < count; ++i) places[i] = count - 1 - i;
  return places;
}

sdr::EndpointSeatOptions seat_of(const MessagesOptions& options, uint32_t messages,
                                 uint32_t slot_wire_bytes) {
  const MembershipOptions& member = options.datagrams.membership;
  return {.policy = options.policy,
          .fallback = options.fallback,
          .quota = options.quota,
          .peers = static_cast<uint32_t>(member.peers.size()),
          .messages = messages,
          .data_slots_max = slots_max_of(options),
          .payload_bytes = member.payload_bytes,
          .slot_wire_bytes = slot_wire_bytes,
          .paths = options.datagrams.paths,
          .rate = member.rate};
}

}  // namespace

Messages::Messages(WanPort& port, Counters& counters, Drops& drops, const MessagesOptions& options)
    : options_(options),
      numbers_(std::bit_ceil(options.receives_max)),
      peers_(options.datagrams.membership.peers.size()),
      sends_(options.sends_max),
      receives_(options.receives_max),
      free_sends_(all_free(options.sends_max)),
      free_receives_(all_free(options.receives_max)),
      send_index_(options.sends_max),
      receive_index_(options.receives_max),
      listed_(std::bit_ceil(options.sends_max)),
      asked_pool_(asked_runs_min + 2 * size_t{options.receives_max}),
      completions_(std::bit_ceil(options.sends_max + options.receives_max)),
      steps_(options.receives_max),
      arrival_rate_(options.datagrams.membership.rate),
      timers_(size_t{options.sends_max} + options.receives_max, Instant(), timer_resolution),
      endpoint_(port, *this, counters, drops, with_boxes(options)) {
  leaving_.reserve(options.sends_max);
  pool_.reserve(options.receives_max);
  touched_.reserve(options.receives_max);
  given_up_.reserve(options.receives_max);
  touched_steps_.reserve(options.receives_max);
}

Result<std::unique_ptr<Messages>> Messages::make(WanPort& port, Counters& counters, Drops& drops,
                                                 const MessagesOptions& options) {
  CW_ASSERT(options.sends_max > 0 && options.sends_max < DatagramEndpoint::outboxes_max);
  CW_ASSERT(options.receives_max > 0 && options.receives_max < UINT16_MAX);
  CW_ASSERT(options.bytes_max > 0 && options.pool_bytes <= options.bytes_max);
  std::unique_ptr<Messages> messages(new Messages(port, counters, drops, options));
  const uint32_t wire_bytes = static_cast<uint32_t>(datagram_header_bytes + header_bytes) +
                              options.datagrams.membership.payload_bytes +
                              options.datagrams.overhead_bytes;
  auto seat =
      sdr::EndpointSeat::make(seat_of(options, messages->numbers_, wire_bytes), *messages, {});
  if (!seat) return std::unexpected(seat.error());
  messages->seat_ = std::move(*seat);
  return messages;
}

// ---- posts ----

std::optional<Slots> Messages::slots_of(uint64_t bytes) const {
  const Slots::Shape shape{.part_bytes = bytes, .payload_bytes = payload_bytes()};
  if (bytes == 0 || bytes > options_.bytes_max || !Slots::can_be(shape)) return std::nullopt;
  const Slots slots(shape);
  return slots.count() <= slots_max_of(options_) ? std::optional(slots) : std::nullopt;
}

std::string Messages::refusal_of(uint16_t peer, uint64_t bytes) const {
  if (!failure_.empty()) return failure_;
  if (peer >= membership().members()) {
    return "there is no rank " + std::to_string(peer) + " in a group of " +
           std::to_string(membership().members());
  }
  if (peer == rank()) return "a member has no messages for itself";
  if (bytes == 0) return "a message has at least one byte";
  if (bytes > options_.bytes_max) {
    return "a message has " + std::to_string(options_.bytes_max) + " bytes at most, not " +
           std::to_string(bytes);
  }
  if (!slots_of(bytes)) {
    return "a message of " + std::to_string(bytes) + " bytes has too many slots of " +
           std::to_string(payload_bytes()) + " bytes, the most that all members carry";
  }
  return {};
}

Messages::Posted Messages::post_send(const SendPosting& posting, Instant now) {
  if (!membership().is_in_force()) return std::unexpected(Refusal{.is_for_now = true});
  std::string why = refusal_of(posting.to, posting.bytes);
  if (!why.empty()) return std::unexpected(Refusal{.why = std::move(why)});
  OpenNumbers& numbers = peers_[posting.to].sent[posting.is_for_pool ? 1 : 0];
  if (open_sends() + unpolled_sends_ >= sends_.size() || !numbers.has_room()) {
    return std::unexpected(Refusal{.is_for_now = true});
  }
  numbers.newest = numbers.next();
  const uint32_t message = numbers.newest | (posting.is_for_pool ? pool_bit : 0);
  const uint32_t place = free_sends_.back();
  free_sends_.pop_back();
  Outgoing& out = sends_[place];
  const Slots slots = *slots_of(posting.bytes);
  const Clock at = local(now);
  out = {.stage = Outgoing::Stage::Waiting,
         .to = posting.to,
         .step = posting.step,
         .message = message,
         .generation = out.generation + 1,
         .slots = slots.count(),
         .window = window_of(posting.to),
         .cookie = posting.cookie,
         .bytes = posting.bytes,
         .deadline = at + life(posting.deadline)};
  send_index_.add(out.to, message, place);
  endpoint_.open_outbox(endpoint_.outbox_of(place),
                        {.step = posting.step, .peer = posting.to, .message = message}, slots,
                        posting.memory, marks_of(posting, out.window));
  begin_sending(out, now);
  return MessageTicket{.place = place, .generation = out.generation, .is_send = true};
}

Messages::Posted Messages::post_receive(const ReceivePosting& posting, Instant now) {
  if (!membership().is_in_force()) return std::unexpected(Refusal{.is_for_now = true});
  std::string why = refusal_of(posting.from, posting.bytes);
  if (!why.empty()) return std::unexpected(Refusal{.why = std::move(why)});
  PostedNumbers& posted = peers_[posting.from].posted;
  if (open_receives() + unpolled_receives_ >= receives_.size() || !posted.has_room()) {
    return std::unexpected(Refusal{.is_for_now = true});
  }
  posted.post();
  Incoming& in =
      open_incoming({.step = posting.step, .peer = posting.from, .message = posted.newest},
                    posting.memory, posting.bytes, life(posting.deadline), now);
  in.cookie = posting.cookie;
  tell_opened(in, now);
  const uint32_t left = early_.find(in.from, in.message);
  if (left > 0) tell_departed(in, left, 0, now);
  return MessageTicket{.place = place_of(in), .generation = in.generation};
}

bool Messages::try_post_pool(const PoolPosting& posting) {
  if (pool_.size() + open_receives() + unpolled_receives_ >= receives_.size()) return false;
  pool_.push_back(posting);
  return true;
}

// ---- ends ----

void Messages::cancel(const MessageTicket& ticket, Instant now) {
  const Completion how{.reason = Reason::Cancelled};
  if (ticket.is_send) {
    Outgoing& out = sends_[ticket.place];
    const bool is_open =
        out.stage == Outgoing::Stage::Waiting || out.stage == Outgoing::Stage::Sending;
    if (is_open && out.generation == ticket.generation) end_send(out, how, now);
  } else {
    Incoming& in = receives_[ticket.place];
    if (in.is_open && in.generation == ticket.generation) end_receive(in, how, now);
  }
}

void Messages::complete(const Completion& completion) {
  (completion.is_send ? unpolled_sends_ : unpolled_receives_) += 1;
  const bool has_room = completions_.try_push(completion);
  CW_ASSERT(has_room);
}

size_t Messages::poll(std::span<Completion> out) {
  size_t count = 0;
  while (count < out.size() && !completions_.is_empty()) {
    out[count] = completions_.front();
    completions_.pop();
    (out[count].is_send ? unpolled_sends_ : unpolled_receives_) -= 1;
    ++count;
  }
  return count;
}

void Messages::note_ending(const Completion& completion) {
  if (completion.is_whole || completion.is_of_other_end) return;
  endings_[ending_next_] = {.message = completion.message,
                            .peer = completion.peer,
                            .is_send = completion.is_send,
                            .reason = completion.reason};
  ending_next_ = (ending_next_ + 1) % endings_.size();
}

Reason Messages::reason_of(uint16_t peer, uint32_t message, bool is_send) const {
  for (const Ending& each : endings_) {
    if (each.message == message && each.peer == peer && each.is_send == is_send) {
      return each.reason;
    }
  }
  return Reason::Unknown;
}

// ---- what comes ----

void Messages::on_begun(Instant now) {
  // What is asked for goes first, as it is late already.
  endpoint_.set_line(line_rate(), DatagramEndpoint::answers_as_all - 1);
  arrival_rate_.set_line(line_rate());
  tell_link(now);
}

void Messages::on_anew(uint16_t rank, Instant now) {
  failure_ = "rank " + std::to_string(rank) + " has begun anew: the group is over";
  fail_all(now);
}

void Messages::fail_all(Instant now) {
  const Completion how{.reason = Reason::Unknown};
  for (Outgoing& out : sends_) {
    if (out.stage == Outgoing::Stage::Waiting || out.stage == Outgoing::Stage::Sending) {
      end_send(out, how, now);
    }
  }
  for (Incoming& in : receives_) {
    if (in.is_open) end_receive(in, how, now);
  }
}

void Messages::on_record(uint16_t from, const RecordView& record, Instant now) {
  wake_waiting(from, now);
  const auto take = [&](const auto& heard) {
    using Record = std::remove_cvref_t<decltype(heard)>;
    if constexpr (std::is_same_v<Record, Status>) on_status(from, heard, now);
    if constexpr (std::is_same_v<Record, Fetch>) on_fetch(from, heard, now);
    if constexpr (std::is_same_v<Record, Offer>) on_offer(from, heard, now);
    if constexpr (std::is_same_v<Record, Cancel>) on_cancel(from, heard, now);
    if constexpr (std::is_same_v<Record, Refuse>) on_refuse(from, heard, now);
  };
  (void)Records::visit(record, take);
}

bool Messages::write(const Word& word, EnvelopeWriter& writer, Instant now) {
  switch (word.type) {
    case RecordType::Status:
      return write_status(word, writer, now);
    case RecordType::Fetch:
      return write_fetch(word, writer, now);
    case RecordType::Offer:
      return write_offer(word, writer);
    case RecordType::Cancel:
      return writer.try_add(
          Cancel{{.message = word.about, .reason = reason_of(word.to, word.about, true)}});
    case RecordType::Refuse:
      return writer.try_add(
          Refuse{{.message = word.about, .reason = reason_of(word.to, word.about, false)}});
    default:
      return false;
  }
}

/// It may be said again.
void Messages::on_unsaid(const Word& word) {
  Incoming* const in = find_receive(word.to, word.about);
  if (in == nullptr) return;
  if (word.type == RecordType::Status) in->is_status_said = false;
  if (word.type == RecordType::Fetch) in->is_fetch_said = false;
}

// ---- time ----

bool Messages::on_time(Instant now) {
  const bool was_due = timers_.next_due() <= local(now) || seat_->next_due() <= now;
  on_timers(now);
  seat_->on_time(now);
  end_given_up(now);
  leave_all();
  send_rows(now);
  return was_due;
}

void Messages::on_timers(Instant now) {
  std::array<uint64_t, 64> due;
  for (size_t count = due.size(); count == due.size();) {
    count = timers_.advance(local(now), due);
    for (const uint64_t cookie : std::span(due).first(count)) {
      const auto place = static_cast<uint32_t>(cookie >> 1);
      if ((cookie & 1) != 0) {
        on_probe(sends_[place], now);
      } else {
        end_receive(receives_[place], {.reason = Reason::Late}, now);
      }
    }
  }
}

Instant Messages::next_wakeup() const {
  const bool has_work =
      !leaving_.empty() || (!listed_.is_empty() && endpoint_.queued_slots() < queued_slots_min);
  if (has_work) return {};
  const Instant due = timers_.next_due();
  const Instant timers = due == Instant::never() ? due : due + paused_;
  return earliest(timers, seat_->next_due(), Instant::never());
}

void Messages::on_gap(Duration gap) {
  paused_ += gap;
  seat_->rebase(gap);
}

}  // namespace cw::group
