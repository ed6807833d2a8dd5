#include "policies/parts/coding/coded_source.h"

#include <algorithm>

namespace cw::policy {
namespace {

// One row in a hundred thousand may need a resend.
constexpr double failure = 1e-5;

}  // namespace

CodedSource::CodedSource(const cw_env& env, const CodingSettings& settings)
    : RepeatSource(env, settings.repeat),
      coding_(settings),
      is_coded_(env.k > 0),
      repair_first_(env.data_slots_max),
      slot_bytes_(env.slot_wire_bytes),
      work_(env, blocks_per_call),
      refused_codes_(env, blocks_per_call),
      deadlines_(env, 2 * size_t{env.messages}),
      m_(settings.m) {}

bool CodedSource::is_ready() const {
  return RepeatSource::is_ready() && work_.is_ready() && refused_codes_.is_ready() &&
         deadlines_.is_ready();
}

// ---- facts --------------------------------------------------------------------------------------

void CodedSource::on_block_closed(const cw_fact_block_closed& fact, Instant) {
  const Block block = Block::from(fact);
  if (!is_coded_ || block.m == 0 || block.slots > coding_.weave.slots_max()) return;
  work_.try_push({.message = fact.message, .block = block});
}

void CodedSource::on_closed(const cw_fact_closed& fact, Instant now) {
  RepeatSource::on_closed(fact, now);
  if (coding_.deadline > Duration()) deadlines_.try_push(fact.message, {0, 1}, now);
}

void CodedSource::on_coded(const cw_fact_coded& fact, Instant now) {
  Work* work = find_work(fact.block, fact.message);
  if (work == nullptr || work->encoding == 0) return;
  --work->encoding;
  settle_encoding(fact.block, *work, now);
}

void CodedSource::on_refused(const cw_fact_refused& fact, Instant now) {
  if (fact.decision != CW_DECIDE_CODE) return RepeatSource::on_refused(fact, now);
  Work* work = find_work(fact.first, fact.message);
  if (work == nullptr || work->encoding == 0) return;
  --work->encoding;
  ++work->refused;
  if (fact.reason != CW_REFUSED_FULL) work->tries = tries_max;
  settle_encoding(fact.first, *work, now);
}

/// All that was asked for is answered; what was refused is asked for once more, as a whole.
void CodedSource::settle_encoding(uint32_t cookie, Work& work, Instant now) {
  if (work.encoding > 0 || work.refused == 0 || !work.is_decided) return;
  if (work.tries++ < tries_max &&
      refused_codes_.try_push(work.message, {cookie, cookie + 1}, now)) {
    return;
  }
  work.block.m = 0;  // nothing of it will be sent
  work.refused = 0;
}

void CodedSource::on_link(const cw_fact_link& fact, Instant now) {
  RepeatSource::on_link(fact, now);
  follow_loss(fact);
}

void CodedSource::on_timer(uint64_t cookie, Instant now) {
  if (cookie != timer_cookie) return RepeatSource::on_timer(cookie, now);
  coding_armed_at_ = Instant::never();
  give_up_late(now);
}

void CodedSource::follow_loss(const cw_fact_link& fact) {
  double loss = 0, burst = 1;
  for (uint32_t i = 0; i < fact.paths && i < CW_PATHS_MAX; ++i) {
    if (fact.path[i].is_up == 0) continue;
    loss = std::max(loss, fact.path[i].loss);
    burst = std::max(burst, fact.path[i].burst_mean);
  }
  m_ = shards_for(std::clamp(loss, 0.0, 1.0), std::min(burst, 1e4), coding_.rows, coding_.k,
                  coding_.m, coding_.m_max, failure);
  const double apart = std::max(0.0, burst - coding_.rows);
  const auto bytes = static_cast<uint64_t>(std::min(apart, 1e4) * slot_bytes_);
  // All shards of a row within a sixteenth of an RTT: repair that is late is not worth much.
  spacing_ = apart < 1 ? Duration() : std::min(link_.time_for(bytes), link_.rtt / 16 / (m_ + 1));
}

void CodedSource::give_up_late(Instant now) {
  while (deadlines_.due(coding_.deadline) <= now) {
    SourceMessage* message = find_open(deadlines_.pop().message);
    if (message != nullptr) give_up(*message);
  }
}

CodedSource::Work* CodedSource::find_work(uint32_t cookie, uint32_t message) {
  const uint32_t index = cookie - head_;
  if (index >= work_.count() || work_.at(index).message != message) return nullptr;
  return &work_.at(index);
}

// ---- decisions ----------------------------------------------------------------------------------

void CodedSource::decide(Instant now, Out& out) {
  RepeatSource::decide(now, out);
  if (is_coded_) {
    if (!tell_layout(out) || !retry_refused_codes(now, out) || !encode(now, out)) return;
    if (!send_repair(now, out)) return;
  }
  while (!deadlines_.is_empty() && find_open(deadlines_.front().message) == nullptr) {
    deadlines_.pop();
  }
  const Instant at =
      std::min(deadlines_.due(coding_.deadline), refused_codes_.due(times_.nack_gap));
  if (at != coding_armed_at_ && out.timer(timer_cookie, at)) coding_armed_at_ = at;
}

bool CodedSource::tell_layout(Out& out) {
  if (m_ == m_told_) return true;
  const bool is_told = out.layout({.codec = static_cast<uint32_t>(coding_.codec),
                                   .rows = coding_.rows,
                                   .k = coding_.k,
                                   .m = m_});
  if (is_told) m_told_ = m_;
  return is_told;
}

bool CodedSource::encode(Instant now, Out& out) {
  for (; undecided_ - head_ < work_.count(); ++undecided_) {
    if (!encode_block(undecided_, work_.at(undecided_ - head_), out)) return false;
    settle_encoding(undecided_, work_.at(undecided_ - head_), now);
  }
  return true;
}

bool CodedSource::retry_refused_codes(Instant now, Out& out) {
  while (refused_codes_.due(times_.nack_gap) <= now) {
    RangeFifo::Entry& entry = refused_codes_.front();
    for (uint32_t& cookie = entry.slots.first; cookie < entry.slots.end; ++cookie) {
      Work* work = find_work(cookie, entry.message);
      if (work == nullptr) continue;
      if (work->is_decided) work->decided = work->refused = 0;
      work->is_decided = false;
      if (!encode_block(cookie, *work, out)) return false;
      settle_encoding(cookie, *work, now);
    }
    refused_codes_.pop();
  }
  return true;
}

/// Asks for one encoding per set. False when there is no more room.
bool CodedSource::encode_block(uint32_t cookie, Work& work, Out& out) {
  uint32_t number = 0;
  bool has_room = true;
  if (find_open(work.message) == nullptr) work.block.m = 0;
  coding_.weave.for_each(work.block, [&](const CodedSet& set) {
    if (!has_room || number++ < work.decided) return;
    has_room = out.code({.message = work.message,
                         .block = cookie,
                         .slots = set.slots,
                         .rows = set.rows,
                         .k = set.k,
                         .m = set.m,
                         .slot_first = set.slot_first,
                         .repair_first = set.repair_first,
                         .codec = static_cast<uint32_t>(coding_.codec),
                         .row_first = 0,
                         .row_count = CW_UNKNOWN});
    if (!has_room) return;
    ++work.decided;
    ++work.encoding;
  });
  work.is_decided = has_room;
  return has_room;
}

/// Sends the repair of those blocks whose turn it is.
bool CodedSource::send_repair(Instant now, Out& out) {
  while (!work_.is_empty() && undecided_ != head_) {
    Work& work = work_.front();
    const SourceMessage* message = find_open(work.message);
    if (message != nullptr) {
      const bool is_ready = work.is_decided && work.encoding == 0 && work.refused == 0 &&
                            message->sent_end >= work.block.run().end;
      if (!is_ready) return true;
      if (!send_repair_of(work, now, out)) return false;
    }
    work_.pop();
    ++head_;
  }
  return true;
}

bool CodedSource::send_repair_of(Work& work, Instant now, Out& out) {
  for (SlotRun run = next_repair(work); !run.is_empty(); run = next_repair(work)) {
    const uint32_t offset = run.first - work.block.repair_first;
    const Instant from = now + spacing_ * (offset / std::max<uint32_t>(work.block.rows, 1) + 1);
    const bool has_room = out.send(
        {.message = work.message,
         .first = repair_first_ + run.first,
         .count = run.count(),
         .stride = 1,
         .kind = CW_SEND_REPAIR,
         .path_choice = static_cast<uint16_t>(has_paths_ ? CW_CHOOSE_NOT_LAST : CW_CHOOSE_ANY),
         .path = 0,
         .not_before_ns = spacing_ > Duration() ? from.ns() : 0,
         .drop_after_ns = 0});
    if (!has_room) return false;
    work.sent = offset + run.count();
  }
  return true;
}

/// The repair slots that may leave together next: all that follow each other, or one shard of each
/// row.
SlotRun CodedSource::next_repair(const Work& work) const {
  const uint32_t from = work.block.repair_first + work.sent;
  SlotRun run;
  coding_.weave.for_each(work.block, [&](const CodedSet& set) {
    const SlotRun part{std::max(set.repairs().first, from), set.repairs().end};
    if (part.is_empty()) return;
    if (run.is_empty()) run = part;
    if (part.first == run.end) run.end = part.end;
  });
  if (spacing_ > Duration()) run.end = std::min(run.end, run.first + work.block.rows);
  return run;
}

}  // namespace cw::policy
