// The same records through the model and through every executor: same bitmaps, same events.
#include <gtest/gtest.h>

#include <thread>

#include "offload/executor.h"
#include "tests/property/property.h"
#include "tests/unit/offload/bitmap_script.h"

namespace cw {
namespace {

/// An owner that plays a script to an executor: arms only quiet ids, keeps the order of every row.
class Player {
 public:
  Player(const Arena& arena, BitmapExecutor& executor, BitmapSharing sharing)
      : arena_(arena), executor_(executor), sharing_(sharing), rows_(executor.partition_count()) {}

  Outcome play(const Script& script) {
    for (const Step& step : script) {
      const uint32_t id = step.record.immediate >> 22;
      if (step.is_new_life) end_life(id);
      route(step.record, id);
    }
    // The close of an id that does not exist does nothing but come back: the end of each row.
    for (uint32_t p = 0; p < rows_.size(); ++p) {
      push(p, control(CW_BITS_CLOSE, arena_.limits().ids, end_mark));
    }
    wait_for_closes();
    for (uint32_t id = 0; id < arena_.limits().ids; ++id) note_bits(id);
    return gather();
  }

 private:
  static constexpr uint8_t end_mark = 255;  // as generation

  struct Row {
    std::vector<cw_bits_record> outbox;
    uint64_t sent = 0, closed = 0;  // close records, and the events that answered them
    std::multiset<EventKey> packets, controls;
  };

  void route(const cw_bits_record& record, uint32_t id) {
    const bool is_shared = sharing_ == BitmapSharing::ByChannel;
    const uint32_t count = static_cast<uint32_t>(rows_.size());
    if (is_shared && record.kind != CW_BITS_PACKET) {
      for (uint32_t p = 0; p < count; ++p) push(p, record);
    } else {
      push((is_shared ? record.channel : id) % count, record);
    }
  }
  void push(uint32_t partition, const cw_bits_record& record) {
    Row& row = rows_[partition];
    row.outbox.push_back(record);
    if (record.kind == CW_BITS_CLOSE) ++row.sent;
    if (row.outbox.size() >= 16) flush(partition);
  }
  void flush(uint32_t partition) {
    std::span<const cw_bits_record> rest = rows_[partition].outbox;
    while (!rest.empty()) {
      rest = rest.subspan(executor_.submit(partition, rest));
      drain(partition);
    }
    rows_[partition].outbox.clear();
  }
  void drain(uint32_t partition) {
    Row& row = rows_[partition];
    cw_bits_event events[7];
    for (size_t count; (count = executor_.poll(partition, events)) > 0;) {
      for (const cw_bits_event& event : std::span(events, count)) note_event(row, event);
    }
  }
  /// Every close comes back as one event: told, refused or out of range.
  void note_event(Row& row, const cw_bits_event& event) {
    const bool is_answer = event.kind == CW_BITS_CLOSED ||
                           (event.kind == CW_BITS_REFUSED && event.index == CW_BITS_CLOSE) ||
                           is_end_mark(event);
    if (is_answer) ++row.closed;
    if (is_end_mark(event)) return;
    const bool is_control = event.kind == CW_BITS_CLOSED || event.kind == CW_BITS_REFUSED;
    (is_control ? row.controls : row.packets).insert(key_of(event));
  }
  bool is_end_mark(const cw_bits_event& event) const {
    return event.kind == CW_BITS_OUT_OF_RANGE && event.id == arena_.limits().ids &&
           event.generation == end_mark;
  }
  void wait_for_closes() {
    for (uint32_t p = 0; p < rows_.size(); ++p) flush(p);
    for (uint32_t p = 0; p < rows_.size(); ++p) {
      for (drain(p); rows_[p].closed < rows_[p].sent; drain(p)) std::this_thread::yield();
    }
  }
  void end_life(uint32_t id) {
    wait_for_closes();
    note_bits(id);
    EXPECT_EQ(cw_bits_reset(arena_.get(), id), 0);
    EXPECT_EQ(bits(id), IdBits{});
  }
  IdBits bits(uint32_t id) const { return {arena_.data(id), arena_.repair(id), arena_.chunks(id)}; }
  void note_bits(uint32_t id) { outcome_.lives.push_back(bits(id)); }

