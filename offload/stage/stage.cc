#include "offload/stage/stage.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/base/assert.h"

namespace cw {

// ---- made ----

Result<std::unique_ptr<BitStage>> BitStage::make(std::unique_ptr<RowRunner> runner,
                                                 const BitStageOptions& options) {
  CW_ASSERT(options.partitions > 0 && options.partitions <= partitions_max);
  CW_ASSERT(std::has_single_bit(options.records_max) &&
            options.records_max >= 2 * limits::burst_packets_max);
  std::unique_ptr<BitStage> stage(new BitStage(options));
  stage->runner_ = std::move(runner);
  if (const auto made = stage->make_rows(); !made) return std::unexpected(made.error());
  return stage;
}

BitStage::BitStage(const BitStageOptions& options) : options_(options) {}

BitStage::~BitStage() = default;

Result<void> BitStage::make_rows() {
  partitions_.resize(runner_ ? options_.partitions : 1);
  for (size_t channel = 0; channel < partition_of_.size(); ++channel) {
    partition_of_[channel] = static_cast<uint8_t>(channel % partitions_.size());
  }
  std::vector<cw_bits_row*> rows;
  for (Partition& p : partitions_) {
    const auto row = make_row(runner_ != nullptr);
    if (!row) return std::unexpected(row.error());
    rows.push_back(*row);
    if (runner_) p.spare = *make_row(false);
    p.is_inline = !runner_;
    enter(p, *row);
    if (!runner_) continue;
    kept_.push_back(std::make_unique<cw_bits_record[]>(options_.records_max));
    p.kept = kept_.back().get();
  }
  return runner_ ? runner_->start(rows) : Result<void>();
}

void* BitStage::allocate(size_t bytes, bool is_shared) {
  if (is_shared) return runner_->allocate(bytes);
  return memory_.emplace_back(bytes).get();
}

Result<cw_bits_row*> BitStage::make_row(bool is_shared) {
  const size_t bytes =
      cw_bits_row_size(options_.streams_max, options_.records_max, options_.records_max);
  auto* const row = static_cast<cw_bits_row*>(allocate(bytes, is_shared));
  if (row == nullptr) {
    return failure("offload: no memory is left for a row of " + std::to_string(bytes) + " bytes");
  }
  cw_bits_row_init(row, options_.streams_max, options_.records_max, options_.records_max);
  return row;
}

/// The owner keeps what it goes by: the row's own words are for the other side.
void BitStage::enter(Partition& p, cw_bits_row* row) {
  p.row = row;
  p.records = cw_bits_records(row);
  p.events = cw_bits_events(row);
  p.records_mask = p.events_mask = options_.records_max - 1;
  p.kept = p.records;
  p.tail = p.published = p.head = p.events_head = p.told = 0;
}

Result<uint16_t> BitStage::add(BitStageClient& client, uint16_t cookie,
                               const cw_bits_limits& limits) {
  if (streams_.size() == options_.streams_max) {
    return failure("offload: a stream is one too many: there are " +
                   std::to_string(options_.streams_max) + " at most");
  }
  const auto stream = static_cast<uint16_t>(streams_.size());
  for (const Partition& p : partitions_) {
    if (const auto added = add_arena(p.row, stream, limits, !p.is_inline); !added) {
      return std::unexpected(added.error());
    }
    if (p.spare == nullptr) continue;
    if (const auto added = add_arena(p.spare, stream, limits, false); !added) {
      return std::unexpected(added.error());
    }
  }
  streams_.push_back({.client = &client,
                      .cookie = cookie,
                      .id_shift = uint32_t{limits.slot_bits} + limits.user_bits,
                      .lives = std::vector<Life>(limits.ids)});
  ids_ += limits.ids;
  // An arm and a close of each may wait.
  for (Partition& p : partitions_) p.controls.reserve(2 * ids_);
  return stream;
}

Result<void> BitStage::add_arena(cw_bits_row* row, uint16_t stream, const cw_bits_limits& limits,
                                 bool is_shared) {
  const size_t bytes = cw_bits_arena_size(&limits);
  if (bytes == 0) return failure("offload: a stream's messages do not fit its immediate");
  void* const arena = allocate(bytes, is_shared);
  if (arena == nullptr) {
    return failure("offload: no memory is left for the bits of stream " + std::to_string(stream) +
                   ", " + std::to_string(bytes) + " bytes");
  }
  CW_ASSERT(cw_bits_arena_init(arena, &limits) == 0);
  cw_bits_row_add(row, stream, arena);
  return {};
}

void BitStage::forget(const BitStageClient& client) {
  for (Stream& stream : streams_) {
    if (stream.client == &client) stream.client = nullptr;
  }
}

// ---- lives ----

void BitStage::arm(uint16_t stream, uint32_t id, uint8_t generation) {
  Life& life = streams_[stream].lives[id];
  CW_ASSERT(!life.is_armed);
  life = {.is_armed = true, .generation = generation, .arming = all_partitions()};
  for (size_t i = 0; i < partitions_.size(); ++i) control(i, CW_BITS_ARM, stream, id);
}

void BitStage::close(uint16_t stream, uint32_t id) {
  Life& life = streams_[stream].lives[id];
  CW_ASSERT(life.is_armed && life.closing == 0);
  life.closing = all_partitions();
  for (size_t i = 0; i < partitions_.size(); ++i) control(i, CW_BITS_CLOSE, stream, id);
}

cw_bits_record BitStage::record_of(uint8_t kind, uint16_t stream, uint32_t id) const {
  const Stream& of = streams_[stream];
  return {.immediate = id << of.id_shift,
          .stream = stream,
          .generation = of.lives[id].generation,
          .kind = kind};
}

/// In the order of its partition's packets; at once in the turn itself.
void BitStage::control(size_t partition, uint8_t kind, uint16_t stream, uint32_t id) {
  Partition& p = partitions_[partition];
  p.controls.push_back(record_of(kind, stream, id));
  publish(partition);
  if (p.is_inline) poll(partition, now_);
}

// ---- packets ----

size_t BitStage::room() const {
  size_t room = SIZE_MAX;
  for (const Partition& p : partitions_) {
    room = std::min<size_t>(room, p.controls.empty() ? room_of(p) : 0);
  }
  return room;
}

bool BitStage::settle(Instant now) {
  now_ = now;
  bool has_news = false;
  for (size_t i = 0; i < partitions_.size(); ++i) {
    if (!partitions_[i].is_inline) has_news |= poll(i, now);
    publish(i);
    if (partitions_[i].is_inline) has_news |= poll(i, now);
  }
  return has_news;
}

void BitStage::publish(size_t partition) {
  Partition& p = partitions_[partition];
  if (!p.controls.empty()) flush_controls(p);
  const uint32_t fresh = p.tail - p.published;
  if (fresh == 0) return;
  if (p.head == p.published) p.moved_at = Instant::never();
  p.records_count += fresh;
  p.published = p.tail;
  __atomic_store_n(&p.row->records_tail, p.tail, __ATOMIC_RELEASE);
  if (!p.is_inline) {
    want_next(p);
    return runner_->ring(partition);
  }
  while (cw_bits_serve(p.row) > 0) {
    // as much room for events as for records: it takes all
  }
}

/// The lines of the ring that the next burst goes to lie in the partition's cache, which has read
/// them a lap ago: they are on their way while the turn does other things.
void BitStage::want_next(const Partition& p) {
#if defined(__x86_64__)
  constexpr uint32_t per_line = CW_BITS_LINE / sizeof(cw_bits_record);
  for (uint32_t i = 0; i < CW_BITS_BURST; i += per_line) {
    // Not __builtin_prefetch: for the baseline processor that only reads.
    asm volatile("prefetchw %0" : : "m"(p.records[(p.tail + i) & p.records_mask]));
  }
#else
  (void)p;
#endif
}

void BitStage::flush_controls(Partition& p) {
  size_t taken = 0;
  // A burst's packets may be on their way to the ring: their room stays theirs.
  const uint32_t reserve = p.is_inline ? 0 : limits::burst_packets_max;
  while (taken < p.controls.size() && room_of(p) > reserve) append(p, packed(p.controls[taken++]));
  p.controls.erase(p.controls.begin(), p.controls.begin() + static_cast<ptrdiff_t>(taken));
}

bool BitStage::is_busy() const {
  return std::ranges::any_of(
      partitions_, [](const Partition& p) { return p.head != p.published || !p.controls.empty(); });
}

void BitStage::rebase(Duration gap) {
  now_ = now_ + gap;
  for (Partition& p : partitions_) {
    if (p.moved_at != Instant::never()) p.moved_at = p.moved_at + gap;
  }
}

}  // namespace cw
