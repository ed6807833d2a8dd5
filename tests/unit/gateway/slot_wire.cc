#include "tests/unit/gateway/slot_wire.h"

#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/care/seat_care.h"
#include "dataplane/sdr/seat/policy_needs.h"
#include "dataplane/wire/roce_inline.h"
#include "offload/codec/codecs.h"
#include "policies/policies.h"

namespace cw::gateway::test {
namespace {

constexpr uint64_t window_bytes = 1 << 28;

sdr::StreamConfig config_of(const SlotWire::Shape& shape) {
  sdr::StreamConfig config;
  config.messages = shape.messages;
  config.data_slots_max = shape.slots;
  config.payload_bytes = shape.payload_bytes;
  config.first_seq = MessageSeq(shape.first_seq);
  if (!shape.is_coded) return config;
  return sdr::coded(config, {.k = 8, .rows = 1, .m_cap = 2}, code::all());
}

/// Sends each slot once, and has blocks all the same.
const cw_policy_ops* cutting_policy() {
  static const cw_policy_ops policy = [] {
    cw_policy_ops ops = *cw_policy_passthrough();
    ops.limits = [](const cw_env*, const cw_fact_link*, cw_policy_limits* needs) {
      needs->k = 8;
      needs->rows = 1;
      needs->m_cap = 2;
    };
    return ops;
  }();
  return &policy;
}

SimOptions network_of(const SlotWire::Shape& shape) {
  constexpr size_t besides = 4096;
  const size_t enough = size_t{shape.messages} * shape.slots + besides;
  return {.port_packets = shape.packets > 0 ? shape.packets : enough,
          .wire_packets = 1,
          .payload_max = static_cast<uint32_t>(limits::payload_bytes_max)};
}

}  // namespace

SlotWire::SlotWire(const Shape& shape)
    : config_(config_of(shape)),
      network_(network_of(shape)),
      port_(network_.add_port()),
      stock_(port_) {
  const sdr::PolicyChoice choice{shape.is_coded ? cutting_policy() : cw_policy_passthrough(), {}};
  auto seat = sdr::Seat::make({choice, choice, {}, config_, {}, CW_SOURCE}, Instant());
  CW_ASSERT(seat);
  sdr::SendStream::Options options;
  options.slot_by_slot = true;
  CW_ASSERT(desk_.reserve(config_));
  constexpr uint16_t peer = 0;
  stream_ = std::make_unique<sdr::SendStream>(config_, options, peer, std::move(*seat), desk_,
                                              stock_, transmitter_, tables_, counters_);
}

void SlotWire::stop(Instant now) {
  stream_->reset(now);
  sdr::SeatCare care;  // what another thread would do
  stream_->seat().ask(care, now);
  sdr::ListedPolicies none;
  care.fulfil(none);
  stream_->seat().take(care, now);
}

void SlotWire::start(uint32_t payload_bytes, Instant now) {
  payload_bytes_ = payload_bytes;
  slots_.clear();
  sdr::StreamAddress address;
  address.qpns.assign(size_t{config_.generations} * config_.channels, 1);
  address.data_window_bytes = window_bytes;
  stream_->start(address, payload_bytes, now);
  retire_below(config_.first_seq, now);
}

void SlotWire::retire_below(MessageSeq seq, Instant now) {
  ClearToSend clear;
  clear.retired_seq = clear.heard_seq = seq;
  clear.message_limit = seq + config_.messages;
  clear.slot_limit = UINT64_MAX / 2;
  stream_->on_clear_to_send(clear, now);
}

void SlotWire::cross(Instant now) {
  stream_->on_time(now);
  while (const auto departure = stream_->take_ready(Priority::Data, now)) {
    Send send;
    const auto ticket = sdr::SendTicket::unpacked(departure->cookie);
    if (!stream_->try_make(ticket, now, now, send)) continue;
    receive(send);
    port_.give_back({&send.packet, 1});  // has left
  }
  stream_->flush_facts(now);
  stock_.rest();
}

void SlotWire::receive(const Send& send) {
  const SlotWrite& slot = send.head;
  const std::span<const uint8_t> payload(send.payload, slot.payload_bytes);
  const auto header = parse_slot_header(payload);
  if (!header) {
    complaint_ = "a slot header that contradicts itself";
    return;
  }
  if (slot.address / window_bytes != header->seq.value()) complaint_ = "a slot of another message";
  const auto index = static_cast<uint32_t>(slot.address % window_bytes / payload_bytes_);
  const WireSlot kept{{payload.begin(), payload.end()}, send.ecn, send.dscp};
  if (!slots_[header->seq.value()].emplace(index, kept).second) complaint_ = "a slot came twice";
}

std::vector<WireFrame> SlotWire::frames() {
  std::vector<WireFrame> frames;
  for (const auto& [seq, message] : slots_) read_message(message, frames);
  return frames;
}

void SlotWire::read_message(const std::map<uint32_t, WireSlot>& message,
                            std::vector<WireFrame>& frames) {
  std::vector<uint8_t> bytes;
  std::map<size_t, std::pair<size_t, uint16_t>> slots;  // where each begins, its use, its start
  for (const auto& [index, slot] : message) {
    if (index != slots.size()) complaint_ = "a message with a hole";
    const auto header = parse_slot_header(slot.bytes);
    slots[bytes.size()] = {header->used_bytes, header->first_frame};
    bytes.insert(bytes.end(), slot.bytes.begin() + 8, slot.bytes.begin() + 8 + header->used_bytes);
  }
  std::map<size_t, uint16_t> first_frames;  // by where the slot begins, as the frames have it
  for (size_t at = 0; at < bytes.size();) {
    const auto slot = std::prev(slots.upper_bound(at));
    first_frames.try_emplace(slot->first, static_cast<uint16_t>(at - slot->first));
    if (bytes.size() - at < 8) break;
    const auto header = parse_frame_header(std::span(bytes).subspan(at).first<8>());
    if (!header || bytes.size() - at - 8 < header->bytes) {
      complaint_ = "a frame that is none, or leaves its message";
      return;
    }
    const auto begin = bytes.begin() + static_cast<long>(at) + 8;
    frames.push_back({*header, {begin, begin + header->bytes}});
    at += 8 + size_t{header->bytes};
  }
  for (const auto& [begin, said] : slots) {
    const auto found = first_frames.find(begin);
    const uint16_t first = found == first_frames.end() ? no_frame_start : found->second;
    if (said.second != first) complaint_ = "a slot that points at no frame's start";
    if (said.first == 0) complaint_ = "a slot without use";
  }
}

}  // namespace cw::gateway::test
