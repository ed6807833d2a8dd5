// Notes on their way from a policy to an envelope: a bounded row of byte strings. A full row
// refuses: notes may be lost anyway, and the next one says the same or more.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"

namespace cw::sdr {

class NoteQueue {
 public:
  /// In `memory`, of which an empty one needs nothing.
  NoteQueue(size_t capacity, TableMemory& memory) : notes_(capacity, &memory) {}

  /// False when full or longer than a note may be. `repeat` copies go out, in different envelopes,
  /// to the policy with this number.
  bool try_push(std::span<const uint8_t> bytes, uint32_t repeat, uint16_t policy_epoch) {
    if (notes_.is_full() || bytes.size() > limits::note_bytes_max) return false;
    Entry entry;
    entry.count = static_cast<uint16_t>(bytes.size());
    entry.repeat = static_cast<uint16_t>(std::clamp<uint32_t>(repeat, 1, UINT16_MAX));
    entry.policy_epoch = policy_epoch;
    if (!bytes.empty()) std::memcpy(entry.bytes.data(), bytes.data(), bytes.size());
    return notes_.try_push(entry);
  }
  bool is_empty() const { return notes_.is_empty(); }
  /// The oldest; there must be one.
  std::span<const uint8_t> front() const {
    return {notes_.front().bytes.data(), notes_.front().count};
  }
  uint16_t front_policy_epoch() const { return notes_.front().policy_epoch; }
  /// One copy of the oldest has been written. True when more copies of it are wanted: in the next
  /// envelope, since two in one are lost together.
  bool pop_copy() {
    if (--notes_.front().repeat > 0) return true;
    notes_.pop();
    return false;
  }
  void clear() { notes_.clear(); }

 private:
  struct Entry {
    uint16_t count = 0, repeat = 0, policy_epoch = 0;
    std::array<uint8_t, limits::note_bytes_max> bytes;
  };
  Ring<Entry> notes_;
};

}  // namespace cw::sdr
