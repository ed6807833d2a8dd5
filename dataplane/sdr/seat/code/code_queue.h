// Code decisions of one stream's policy that are not done yet, in the order decided. Their rows are
// given to the desk one by one and come back in any order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/sdr/seat/code/coded_set.h"
#include "offload/coding/coder.h"

namespace cw::sdr {

struct CodeRequest {
  cw_code code{};
  CodedSet set;
  uint32_t row_next = 0, row_end = 0;
  uint32_t under_way = 0;  ///< rows at the desk
  uint32_t need = 0;       ///< shards that the worst row lacks
  bool is_singular = false;
  bool is_dropped = false;  ///< its message, or its policy, is gone

  bool is_issued() const { return row_next == row_end; }
  bool is_done() const { return is_issued() && under_way == 0; }
  void drop() {
    row_next = row_end;
    is_dropped = true;
  }
  void take(const CodeResult& result) {
    is_singular |= result.coded == Coded::Singular || result.coded == Coded::Malformed;
    if (result.coded == Coded::NeedMore) need = std::max({need, result.need, 1u});
  }
  /// What the policy hears of it.
  cw_fact_coded fact(void* state) const {
    const cw_coded_result result = need > 0      ? CW_CODED_NEED_MORE
                                   : is_singular ? CW_CODED_SINGULAR
                                                 : CW_CODED_OK;
    return {.message = code.message,
            .block = code.block,
            .result = static_cast<uint32_t>(result),
            .need = need,
            .slot_first = code.slot_first,
            .repair_first = code.repair_first,
            .row_first = code.row_first,
            .row_count = row_end - code.row_first,
            .state = state};
  }
};

/// Thread: one. Nothing allocates after construction.
class CodeQueue {
 public:
  /// In `memory`, of which an empty one needs nothing.
  CodeQueue(size_t capacity, TableMemory& memory)
      : capacity_(capacity), requests_(capacity, &memory) {}

  bool is_empty() const { return head_ == tail_; }

  /// False when it is full. The code's rows have been checked.
  bool try_push(const cw_code& code, const CodedSet& set) {
    if (tail_ - head_ == capacity_) return false;
    const uint32_t rows_behind = set.rows - code.row_first;
    at(tail_++) = {.code = code,
                   .set = set,
                   .row_next = code.row_first,
                   .row_end = code.row_first + std::min(code.row_count, rows_behind)};
    return true;
  }
  /// The oldest that has rows left to issue; null when none has.
  CodeRequest* issuing() {
    while (issue_ != tail_ && at(issue_).is_issued()) ++issue_;
    return issue_ == tail_ ? nullptr : &at(issue_);
  }
  uint64_t issuing_number() const { return issue_; }
  CodeRequest& at(uint64_t number) { return requests_[number % capacity_]; }
  /// Whether pop() has one.
  bool has_done() const { return head_ != tail_ && requests_[head_ % capacity_].is_done(); }
  CodeRequest pop() {
    CW_DCHECK(has_done());
    issue_ = std::max(issue_, head_ + 1);
    return at(head_++);
  }
  bool is_idle() const {
    // Requests are issued in order: when the last one is, all are.
    return !has_done() && (issue_ == tail_ || requests_[(tail_ - 1) % capacity_].is_issued());
  }
  /// The policy is gone. Rows at the desk come back to nobody.
  void drop_all() {
    drop_if([](const CodeRequest&) { return true; });
  }
  /// The same, of those alone of which this is true.
  template <class Is>
  void drop_if(const Is& is_unwanted) {
    for (uint64_t number = head_; number != tail_; ++number) {
      if (is_unwanted(at(number))) at(number).drop();
    }
  }

 private:
  size_t capacity_;
  Table<CodeRequest> requests_;
  uint64_t head_ = 0, issue_ = 0, tail_ = 0;
};

}  // namespace cw::sdr
