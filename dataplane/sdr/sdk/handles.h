// Opaque handles of C programs. A handle is the address of its entry plus the entry's life modulo
// 64 (entries are aligned to 64), so one that was given back is told from the one that has its
// place now, until the place has been lent 64 times more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataplane/base/assert.h"

namespace cw::sdk {

/// `Opaque` is the C type, which has no members; `T` what it stands for. Thread: one.
template <class Opaque, class T>
class Handles {
 public:
  explicit Handles(size_t count) : count_(count), entries_(new Entry[count]()) {}

  size_t count() const { return count_; }
  bool is_lent(size_t index) const { return entries_[index].is_lent; }
  T& at(size_t index) { return entries_[index].value; }

  /// Begins a life of the entry, which must not be lent.
  Opaque* lend(size_t index) {
    Entry& entry = entries_[index];
    CW_ASSERT(index < count_ && !entry.is_lent);
    entry.is_lent = true;
    entry.life = (entry.life + 1) % lives;
    return reinterpret_cast<Opaque*>(reinterpret_cast<uintptr_t>(&entry) + entry.life);
  }
  /// What the handle stands for; null when it is null or its life is over. It must have come from
  /// lend() of a table that still exists.
  static T* find(const Opaque* handle) {
    Entry* entry = entry_of(handle);
    return entry == nullptr ? nullptr : &entry->value;
  }
  /// Ends the life of a handle for which find() finds something.
  static void end(const Opaque* handle) {
    Entry* entry = entry_of(handle);
    CW_ASSERT(entry != nullptr);
    entry->is_lent = false;
  }

 private:
  static constexpr uintptr_t lives = 64;
  struct alignas(lives) Entry {
    T value;
    uint8_t life = 0;
    bool is_lent = false;
  };

  static Entry* entry_of(const Opaque* handle) {
    const auto bits = reinterpret_cast<uintptr_t>(handle);
    auto* entry = reinterpret_cast<Entry*>(bits / lives * lives);
    const bool is_alive = entry != nullptr && entry->is_lent && entry->life == bits % lives;
    return is_alive ? entry : nullptr;
  }

  size_t count_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace cw::sdk
