#include "policies/parts/coding/coded_sink.h"

#include <algorithm>

namespace cw::policy {
namespace {

constexpr uint32_t hole_slots = 64;
constexpr size_t rebuilds_max = 4'096;
constexpr size_t repair_ranges_max = 8'192;

uint32_t blocks_in(const cw_env& env) {
  return env.k == 0 || env.m_cap == 0 ? 0 : env.repair_slots_max / env.m_cap;
}

}  // namespace

CodedSink::CodedSink(const cw_env& env, const CodingSettings& settings)
    : RepeatSink(env, settings.repeat),
      coding_(settings),
      slots_max_(env.data_slots_max),
      block_slots_max_(std::max(env.k * env.rows, 1u)),
      repair_per_block_(std::max(env.m_cap, 1u)),
      blocks_max_(blocks_in(env)),
      blocks_(env, size_t{env.messages} * blocks_max_),
      places_(env, env.messages),
      wanted_(env),
      bits_(env, block_slots_max_),
      rebuilds_(env, ranges_for(env, hole_slots, rebuilds_max)),
      repair_seen_(env, ranges_for(env, hole_slots, repair_ranges_max)),
      refused_(env, ranges_for(env, hole_slots, rebuilds_max)) {
  for (uint32_t i = 0; places_.is_ready() && i < env.messages; ++i) {
    places_.try_push(static_cast<uint16_t>(i));
  }
}

bool CodedSink::is_ready() const {
  return RepeatSink::is_ready() && blocks_.is_ready() && places_.is_ready() && wanted_.is_ready() &&
         bits_.is_ready() && rebuilds_.is_ready() && repair_seen_.is_ready() && refused_.is_ready();
}

// ---- facts --------------------------------------------------------------------------------------

void CodedSink::on_opened(const cw_fact_opened& fact, Instant now) {
  CodedSinkMessage& message = *state_of<CodedSinkMessage>(fact);
  message = {};
  RepeatSink::on_opened(fact, now);
  message.place = places_.pop();
  for (uint32_t i = 0; i < blocks_max_; ++i) block_of(message, i) = {};
}

void CodedSink::on_ended(uint32_t sequence, void* state, Instant now) {
  CodedSinkMessage& message = *static_cast<CodedSinkMessage*>(state);
  wanted_.release_all(message.wanted_marks);
  places_.try_push(message.place);
  RepeatSink::on_ended(sequence, state, now);
}

void CodedSink::on_block_closed(const cw_fact_block_closed& fact, Instant now) {
  CodedSinkMessage& message = *state_of<CodedSinkMessage>(fact);
  const Block told = Block::from(fact);
  if (message.is_over || !is_sound(fact.block, told)) return;
  if (block_of(message, fact.block).is_told()) return;
  SunkBlock& block = block_of(message, fact.block);
  static_cast<Block&>(block) = told;
  message.blocks_end = std::max(message.blocks_end, fact.block + 1);
  judge(message, fact.block);
  // Its holes may have been doubted before it was known what could repair them.
  const SlotRun doubted{told.slot_first, std::min(told.run().end, message.overdue)};
  if (!doubted.is_empty()) doubt(message, doubted, now);
  look_closer(message, now);
}

void CodedSink::on_arrived(const cw_fact_arrived& fact, Instant now) {
  CodedSinkMessage& message = *state_of<CodedSinkMessage>(fact);
  if (message.is_over) return;
  RepeatSink::on_arrived(fact, now);
  if (!is_coded() || message.is_over) return;
  if (fact.repair != nullptr && fact.repair_word_count > 0) note_repair(message, fact, now);
  const SlotRun changed{fact.word_first * 64, (fact.word_first + fact.word_count) * 64};
  for_blocks(message, changed, [&](uint32_t index, SunkBlock&) { judge(message, index); });
}

void CodedSink::on_coded(const cw_fact_coded& fact, Instant now) {
  CodedSinkMessage* message = find(fact.message);
  if (message == nullptr || fact.block >= blocks_max_) return;
  SunkBlock& block = block_of(*message, fact.block);
  if (block.decoding > 0) --block.decoding;
  const bool has_failed =
      fact.result != CW_CODED_OK && hole_count(*message, block) >= block.holes_at_decode;
  block.is_distrusted |= has_failed && block.decoding == 0;
  doubt_block(*message, block, {block.slot_first, std::min(block.run().end, message->overdue)},
              now);
}

void CodedSink::on_refused(const cw_fact_refused& fact, Instant now) {
  CodedSinkMessage* message = find(fact.message);
  if (fact.decision != CW_DECIDE_CODE || message == nullptr || fact.first >= blocks_max_) return;
  SunkBlock& block = block_of(*message, fact.first);
  if (block.decoding > 0) --block.decoding;
  const bool may_work_later = fact.reason == CW_REFUSED_FULL || fact.reason == CW_REFUSED_QUOTA;
  if (may_work_later && refused_.try_push(fact.message, {fact.first, fact.first + 1}, now)) return;
  block.is_distrusted = true;
  doubt_block(*message, block, {block.slot_first, std::min(block.run().end, message->overdue)},
              now);
}

void CodedSink::on_lost(const cw_fact_lost& fact, Instant now) {
  if (!is_coded()) return RepeatSink::on_lost(fact, now);
  CodedSinkMessage* message = fact.message == CW_UNKNOWN ? nullptr : find(fact.message);
  if (coding_.waits || message == nullptr) return;
  if (fact.first < slots_max_) return RepeatSink::on_lost(fact, now);
  const SlotRun lost{fact.first - slots_max_, fact.first - slots_max_ + fact.count};
  if (lost.end > message->repair_highest) return;
  repair_seen_.try_push(fact.message, lost, now - times_.budget);
}

void CodedSink::on_timer(uint64_t cookie, Instant now) {
  if (cookie != timer_cookie) return RepeatSink::on_timer(cookie, now);
  coding_armed_at_ = Instant::never();
}

/// What has come of the repair; what has not, below it, has a reorder budget left.
void CodedSink::note_repair(CodedSinkMessage& message, const cw_fact_arrived& fact, Instant now) {
  message.repair = fact.repair;
  const SlotRun changed{fact.repair_word_first * 64u,
                        (uint32_t{fact.repair_word_first} + fact.repair_word_count) * 64};
  const SlotRun there = cover([&](uint32_t i) { return cw_word(&fact.repair[i]); }, changed.first,
                              std::min(changed.end, blocks_max_ * repair_per_block_));
  if (there.end > message.repair_highest) {
    const SlotRun news{message.repair_highest, there.end};
    message.grown_at = now;
    if (coding_.waits || repair_seen_.try_push(message.sequence, news, now, times_.budget / 8)) {
      message.repair_highest = there.end;
    }
  }
  const uint32_t end = (there.end + repair_per_block_ - 1) / repair_per_block_;
  for (uint32_t index = there.first / repair_per_block_; index < end; ++index) {
    if (block_of(message, index).is_told()) judge(message, index);
  }
}

// ---- what can be rebuilt ------------------------------------------------------------------------

/// Calls `action(index, block)` for every told block that has one of the slots.
template <class Action>
void CodedSink::for_blocks(CodedSinkMessage& message, SlotRun slots, Action&& action) {
  // No block is longer than a full one, so block b ends at or before b + 1 full ones.
  const uint32_t full = block_slots_max_;
  for (uint32_t i = slots.first / full; i < message.blocks_end; ++i) {
    SunkBlock& block = block_of(message, i);
    if (!block.is_told()) continue;
    if (block.slot_first >= slots.end) return;
    if (block.run().end > slots.first) action(i, block);
  }
}

/// Nothing outside of what was set up may be computed from it.
bool CodedSink::is_sound(uint32_t index, const Block& told) const {
  const uint64_t repair_end = uint64_t{blocks_max_} * repair_per_block_;
  return index < blocks_max_ && told.slots > 0 && told.slots <= coding_.weave.slots_max() &&
         told.slots <= block_slots_max_ && told.slots <= uint32_t{told.k} * told.rows &&
         uint64_t{told.slot_first} + told.slots <= slots_max_ &&
         uint32_t{told.rows} * told.m <= repair_per_block_ &&
         uint64_t{told.repair_first} + repair_per_block_ <= repair_end;
}

bool CodedSink::has_repair(const CodedSinkMessage& message, uint32_t index) const {
  return message.repair != nullptr && (cw_word(&message.repair[index / 64]) >> index % 64 & 1) != 0;
}

uint32_t CodedSink::hole_count(const CodedSinkMessage& message, const Block& block) const {
  uint32_t count = 0;
  for (uint32_t i = block.slot_first / 64; i * 64 < block.run().end; ++i) {
    const uint64_t holes =
        ~message.received.word(i) & mask_of(i, block.slot_first, block.run().end);
    count += static_cast<uint32_t>(std::popcount(holes));
  }
  return count;
}

/// Puts the block in line if it has holes and repair.
void CodedSink::judge(CodedSinkMessage& message, uint32_t index) {
  SunkBlock& block = block_of(message, index);
  const bool is_wanting = !block.is_queued && block.decoding == 0 && !block.is_distrusted;
  if (!is_wanting || message.repair_highest <= block.repair_first) return;
  const auto in_place = [&](uint32_t i) { return message.received.word(i); };
  if (next_clear(in_place, block.slot_first, block.run().end) == block.run().end) return;
  block.is_queued = rebuilds_.try_push({message.sequence, index, 0});
}

bool CodedSink::rebuild(Out& out) {
  while (!rebuilds_.is_empty()) {
    Rebuild& work = rebuilds_.front();
    CodedSinkMessage* message = find(work.message);
    if (message != nullptr) {
      if (!rebuild_block(work, *message, out)) return false;
      block_of(*message, work.block).is_queued = false;
    }
    rebuilds_.pop();
  }
  return true;
}

/// Decides one decode per set that has rows to solve. False when there is no more room.
bool CodedSink::rebuild_block(Rebuild& work, CodedSinkMessage& message, Out& out) {
  SunkBlock& block = block_of(message, work.block);
  bits_.take(block.run(), [&](uint32_t i) { return message.received.word(i); });
  const auto is_there = [&](uint32_t index) { return has_repair(message, index); };
  uint32_t number = 0;
  bool has_room = true;
  coding_.weave.for_each(block, [&](const CodedSet& set) {
    if (!has_room || number++ < work.set) return;
    const SlotRun rows = solvable_rows(set, coding_.codec, bits_, is_there);
    has_room = rows.is_empty() || out.code({.message = message.sequence,
                                            .block = work.block,
                                            .slots = set.slots,
                                            .rows = set.rows,
                                            .k = set.k,
                                            .m = set.m,
                                            .slot_first = set.slot_first,
                                            .repair_first = set.repair_first,
                                            .codec = static_cast<uint32_t>(coding_.codec),
                                            .row_first = rows.first,
                                            .row_count = rows.count()});
    if (!has_room) return;
    ++work.set;
    if (rows.is_empty()) return;
    // What this layer rebuilds, another need not.
    for (uint32_t row = rows.first; row < rows.end; ++row) {
      if (look_at_row(set, row, coding_.codec, bits_, is_there) == RowState::Beyond) continue;
      set.for_row(row, [&](uint32_t slot, uint32_t) { bits_.set(slot); });
    }
    ++block.decoding;
    block.holes_at_decode = hole_count(message, block);
  });
  return has_room;
}

// ---- what cannot --------------------------------------------------------------------------------

/// Where waiting for repair is the rule, patience begins with each slot: a block that closed of age
/// is short, and what later ones hold may leave long after it. Of the block that the highest slot
/// belongs to all that was told has left.
void CodedSink::suspect(SinkMessage& base, Instant now) {
  if (!is_coded() || !coding_.waits) return RepeatSink::suspect(base, now);
  auto& message = static_cast<CodedSinkMessage&>(base);
  uint32_t end = message.received.highest;
  for_blocks(message, {std::max(end, 1u) - 1, end},
             [&](uint32_t, const SunkBlock& block) { end = std::max(end, block.run().end); });
  const SlotRun news{message.suspected_end, end};
  if (suspected_.try_push(message.sequence, news, now, times_.nack_gap)) {
    message.suspected_end = std::max(message.suspected_end, end);
  }
}

void CodedSink::doubt(SinkMessage& base, SlotRun slots, Instant now) {
  if (!is_coded()) return RepeatSink::doubt(base, slots, now);
  auto& message = static_cast<CodedSinkMessage&>(base);
  if (slots.is_empty()) return;
  message.overdue = std::max(message.overdue, slots.end);
  // A block that was not told yet is doubted when it is.
  for_blocks(message, slots, [&](uint32_t, SunkBlock& block) {
    message.received.announced =
        std::max(message.received.announced, std::min(slots.end, block.run().end));
    if (coding_.waits) {
      message.repair_overdue =
          std::max(message.repair_overdue, block.repair_first + uint32_t{block.rows} * block.m);
    }
    doubt_block(message, block, slots, now);
  });
}

void CodedSink::on_silence(SinkMessage& base) {
  if (!is_coded()) return;
  auto& message = static_cast<CodedSinkMessage&>(base);
  message.repair_overdue = blocks_max_ * repair_per_block_;
}

SlotRun CodedSink::tail_of(const SinkMessage& message) const {
  if (!is_coded()) return RepeatSink::tail_of(message);
  // That a block is closed does not say that it has left; that the message is does.
  if (message.received.slots == CW_UNKNOWN) return {};
  return message.received.holes({message.received.cumulative, message.received.end()});
}

/// Asks for those of the doubted slots that the block's repair can no longer rebuild, and for those
/// before them that it could when they were doubted.
void CodedSink::doubt_block(CodedSinkMessage& message, SunkBlock& block, SlotRun slots,
                            Instant now) {
  judge(message, static_cast<uint32_t>(&block - &block_of(message, 0)));
  const SlotRun doubted{block.slot_first, std::min(slots.end, block.run().end)};
  const SlotRun holes = doubted.is_empty() ? SlotRun() : message.received.holes(doubted);
  if (holes.is_empty()) return;
  take_hopes(message, block);
  const auto is_asked_for = [&](uint32_t slot) {
    if (bits_.has(slot)) return false;
    return slot >= slots.first || !wanted_.has(message.wanted_marks, 0, slot);
  };
  for (uint32_t slot = holes.first; slot < holes.end; ++slot) {
    if (!is_asked_for(slot)) continue;
    uint32_t end = slot + 1;
    while (end < holes.end && is_asked_for(end)) ++end;
    want(message, {slot, end}, now);
    slot = end;
  }
}

/// Fills in what of a block is there, may still come, or can be rebuilt from these.
void CodedSink::take_hopes(const CodedSinkMessage& message, const SunkBlock& block) {
  bits_.take(block.run(), [&](uint32_t i) { return message.received.word(i); });
  if (block.is_distrusted) return;
  for (uint32_t slot = std::max(message.overdue, block.slot_first); slot < block.run().end;
       ++slot) {
    bits_.set(slot);
  }
  peel(coding_.weave, block, coding_.codec, bits_, [&](uint32_t index) {
    return index >= message.repair_overdue || has_repair(message, index);
  });
}

void CodedSink::want(CodedSinkMessage& message, SlotRun slots, Instant now) {
  wanted_.set(message.wanted_marks, 0, slots);
  ask(message, slots, now);
}

uint64_t CodedSink::wanted_word(const SinkMessage& base, uint32_t index) const {
  const auto& message = static_cast<const CodedSinkMessage&>(base);
  return wanted_.word(message.wanted_marks, 0, index);
}

void CodedSink::find_lost_repair(Instant now) {
  while (repair_seen_.due(times_.budget) <= now) {
    const RangeFifo::Entry entry = repair_seen_.pop();
    CodedSinkMessage* message = find(entry.message);
    if (message == nullptr) continue;
    message->repair_overdue = std::max(message->repair_overdue, entry.slots.end);
    // Repair leaves after the data that it repairs.
    const uint32_t end = (entry.slots.end + repair_per_block_ - 1) / repair_per_block_;
    for (uint32_t index = entry.slots.first / repair_per_block_; index < end; ++index) {
      const SunkBlock& block = block_of(*message, index);
      if (block.is_told()) doubt(*message, block.run(), now);
    }
  }
}

void CodedSink::retry_refused(Instant now) {
  while (refused_.due(times_.nack_gap) <= now) {
    const RangeFifo::Entry entry = refused_.pop();
    CodedSinkMessage* message = find(entry.message);
    if (message == nullptr) continue;
    for (uint32_t i = entry.slots.first; i < entry.slots.end; ++i) judge(*message, i);
  }
}

// ---- decisions ----------------------------------------------------------------------------------

void CodedSink::decide(Instant now, Out& out) {
  find_lost_repair(now);
  retry_refused(now);
  if (!rebuild(out)) return;
  RepeatSink::decide(now, out);
  for (RangeFifo* fifo : {&repair_seen_, &refused_}) {
    while (!fifo->is_empty() && find(fifo->front().message) == nullptr) fifo->pop();
  }
  const Instant at = std::min(repair_seen_.due(times_.budget), refused_.due(times_.nack_gap));
  if (at != coding_armed_at_ && out.timer(timer_cookie, at)) coding_armed_at_ = at;
}

}  // namespace cw::policy
