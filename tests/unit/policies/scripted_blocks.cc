// The scripted host's blocks: where they end, and what is coded of them.
#include <algorithm>

#include "dataplane/base/assert.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::policy_test {

void Host::act_code(End& end, const cw_code& code) {
  const bool is_source = &end == &ends_[CW_SOURCE];
  CW_ASSERT(end.messages.contains(code.message));
  const uint32_t data_end = is_source ? end.messages[code.message].appended : slots_max_;
  if (!ScriptedCodes::holds(code, end.env, data_end)) {
    ++codes_out_of_bounds;
    return;
  }
  (is_source ? encodes : decodes).push_back(code);
  if (line_.is_code_refused(code)) {
    at(now_, [this, &end, code] {
      if (!end.messages.contains(code.message)) return;
      const auto reason = static_cast<uint16_t>(line_.code_refusal);
      const cw_fact_refused fact{
          code.message,   code.block, 1, 1,
          CW_DECIDE_CODE, reason,     0, end.messages[code.message].state.data()};
      tell(end, ops_.refused, fact);
    });
    return;
  }
  at(now_ + line_.code_time, [this, is_source, code] { is_source ? encode(code) : decode(code); });
}

void Host::encode(const cw_code& code) {
  End& source = ends_[CW_SOURCE];
  if (!source.messages.contains(code.message)) return;
  source.messages[code.message].codes.encode(code);
  tell_coded(source, code, CW_CODED_OK, 0);
}

void Host::decode(const cw_code& code) {
  End& sink = ends_[CW_SINK];
  if (!sink.messages.contains(code.message)) return;
  const Message& message = sink.messages[code.message];
  const ScriptedCodes& codes = codes_of(code.message);
  const auto decoded = codes.decode(code, message.bits, message.repair);
  rebuilt += decoded.rebuilt.size();
  for (uint32_t slot : decoded.rebuilt) {
    if (sink.messages.contains(code.message)) tell_arrived(code.message, {slot});
  }
  tell_coded(sink, code, decoded.result, decoded.need);
}

void Host::tell_coded(End& end, const cw_code& code, cw_coded_result result, uint32_t need) {
  if (!end.messages.contains(code.message)) return;
  cw_fact_coded fact{};
  fact.message = code.message;
  fact.block = code.block;
  fact.result = result;
  fact.need = need;
  fact.state = end.messages[code.message].state.data();
  fact.slot_first = code.slot_first;
  fact.repair_first = code.repair_first;
  fact.row_first = code.row_first;
  fact.row_count = code.row_count;
  tell(end, ops_.coded, fact);
}

/// Closes every block that is full, and at the end the last one.
void Host::fill_blocks(uint32_t sequence, bool is_over) {
  End& source = ends_[CW_SOURCE];
  while (source.env.k > 0 && source.messages.contains(sequence)) {
    Message& message = source.messages[sequence];
    const uint32_t left = message.appended - message.closed_end;
    if (left == 0) return;
    if (message.layout.k == 0) message.layout = layout_;
    const cw_layout shape = message.layout;
    const uint32_t full = uint32_t{shape.k} * shape.rows;
    if (left < full && !is_over) return;
    const uint32_t slots = std::min(left, full);
    const uint32_t rows = std::min<uint32_t>(shape.rows, (slots + shape.k - 1) / shape.k);
    cw_fact_block_closed block{};
    block.message = sequence;
    block.block = static_cast<uint32_t>(message.blocks.size());
    block.slots = slots;
    block.rows = static_cast<uint16_t>(rows);
    block.k = static_cast<uint8_t>((slots + rows - 1) / rows);
    block.m = shape.m;
    block.slot_first = message.closed_end;
    block.repair_first = block.block * source.env.m_cap;
    block.codec = shape.codec;
    message.closed_end += slots;
    message.layout = {};
    message.blocks.push_back(block);
    tell_block(sequence, block);
  }
}

void Host::tell_block(uint32_t sequence, const cw_fact_block_closed& closed) {
  cw_fact_block_closed block = closed;
  block.state = state(CW_SOURCE, sequence);
  tell(ends_[CW_SOURCE], ops_.block_closed, block);
  at(now_ + line_.rtt / 2 + line_.block_lateness(block.block), [this, sequence, closed] {
    if (!ends_[CW_SINK].messages.contains(sequence)) return;
    cw_fact_block_closed heard = closed;
    heard.state = state(CW_SINK, sequence);
    tell(ends_[CW_SINK], ops_.block_closed, heard);
  });
}

void Host::close_block(uint32_t message) { fill_blocks(message, true); }

void Host::link_says(double loss, double burst_mean) {
  line_.loss = loss;
  line_.burst_mean = burst_mean;
  tell_link();
}

}  // namespace cw::policy_test
