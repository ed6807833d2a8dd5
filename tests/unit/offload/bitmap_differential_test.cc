// Bitmaps beside their model: one thread that does anything, and many that do it at once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "dataplane/base/memory/ring.h"
#include "dataplane/base/prng.h"
#include "offload/executor/executor.h"
#include "tests/property/property.h"
#include "tests/unit/offload/arena.h"
#include "tests/unit/offload/bitmap_script.h"

namespace cw {
namespace {

// ---- bitmap differential ----
// The same records through the model and through every executor: same bitmaps, same events.

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

// ---- bitmap hammer ----
// Threads against one arena: what ThreadSanitizer is to see, and what a reader may rely on.

constexpr uint32_t slots_max = 150, slot_bytes = 64;
constexpr uint32_t chunk_slots = 7, chunk_count = (slots_max + chunk_slots - 1) / chunk_slots;

/// The user's buffer of one message; plain bytes, so that a read that is not ordered behind the
/// write is a race that ThreadSanitizer reports, and stale bytes are seen without it.
class Buffer {
 public:
  void write(uint32_t slot, uint8_t life) {
    uint8_t bytes[slot_bytes];
    std::memset(bytes, pattern(slot, life), slot_bytes);
    std::memcpy(&bytes_[slot * slot_bytes], bytes, slot_bytes);
  }
  bool holds(uint32_t slot, uint8_t life) const {
    for (uint32_t i = 0; i < slot_bytes; ++i) {
      if (bytes_[slot * slot_bytes + i] != pattern(slot, life)) return false;
    }
    return true;
  }
  void clear() { std::memset(bytes_, 0, sizeof(bytes_)); }

 private:
  static uint8_t pattern(uint32_t slot, uint8_t life) { return uint8_t(slot * 7 + life * 31 + 1); }
  uint8_t bytes_[slots_max * slot_bytes] = {};
};

cw_bits_limits hammer_limits(bool claimed_apart) {
  cw_bits_limits limits = small_limits;
  limits.claimed_apart = claimed_apart;
  return limits;
}

/// Every slot once, in an order of this channel's own, with some of them twice.
std::vector<cw_bits_record> shuffled_packets(uint8_t life, uint16_t channel) {
  Prng random(life * 2 + channel);
  std::vector<cw_bits_record> packets;
  for (uint32_t slot = 0; slot < slots_max; ++slot) {
    packets.push_back(packet(0, slot, life, channel));
    if (random.chance(0.2)) packets.push_back(packets.back());
  }
  for (size_t i = packets.size() - 1; i > 0; --i) {
    std::swap(packets[i], packets[random.below(i + 1)]);
  }
  return packets;
}

/// Looks at bits until all chunks are there; false when a bit was set before its payload.
bool poll_life(const Arena& arena, const Buffer& buffer, uint8_t life, bool with_rows) {
  const uint64_t* chunks = cw_bits_chunk_words(arena.get(), 0);
  const uint64_t* rows = cw_bits_data_words(arena.get(), 0);
  for (uint64_t seen = 0; seen != (uint64_t{1} << chunk_count) - 1;) {
    const uint64_t fresh = cw_bits_load(chunks) & ~seen;
    seen |= fresh;
    for (uint32_t slot = 0; slot < slots_max; ++slot) {
      const bool is_whole = fresh >> slot / chunk_slots & 1;
      const bool is_placed = with_rows && cw_bits_load(rows + slot / 64) >> slot % 64 & 1;
      if ((is_whole || is_placed) && !buffer.holds(slot, life)) return false;
    }
    std::this_thread::yield();
  }
  return true;
}

/// A channel's thread: claims, copies and places by itself, or declines.
class Receiver {
 public:
  Receiver(void* arena, uint32_t partition, Buffer& buffer)
      : arena_(arena), partition_(partition), buffer_(buffer), thread_([this] { run(); }) {}
  ~Receiver() { thread_.join(); }

  SpscRing<cw_bits_record> row{1024};
  std::atomic<uint32_t> closed_count{0};
  std::atomic<uint32_t> chunk_events{0}, duplicates{0};

