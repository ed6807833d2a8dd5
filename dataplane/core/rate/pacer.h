// One budget per link. Everything that leaves for the long haul (control, notes, data, resends,
// repair) takes its bytes from here and gets its departure time from here; timers of the layers
// above run from that departure, never from the decision to send.
//
//   try_push -> [ waiting for not_before ] -> control ------------------------\ .
//                                             resends near their deadline -----\ .
//                                             new data, other resends (by age) -- line -> depart
//                                             repair --------------------------/
//
// The line is a row of departures spaced by exactly the time their bytes take. What cannot leave
// before its drop_after is handed back as expired; nothing disappears in between. A pause of the
// machine moves no drop_after: hosts did not pause, and what they no longer wait for must not
// leave.
//
// Priority is strict. A resend is near its deadline when it would leave less than `resend_slack`
// before its drop_after; until then it competes with new data by age, so that neither starves the
// other: a resend is older than the data that came after the loss. Repair leaves only when no data
// waits, which is what "proactive" must mean for a budget that data can fill.
//
// Resends and repair together have a second, hard budget: `overhead_ppm` millionths of the data
// bytes that left, or that the line could have carried while it was idle (else the last losses of
// a burst of traffic could never be mended). Savings are capped at `overhead_burst_bytes`. What
// exceeds the budget waits, without blocking data, until it is earned or its drop_after passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/ring.h"
#include "dataplane/base/memory/table.h"
#include "dataplane/base/units.h"
#include "dataplane/core/heap.h"

namespace cw {

enum class Priority : uint8_t { Control, Resend, Data, Repair };
inline constexpr size_t priority_count = 4;

/// What wants to leave: a packet, or a row of packets alike, which is the same as one after the
/// other. The cookie is the owner's; the pacer never looks into it.
struct Departure {
  uint64_t cookie = 0;
  uint32_t cookie_step = 0;  ///< from one packet of the row to the next
  uint32_t count = 1;        ///< packets in the row, above 0
  uint32_t bytes = 0;        ///< of each as the port gets it; 1 .. limits::frame_bytes_max
  Priority priority = Priority::Data;
  Instant not_before{};                   ///< waits until then without blocking others
  Instant drop_after = Instant::never();  ///< the last instant at which it may leave
};

/// What leaves, and when: `at` is never before the `now` of the call that returned it.
struct Departed {
  uint64_t cookie = 0;
  Instant at;
};

struct PacerOptions {
  Rate rate = Rate::from_gbps(1);      ///< of the wire; above 0, at most 9 Tbit/s
  uint32_t packet_overhead_bytes = 0;  ///< on the wire around each packet, preamble to gap
  /// Bytes that may leave at once after an idle time, beyond one packet. Their time on the line and
  /// the horizon together are how late a turn may come before line time is lost.
  uint32_t burst_bytes = 0;
  /// Bytes that may leave at once beyond these after the machine stood still. The line was idle
  /// then, though there was something to send; what it gets ahead instead waits before it, and
  /// keeps it busy when the machine stands still again.
  uint32_t pause_bytes = 0;
  /// How far ahead of `now` departures are handed out; about the length of a long turn.
  Duration horizon{};
  uint32_t overhead_ppm = 250'000;            ///< see above; 0 stops resends and repair altogether
  uint32_t overhead_burst_bytes = 256 << 10;  ///< at least limits::frame_bytes_max
  Duration resend_slack = Duration::from_ms(2);
  std::array<uint32_t, priority_count> capacity_packets{256, 4096, 4096, 4096};  ///< by Priority
};

/// Thread: one. Cost: nothing allocates after construction; data O(1) per row and packet, resends
/// and items with a not_before O(log n) per row.
class Pacer {
 public:
  /// `queues`, where what is queued lies, lives longer. Null: in memory of its own.
  explicit Pacer(const PacerOptions& options, TableMemory* queues = nullptr);

  /// Takes a row, or returns false when its class has no room for all of it (waiting ones count).
  bool try_push(const Departure& item, Instant now);

  struct Counts {
    size_t departed = 0, expired = 0;
  };
  /// Fills `departed` with what leaves by now + horizon, in order of departure, and `expired` with
  /// the cookies of what can no longer leave in time. Stops when either is full or nothing is left
  /// to do; next_departure() then tells which. An item expires once it is at the head of its class,
  /// at the latest; so a class is best given items of about the same life.
  Counts depart(Instant now, std::span<Departed> departed, std::span<uint64_t> expired);

  /// When depart() will next have something to hand out, past instants meaning at once; never()
  /// when nothing is queued. Exact while nothing is pushed.
  Instant next_departure() const;

