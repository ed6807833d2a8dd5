// Runs a policy by what another was told: the same facts, at the same times, with the same bitmaps.
// Decisions are taken note of and not acted on, so what follows one that is different would not
// have come about.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"
#include "dataplane/sdr/seat/policy_instance.h"
#include "dataplane/sdr/seat/trace/trace_reader.h"

namespace cw::trace {

/// Thread: one. Allocates.
class Replay {
 public:
  /// For whom the trace says, with its parameters as far as `policy` has them; the rest have their
  /// defaults. Errors: it refuses to start.
  static Result<std::unique_ptr<Replay>> make(const sdr::TraceHead& head,
                                              const cw_policy_ops& policy);

  /// What it decides in that call. Errors: a fact that no core would tell.
  Result<std::vector<sdr::TracedWord>> tell(const sdr::TracedCall& call);

 private:
  struct Open {
    size_t index = 0;  // of its memory
    std::vector<uint64_t> data, repair;
  };

  Replay(std::unique_ptr<sdr::PolicyInstance> instance, const cw_env& env);
  Open* find(uint32_t message);
  Result<void> open(uint32_t message);
  void end(uint32_t message);
  template <class Fact>
  Result<void> place(Fact& fact, const sdr::TracedCall& call);
  void place_bitmaps(cw_fact_arrived& fact, const sdr::TracedCall& call, Open& message);
  template <class Fact>
  void call_with(const Fact& fact, int64_t now_ns);
  std::vector<sdr::TracedWord> take();

  std::unique_ptr<sdr::PolicyInstance> instance_;
  cw_env env_;
  std::map<uint32_t, Open> open_;
  std::vector<size_t> free_;  // places of memory
  int64_t now_ns_ = 0;
  std::vector<cw_decision> decisions_;
  std::vector<uint8_t> note_bytes_;
  cw_out out_{};
};

/// Whether two decisions are the same, note and all.
bool are_same(const sdr::TracedWord& a, const sdr::TracedWord& b);
bool are_same(const std::vector<sdr::TracedWord>& a, const std::vector<sdr::TracedWord>& b);

}  // namespace cw::trace
