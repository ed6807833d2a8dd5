// The ONE model of what a path does to packets. Pure: no clock, no memory of its own beyond the
// object, no bytes touched. It is told of each packet in the order in which they enter the path and
// answers when, how often and how hurt each comes out; the simulator, the wrapper around real ports
// and causeway-wan carry the answers out.
//
// The same options, seed and row of calls give the same answers on every machine.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/base/prng.h"
#include "dataplane/port/impair/impairment.h"
#include "dataplane/port/impair/losses.h"

namespace cw {

/// Why a packet did not come out.
enum class LossCause : uint8_t {
  None,
  Targeted,
  PathMtu,
  QueueFull,
  Blackout,
  Uniform,
  GilbertElliott,
  Burst,
  FlowHole,
};
inline constexpr size_t loss_cause_count = 9;
const char* name_of(LossCause cause);

/// What becomes of one packet.
struct Verdict {
  LossCause lost = LossCause::None;
  bool is_corrupted = false;
  bool is_marked = false;    ///< ECN: it waited longer than `mark_above`
  uint8_t copies = 0;        ///< arrivals; 0 when lost
  uint32_t corrupt_bit = 0;  ///< which bit is flipped, in all copies, below 8 * bytes (0 if empty)
  std::array<Instant, impairment_copies_max> at;  ///< when the copies arrive; not sorted
};

/// Counts since start; each only grows.
struct ImpairmentCounters {
  uint64_t packets = 0;    ///< entered
  uint64_t delivered = 0;  ///< came out, each copy counted
  uint64_t extra_copies = 0;
  uint64_t corrupted = 0;
  uint64_t marked = 0;
  uint64_t held_back = 0;                         ///< hit by `reorder`
  std::array<uint64_t, loss_cause_count> lost{};  ///< by LossCause
  Duration queue_wait_max = {};                   ///< longest wait of a packet that was queued

  uint64_t lost_total() const;
};

class ImpairmentModel {
 public:
  /// `impairment` must be valid; `prng` is split into one generator per cause.
  ImpairmentModel(const Impairment& impairment, Prng prng);

  /// A packet of `bytes` enters at `now`, which never goes back. `key` is the packet's
  /// identity for TargetedLoss and `flow` its flow for FlowHole; 0: it has none. Cost: hot; no
  /// allocation.
  Verdict on_packet(Bytes bytes, Instant now, uint64_t key = 0, uint32_t flow = 0);

  /// The path changes. The queue, the generators and the counters go on, so that faults can end
  /// without a new wire; packets that entered earlier keep their verdict. Those that follow keep
  /// behind them unless the delay is another or jitter reorders.
  void change(const Impairment& impairment);

  const Impairment& impairment() const { return options_; }
  const ImpairmentCounters& counters() const { return counters_; }

 private:
  struct Losses {
    bool targeted, uniform, gilbert_elliott, burst;
  };
  struct Exit {  // what the far end of the path does to a packet that gets there
    bool is_corrupted = false, is_held_back = false;
    uint32_t corrupt_bit = 0;
    uint8_t copies = 1;
    Duration jitter;
  };
  Losses draw_losses(uint64_t key);
  Exit draw_exit(Bytes bytes);
  LossCause entry_loss(Bytes bytes, Instant now, bool is_targeted, uint32_t flow) const;
  LossCause line_loss(const Losses& losses, Instant sent) const;
  Instant send(Bytes bytes, Instant now);
  Duration draw_jitter(Prng& prng) const;
  Instant arrival(Instant sent, Duration jitter);
  void draw_arrivals(Instant sent, const Exit& exit, Verdict& verdict);
  void count(const Verdict& verdict, bool is_held_back);

  Impairment options_;
  double event_probability_ = 0;
  Duration queue_drain_ = Duration::max();  // the time the line takes for queue_bytes

  Instant line_free_at_;
  uint64_t line_remainder_ = 0;  // of line_free_at_, below 1 ns, times the rate: none is lost
  Instant latest_arrival_;

  Prng uniform_, corrupt_, corrupt_bit_, duplicate_, jitter_, copy_jitter_, reorder_;
  GilbertElliottLoss gilbert_elliott_;
  BurstEvents bursts_;
  Targets targets_;
  ImpairmentCounters counters_;
};

}  // namespace cw
