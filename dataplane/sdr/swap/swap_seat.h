// What a swap wants of an end of a stream, and how policies are named in it.
#pragma once

#include <cstdint>
#include <string_view>

#include "dataplane/base/memory/fixed_text.h"
#include "dataplane/base/serial.h"
#include "dataplane/base/units.h"
#include "dataplane/sdr/options.h"
#include "dataplane/wire/control/control_swap.h"

namespace cw::sdr {

using SwapSentence = FixedText<128>;

/// A policy as it stands in a record: "hybrid/1" and "k=32 m=4".
struct SwapPolicy {
  FixedText<40> name;
  FixedText<256> params;

  /// Whether the texts are short enough to be this.
  static bool fits(std::string_view name, std::string_view params) {
    return name.size() <= decltype(SwapPolicy::name)::capacity() &&
           params.size() <= decltype(SwapPolicy::params)::capacity();
  }
  size_t bytes() const { return name.view().size() + 1 + params.view().size(); }
  bool operator==(const SwapPolicy&) const = default;
};

/// As this end's records name it; without a name where its texts are too long for them. Cost:
/// allocates.
SwapPolicy named(const PolicyChoice& policy);

/// How far a successor is: nobody may have heard that it is wanted.
enum class Making : uint8_t { Nothing, Wanted, UnderWay, Made, Refused };

/// Thread: the stream's owner.
class SwapSeat {
 public:
  virtual ~SwapSeat() = default;
  /// Somebody is to make the successor. One at a time; `policy` stays until forget_next() or
  /// try_begin().
  virtual void make_next(const SwapPolicy& policy) = 0;
  virtual Making making() const = 0;
  virtual SwapStatus refusal() const = 0;
  virtual SwapSentence refusal_sentence() const = 0;
  /// What was made is another instance of the same, with the same parameters.
  virtual bool makes_the_same() const = 0;
  /// It is not wanted any more, whether it is there or not.
  virtual void forget_next() = 0;

  /// Of a source: from which message on; none of these opens until begin() or unbind().
  virtual MessageSeq bind() = 0;
  virtual void unbind() = 0;
  virtual uint16_t policy_epoch() const = 0;
  /// Of a sink: whether a source that keeps to the rules may have said so.
  virtual bool is_sound(MessageSeq boundary, uint16_t policy_epoch) const = 0;
  /// Messages from the boundary on are the successor's. False, and nothing has changed: the seat
  /// lacks something that it is about to have.
  virtual bool try_begin(MessageSeq boundary, uint16_t policy_epoch, Instant now) = 0;
  /// Whether something of the one before lives.
  virtual bool is_swapping() const = 0;
};

}  // namespace cw::sdr