 private:
  void run() {
    for (cw_bits_record record;;) {
      if (!row.try_pop(record)) {
        std::this_thread::yield();
        continue;
      }
      if (record.kind == 0) return;
      cw_bits_event event{};
      if (record.kind == CW_BITS_PACKET) {
        receive(record);
      } else if (cw_bits_run_shared(arena_, partition_, &record, 1, &event, 1).events > 0) {
        if (event.kind == CW_BITS_CLOSED) closed_count.fetch_add(1, std::memory_order_release);
      }
    }
  }
  void receive(const cw_bits_record& record) {
    cw_bits_spot spot;
    cw_bits_event event;
    if (cw_bits_claim_shared(arena_, partition_, &record, &spot) != CW_BITS_NONE) {
      duplicates.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    buffer_.write(spot.bit, record.generation);
    if (cw_bits_place_shared(arena_, partition_, &record, &spot, &event)) {
      chunk_events.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void* arena_;
  uint32_t partition_;
  Buffer& buffer_;
  std::thread thread_;
};

TEST(BitmapHammer, two_receivers_of_the_same_slots_copy_each_once_before_its_bits_are_seen) {
  const Arena arena(hammer_limits(true));
  Buffer buffer;
  Receiver first(arena.get(), 0, buffer), second(arena.get(), 1, buffer);
  uint32_t packet_count = 0;
  constexpr uint8_t lives = 200;
  for (uint8_t life = 0; life < lives; ++life) {
    buffer.clear();
    for (Receiver* receiver : {&first, &second}) {
      const auto packets = shuffled_packets(life, receiver == &second);
      packet_count += packets.size();
      ASSERT_TRUE(receiver->row.try_push(arm(0, life, {slots_max, chunk_slots})));
      ASSERT_EQ(receiver->row.push_burst(packets), packets.size());
    }
    // Every other life by chunk bits alone: rows, when read first, order the payload.
    EXPECT_TRUE(poll_life(arena, buffer, life, life % 2 == 0));
    for (Receiver* receiver : {&first, &second}) {
      ASSERT_TRUE(receiver->row.try_push(control(CW_BITS_CLOSE, 0, life)));
      while (receiver->closed_count.load(std::memory_order_acquire) != life + 1u) {
        std::this_thread::yield();
      }
    }
    ASSERT_EQ(cw_bits_reset(arena.get(), 0), 0);
  }
  first.row.try_push({});
  second.row.try_push({});
  EXPECT_EQ(first.chunk_events + second.chunk_events, lives * chunk_count);
  EXPECT_EQ(first.duplicates + second.duplicates, packet_count - lives * slots_max);
}

/// Payload is in place before the records are made, as with hardware; another thread than the owner
/// reads.
class PlacedBefore : public testing::TestWithParam<BitmapSharing> {};

INSTANTIATE_TEST_SUITE_P(Sharing, PlacedBefore,
                         testing::Values(BitmapSharing::ByLane, BitmapSharing::ByChannel),
                         [](const auto& sharing) {
                           return sharing.param == BitmapSharing::ByLane ? "by_lane" : "by_channel";
                         });

TEST_P(PlacedBefore, payload_is_visible_to_whoever_sees_a_bit) {
  const Arena arena(hammer_limits(false));
  const BitmapPartition partitions[] = {{arena.get(), 0}, {arena.get(), 1}};
  const size_t count = GetParam() == BitmapSharing::ByLane ? 1 : 2;
  auto executor = PinnedExecutor::make({partitions, count}, {.sharing = GetParam()});
  ASSERT_TRUE(executor.has_value());
  Buffer buffer;
  for (uint8_t life = 0; life < 100; ++life) {
    buffer.clear();
    std::thread reader([&] { EXPECT_TRUE(poll_life(arena, buffer, life, true)); });
    const cw_bits_record begin = arm(0, life, {slots_max, chunk_slots});
    for (size_t p = 0; p < count; ++p) ASSERT_EQ((*executor)->submit(p, {&begin, 1}), 1u);
    for (uint32_t slot = 0; slot < slots_max; ++slot) {
      buffer.write(slot, life);
      const cw_bits_record r = packet(0, slot, life);
      ASSERT_EQ((*executor)->submit(slot % count, {&r, 1}), 1u);
    }
    reader.join();
    const cw_bits_record close = control(CW_BITS_CLOSE, 0, life);
    for (size_t p = 0; p < count; ++p) {
      ASSERT_EQ((*executor)->submit(p, {&close, 1}), 1u);
      for (cw_bits_event event{}; event.kind != CW_BITS_CLOSED;) {
        if ((*executor)->poll(p, {&event, 1}) == 0) std::this_thread::yield();
      }
    }
    ASSERT_EQ(cw_bits_reset(arena.get(), 0), 0);
  }
}

}  // namespace

}  // namespace cw
