// Reads a trace (policy_trace.h) call by call. Its bytes are somebody's: nothing of them is taken
// that does not hold together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/seat/trace/decision_fields.h"
#include "dataplane/sdr/seat/trace/trace_codec.h"
#include "dataplane/sdr/seat/trace/trace_fields.h"

namespace cw::sdr {

/// Times and rates beyond these are no core's, and policies compute with them.
inline constexpr int64_t trace_ns_max = int64_t{1} << 60;
inline constexpr uint64_t trace_bps_max = uint64_t{1} << 50;

/// Whose it is.
struct TraceHead {
  std::string policy, version;
  uint32_t wire_version = 0;
  std::vector<std::pair<std::string, double>> params;
  cw_env env{};  ///< without pointers
};

/// A decision, and the bytes of a note; nothing: they lay outside what there was.
struct TracedWord {
  TracedDecision decision;
  std::optional<std::vector<uint8_t>> note;
};

/// One call. Pointers of the fact are null; what they pointed to stands beside it.
struct TracedCall {
  TracedFact fact;
  int64_t now_ns = 0;
  bool has_state = false;
  std::vector<uint64_t> data_words, repair_words;  ///< of `arrived`
  std::vector<cw_path_facts> paths;                ///< of `link`
  std::vector<uint8_t> note;                       ///< of `note`
  std::vector<TracedWord> decided;
};

/// Thread: one. Allocates.
class TraceReader {
 public:
  /// `bytes` outlive it. Errors: they are no trace, or one whose ends are beyond what a stream has.
  static Result<TraceReader> open(std::span<const uint8_t> bytes);

  const TraceHead& head() const { return head_; }
  /// The next call with all that was decided in it; nothing: that was all. Errors: what follows
  /// contradicts itself, and so does everything from there on.
  Result<std::optional<TracedCall>> next();

 private:
  explicit TraceReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool try_read_head();
  template <class Fields>
  void take_fields(Fields& fields, TraceBefore& before);
  void take_fact(TracedCall& call, uint8_t kind);
  void take_rest(const cw_fact_arrived& fact, TracedCall& call);
  void take_rest(const cw_fact_link& fact, TracedCall& call);
  void take_rest(const cw_fact_note& fact, TracedCall& call);
  void take_rest(const auto&, TracedCall&) {}
  void take_words(uint32_t first, uint32_t count, uint32_t slots, std::vector<uint64_t>& words);
  void take_decision(TracedCall& call, uint8_t kind);

  TraceBytes bytes_;
  TraceHead head_;
  std::array<TraceBefore, std::size(traced_fact_names)> facts_{};
  std::array<TraceBefore, std::size(traced_decision_names)> decisions_{};
  TraceBefore path_{};
  uint64_t at_ns_ = 0;
};

}  // namespace cw::sdr
