// The sink's half of coding: what the sender says of its blocks, and rows with holes, which are
// copied to the desk with what is there of their repair and come back as data slots.
#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/sdr/stream/recv/recv_stream.h"

namespace cw::sdr {

// ---- blocks ----

void RecvStream::on_block_closed(const BlockClosed& closed, Instant now) {
  Message* message = find_live(closed.seq);
  if (message == nullptr) return make_clear_due(now);
  open(*message, now);
  for (const ClosedBlock& entry : closed.blocks) {
    const uint32_t block = entry.block.host();
    const CodedSet set{.slot_first = entry.slot_first.host(),
                       .slots = entry.slots.host(),
                       .repair_first = block * shape_of(*message).m_cap,
                       .rows = entry.rows.host(),
                       .k = entry.k,
                       .m = entry.m,
                       .codec = entry.codec};
    if (!try_take_block(*message, block, set, now)) drops_.add(DropReason::record_body);  // [C-54]
  }
  advance_sequences();
  make_clear_due(now);
}

/// Whether a block can be what the sender says, as far as others are known.
bool RecvStream::has_place(const Message& message, uint32_t block, const CodedSet& set) const {
  const BlockShape& shape = shape_of(message);
  const uint32_t slots_end = message.is_closed ? message.slots : config_.data_slots_max;
  const bool is_inside = uint64_t{set.slot_first} + set.slots <= slots_end &&
                         uint32_t{set.rows} * set.m <= shape.m_cap;
  if (!has_shape(shape, set) || set.codec >= config_.codec_count() || !is_inside) return false;
  return blocks_.has_room_for(place_of(message), block, set);
}

bool RecvStream::try_take_block(Message& message, uint32_t block, const CodedSet& set,
                                Instant now) {
  if (block >= shape_of(message).blocks) return false;
  const CodedSet& known = block_of(message, block);
  if (known.slots > 0) return known == set;  // the first stands [C-39]
  if (!has_place(message, block, set)) return false;
  blocks_.set(place_of(message), block, set);
  message.blocks_reach = std::max(message.blocks_reach, set.slots_end());
  while (message.blocks < shape_of(message).blocks && block_of(message, message.blocks).slots > 0) {
    message.blocks_end = block_of(message, message.blocks++).slots_end();
  }
  tell_block(message, block, now);
  return true;
}

void RecvStream::tell_block(Message& message, uint32_t block, Instant now) {
  seat_->of(message.seq)
      .block_closed(block_of(message, block).closed(message.seq.value(), block, state_of(message)),
                    now);
}

// ---- rows ----

void RecvStream::on_code(const cw_code& code, Instant) {
  const Message* message = find_told(code.message);
  PolicyHost& host = seat_->of(code.message);
  if (message == nullptr) return host.refuse(code, CW_REFUSED_MESSAGE, nullptr);
  void* const state = state_of(*message);
  const CodedSet set = CodedSet::of(code);
  const uint32_t codecs = config_.codec_count();
  if (const auto reason = misfit_of(host.shape(), set, codecs, config_.data_slots_max)) {
    return host.refuse(code, *reason, state);
  }
  if (!has_rows(code)) return host.refuse(code, CW_REFUSED_RANGE, state);
  if (!codes_.try_push(code, set)) host.refuse(code, CW_REFUSED_FULL, state);
}

void RecvStream::on_time(Instant now) {
  seat_->on_time(now);
  if (!touched_.is_empty()) flush_facts(now);  // of a policy replaced since the last burst
  if (has_room_for_blocks()) code_rows(now);
}

Instant RecvStream::next_due() const {
  const bool is_coding_due = !codes_.is_idle() || !touched_.is_empty();
  return is_coding_due ? Instant() : seat_->next_due();
}

void RecvStream::code_rows(Instant now) {
  for (CodeRequest* request = codes_.issuing(); request != nullptr; request = codes_.issuing()) {
    if (!issue_row(*request)) break;
  }
  desk_.poll();  // what this turn has computed itself
  if (!touched_.is_empty()) flush_facts(now);
  while (codes_.has_done()) {
    const CodeRequest request = codes_.pop();
    const Message* message = request.is_dropped ? nullptr : find_told(request.code.message);
    if (message == nullptr) continue;
    seat_->of(message->seq).coded(request.fact(state_of(*message)), now);
  }
}

/// False when the desk can take no more in this turn.
bool RecvStream::issue_row(CodeRequest& request) {
  const Message* message = find_told(request.code.message);
  if (message == nullptr) {
    request.drop();
    return true;
  }
  CodeRow* row = desk_.take();
  if (row == nullptr) return false;
  const CodedSet& set = request.set;
  row->request = codes_.issuing_number();
  row->place = place_of(*message);
  row->row = request.row_next;
  row->is_decode = true;
  const uint32_t need = fill_row(*row, *message, set);
  request.need = std::max(request.need, need);
  const bool is_over = row->output_count == 0 || need > 0;
  const CodeShape shape{set.k, set.m, config_.shard_bytes()};
  const bool is_submitted =
      !is_over && desk_.try_submit(*row, *this, *config_.codecs[set.codec], shape);
  if (!is_submitted) desk_.give_back(*row);
  request.row_next += is_over || is_submitted;
  request.under_way += is_submitted;
  return is_over || is_submitted;
}

// Everything is copied: the memory goes back to the application whenever it likes, and a new
// message may come to lie in this one's place, while another thread still computes.
uint32_t RecvStream::fill_row(CodeRow& row, const Message& message, const CodedSet& set) const {
  for (uint32_t c = 0; c < set.k; ++c) {
    uint8_t* const buffer = desk_.buffer(row, c);
    const uint32_t slot = set.slot_of(c, row.row);
    // Nothing of the message lies behind its end, whatever has come there.
    if (!set.has_shard(c, row.row) || slot >= message.slots) {
      row.add_input(c, desk_.zeros());
    } else if (map_.has(row.place, slot)) {
      copy_shard(message, slot, buffer);
      row.add_input(c, buffer);
    } else {
      row.add_output(c, buffer);
    }
  }
  uint32_t repairs = 0;
  const bool takes_any = (config_.codecs[set.codec]->traits & CW_CODEC_MDS) != 0;
  for (uint32_t j = 0; j < set.m && !(takes_any && repairs == row.output_count); ++j) {
    const uint32_t slot = set.repair_of(j, row.row);
    if (!map_.has_repair(row.place, slot)) continue;
    uint8_t* const buffer = desk_.buffer(row, set.k + j);
    std::memcpy(buffer, repairs_.at(row.place, slot), config_.shard_bytes());
    row.add_input(CW_REPAIR_ID | j, buffer);
    ++repairs;
  }
  return row.output_count - std::min(repairs, row.output_count);
}

void RecvStream::copy_shard(const Message& message, uint32_t slot, uint8_t* buffer) const {
  const uint64_t offset = uint64_t{slot} * config_.payload_bytes;
  const uint64_t end = message.memory_bytes;
  const uint64_t bytes = std::min<uint64_t>(config_.payload_bytes, end - std::min(offset, end));
  if (bytes > 0) std::memcpy(buffer, message.memory + offset, bytes);
  std::memset(buffer + bytes, 0, config_.shard_bytes() - bytes);
}

void RecvStream::on_row_coded(CodeRow& row, const CodeResult& result) {
  wake_();
  CodeRequest& request = codes_.at(row.request);
  --request.under_way;
  Message* message = request.is_dropped ? nullptr : find_told(request.code.message);
  if (message == nullptr) return;
  request.take(result);
  if (result.coded != Coded::Done) return;
  for (uint32_t i = 0; i < row.output_count; ++i) {
    const cw_shard& shard = row.outputs[i];
    put_rebuilt(*message, request.set.slot_of(shard.id, row.row), shard.bytes);
  }
}

}  // namespace cw::sdr
