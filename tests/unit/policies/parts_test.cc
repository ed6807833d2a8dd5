#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "policies/parts/bits.h"
#include "policies/parts/messages.h"
#include "policies/parts/note.h"
#include "policies/parts/range_fifo.h"
#include "policies/parts/received.h"
#include "policies/parts/slot_marks.h"
#include "policies/parts/timing.h"

namespace cw::policy {
namespace {
using namespace literals;

TEST(Bits, runs_equal_those_of_a_walk_over_every_bit) {
  Prng prng(1);
  for (int round = 0; round < 500; ++round) {
    std::array<uint64_t, 5> words;
    for (uint64_t& word : words) {
      word = prng.chance(0.3) ? ~uint64_t{0} : prng.next() & prng.next() & prng.next();
    }
    const auto at = [&](uint32_t i) { return words[i]; };
    const auto from = static_cast<uint32_t>(prng.below(321));
    const auto end = static_cast<uint32_t>(prng.between(from, 320));
    std::vector<SlotRun> expected;
    for (uint32_t slot = from; slot < end; ++slot) {
      if ((words[slot / 64] >> (slot % 64) & 1) == 0) continue;
      if (!expected.empty() && expected.back().end == slot) {
        ++expected.back().end;
      } else {
        expected.push_back({slot, slot + 1});
      }
    }
    std::vector<SlotRun> found;
    for (SlotRun run = next_run(at, from, end); !run.is_empty(); run = next_run(at, run.end, end)) {
      found.push_back(run);
    }
    EXPECT_EQ(found, expected);
    const SlotRun all = cover(at, from, end);
    EXPECT_EQ(all.is_empty(), expected.empty());
    if (expected.empty()) continue;
    EXPECT_EQ(all, (SlotRun{expected.front().first, expected.back().end}));
  }
}

TEST(RangeFifo, neighbours_join_within_the_grain_and_wait_from_the_latest) {
  RangeFifo fifo(4);
  const Instant t;
  EXPECT_TRUE(fifo.try_push(1, {0, 10}, t, 5_us));
  EXPECT_TRUE(fifo.try_push(1, {10, 300'000}, t + 5_us, 5_us));
  EXPECT_EQ(fifo.count(), 1u);
  EXPECT_EQ(fifo.due(1_ms), t + 5_us + 1_ms);
  EXPECT_TRUE(fifo.try_push(1, {300'000, 300'001}, t + 6_us, 5_us));  // beyond the grain
  EXPECT_TRUE(fifo.try_push(2, {300'001, 300'002}, t + 6_us, 5_us));  // another message
  EXPECT_TRUE(fifo.try_push(2, {7, 8}, t + 6_us, 5_us));              // not its neighbour
  EXPECT_FALSE(fifo.try_push(3, {0, 1}, t + 6_us, 5_us));             // full
  EXPECT_EQ(fifo.count(), 4u);
}

TEST(RangeFifo, without_room_the_youngest_covers_what_is_of_its_kind) {
  RangeFifo fifo(2);
  const Instant t;
  EXPECT_FALSE(fifo.try_cover({1, {0, 1}, 0, t})) << "there is none";
  EXPECT_TRUE(fifo.try_push(1, {0, 1}, t));
  EXPECT_TRUE(fifo.try_push(2, {10, 12}, t + 1_us, {}, 1));
  EXPECT_FALSE(fifo.try_cover({1, {20, 21}, 1, t + 2_us})) << "another message";
  EXPECT_FALSE(fifo.try_cover({2, {20, 21}, 0, t + 2_us})) << "another kind";
  EXPECT_TRUE(fifo.try_cover({2, {20, 21}, 1, t + 2_us}));
  EXPECT_TRUE(fifo.try_cover({2, {8, 9}, 1, t}));
  EXPECT_EQ(fifo.count(), 2u);
  EXPECT_EQ(fifo.back().slots, (SlotRun{8, 21}));
  EXPECT_EQ(fifo.back().at, t + 2_us);
}

TEST(RangeFifo, a_time_that_runs_backwards_does_not_break_the_order) {
  RangeFifo fifo(4);
  fifo.try_push(1, {0, 1}, Instant::from_ns(100));
  fifo.try_push(2, {0, 1}, Instant::from_ns(50));
  fifo.pop();
  EXPECT_EQ(fifo.due(Duration()), Instant::from_ns(100));
}

TEST(Messages, finds_exactly_what_is_open_across_the_wrap) {
  Prng prng(2);
  constexpr uint32_t open_max = 64;
  Messages<uint32_t> messages(open_max);
  std::vector<uint32_t> values(4096);
  std::set<uint32_t> open;
  uint32_t next = uint32_t{0} - 1000;
  for (int step = 0; step < 3000; ++step) {
    if (open.size() < open_max && prng.chance(0.55)) {
      EXPECT_TRUE(messages.try_add(next, &values[next % 4096]));
      values[next % 4096] = next;
      open.insert(next++);
    } else if (!open.empty()) {
      auto it = std::next(open.begin(), static_cast<long>(prng.below(open.size())));
      messages.remove(*it);
      EXPECT_EQ(messages.find(*it), nullptr);
      open.erase(it);
    }
    for (uint32_t sequence : open) ASSERT_EQ(*messages.find(sequence), sequence);
  }
  EXPECT_EQ(messages.count(), open.size());
}

TEST(Messages, refuses_more_than_its_limit) {
  Messages<int> messages(1);
  int value = 0;
  EXPECT_TRUE(messages.try_add(1, &value));
  EXPECT_FALSE(messages.try_add(2, &value));
  messages.remove(1);
  EXPECT_TRUE(messages.try_add(2, &value));
}

TEST(SlotMarks, pages_are_lent_on_first_use_and_come_back) {
  SlotMarks marks(4, 1u << 18);
  SlotMarks::Map map{};
  const size_t all = marks.free_count();
  EXPECT_EQ(marks.word(map, 0, 1), 0u);
  marks.set(map, 0, {60, 70});
  EXPECT_EQ(marks.word(map, 0, 0), 0xf000000000000000u);
  EXPECT_EQ(marks.word(map, 0, 1), 0x3fu);
  EXPECT_EQ(marks.word(map, 1, 0), 0u);
  marks.set(map, 1, {4090, 4100});
  EXPECT_EQ(marks.free_count(), all - 2);
  marks.clear(map, 0, {64, 66});
  EXPECT_EQ(marks.word(map, 0, 1), 0x3cu);
  marks.release_below(map, 4096);
  EXPECT_EQ(marks.free_count(), all - 1);
  EXPECT_EQ(marks.word(map, 0, 1), 0u);
  marks.release_all(map);
  EXPECT_EQ(marks.free_count(), all);
}

TEST(SlotMarks, a_dry_pool_leaves_slots_unmarked) {
  SlotMarks marks(1, 512);  // one page
  SlotMarks::Map first{}, second{};
  marks.set(first, 0, {0, 512});
  marks.set(second, 0, {0, 512});
  EXPECT_EQ(marks.word(second, 0, 0), 0u);
  marks.release_all(first);
  marks.set(second, 0, {0, 1});
  EXPECT_EQ(marks.word(second, 0, 0), 1u);  // and a page comes back clean
  EXPECT_EQ(marks.word(second, 0, 1), 0u);
}

TEST(Note, what_is_written_is_read) {
  Prng prng(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> bitmap(prng.between(1, 400));
    for (uint64_t& word : bitmap) {
      word = prng.chance(0.5) ? ~uint64_t{0} : prng.chance(0.5) ? 0 : prng.next();
    }
    const auto at = [&](uint32_t i) { return bitmap[i - 5]; };
    uint8_t bytes[512];
    NoteWriter writer(std::span(bytes, prng.between(note_layout::bytes_min, sizeof bytes)));
    const bool has_completed = writer.completed(0xfffffffe);
    const uint32_t words = writer.section({7, 1, 2, 5, static_cast<uint32_t>(bitmap.size())}, at);

    NoteReader reader({bytes, writer.used()});
    uint32_t completed = 0;
    EXPECT_EQ(reader.next_completed(completed), has_completed);
    EXPECT_EQ(completed, 0xfffffffeu);
    EXPECT_FALSE(reader.next_completed(completed));
    Section section;
    const bool has_section = reader.next_section(section);
    EXPECT_EQ(has_section, writer.used() > note_layout::header_bytes + 4);
    if (!has_section) continue;
    EXPECT_EQ(section.message, 7u);
    EXPECT_EQ(section.word_first, 5u);
    ASSERT_EQ(section.word_count, words);
    for (uint32_t i = 0; i < words; ++i) {
      uint64_t word = 0;
      ASSERT_TRUE(reader.next_word(word));
      ASSERT_EQ(word, bitmap[i]);
    }
    EXPECT_FALSE(reader.next_section(section));
  }
}

TEST(Note, cut_within_a_word_says_nothing_of_it) {
  uint8_t bytes[128];
  NoteWriter writer(bytes);
  ASSERT_EQ(writer.section({7, 1, 2, 5, 2}, [](uint32_t) { return uint64_t{0x1234}; }), 2u);
  NoteReader reader({bytes, writer.used() - 1});
  uint32_t completed = 0;
  EXPECT_FALSE(reader.next_completed(completed));
  Section section;
  ASSERT_TRUE(reader.next_section(section));
  uint64_t word = 0;
  EXPECT_TRUE(reader.next_word(word));
  EXPECT_EQ(word, 0x1234u);
  EXPECT_FALSE(reader.next_word(word));
}

TEST(Note, sizes_are_those_the_comment_states) {
  const auto size_of = [](uint32_t slots, auto&& at) {
    std::vector<uint8_t> bytes(1 << 20);
    NoteWriter writer(bytes);
    const uint32_t words = writer.section({1, 0, 0, 0, slots / 64}, at);
    EXPECT_EQ(words, slots / 64);
    return writer.used() - note_layout::header_bytes - note_layout::section_bytes;
  };
  EXPECT_EQ(size_of(300'032, [](uint32_t) { return uint64_t{0}; }), 74u);
  Prng prng(6);
  EXPECT_NEAR(size_of(76'032, [&](uint32_t) { return prng.chance(64e-4) ? 1 : ~uint64_t{0}; }), 100,
              40);
  const uint32_t worst = size_of(76'032, [](uint32_t i) { return i % 2 == 0 ? 1 : ~uint64_t{0}; });
  EXPECT_LE(worst * 8.0 / 76'032, 1.13);
}

TEST(Note, random_bytes_yield_at_most_64_words_per_byte) {
  Prng prng(8);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes(prng.below(80));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next() & prng.next());
    if (!bytes.empty()) bytes[0] = note_layout::version;
    NoteReader reader(bytes);
    uint32_t completed = 0;
    size_t yielded = 0;
    Section section;
    while (reader.next_completed(completed)) ++yielded;
    while (reader.next_section(section)) {
      uint64_t word = 0;
      for (uint32_t i = 0; i < section.word_count && reader.next_word(word); ++i) ++yielded;
    }
    ASSERT_LE(yielded, bytes.size() * 64);
  }
}

TEST(Received, what_was_given_up_counts_as_settled_but_not_what_lies_between) {
  const uint64_t data[1] = {0b1110};
  Received received{};
  received.slots = 8;
  cw_fact_arrived fact{};
  fact.data = data;
  fact.highest = 4;
  fact.slots = 8;
  received.on_arrived(fact);
  EXPECT_EQ(received.holes({0, 8}), (SlotRun{0, 8}));
  received.on_expired({0, 1});
  EXPECT_EQ(received.cumulative, 4u);
  received.on_expired({6, 8});  // 4 and 5 are open: not merged
  EXPECT_EQ(received.cumulative, 4u);
  EXPECT_FALSE(received.is_complete());
  received.on_expired({4, 8});
  EXPECT_TRUE(received.is_complete());
}

TEST(LinkTiming, paths_that_are_down_or_not_measured_do_not_count) {
  cw_path_facts paths[4]{};
  paths[0] = {.rtt_min_ns = 9'000'000,
              .rtt_smooth_ns = 10'000'000,
              .rtt_var_ns = 1000,
              .loss = 0,
              .loss_low = 0,
              .loss_high = 0,
              .burst_mean = 1,
              .reorder_ns = 5,
              .queue_delay_ns = 0,
              .mtu = 0,
              .is_up = 1};
  paths[1] = paths[0];
  paths[1].rtt_smooth_ns = 14'000'000;
  paths[2] = paths[0];
  paths[2].rtt_smooth_ns = 0;
  paths[3] = paths[0];
  paths[3].rtt_smooth_ns = 99'000'000;
  paths[3].is_up = 0;
  const LinkTiming timing = LinkTiming::from({4, 0, 0, 10'000'000, paths});
  EXPECT_EQ(timing.rtt, 14_ms);
  EXPECT_EQ(timing.rtt_min, 9_ms);
  EXPECT_EQ(timing.skew, 4_ms);
  EXPECT_EQ(timing.jitter, 4_us);
  EXPECT_EQ(timing.rto(2), 42_ms);
}

TEST(BackOff, only_a_first_transmission_sent_after_it_takes_it_away) {
  BackOff back_off;
  const auto yes = [](uint32_t, uint32_t) { return true; };
  back_off.on_first_sent(1, 1);
  back_off.on_timeout();
  back_off.on_timeout();
  EXPECT_EQ(back_off.of(10_ms), 40_ms);
  back_off.on_heard(yes);  // of a resend, or of something older
  EXPECT_EQ(back_off.of(10_ms), 40_ms);
  back_off.on_first_sent(2, 5);
  back_off.on_heard([](uint32_t, uint32_t) { return false; });
  EXPECT_TRUE(back_off.is_active());
  back_off.on_heard([](uint32_t m, uint32_t slot) { return m == 2 && slot == 5; });
  EXPECT_FALSE(back_off.is_active());
  for (int i = 0; i < 20; ++i) back_off.on_timeout();
  EXPECT_EQ(back_off.of(1_ms), 64_ms);
}

}  // namespace
}  // namespace cw::policy