  /// The machine stood still until `now`.
  void on_pause(Duration pause, Instant now);
  /// Somebody else has just sent so many bytes by the same line.
  void give_way(uint64_t bytes, Instant now);
  /// What is queued keeps its place; the new rate holds from the next departure on.
  void set_rate(Rate rate);
  /// And what is taken of the line beyond `now` counts in bytes: a packet that left at a low rate
  /// does not hold up a high one.
  void change_rate(Rate rate, Instant now);
  /// All of its options but the capacities; what is queued keeps its place, as with set_rate().
  void change(const PacerOptions& options);
  Rate rate() const { return options_.rate; }

  /// How long a data packet pushed now would wait if nothing ahead of it expired: the queue delay.
  /// Counts control, resends and data that are ready; repair comes after data anyway.
  Duration backlog(Instant now) const;
  /// Wire bytes ready to leave in one class, packet overhead included.
  Bytes queued_bytes(Priority priority) const { return Bytes(class_of(priority).bytes); }
  /// Items of one class, waiting ones included.
  size_t queued_packets(Priority priority) const { return class_of(priority).packets; }
  /// Of all classes.
  size_t queued_packets() const { return pushed_ - departed_ - expired_; }
  /// Room left in one class, in packets.
  size_t free_packets(Priority priority) const {
    return options_.capacity_packets[static_cast<size_t>(priority)] - queued_packets(priority);
  }
  /// Wire bytes of resends and repair that may leave at once.
  Bytes overhead_allowance() const { return Bytes(static_cast<uint64_t>(allowance_) / million); }

  /// Since construction; pushed = departed + expired + the sum of queued_packets().
  uint64_t pushed_count() const { return pushed_; }
  uint64_t departed_count() const { return departed_; }
  uint64_t expired_count() const { return expired_; }

 private:
  static constexpr int64_t million = 1'000'000;

  // A row, of which the first packet is next.
  struct Item {
    uint64_t cookie = 0;
    uint64_t age = 0;  // counts packets pushed
    Instant not_before, drop_after;
    uint32_t cookie_step = 0, count = 0;
    uint32_t bytes = 0;  // of each, on the wire
    Priority priority = Priority::Data;

    /// Takes the first packet off. False when there is no other.
    bool try_advance() {
      cookie += cookie_step;
      ++age;
      return --count > 0;
    }
  };
  /// What a packet takes of the line: most are as long as the one before.
  struct LineTime {
    uint32_t bytes = 0;
    uint64_t whole_ns = 0, rest = 0;  // the rest in shares of the rate
  };
  struct ReadiesLater {
    bool operator()(const Item& a, const Item& b) const;
  };
  struct ExpiresLater {
    bool operator()(const Item& a, const Item& b) const;
  };
  struct Class {
    uint64_t bytes = 0;  // ready
    size_t packets = 0;  // ready and waiting
  };

  Class& class_of(Priority priority) { return classes_[static_cast<size_t>(priority)]; }
  const Class& class_of(Priority priority) const { return classes_[static_cast<size_t>(priority)]; }
  Ring<Item>& fifo_of(Priority priority) { return fifos_[static_cast<size_t>(priority)]; }
  const Ring<Item>& fifo_of(Priority priority) const {
    return fifos_[static_cast<size_t>(priority)];
  }
  void make_ready(const Item& item);
  const Item* head_of(Priority priority) const;
  void take_off(Priority priority);
  bool is_allowed(Priority priority) const;
  const Item* choose(Instant departure) const;
  Instant allowed_at(const Item& item) const;
  int64_t allowance_max() const { return options_.overhead_burst_bytes * million; }
  void earn_idle(Instant until);
  void earn(uint64_t bytes);
  void occupy_line(const Item& item, Instant now);
  const LineTime& line_time_of(uint32_t bytes);
  Duration lag_max(Instant now) const;

  PacerOptions options_;
  Duration burst_time_, pause_time_;  // how far the line may lag behind now
  Duration paused_;                   // to be made up for, from paused_until_ on, less and less
  Instant paused_until_;
  // The instant at which the line is free is line_free_ + line_rest_ / rate nanoseconds; keeping
  // the rest is what makes a long row of departures exact.
  Instant line_free_;
  uint64_t line_rest_ = 0;
  LineTime line_time_;
  Instant idle_from_;      // line time before it has been accounted for in the allowance
  int64_t allowance_ = 0;  // millionths of a byte

  std::array<Class, priority_count> classes_{};
  std::array<Ring<Item>, priority_count> fifos_;  // that of the resends is not used
  Heap<Item, ExpiresLater> resends_;
  Heap<Item, ReadiesLater> waiting_;
  uint64_t pushed_ = 0, departed_ = 0, expired_ = 0;
};

}  // namespace cw
