// A value that one thread writes and others read, whole, without a lock and without an atomic
// read-modify-write: it has a cache line to itself, which only its writer writes to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cw {

/// Begins as a Value of its own defaults.
template <class Value>
class alignas(64) Published {
 public:
  Published() { write(Value()); }

  /// Thread: the one writer.
  void write(const Value& value) {
    Words words;
    std::memcpy(words.data(), &value, sizeof(value));
    const uint64_t version = version_.load(std::memory_order_relaxed);
    // Odd while the words are neither old nor new. A reader that sees one of these sees the odd
    // version as well, for each is released behind it.
    version_.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  /// False, and `value` as it was, while it is being written: what was read before holds until the
  /// next look. Thread: any. Never waits.
  bool try_read(Value& value) const {
    Words words;
    const uint64_t version = version_.load(std::memory_order_acquire);
    for (size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) return false;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof(value));
    return true;
  }

 private:
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % 8 == 0);
  using Words = std::array<uint64_t, sizeof(Value) / 8>;

  std::atomic<uint64_t> version_{0};
  std::array<std::atomic<uint64_t>, sizeof(Value) / 8> words_{};
};

}  // namespace cw
