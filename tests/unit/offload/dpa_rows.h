// What tests of the emulated DPA have in common: a row as its owner sees it, in memory of anyone's;
// scripts of records, orderly and hostile; and what events say, whatever bursts they came in.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "offload/bitmap.h"
#include "offload/dpa/emulated_dpa.h"

namespace cw {

using Records = std::vector<cw_bits_record>;
using Events = std::vector<cw_bits_event>;

inline uint64_t number_of(const cw_bits_record& r) { return __builtin_bit_cast(uint64_t, r); }
inline cw_bits_record record(uint8_t kind, uint16_t stream, uint8_t generation,
                             uint32_t immediate) {
  return {immediate, stream, generation, kind};
}

/// One for each stream that there is; a row knows one more that has no arena.
using Streams = std::vector<cw_bits_limits>;

struct RingSizes {
  uint32_t records = 4096, events = 4096;
};

/// A row and its arenas, and the owner's end of both rings.
class OwnedRow {
 public:
  using Allocate = std::function<void*(size_t)>;
  OwnedRow(const Streams& streams, RingSizes rings, const Allocate& allocate);

  cw_bits_row* get() const { return row_; }
  /// As many as there is room for; returns how many.
  size_t put(std::span<const cw_bits_record> records);
  /// Appends what has been told.
  void take(Events& events);
  uint32_t head() const { return __atomic_load_n(&row_->records_head, __ATOMIC_ACQUIRE); }
  uint32_t tail() const { return row_->records_tail; }
  bool is_done() const { return head() == tail(); }
  void end() { __atomic_store_n(&row_->is_ended, 1, __ATOMIC_RELEASE); }
  /// Byte by byte, of all arenas.
  std::string arena_bytes() const;

 private:
  cw_bits_row* row_;
  std::vector<std::pair<char*, size_t>> arenas_;
};

/// A row that this process runs, in memory of its own.
class HostRow {
 public:
  HostRow(const Streams& streams, RingSizes rings);
  /// Runs all, in bursts as large as can be; returns what was told.
  Events run(std::span<const cw_bits_record> records);
  OwnedRow& owned() { return owned_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<void, Free>> memory_;
  OwnedRow owned_;
};

/// What events say of lives: the bits that were told of each word, and how often each other event.
struct Told {
  using Word = std::tuple<uint64_t, uint32_t>;  // the first record of the word, and which life
  std::map<Word, uint64_t> placed;
  std::map<Word, uint64_t> others;
  uint64_t records = 0;     ///< that were answered: bits, and other events
  uint64_t told_twice = 0;  ///< bits
  bool operator==(const Told&) const = default;
};
Told told_by(std::span<const cw_bits_event> events, const Streams& streams);

/// Many small messages, few large ones, and two whose slots fill no word.
Streams small_streams();

/// About `count` records as a peer and an owner would make them, and what neither should: packets
/// in order, near each other, twice, of other lives; arms and closes at the wrong time; ids, slots,
/// streams and kinds that there are not.
Records random_records(const Streams& streams, uint64_t seed, size_t count);

/// Puts all into a row that somebody else runs, at most `most` at a time, and takes what is told
/// until each is answered. False: it stood still for 10 s.
bool pump(OwnedRow& row, std::span<const cw_bits_record> records, Events& events, size_t most);

/// Looks for 10 s at most.
bool comes_true(const std::function<bool()>& is_true);

/// With the program of this build.
EmulatedDpaOptions dpa_options(uint32_t harts);
std::unique_ptr<EmulatedDpa> dpa_of(uint32_t harts);

}  // namespace cw
