// What one direction of one path does to packets. Every field's default is the perfect wire, so a
// description names only what is wrong with the path. Configuration files, the simulator, the
// wrapper around real ports and causeway-wan all speak in this one struct.
//
// The causes meet a packet in the order in which they stand here, as things stand along a road:
//
//   entry    targeted drop, path MTU, queue (tail drop, ECN mark), then the line at its rate
//   line     blackout, uniform loss, Gilbert-Elliott loss, burst events
//   exit     corruption, duplication, delay, jitter, reordering
//
// A packet lost on the line has used the queue and the rate; one lost at the entry has not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw {

/// Two-state loss: one step per packet, then a loss with the probability of the state reached.
struct GilbertElliott {
  double to_bad = 0;     ///< probability, per packet in the good state
  double to_good = 1;    ///< probability, per packet in the bad state
  double loss_good = 0;  ///< loss probability in the good state
  double loss_bad = 1;   ///< loss probability in the bad state

  /// Loses a share `mean_loss` (below 1) in bursts of `mean_burst` (at least 1) packets on average.
  static GilbertElliott from_burst(double mean_burst, double mean_loss);
  /// The share of packets lost in the long run.
  double mean_loss() const;
};

/// How loss events divide into three kinds; the shares add up to one.
struct BurstProfile {
  std::string_view name;
  double single = 1;          ///< one packet
  double high_frequency = 0;  ///< some packets out of a short window
  double long_burst = 0;      ///< a row of consecutive packets
};

/// Cloud paths as the OmniDMA artifact fits them, and independent single losses.
inline constexpr BurstProfile burst_profiles[] = {
    {.name = "random"},
    {.name = "amazon", .single = 0.53, .high_frequency = 0.12, .long_burst = 0.35},
    {.name = "google", .single = 0.37, .high_frequency = 0.51, .long_burst = 0.12},
    {.name = "microsoft", .single = 0.68, .high_frequency = 0.19, .long_burst = 0.13},
};
/// Null when there is no profile of that name.
const BurstProfile* find_burst_profile(std::string_view name);

/// Loss in events of three kinds, as often as the wanted loss demands. An event begins with the
/// packet that starts it; no other begins before it has ended.
struct BurstLoss {
  double loss = 0;  ///< share of packets to lose in the long run; 0: no events
  BurstProfile profile = burst_profiles[0];
  uint32_t burst_packets = 15;    ///< long burst: mean length
  uint32_t burst_spread = 3;      ///< long burst: the length varies by so many either way
  uint32_t window_packets = 15;   ///< high frequency: length of the window
  uint32_t window_drops_min = 2;  ///< high frequency: drops in it, at least
  uint32_t window_drops_max = 14;

  static constexpr uint32_t event_packets_max = 64;
  double drops_per_event() const;
  double packets_per_event() const;
  /// Probability that a packet outside an event starts one. To first order it is the loss divided
  /// by the drops per event; exactly, the packets inside an event cannot start another.
  double event_probability() const;
};

/// "This packet and its next resends": packets carry an identity (a key, not zero) that their
/// resends share; the sender of the packets says what it is.
struct TargetedLoss {
  uint64_t first = 0;    ///< the first packet hit, counted from 1 among those with a key; 0: none
  uint64_t every = 0;    ///< after it, every so many packets another; 0: no more
  uint32_t resends = 0;  ///< how many further appearances of a hit key are dropped
};

/// Nothing passes from `start` for `length`; again after each `period` unless that is zero.
struct Blackout {
  Instant start = Instant::never();
  Duration length = {};
  Duration period = {};

  bool covers(Instant t) const;
};

/// One of several ways that the path has: packets of a flow that are longer than `above` vanish.
/// What a packet's flow is, its sender says.
struct FlowHole {
  uint32_t flow = 0;  ///< 0: there is no hole
  Bytes above = {};
};

enum class JitterShape : uint8_t { Uniform, Exponential };

struct Impairment {
  TargetedLoss targeted = {};

  FlowHole hole = {};
  Instant mtu_from = Instant::never();  ///< from then on, larger packets than `mtu` vanish
  Bytes mtu = {};

  Rate rate = {};                         ///< zero: unlimited
  Bytes queue_bytes = Bytes(UINT64_MAX);  ///< waiting or being sent, the new packet included
  Duration queue_time = Duration::max();  ///< longest wait before a packet's first bit leaves
  Duration mark_above = Duration::max();  ///< a longer wait sets ECN "congestion experienced"

  Blackout blackout = {};
  double loss = 0;  ///< independent, per packet
  GilbertElliott gilbert_elliott = {};
  BurstLoss bursts = {};

  double corrupt = 0;       ///< probability that one bit is flipped
  double duplicate = 0;     ///< probability of a copy, and of each further one
  uint32_t copies_max = 2;  ///< arrivals per packet sent, the first included

  Duration delay = {};        ///< one way, behind queue and line
  Duration jitter_max = {};   ///< added on top, at most
  Duration jitter_mean = {};  ///< Exponential: before it is cut at jitter_max; Uniform: not used
  JitterShape jitter_shape = JitterShape::Uniform;
  bool jitter_reorders = false;  ///< false: a packet waits for its elder instead of passing it
  double reorder = 0;            ///< probability that a packet is held back and passed by others
  Duration reorder_delay = {};   ///< how long it is held back
};

inline constexpr size_t impairment_copies_max = 4;  ///< most arrivals that one packet can have
inline constexpr Rate impairment_rate_min = Rate::from_bps(1000);
inline constexpr Duration impairment_delay_max = Duration::from_s(3600);  ///< of each delay

/// Refuses what cannot be meant (a probability above one, a queue without a rate) with a sentence
/// that names the field, the value and what is accepted.
Result<void> validate(const Impairment& impairment);

}  // namespace cw
