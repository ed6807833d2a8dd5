// The source's half of coding: rows of retained data slots go to the desk and come back as repair
// slots, which then leave like data, into a window of their own.
#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/send/send_stream.h"

namespace cw::sdr {
namespace {

/// Whether all repair of a row is there or being made. A row too long for a turn is made in
/// several.
bool is_claimed(const RepairSlots& repairs, uint32_t place, const CodedSet& set, uint32_t row) {
  for (uint32_t j = 0; j < set.m; ++j) {
    if (!repairs.is_claimed(place, set.repair_of(j, row))) return false;
  }
  return true;
}

}  // namespace

void SendStream::on_code(const cw_code& code, Instant) {
  const Message* message = find_told(code.message);
  PolicyHost& host = seat_->of(code.message);
  if (message == nullptr) return host.refuse(code, CW_REFUSED_MESSAGE, nullptr);
  if (message->status != MessageStatus::Open) return;
  void* const state = state_of(*message);
  const CodedSet set = CodedSet::of(code);
  const uint32_t codecs = config_.codec_count();
  if (const auto reason = misfit_of(host.shape(), set, codecs, told_front(*message))) {
    return host.refuse(code, *reason, state);
  }
  if (!has_rows(code)) return host.refuse(code, CW_REFUSED_RANGE, state);
  if (!codes_.try_push(code, set)) host.refuse(code, CW_REFUSED_FULL, state);
}

void SendStream::code_rows(Instant now) {
  if (config_.rows == 0) return;
  for (CodeRequest* request = codes_.issuing(); request != nullptr; request = codes_.issuing()) {
    if (!issue_row(*request)) break;
  }
  desk_.poll();  // what this turn has computed itself
  while (codes_.has_done()) {
    const CodeRequest request = codes_.pop();
    const Message* message = request.is_dropped ? nullptr : find_told(request.code.message);
    if (message == nullptr || message->status != MessageStatus::Open) continue;
    seat_->of(message->seq).coded(request.fact(state_of(*message)), now);
  }
}

/// False when the desk can take no more in this turn.
bool SendStream::issue_row(CodeRequest& request) {
  Message* message = find_told(request.code.message);
  if (message == nullptr || message->status != MessageStatus::Open) {
    request.drop();
    return true;
  }
  CodeRow* row = desk_.take();
  if (row == nullptr) return false;
  const CodedSet& set = request.set;
  row->request = codes_.issuing_number();
  row->place = place_of(*message);
  row->row = request.row_next;
  row->is_decode = false;
  const CodeShape shape{set.k, set.m, config_.shard_bytes()};
  const uint32_t bytes = fill_row(*row, set, desk_.outputs_max(shape));
  const bool is_there = row->output_count == 0;
  if (is_there || !desk_.try_submit(*row, *this, *config_.codecs[set.codec], shape)) {
    desk_.give_back(*row);
    request.row_next += is_there;
    return is_there;
  }
  for (uint32_t i = 0; i < row->output_count; ++i) {
    const uint32_t slot = set.repair_of(row->outputs[i].id & ~CW_REPAIR_ID, row->row);
    store_.repairs().claim(row->place, slot, bytes);
    message->repair_end = std::max(message->repair_end, slot + 1);
  }
  request.row_next += is_claimed(store_.repairs(), row->place, set, row->row);
  ++request.under_way;
  // Its memory, and its place, stay until the row is back.
  store_.begin_coding(row->place);
  return true;
}

/// Data of a row, and those of its repair slots that are not there yet, `most` at most.
/// Returns how many bytes in front of their zeros the longest data slot has.
uint32_t SendStream::fill_row(CodeRow& row, const CodedSet& set, uint32_t most) {
  size_t bytes = 1;
  for (uint32_t c = 0; c < set.k; ++c) {
    if (!set.has_shard(c, row.row)) {
      row.add_input(c, desk_.zeros());
      continue;
    }
    const auto slot = store_.bytes_of(row.place, set.slot_of(c, row.row));
    row.add_input(c, shard_of(slot, desk_.buffer(row, c)));
    bytes = std::max(bytes, slot.size());
  }
  for (uint32_t j = 0; j < set.m && row.output_count < most; ++j) {
    const uint32_t slot = set.repair_of(j, row.row);
    if (store_.repairs().is_claimed(row.place, slot)) continue;
    row.add_output(CW_REPAIR_ID | j, store_.repairs().at(row.place, slot));
  }
  return static_cast<uint32_t>(bytes);
}

/// The slot as a codec wants it: where it lies if it can be, else copied to `buffer`.
const uint8_t* SendStream::shard_of(std::span<const uint8_t> slot, uint8_t* buffer) const {
  const size_t shard_bytes = config_.shard_bytes();
  // Behind a short one in its packet there is what the port wrote.
  const bool is_aligned = reinterpret_cast<uintptr_t>(slot.data()) % 64 == 0;
  if (is_aligned && slot.size() == shard_bytes) return slot.data();
  std::memcpy(buffer, slot.data(), slot.size());
  std::memset(buffer + slot.size(), 0, shard_bytes - slot.size());
  return buffer;
}

void SendStream::on_row_coded(CodeRow& row, const CodeResult& result) {
  wake_();
  CW_ASSERT(result.coded == Coded::Done);  // the shape and the ids are ours
  CodeRequest& request = codes_.at(row.request);
  --request.under_way;
  for (uint32_t i = 0; i < row.output_count; ++i) {
    const uint32_t j = row.outputs[i].id & ~CW_REPAIR_ID;
    store_.repairs().make_ready(row.place, request.set.repair_of(j, row.row));
  }
  store_.end_coding(row.place);
  free_if_over(messages_[row.place]);
}

bool SendStream::has_repair(const Message& message, const cw_send& send) const {
  const uint64_t final_slot = send.first + uint64_t{send.stride} * (send.count - 1);
  const uint64_t end = uint64_t{config_.data_slots_max} + config_.repair_slots_max;
  if (send.first < config_.data_slots_max || final_slot >= end) return false;
  for (uint32_t i = 0; i < send.count; ++i) {
    const uint32_t slot = send.first + i * send.stride - config_.data_slots_max;
    if (store_.repairs().bytes(place_of(message), slot) == 0) return false;
  }
  return true;
}

}  // namespace cw::sdr
