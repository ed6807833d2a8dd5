// A policy whose notes are tampered with on the way: a table around another table. What arrives as
// a note is replaced, cut, replayed or damaged before the inner policy sees it, and notes that
// nobody wrote are slipped in behind other facts. Everything else passes through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/policy.h"

namespace cw::conformance {

/// One at a time: the instances of table() find their Meddling by that.
class Meddling {
 public:
  Meddling(const cw_policy_ops& inner, uint64_t seed);
  ~Meddling();
  Meddling(const Meddling&) = delete;
  Meddling& operator=(const Meddling&) = delete;

  const cw_policy_ops& table() const { return table_; }
  uint64_t notes_forged() const { return notes_forged_; }
  /// The most decisions that one fact, with the note slipped in behind it, has led to.
  uint64_t decisions_max() const { return decisions_max_; }

 private:
  struct Instance;
  static Meddling* current_;

  static Instance& of(cw_policy* policy) { return *reinterpret_cast<Instance*>(policy); }
  static int create(const cw_env*, cw_policy**, char* why, size_t why_capacity);
  static void destroy(cw_policy* policy);
  template <auto function, class Fact>
  static void tell(cw_policy*, const Fact*, int64_t now_ns, cw_out*);
  static void note(cw_policy*, const cw_fact_note*, int64_t now_ns, cw_out*);
  static void timer(cw_policy*, uint64_t cookie, int64_t now_ns, cw_out*);
  static void drain(cw_policy*, int64_t by_ns, int64_t now_ns, cw_out*);
  static void resume(cw_policy*, int64_t now_ns, cw_out*);
  static void ended(cw_policy*, uint32_t message, void* state, int64_t now_ns);

  std::vector<uint8_t> forged(const cw_fact_note& genuine);
  std::vector<uint8_t> invented();
  void slip_in(Instance& instance, int64_t now_ns, cw_out* out);

  cw_policy_ops inner_, table_;
  Prng prng_;
  std::vector<uint8_t> replay_;  // a genuine note of earlier
  uint64_t notes_forged_ = 0, decisions_max_ = 0;
};

}  // namespace cw::conformance
