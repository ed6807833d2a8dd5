// One life of a policy at one end of a stream, with the memory that the core keeps for it: what
// create() made, until destroy(). Made and destroyed outside the turn, on any thread; in between a
// host (policy_host.h) gives it facts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/result.h"
#include "dataplane/core/lazy_memory.h"
#include "dataplane/policy.h"
#include "dataplane/sdr/options.h"

namespace cw::sdr {

/// What an instance may decide in one call, and bytes of all notes in it: more is asked for again.
inline constexpr uint32_t decisions_per_call = 128, note_bytes_per_call = 4096;

/// Where a note's bytes lie in `bytes`, which are note_bytes_per_call; nothing: outside of them.
inline std::optional<std::span<const uint8_t>> note_bytes_of(const cw_note& note,
                                                             const uint8_t* bytes) {
  const bool is_inside =
      note.offset <= note_bytes_per_call && note.count <= note_bytes_per_call - note.offset;
  if (!is_inside) return std::nullopt;
  return std::span(bytes + note.offset, note.count);
}

/// Checks a table's ABI and returns a copy in which every function may be called, save budget.
Result<cw_policy_ops> complete_policy_table(const cw_policy_ops& ops);

/// Thread: never two calls at once.
class PolicyInstance {
 public:
  /// `env` without its parameters, which the choice has. Errors: another ABI, and what the policy
  /// says when it refuses to start. Cost: slow, allocates.
  static Result<std::unique_ptr<PolicyInstance>> make(const PolicyChoice& choice,
                                                      const cw_env& env);
  ~PolicyInstance() { ops_.destroy(policy_); }
  PolicyInstance(const PolicyInstance&) = delete;
  PolicyInstance& operator=(const PolicyInstance&) = delete;

  const cw_policy_ops& table() const { return ops_; }
  /// What it was made of.
  PolicyChoice choice() const { return {origin_, params_}; }
  /// It was put in quarantine: whoever destroys it sees to it that it does not come again.
  void set_barred() { is_barred_ = true; }
  bool is_barred() const { return is_barred_; }
  cw_policy* get() { return policy_; }
  /// One value per parameter that its table declares.
  std::span<const double> params() const { return params_; }
  /// What it was made for; its parameters live as long as it does.
  const cw_env& env() const { return env_; }

  /// The policy's memory for the message in place `index` (below env().messages); null when it
  /// keeps none.
  void* state_of(size_t index) {
    CW_DCHECK(index < env_.messages);
    return state_stride_ == 0 ? nullptr : &state_[index * state_stride_];
  }
  /// No message is open: what is kept of each goes back until one is.
  void rest() { memory_.rest(); }
  void zero_state(size_t index) {
    if (state_stride_ != 0) std::fill_n(&state_[index * state_stride_], state_stride_, 0);
  }

 private:
  PolicyInstance(const cw_policy_ops& ops, const PolicyChoice& choice, const cw_env& env);

  cw_policy_ops ops_;
  cw_policy* policy_ = nullptr;
  const cw_policy_ops* origin_;
  bool is_barred_ = false;
  std::vector<double> params_;
  cw_env env_;
  size_t state_stride_;  // in words
  LazyMemory own_;       // of the policy, which alone knows what it needs there
  LazyMemory memory_;
  Table<uint64_t> state_;
};

}  // namespace cw::sdr
