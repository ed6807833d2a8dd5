// Memory for messages that nobody posted any for, of as many streams as read along with it: lent
// when something of one comes, so that few of many places are in use, and the same ones again and
// again.
//
// A receive that is posted is a promise: its sender may fill it. So no more are posted, of all
// streams together, than there is memory for [C-33], and then it is always there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/memory/stock.h"

namespace cw::sdr {

/// Thread: the streams'. Nothing allocates after the last join().
class RecvBuffers {
 public:
  /// Cuts `memory` into buffers of `bytes` each; it outlives them.
  RecvBuffers(std::span<uint8_t> memory, uint64_t bytes)
      : bytes_(bytes), count_(memory.size() / bytes), promised_(count_) {
    for (size_t i = count_; i-- > 0;) unused_.push_back(memory.data() + i * bytes);
  }
  RecvBuffers(const RecvBuffers&) = delete;
  RecvBuffers& operator=(const RecvBuffers&) = delete;

  uint64_t bytes() const { return bytes_; }  ///< of each
  size_t count() const { return count_; }
  /// What one stream more may promise; before anything is.
  Portion& join() { return promised_.join(); }
  size_t promised_count() const { return promised_.held(); }
  /// What was used last goes first: it may still be in a cache. There must be one.
  uint8_t* take() {
    CW_ASSERT(!unused_.empty());
    uint8_t* const buffer = unused_.back();
    unused_.pop_back();
    return buffer;
  }
  void give_back(uint8_t* buffer) {
    CW_ASSERT(unused_.size() < count_);
    unused_.push_back(buffer);
  }
  std::span<uint8_t* const> unused() const { return unused_; }

 private:
  uint64_t bytes_;
  size_t count_;
  Stock promised_;
  std::vector<uint8_t*> unused_;
};

}  // namespace cw::sdr
