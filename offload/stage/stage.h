// Who turns "a packet with this immediate is in place" into bits: an endpoint's row of partitions
// (offload/bitmap.h), run in the turn itself, or by a RowRunner on cores of its own or on a DPA.
//
//   stream   put() ----> records ----> [partition] ----> events ----> on_bits()   its slot map
//            arm(), close()  the same way, to all partitions
//
// Packets go to a partition by their channel. Nothing is lost: what there is no room for is not
// taken from the port (room()). Nothing is invented: each record is answered once, which is added
// up, and what a partition tells is believed only as far as it can be true. A partition that stands
// still, or tells what cannot be, is left: the turn runs its records from then on, on bits of its
// own, from the first that was not answered.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"
#include "offload/bitmap.h"
#include "offload/stage/line_memory.h"
#include "offload/stage/row_runner.h"

namespace cw {

/// Whoever has streams at a stage.
class BitStageClient {
 public:
  /// Of its stream `cookie`, in order: Placed, Duplicate, Late or OutOfRange, also of lives that
  /// are closed since. False: one of them cannot be, and is not believed; the rest counts.
  virtual bool on_bits(uint16_t cookie, std::span<const cw_bits_event> events) = 0;
  /// One of its ids may be armed again.
  virtual void on_quiet(uint16_t cookie) = 0;

 protected:
  ~BitStageClient() = default;
};

struct BitStageOptions {
  size_t partitions = 1;  ///< at most BitStage::partitions_max
  /// Packets that wait at a partition; a power of two, two bursts at least.
  uint32_t records_max = 4096;
  uint32_t streams_max = 1024;
  /// A partition that has records and takes none for so long stands still.
  Duration stall_max = Duration::from_ms(50);
};

/// Thread: the endpoint's worker. Nothing waits, and nothing allocates but make(), add() and what
/// leaves a partition, which looks at every life and happens once to each.
class BitStage {
 public:
  static constexpr size_t partitions_max = limits::channels_max;
  static constexpr uint32_t events_of_line = CW_BITS_LINE / sizeof(cw_bits_event);

  /// `runner` runs the partitions; null: the turn does. Errors: as the runner's, or no memory.
  static Result<std::unique_ptr<BitStage>> make(std::unique_ptr<RowRunner> runner,
                                                const BitStageOptions& options);
  ~BitStage();

  /// One more stream; returns its number. `client` lives as long as records are put. Errors: one
  /// too many, limits that are refused, no memory where the runner has it.
  Result<uint16_t> add(BitStageClient& client, uint16_t cookie, const cw_bits_limits& limits);

  /// Nothing is told to it any more.
  void forget(const BitStageClient& client);

  // ---- lives ----
  /// Whether `id` may be armed: every partition has told that its last life is over.
  bool is_quiet(uint16_t stream, uint32_t id) const { return !streams_[stream].lives[id].is_armed; }
  void arm(uint16_t stream, uint32_t id, uint8_t generation);
  /// An armed one.
  void close(uint16_t stream, uint32_t id);

  // ---- packets ----
  /// A burst begins: what the partitions have written since is on its way here when settle() asks.
  void expect() const {
    for (const Partition& p : partitions_) {
      __builtin_prefetch(&p.row->records_head);
      __builtin_prefetch(&p.events[p.events_head & p.events_mask]);
      __builtin_prefetch(&p.events[(p.events_head + events_of_line) & p.events_mask]);
    }
  }
  /// How many packets may be put before the next settle().
  size_t room() const;
  void put(uint16_t stream, uint16_t channel, uint8_t generation, uint32_t immediate) {
    Partition& p = partitions_[partition_of_[channel]];
    append(p, packed({immediate, stream, generation, CW_BITS_PACKET}));
  }
  /// A burst ends: tells the clients what is new, and gives the partitions what was put. The turn
  /// runs its own at once, and tells of it too; of others' it asks before it gives, not while they
  /// write. Whether there was anything to tell.
  bool settle(Instant now);
  /// Tells the clients what is new; whether there was anything.
  bool poll(Instant now);
  /// Records wait to be answered, and poll() may have something before anything else happens.
  bool is_busy() const;
  /// Time has passed in which nothing ran.
  void rebase(Duration gap);

  /// What is told just now may have been told before, by a partition that was left then.
  bool is_rerunning() const { return is_rerunning_; }

