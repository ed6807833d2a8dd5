// What tests of datagrams by stripe have in common: a group's step whose slots a network brings,
// the rows of all stripes as their owner sees them, in memory of anyone's, and who runs them.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/wire/group/check.h"
#include "offload/stage/datagrams.h"

namespace cw {

/// What is received: of `sources` parts, by rank 5 of 8.
struct StripedStep {
  static constexpr uint32_t group_key = 0x6a0b5eed, own_key = 0x01234567;
  static constexpr uint16_t members = 8, rank = 5;

  uint64_t part_bytes = 0;
  uint32_t payload_bytes = 64;
  uint16_t sources = 8, first_source = 0;
  group::Step step{0x000451f7};

  group::Slots slots() const {
    return group::Slots({part_bytes, payload_bytes, sources, first_source});
  }
  cw_datagrams_shape shape(bool is_copied_by_others) const;
  /// As the source of the slot's part, or another one who was asked, sends it.
  group::Header header(uint32_t slot) const;
};

/// A landing and a row for each stripe.
class Stripes {
 public:
  using Allocate = std::function<void*(size_t)>;
  struct Options {
    uint32_t stripes = 1, slots_max = 4096, chunk_slots = 16;
    uint32_t buffers = 1024, stride = 128;  ///< of each row; the buffers as many as its records
  };
  Stripes(const Options& options, const Allocate& allocate);

  void open(const StripedStep& step, bool is_copied_by_others = false);
  /// Of all stripes; where they run by themselves, to be waited for before the next open.
  void close();
  /// Into the row of a stripe. False: no room.
  bool try_put(uint32_t stripe, const group::Header& header, std::span<const uint8_t> payload,
               uint32_t immediate);
  bool try_put(const StripedStep& step, uint32_t slot);
  /// Appends what stripes have told, and makes the copies that are the owner's.
  void take(std::vector<cw_bits_event>& events);

  uint32_t stripe_of(uint32_t slot) const { return slot / 64 % options_.stripes; }
  bool is_done() const;
  std::span<cw_bits_row* const> rows() const { return rows_; }
  cw_landing* landing() const { return landing_; }
  const uint8_t* memory() const { return memory_; }
  bool has_slot(uint32_t slot) const { return cw_landing_has_slot(landing_, slot) != 0; }
  bool has_chunk(uint32_t chunk) const { return cw_landing_has_chunk(landing_, chunk) != 0; }

 private:
  bool try_record(uint32_t stripe, const cw_bits_record& record);
  uint8_t* buffer(uint32_t stripe, uint32_t index) const {
    return buffers_[stripe] + size_t{index} * options_.stride;
  }

  const Options options_;
  cw_landing* landing_ = nullptr;
  uint8_t* memory_ = nullptr;
  std::vector<cw_bits_row*> rows_;
  std::vector<uint8_t*> buffers_;
};

/// What a slot's payload has: its number, all over.
std::vector<uint8_t> payload_of(const StripedStep& step, uint32_t slot);
/// All slots, shuffled, some of them twice.
std::vector<uint32_t> arrivals_of(const StripedStep& step, Prng& prng);
/// What memory has to be once all have come.
std::string whole_memory(const StripedStep& step);

}  // namespace cw
