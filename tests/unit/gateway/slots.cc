#include "tests/unit/gateway/slots.h"

#include <algorithm>
#include <utility>

#include "dataplane/base/assert.h"
#include "dataplane/wire/checksum.h"

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

std::optional<sdr::RecvHandle> FakeReceives::try_post(sdr::RecvMemory& lender, uint64_t bytes) {
  const uint32_t place = next_.value() % options_.messages;
  for (const auto& [seq, message] : posted_) {
    if (message.handle.place == place) return std::nullopt;
  }
  CW_ASSERT(bytes == options_.message_bytes());
  const size_t words = (options_.data_slots_max + 63) / 64;
  const sdr::RecvHandle handle{place, next_};
  posted_[next_.value()] = {.handle = handle,
                            .lender = &lender,
                            .bits = std::vector<uint64_t>(words),
                            .marks = std::vector<uint64_t>(words),
                            .short_by = std::vector<uint16_t>(words * 64)};
  ++next_;
  return handle;
}

void FakeReceives::complete(sdr::RecvHandle handle, Instant) {
  const auto it = posted_.find(handle.seq.value());
  if (it == posted_.end()) return;
  // Whoever still reads there reads nonsense.
  uint8_t* const memory = it->second.memory;
  if (memory != nullptr) std::fill_n(memory, options_.message_bytes(), 0xee);
  posted_.erase(it);
}

sdr::SlotArrivals FakeReceives::arrivals(sdr::RecvHandle handle) const {
  const Message& message = posted_.at(handle.seq.value());
  return {message.marks.data(), message.short_by.data(), options_.payload_bytes_max};
}

std::optional<sdr::RecvHandle> FakeReceives::handle_of(MessageSeq seq) const {
  const auto it = posted_.find(seq.value());
  return it == posted_.end() ? std::nullopt : std::optional(it->second.handle);
}

void FakeReceives::place(MessageSeq seq, uint32_t slot, std::span<const uint8_t> bytes,
                         bool is_marked) {
  Message& message = posted_.at(seq.value());
  CW_ASSERT(slot < options_.data_slots_max && bytes.size() <= options_.payload_bytes_max);
  const uint64_t bit = uint64_t{1} << slot % 64;
  if ((message.bits[slot / 64] & bit) == 0) {
    if (message.memory == nullptr) message.memory = message.lender->lend(message.handle);
    std::ranges::copy(bytes, message.memory + size_t{slot} * options_.payload_bytes_max);
    message.short_by[slot] = static_cast<uint16_t>(options_.payload_bytes_max - bytes.size());
    if (is_marked) message.marks[slot / 64] |= bit;
  }
  message.bits[slot / 64] |= bit;
  message.word_first = std::min(message.word_first, slot / 64);
  message.word_end = std::max(message.word_end, slot / 64 + 1);
}

void FakeReceives::reset() {
  posted_.clear();
  next_ = first_;
}

}  // namespace cw::gateway::test
