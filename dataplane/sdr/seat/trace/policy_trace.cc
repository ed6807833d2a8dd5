#include "dataplane/sdr/seat/trace/policy_trace.h"

#include "dataplane/base/assert.h"
#include "dataplane/sdr/seat/trace/decision_fields.h"

namespace cw::sdr {

const char* name_of(TraceState state) {
  constexpr const char* names[] = {"waiting", "running",  "full",
                                   "asked",   "replaced", "quarantined"};
  return names[static_cast<size_t>(state)];
}

PolicyTrace::PolicyTrace(size_t bytes_max)
    : memory_(std::make_unique<uint8_t[]>(bytes_max)), writer_({memory_.get(), bytes_max}) {}

void PolicyTrace::begin(const PolicyInstance& its) {
  TraceState was = TraceState::Waiting;
  if (!state_.compare_exchange_strong(was, TraceState::Running)) return;  // nobody waits for it
  const cw_policy_ops& table = its.table();
  const auto params = its.params();
  writer_.put_bytes({reinterpret_cast<const uint8_t*>(trace_magic.data()), trace_magic.size()});
  writer_.put_text(table.name);
  writer_.put_text(table.version == nullptr ? "" : table.version);
  writer_.put(table.wire_version);
  writer_.put(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    writer_.put_text(table.params[i].name);
    writer_.put(trace_number(params[i]));
  }
  fields_of(its.env(), [&](const char*, auto field) { writer_.put(trace_number(field)); });
  publish();
}

/// What a reader sees ends with a whole fact, or with all that was decided after it.
void PolicyTrace::publish() {
  if (writer_.is_full()) return end(TraceState::Full);
  used_.store(writer_.used(), std::memory_order_release);
}

void PolicyTrace::end(TraceState why) {
  TraceState was = state();
  while (was <= TraceState::Running && !state_.compare_exchange_weak(was, why)) continue;
}

void PolicyTrace::put_rest(const cw_fact_arrived& fact) {
  for (uint32_t i = 0; i < fact.word_count; ++i) {
    writer_.put(folded(cw_word(&fact.data[fact.word_first + i])));
  }
  for (uint32_t i = 0; i < fact.repair_word_count; ++i) {
    writer_.put(folded(cw_word(&fact.repair[fact.repair_word_first + i])));
  }
}

void PolicyTrace::put_rest(const cw_fact_link& fact) {
  for (uint32_t i = 0; i < fact.paths; ++i) put_fields(fact.path[i], path_);
}

void PolicyTrace::put_rest(const cw_fact_note& fact) {
  writer_.put_bytes({fact.bytes, fact.count});
}

void PolicyTrace::add(std::span<const cw_decision> decisions, const uint8_t* note_bytes) {
  if (!is_running() || decisions.empty()) return;
  for (const cw_decision& each : decisions) {
    with_decision(each, [&]<class Decision>(const Decision& decision) {
      constexpr uint8_t kind = PlaceIn<Decision, TracedDecision>::value;
      writer_.put_byte(trace_decision_bit | kind);
      put_fields(decision, decisions_[kind]);
      if constexpr (std::is_same_v<Decision, cw_note>) {
        const auto bytes = note_bytes_of(decision, note_bytes);
        writer_.put_byte(bytes ? 1 : 0);
        if (bytes) writer_.put_bytes(*bytes);
      }
    });
  }
  publish();
}

}  // namespace cw::sdr
