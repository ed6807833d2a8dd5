#include "tests/unit/gateway/slots.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/care/seat_care.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "dataplane/wire/outer/checksum.h"
#include "policies/policies.h"

namespace cw::gateway::test {
ByteRow ip_packet(Prng& random, size_t bytes, uint8_t ecn) {
  ByteRow packet(bytes);
  for (uint8_t& byte : packet) byte = static_cast<uint8_t>(random.next());
  packet[0] = 0x45;
  packet[1] = ecn;
  packet[2] = static_cast<uint8_t>(bytes >> 8);
  packet[3] = static_cast<uint8_t>(bytes);
  packet[10] = packet[11] = 0;
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += uint32_t{packet[i]} << 8 | packet[i + 1];
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  packet[10] = static_cast<uint8_t>(~sum >> 8);
  packet[11] = static_cast<uint8_t>(~sum);
  return packet;
}

void Packer::begin_slot() {
  open_.assign(slot_header_bytes, 0);
  first_ = no_frame_start;
}

void Packer::end_slot() {
  if (open_.empty()) return;
  const auto used = static_cast<uint16_t>(open_.size() - slot_header_bytes);
  encode_slot_header({seq_of(messages_.size() - 1), used, first_}, open_.data());
  messages_.back().push_back(std::move(open_));
  open_.clear();
}

void Packer::end_message() {
  end_slot();
  if (!messages_.back().empty()) messages_.emplace_back();
}

void Packer::put(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (!open_.empty() && room() == 0) end_slot();
    if (open_.empty()) begin_slot();
    const size_t count = std::min(room(), bytes.size());
    open_.insert(open_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
    bytes = bytes.subspan(count);
  }
}

void Packer::add(TestFrame& frame) {
  const size_t bytes = frame_header_bytes + frame.packet.size();
  const size_t slots_left = slots_max_ - messages_.back().size();
  const size_t gone = open_.empty() ? 0 : open_.size() - slot_header_bytes;
  if (slots_left * (payload_bytes_ - slot_header_bytes) < bytes + gone) end_message();
  if (!open_.empty() && room() == 0) end_slot();
  if (open_.empty()) begin_slot();
  frame.message = static_cast<uint32_t>(messages_.size() - 1);
  frame.slot_first = static_cast<uint32_t>(messages_.back().size());
  if (first_ == no_frame_start) {
    first_ = static_cast<uint16_t>(open_.size() - slot_header_bytes);
  }
  frame.header.bytes = static_cast<uint16_t>(frame.packet.size());
  uint8_t header[frame_header_bytes];
  encode_frame_header(frame.header, header);
  put(header);
  put(frame.packet);
  frame.slot_last = static_cast<uint32_t>(messages_.back().size());
}

std::unique_ptr<InboundStock> stock_for(const SlotReaderOptions& options, Drops& drops,
                                        size_t frames, size_t streams) {
  return InboundStock::make({.streams = streams,
                             .messages = options.messages,
                             .data_slots_max = options.data_slots_max,
                             .payload_bytes_max = options.payload_bytes_max,
                             .frames = frames},
                            drops)
      .value();
}

SlotStream::SlotStream(const SlotReaderOptions& options, MessageSeq first_seq) {
  config_.messages = options.messages;
  config_.data_slots_max = options.data_slots_max;
  config_.payload_bytes = options.payload_bytes_max;
  config_.first_seq = first_seq;
  address_.data_key = 1;
  address_.repair_key = 2;
  address_.data_window_bytes = options.message_bytes();
  const sdr::PolicyChoice choice{cw_policy_passthrough(), {}};
  auto host = sdr::Seat::make({choice, choice, {}, config_, {}, CW_SINK}, Instant());
  CW_ASSERT(host);
  seat_ = host->get();
  stream_ = std::make_unique<sdr::RecvStream>(config_, std::move(*host), desk_, tables_, counters_,
                                              drops_);
  start();
}

void SlotStream::start() {
  stream_->set_address(address_);
  stream_->start(config_.payload_bytes, Instant());
}

bool SlotStream::is_open(MessageSeq seq) const {
  return stream_->info({config_.place_of(seq), seq}).status != sdr::MessageStatus::PeerLost;
}

size_t SlotStream::posted_count() const {
  size_t count = 0;
  for (uint32_t place = 0; place < config_.messages; ++place) {
    count += is_open(stream_->seq_in(place)) ? 1 : 0;
  }
  return count;
}

void SlotStream::place(MessageSeq seq, uint32_t slot, std::span<const uint8_t> bytes,
                       bool is_marked) {
  CW_ASSERT(slot < config_.data_slots_max && bytes.size() <= config_.payload_bytes);
  const ImmediateSplit::Parts parts{config_.place_of(seq), slot, 0};
  const uint64_t offset = uint64_t{slot} * config_.payload_bytes;
  const SlotWrite write{.address = address_.data_at(seq, offset),
                        .key = address_.data_key,
                        .payload_bytes = static_cast<uint32_t>(bytes.size()),
                        .immediate = config_.split.pack(parts)};
  stream_->on_slot({.slot = write,
                    .parts = parts,
                    .payload = bytes.data(),
                    .generation = config_.generation_of(seq),
                    .is_marked = is_marked});
  stream_->flush_facts(Instant());
}

void SlotStream::say_length(MessageSeq seq, uint32_t slots, uint32_t frames) {
  Closed closed;
  closed.seq = seq;
  closed.slots = slots;
  closed.frames = frames;
  closed.message_bytes = uint64_t{slots} * config_.payload_bytes;
  stream_->on_closed(closed, Instant());
}

void SlotStream::abandon(MessageSeq seq, uint32_t first, uint32_t count) {
  Abandoned abandoned;
  abandoned.seq = seq;
  abandoned.first_slot = first;
  abandoned.slots = count;
  stream_->on_abandoned(abandoned, Instant());
}

void SlotStream::reset() {
  stream_->reset(Instant());
  sdr::SeatCare care;  // what another thread would do
  seat_->ask(care, Instant());
  sdr::ListedPolicies none;
  care.fulfil(none);
  seat_->take(care, Instant());
  start();
}

}  // namespace cw::gateway::test