  Outcome gather() {
    for (Row& row : rows_) {
      outcome_.events.merge(row.packets);
      // By channel every partition was told the same controls, so each must have said the same.
      if (sharing_ == BitmapSharing::ByChannel) {
        EXPECT_EQ(row.controls, rows_[0].controls);
        if (&row != &rows_[0]) continue;
      }
      for (const EventKey& event : row.controls) outcome_.events.insert(event);
    }
    return std::move(outcome_);
  }

  const Arena& arena_;
  BitmapExecutor& executor_;
  const BitmapSharing sharing_;
  std::vector<Row> rows_;
  Outcome outcome_;
};

Outcome play_inline(const cw_bits_limits& limits, const Script& script, BitmapSharing sharing,
                    size_t events_max) {
  const Arena arena(limits);
  const BitmapPartition partitions[] = {{arena.get(), 0}, {arena.get(), 1}};
  InlineExecutor executor(partitions, sharing, events_max);
  return Player(arena, executor, sharing).play(script);
}

Outcome play_pinned(const cw_bits_limits& limits, const Script& script, BitmapSharing sharing,
                    size_t thread_count, size_t ring_max) {
  const Arena arena(limits);
  const BitmapPartition partitions[] = {{arena.get(), 0}, {arena.get(), 1}};
  const auto executor =
      PinnedExecutor::make({partitions, thread_count},
                           {.sharing = sharing, .records_max = ring_max, .events_max = ring_max});
  RC_ASSERT(executor.has_value());
  return Player(arena, **executor, sharing).play(script);
}

cw_bits_limits limits_of(bool claimed_apart, uint32_t chunk_slots_min) {
  cw_bits_limits limits = small_limits;
  limits.claimed_apart = claimed_apart;
  limits.chunk_slots_min = chunk_slots_min;
  return limits;
}

/// Handing rows between threads costs time slices where cores are few: not every script goes there.
bool is_for_threads(uint64_t seed) { return seed % 4 == 0; }

RC_GTEST_PROP(BitmapDifferential, by_lane_every_executor_does_what_the_model_does,
              (uint64_t seed, bool claimed_apart)) {
  const cw_bits_limits limits = limits_of(claimed_apart, 1 + seed / 4 % 3);
  const Script script = make_script(limits, seed, 600, false);
  const Outcome expected = expected_of(limits, script);
  RC_ASSERT(play_inline(limits, script, BitmapSharing::ByLane, 5) == expected);
  if (!is_for_threads(seed)) return;
  RC_ASSERT(play_pinned(limits, script, BitmapSharing::ByLane, 1, 64) == expected);
  RC_ASSERT(play_pinned(limits, script, BitmapSharing::ByLane, 2, 64) == expected);
}

RC_GTEST_PROP(BitmapDifferential, by_channel_every_executor_does_what_the_model_does,
              (uint64_t seed, bool claimed_apart)) {
  const cw_bits_limits limits = limits_of(claimed_apart, 1 + seed / 4 % 3);
  const Script script = make_script(limits, seed, 600, true);
  const Outcome expected = expected_of(limits, script);
  RC_ASSERT(play_inline(limits, script, BitmapSharing::ByChannel, 5) == expected);
  if (!is_for_threads(seed)) return;
  RC_ASSERT(play_pinned(limits, script, BitmapSharing::ByChannel, 2, 64) == expected);
}

TEST(BitmapDifferential, scripts_reach_every_kind_of_event) {
  std::map<uint8_t, size_t> counts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Script script = make_script(small_limits, seed, 600, seed % 2 == 0);
    for (const EventKey& event : expected_of(small_limits, script).events) {
      ++counts[std::get<0>(event)];
    }
  }
  for (uint8_t kind = CW_BITS_CHUNK; kind <= CW_BITS_REFUSED; ++kind) {
    EXPECT_GT(counts[kind], 100u) << int(kind);
  }
}

}  // namespace
}  // namespace cw