  // ---- for whoever reads status; thread: the worker's ----
  size_t partition_count() const { return partitions_.size(); }
  uint64_t records(size_t partition) const { return partitions_[partition].records_count; }
  uint64_t events(size_t partition) const { return partitions_[partition].events_count; }
  /// Partitions that the turn runs because their runner failed.
  uint32_t left_count() const { return left_count_; }
  /// Why the turn runs a partition that a runner had; empty: it has it still.
  const std::string& why_left(size_t partition) const { return partitions_[partition].why_left; }

 private:
  struct Life {
    bool is_armed = false;  ///< until all partitions have told of its close
    uint8_t generation = 0;
    uint16_t arming = 0;   ///< partitions that have not told of its begin: a bit each
    uint16_t closing = 0;  ///< once it is closed, those that have not told of its end
  };
  struct Stream {
    BitStageClient* client = nullptr;
    uint16_t cookie = 0;
    uint32_t id_shift = 0;
    std::vector<Life> lives;
  };
  /// The owner's end of a row; what it knows of it, it knows from here.
  struct Partition {
    cw_bits_row* row = nullptr;
    cw_bits_row* spare = nullptr;  ///< for when it is left
    cw_bits_record* records = nullptr;
    cw_bits_record* kept = nullptr;  ///< the same, where nobody else writes
    const cw_bits_event* events = nullptr;
    uint32_t records_mask = 0, events_mask = 0;
    uint32_t tail = 0, published = 0;  ///< of the records
    uint32_t head = 0;                 ///< records that are answered
    uint32_t events_head = 0;
    uint32_t told = 0;  ///< records that events have answered
    bool is_inline = false;
    std::vector<cw_bits_record> controls;  ///< that wait for room, the oldest first
    /// When it was last seen to take records, or first to have some; never(): not seen since.
    Instant moved_at = Instant::never();
    uint64_t records_count = 0, events_count = 0;
    std::string why_left;
  };

  explicit BitStage(const BitStageOptions& options);
  Result<void> make_rows();
  void* allocate(size_t bytes, bool is_shared);
  Result<cw_bits_row*> make_row(bool is_shared);
  Result<void> add_arena(cw_bits_row* row, uint16_t stream, const cw_bits_limits& limits,
                         bool is_shared);
  void enter(Partition& p, cw_bits_row* row);
  cw_bits_record record_of(uint8_t kind, uint16_t stream, uint32_t id) const;
  void control(size_t partition, uint8_t kind, uint16_t stream, uint32_t id);
  /// As the one number that it is: read wider than it was just written, it would wait for all
  /// stores before.
  static uint64_t packed(const cw_bits_record& r) {
    static_assert(std::endian::native == std::endian::little && sizeof(r) == sizeof(uint64_t));
    return r.immediate | uint64_t{r.stream} << 32 | uint64_t{r.generation} << 48 |
           uint64_t{r.kind} << 56;
  }
  static void append(Partition& p, uint64_t record) {
    const uint32_t at = p.tail++ & p.records_mask;
    CW_DCHECK(p.tail - p.head <= p.records_mask + 1);
    std::memcpy(&p.records[at], &record, sizeof(record));
    std::memcpy(&p.kept[at], &record, sizeof(record));
  }
  void flush_controls(Partition& p);
  void publish(size_t partition);
  static void want_next(const Partition& p);
  bool poll(size_t partition, Instant now);
  const char* take_events(size_t partition, uint32_t tail);
  const char* tell(size_t partition, std::span<const cw_bits_event> events);
  const char* why_not(size_t partition, std::span<const cw_bits_event> events);
  bool on_life(size_t partition, const cw_bits_event& event);
  void leave(size_t partition, std::string why);
  void arm_again(size_t partition, std::span<const uint64_t> arms);
  void run_inline(size_t partition, const cw_bits_record& record);
  uint16_t all_partitions() const { return static_cast<uint16_t>((1u << partitions_.size()) - 1); }
  uint32_t room_of(const Partition& p) const { return p.records_mask + 1 - (p.tail - p.head); }

  const BitStageOptions options_;
  std::vector<LineMemory> memory_;
  std::vector<std::unique_ptr<cw_bits_record[]>> kept_;
  std::vector<Stream> streams_;
  std::vector<Partition> partitions_;
  std::array<uint8_t, limits::channels_max> partition_of_{};  // by channel
  size_t ids_ = 0;                                            // of all streams
  Instant now_;                                               // of the latest poll
  bool is_rerunning_ = false;
  uint32_t left_count_ = 0;
  std::unique_ptr<RowRunner> runner_;  // ends first: then nobody runs rows
};

}  // namespace cw
