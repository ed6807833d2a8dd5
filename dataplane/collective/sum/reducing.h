// Reduce-Scatter at one member: every member has a part for each rank, and comes to have the sum of
// all parts for its own. In round i, from 1 on, it takes its part from the member i ranks before
// it:
//
//   rounds   1  2  3 ... P-1         two are open: one is added up as it comes, the next one lies
//   from   r-1 r-2 r-3 ... r+1       in memory of ours until its turn
//
// Added up in that order, slot by slot, in f32, and rounded once where the type is bf16: so two
// runs give the same bits. With point-to-point messages nothing of that is in arXiv 2408.13356, but
// for the pair with an Allgather, whose bytes leave each host once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/collective/sum/pull.h"
#include "dataplane/datagram/datagram_endpoint.h"

namespace cw::group {

struct ReducingOptions {
  uint64_t part_bytes_max = 0;
  Duration reorder;
};

/// Thread: one worker. Nothing allocates once it is made: four times the bytes of a part are.
class Reducing {
 public:
  Reducing(DatagramEndpoint& endpoint, const ReducingOptions& options);

  struct Work {
    uint8_t index = 0;  ///< of its step's landing
    Step step;
    ElementType element = ElementType::F32;
    Slots::Shape shape;              ///< of the parts of all ranks
    const uint8_t* input = nullptr;  ///< parts by rank, for each
    uint8_t* output = nullptr;       ///< one part
    Rate rate;                       ///< at which we are to take
  };
  /// Others may ask for our parts from here on.
  void begin(const Work& work);
  /// All have begun: asks for theirs.
  void open(Instant now);
  /// Nothing is wanted any more, by anybody.
  void end();

  bool is_begun() const { return work_.has_value(); }
  Step step() const { return work_->step; }
  bool is_complete() const { return is_begun() && round_ >= rounds(); }
  /// Slots that were asked for again.
  uint32_t fetched() const { return fetched_; }

  /// Of a burst, what is of messages; returns whether anything of it is new.
  bool on_placed(std::span<const Placed> placed, Instant now);
  /// Returns whether something had to be asked for again.
  bool on_time(Instant now);
  Instant due() const;
  void on_gap(Duration gap);
  /// Whom we have asked in vain, how often and since when; the first of them.
  struct Unanswered {
    uint16_t rank = 0;
    uint32_t tries = 0;
    Instant since;
  };
  std::optional<Unanswered> longest_unanswered() const;

  /// A word of ours is a FETCH with this bit.
  static constexpr uint32_t about_bit = 1u << 31;
  bool write(uint32_t about, EnvelopeWriter& writer) const;
  /// What another one asks of us.
  void answer(uint16_t from, const Fetch& fetch, Instant now);

 private:
  static constexpr size_t lanes = 2;  // inboxes that the endpoint has for us
  uint32_t rounds() const { return members_ - 1u; }
  size_t lane_of(uint32_t round) const { return round % lanes; }
  void begin_round(uint32_t round);
  void ask(Instant now);
  void say(uint32_t round, size_t ask, Instant now);
  PullTimes times_of(const Pull& pull) const;
  void add_slot(uint32_t slot);
  void try_add(uint32_t round, uint32_t slot);
  void finish_slot(uint32_t slot);
  void end_rounds();

  DatagramEndpoint& endpoint_;
  ReducingOptions options_;
  uint32_t members_;
  std::optional<Work> work_;
  std::optional<Slots> parts_, part_;  // of all ranks; of one
  std::array<Pull, lanes> pulls_;
  uint32_t round_ = 0;  // that are over
  uint32_t fetched_ = 0;
  uint32_t window_ = 0;  // slots, of both rounds
  bool is_open_ = false;
  std::vector<float> sums_;  // of bf16
  std::array<std::vector<uint8_t>, lanes> staging_;
  std::vector<SlotBits> added_;  // by lane
};

}  // namespace cw::group
