// What one instance of a policy was told and what it decided, from its first fact on, as long as
// there is room: enough to run it again (trace_reader.h), and no payload.
//
//   the stream's owner --> add() --> bytes that are there for good --> whoever reads them
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/policy.h"
#include "dataplane/sdr/seat/policy_instance.h"
#include "dataplane/sdr/seat/trace/trace_codec.h"
#include "dataplane/sdr/seat/trace/trace_fields.h"

namespace cw::sdr {

/// How a trace is, or why it holds no more.
enum class TraceState : uint8_t {
  Waiting,  ///< no policy has begun yet
  Running,
  Full,         ///< there was no room for more
  Asked,        ///< whoever asked for it has enough
  Replaced,     ///< another policy decides, or the link has begun anew
  Quarantined,  ///< it exceeded its quotas
};
const char* name_of(TraceState state);

/// Thread: begin() and add() are the stream's owner's, and allocate nothing; the rest is anybody's.
class PolicyTrace {
 public:
  /// Of so many bytes at most. Cost: slow, allocates.
  explicit PolicyTrace(size_t bytes_max);
  PolicyTrace(const PolicyTrace&) = delete;
  PolicyTrace& operator=(const PolicyTrace&) = delete;

  /// `its` has been told nothing yet. Once.
  void begin(const PolicyInstance& its);
  /// Before a call: with the time that the policy is told, and the bitmaps as it will see them.
  template <class Fact>
  void add(const Fact& fact, int64_t now_ns);
  /// After it, of what has not been acted on; `note_bytes` as note_bytes_of() has them.
  void add(std::span<const cw_decision> decisions, const uint8_t* note_bytes);
  /// It holds no more from here on; of the last call decisions may be missing. The first reason
  /// stands.
  void end(TraceState why);

  TraceState state() const { return state_.load(std::memory_order_acquire); }
  bool is_over() const { return state() > TraceState::Running; }
  /// What there is by now; it stays as it is while the trace lives.
  std::span<const uint8_t> bytes() const {
    return {memory_.get(), used_.load(std::memory_order_acquire)};
  }

 private:
  bool is_running() const { return state_.load(std::memory_order_relaxed) == TraceState::Running; }
  template <class Fields>
  void put_fields(const Fields& fields, TraceBefore& before);
  /// As a reader can follow it: without a bitmap nothing of it has changed.
  template <class Fact>
  static Fact as_written(const Fact& fact) {
    return fact;
  }
  static cw_fact_arrived as_written(cw_fact_arrived fact) {
    if (fact.repair == nullptr) fact.repair_word_count = 0;
    if (fact.word_count == 0) fact.word_first = 0;
    if (fact.repair_word_count == 0) fact.repair_word_first = 0;
    return fact;
  }
  void put_rest(const cw_fact_arrived& fact);
  void put_rest(const cw_fact_link& fact);
  void put_rest(const cw_fact_note& fact);
  void put_rest(const auto&) {}
  void publish();

  std::unique_ptr<uint8_t[]> memory_;
  TraceWriter writer_;  // the owner's, as is what follows
  std::array<TraceBefore, std::size(traced_fact_names)> facts_{};
  std::array<TraceBefore, std::size(traced_decision_names)> decisions_{};
  TraceBefore path_{};
  uint64_t at_ns_ = 0;
  std::atomic<size_t> used_ = 0;
  std::atomic<TraceState> state_ = TraceState::Waiting;
};

template <class Fields>
void PolicyTrace::put_fields(const Fields& fields, TraceBefore& before) {
  uint64_t* last = before.data();
  fields_of(fields,
            [&](const char*, auto field) { writer_.put_difference(trace_number(field), *last++); });
}

template <class Fact>
void PolicyTrace::add(const Fact& fact, int64_t now_ns) {
  if (!is_running()) return;
  constexpr uint8_t kind = PlaceIn<Fact, TracedFact>::value;
  writer_.put_byte(kind);
  writer_.put_difference(static_cast<uint64_t>(now_ns), at_ns_);
  if constexpr (HasState<Fact>) writer_.put_byte(fact.state != nullptr ? 1 : 0);
  const auto written = as_written(fact);
  put_fields(written, facts_[kind]);
  put_rest(written);
  publish();
}

}  // namespace cw::sdr
