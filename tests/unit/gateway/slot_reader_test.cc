#include "dataplane/gateway/to_lan/slot_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/property/property.h"
#include "tests/unit/gateway/reader_bench.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

using Bench = ReaderBench;

TEST(SlotReader, reads_the_frames_of_one_slot_in_their_order) {
  Bench bench;
  const TestFrame first = bench.add(20), second = bench.add(100);
  bench.packer.end_slot();
  bench.place(0, 0);
  ASSERT_EQ(bench.count(), 2u);
  EXPECT_EQ(bench.frames[0].packet, first.packet);
  EXPECT_EQ(bench.frames[1].packet, second.packet);
  EXPECT_EQ(bench.frames[1].frame.header, second.header);
}

TEST(SlotReader, goes_on_behind_a_frame_that_nobody_has_room_for) {
  Bench bench({.messages = 2, .data_slots_max = 70, .payload_bytes_max = 256}, {}, 1);
  bench.add(100);
  bench.packer.end_message();
  bench.add(100), bench.add(300);
  bench.packer.end_message();
  bench.keeps = true;
  bench.place(0, 0);
  bench.place(1, 0);
  EXPECT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.dropped(DropReason::hold_memory), 1u);
  bench.table.leave(bench.frames[0].index);
  bench.keeps = false;
  bench.place(1, 1);
  ASSERT_EQ(bench.count(), 2u);
  // expect: the other came whole too, so it is none of those given up, and nothing of it is lent
  bench.say_length(0, 1, 1);
  bench.say_length(1, 2, 2);
  EXPECT_EQ(bench.reader.given_up_count(), 0u);
  EXPECT_TRUE(bench.turn());
  EXPECT_FALSE(bench.is_open(1));
}

TEST(SlotReader, lends_the_memory_that_was_used_last_first) {
  Bench bench({.messages = 4, .data_slots_max = 70, .payload_bytes_max = 256, .stall = 10_ms});
  for (int i = 0; i < 4; ++i) bench.add(100), bench.packer.end_message();
  const auto message_in = [&](size_t part) {
    const size_t at = part * bench.options.message_bytes();
    const auto header = parse_slot_header(std::span(bench.memory).subspan(at, 256));
    return header ? header->seq.value() : UINT32_MAX;
  };
  const auto end = [&](uint32_t message) {
    bench.say_length(message, 1, 1);
    bench.turn();
  };
  // given: two messages with memory, whatever their order, that end one after the other
  bench.place(1, 0), bench.place(0, 0);
  EXPECT_EQ(message_in(0), 1u);
  EXPECT_EQ(message_in(1), 0u);
  end(0), end(1);
  // expect: the next gets what the last to end has left, and nobody gets what was never used
  bench.place(2, 0), bench.place(3, 0);
  EXPECT_EQ(message_in(0), 2u);
  EXPECT_EQ(message_in(1), 3u);
  const auto rest = std::span(bench.memory).subspan(2 * bench.options.message_bytes());
  EXPECT_TRUE(std::ranges::all_of(rest, [](uint8_t byte) { return byte == 0xdd; }));
}

TEST(SlotReader, joins_a_frame_from_slots_in_any_order) {
  std::vector<uint32_t> order = {0, 1, 2, 3};
  do {
    Bench bench;
    const TestFrame frame = bench.add(900);
    bench.packer.end_slot();
    for (const uint32_t slot : order) {
      EXPECT_EQ(bench.count(), 0u);
      bench.place(0, slot);
    }
    ASSERT_EQ(bench.count(), 1u);
    EXPECT_EQ(bench.frames[0].packet, frame.packet);
  } while (std::ranges::next_permutation(order).found);
}

TEST(SlotReader, a_frame_header_may_straddle_at_every_byte) {
  for (size_t cut = 1; cut < frame_header_bytes; ++cut) {
    for (const bool is_backwards : {false, true}) {
      Bench bench;
      bench.add(248 - frame_header_bytes - cut);  // leaves `cut` bytes of the slot
      const TestFrame frame = bench.add(200);
      bench.packer.end_slot();
      bench.place(0, is_backwards ? 1 : 0);
      bench.place(0, is_backwards ? 0 : 1);
      ASSERT_EQ(bench.count(), 2u);
      EXPECT_EQ(bench.frames[1].packet, frame.packet) << cut;
    }
  }
}

// [C-45]
TEST(SlotReader, a_slot_says_no_more_than_its_packet_brought) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  const auto& slots = bench.packer.messages()[0];
  const auto place = [&](uint32_t slot, size_t bytes) {
    bench.stream.place(bench.packer.seq_of(0), slot, std::span(slots[slot]).first(bytes));
  };
  place(0, slot_header_bytes - 1);
  place(1, slots[1].size() - 1);
  place(2, slots[2].size());
  bench.read();
  EXPECT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.drops.read_any_thread(DropReason::slot_short), 2u);
}

TEST(SlotReader, a_message_that_nobody_reads_any_more_is_posted_anew) {
  Bench bench;
  bench.keeps = true;
  bench.add(50);
  bench.packer.end_message();
  bench.place(0, 0);
  bench.say_length(0, 1);
  EXPECT_FALSE(bench.turn());  // the frame is lent
  EXPECT_TRUE(bench.is_open(0));
  bench.table.leave(bench.frames[0].index);
  EXPECT_LE(bench.reader.next_due(), bench.now);
  EXPECT_TRUE(bench.turn());
  EXPECT_FALSE(bench.is_open(0));
  EXPECT_EQ(bench.stream.posted_count(), 2u);
  EXPECT_EQ(bench.reader.next_due(), Instant::never());
}

TEST(SlotReader, a_message_without_a_length_is_kept) {
  Bench bench;
  bench.add(50);
  bench.packer.end_message();
  bench.place(0, 0);
  bench.turn();
  EXPECT_TRUE(bench.is_open(0));
}

TEST(SlotReader, an_empty_message_is_over_with_its_length) {
  Bench bench;
  bench.say_length(0, 0);
  EXPECT_TRUE(bench.turn());
  EXPECT_FALSE(bench.is_open(0));
}

TEST(SlotReader, slots_beyond_the_end_of_a_message_mean_nothing) {
  Bench bench;
  const TestFrame frame = bench.add(50);
  bench.packer.end_slot();
  bench.add(50);
  bench.packer.end_message();
  const auto& slots = bench.packer.messages()[0];
  for (uint32_t slot : {0u, 1u}) bench.stream.place(bench.packer.seq_of(0), slot, slots[slot]);
  bench.say_length(0, 1);
  ASSERT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.frames[0].packet, frame.packet);
  EXPECT_EQ(bench.drops.snapshot_any_thread().sum(), 0u);
}

TEST(SlotReader, the_front_stops_at_what_is_awaited) {
  Bench bench;
  const auto add = [&](uint32_t seq) { bench.add(200, {.bucket = 9, .bucket_seq = seq}); };
  for (const uint32_t seq : {0u, 1u, 2u, 3u}) add(seq), bench.packer.end_slot();
  bench.place(0, 0);
  bench.place(0, 2);
  bench.place(0, 3);
  EXPECT_EQ(bench.count(), 1u) << "the second may come yet";
  bench.abandon(0, 0, 2);
  EXPECT_EQ(bench.count(), 3u);
  EXPECT_EQ(bench.order.counts().missed_exactly, 1u);
}

TEST(SlotReader, a_frame_that_loses_a_slot_is_given_up_whichever_comes_first) {
  for (const bool is_lost_first : {false, true}) {
    Bench bench;
    bench.add(600);
    bench.packer.end_slot();
    const ByteRow nothing(256);
    if (is_lost_first) bench.place_bytes(0, 1, nothing);
    bench.place(0, 0);
    bench.place(0, 2);
    if (!is_lost_first) bench.abandon(0, 0, 2);
    EXPECT_EQ(bench.count(), 0u);
    EXPECT_EQ(bench.dropped(DropReason::frame_partial), 1u);
  }
}

TEST(SlotReader, a_message_that_is_given_up_to_its_end_waits_for_no_length) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  bench.place(0, 0);
  bench.abandon(0, 0, 70);
  bench.turn();
  EXPECT_TRUE(bench.is_open(0)) << "its slots were too old, its length comes";
  bench.abandon(0, 70, slots_unknown);
  bench.turn();
  EXPECT_FALSE(bench.is_open(0));
  EXPECT_TRUE(bench.is_open(2));
  EXPECT_EQ(bench.count(), 1u);
}

TEST(SlotReader, a_message_over_before_its_length_is_heard_is_counted_as_such) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  bench.place(0, 0);
  bench.abandon(0, 0, slots_unknown);
  EXPECT_EQ(bench.reader.unheard_count(), 1u);
  EXPECT_EQ(bench.reader.given_up_count(), 0u);
}

TEST(SlotReader, a_frame_from_behind_the_front_knows_that_all_before_it_is_settled) {
  Bench bench;
  bench.add(300);
  bench.packer.end_slot();
  bench.place(0, 0);
  bench.place(0, 1);
  ASSERT_EQ(bench.count(), 1u);
  EXPECT_TRUE(bench.frames[0].frame.is_settled);
}

TEST(SlotReader, a_slot_with_a_header_that_cannot_be_is_dropped) {
  Bench bench;
  bench.add(100);
  bench.packer.end_slot();
  ByteRow slot = bench.packer.messages()[0][0];
  encode_slot_header({bench.packer.seq_of(0), 249, 0}, slot.data());
  bench.place_bytes(0, 0, slot);
  EXPECT_EQ(bench.dropped(DropReason::slot_header), 1u);
  EXPECT_EQ(bench.count(), 0u);
}

TEST(SlotReader, a_slot_of_another_message_is_dropped) {  // [C-46]
  Bench bench;
  bench.add(100);
  bench.packer.end_message();
  bench.add(100);
  bench.packer.end_message();
  bench.place_bytes(1, 0, bench.packer.messages()[0][0]);
  EXPECT_EQ(bench.dropped(DropReason::slot_message), 1u);
  EXPECT_EQ(bench.count(), 0u);
}

TEST(SlotReader, goes_on_behind_a_frame_header_that_cannot_be) {  // [C-48]
  Bench bench;
  bench.add(100);
  bench.add(300);
  const TestFrame good = bench.add(50);
  bench.packer.end_slot();
  ByteRow slot = bench.packer.messages()[0][0];
  encode_frame_header({19, 0, 0, FrameOrder::AtOnce}, slot.data() + slot_header_bytes);
  bench.place_bytes(0, 0, slot);
  bench.place(0, 1);
  EXPECT_EQ(bench.dropped(DropReason::frame_header), 1u);
  ASSERT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.frames[0].packet, good.packet);
}

TEST(SlotReader, a_tail_must_end_where_the_next_frame_begins) {
  for (const int step : {-1, 1}) {
    Bench bench;
    bench.add(300);
    bench.add(50);
    bench.packer.end_slot();
    ByteRow slot = bench.packer.messages()[0][1];
    const auto header = parse_slot_header(slot).value();
    const auto first = static_cast<uint16_t>(header.first_frame + step);
    encode_slot_header({header.seq, header.used_bytes, first}, slot.data());
    bench.place(0, 0);
    bench.place_bytes(0, 1, slot);
    EXPECT_EQ(bench.dropped(DropReason::frame_tail), 1u);
  }
}

TEST(SlotReader, a_tail_in_slots_without_bytes_is_followed_only_so_far) {
  Bench bench;
  bench.add(300);
  bench.packer.end_slot();
  bench.place(0, 0);
  ByteRow empty(slot_header_bytes);
  encode_slot_header({bench.packer.seq_of(0), 0, no_frame_start}, empty.data());
  for (uint32_t slot = 1; slot < 70; ++slot) bench.place_bytes(0, slot, empty);
  EXPECT_EQ(bench.dropped(DropReason::frame_tail), 1u);
}

TEST(SlotReader, a_frame_does_not_reach_beyond_its_message) {  // [C-47]
  for (const bool is_length_first : {false, true}) {
    Bench bench;
    bench.add(300);
    bench.packer.end_slot();
    if (is_length_first) bench.say_length(0, 1);
    bench.place(0, 0);
    if (!is_length_first) bench.say_length(0, 1);
    EXPECT_EQ(bench.dropped(DropReason::frame_cut), 1u);
    EXPECT_TRUE(bench.turn());
    EXPECT_FALSE(bench.is_open(0));
  }
}

TEST(SlotReader, gives_up_the_holes_of_a_message_that_stalls_its_sender) {
  Bench bench;
  bench.add(50);
  bench.packer.end_message();
  bench.add(50);
  bench.packer.end_message();
  bench.place(1, 0);
  bench.say_length(0, 1);
  bench.say_length(1, 1);
  bench.turn();
  EXPECT_EQ(bench.reader.next_due(), bench.now + 10_ms);
  bench.turn(bench.now + 9_ms);
  EXPECT_TRUE(bench.is_open(0));
  bench.turn(bench.now + 10_ms);
  bench.turn(bench.now + 10_ms);
  EXPECT_FALSE(bench.is_open(0));
  EXPECT_TRUE(bench.is_open(2));
  EXPECT_EQ(bench.reader.stalled_slot_count(), 1u);
}

TEST(SlotReader, a_new_epoch_begins_with_empty_messages) {
  Bench bench;
  bench.keeps = true;
  bench.add(300);
  bench.packer.end_slot();
  bench.place(0, 0);
  bench.stream.reset();
  bench.reader.reset();
  EXPECT_TRUE(bench.turn());
  EXPECT_EQ(bench.stream.posted_count(), 2u);
  bench.place(0, 1);
  EXPECT_EQ(bench.count(), 0u);
  bench.place(0, 0);
  EXPECT_EQ(bench.count(), 1u);
}

/// Whatever the slots hold: nothing is read outside of them, every message ends, and what is whole
/// is as long as its header says. Memory is exactly sized, for the sanitizers to see.
RC_GTEST_PROP(SlotReader, survives_slots_of_any_content, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  Prng random(seed);
  const auto payload = static_cast<uint32_t>(random.between(256, 700));
  Bench bench({.messages = 2, .data_slots_max = 64, .payload_bytes_max = payload}, MessageSeq(5));
  for (uint32_t message = 0; message < 6; ++message) {
    std::vector<uint32_t> order(64);
    for (uint32_t i = 0; i < 64; ++i) order[i] = i;
    for (uint32_t i = 63; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    for (const uint32_t slot : order) {
      ByteRow bytes(payload);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
      const auto used = static_cast<uint16_t>(random.below(payload - 7));
      const bool has_start = used > 0 && random.chance(0.6);
      const auto first = has_start ? static_cast<uint16_t>(random.below(used)) : no_frame_start;
      encode_slot_header({bench.packer.seq_of(message), used, first}, bytes.data());
      // Lengths that can be, at random places.
      for (size_t at = 8; at + 2 < payload; at += 2) {
        if (random.chance(0.7)) bytes[at] = static_cast<uint8_t>(random.below(2));
      }
      if (random.chance(0.005)) bench.abandon(message, 0, slot + 1);
      bench.place_bytes(message, slot, bytes);
    }
    bench.say_length(message, static_cast<uint32_t>(random.below(65)));
    bench.turn();
    RC_ASSERT(!bench.is_open(message));
  }
  for (const auto& [index, frame, packet] : bench.frames) {
    RC_ASSERT(packet.size() == frame.header.bytes);
    RC_ASSERT(frame.packet.slot < 64u);
  }
}

/// Frames of any size in slots of any size and order: each comes once, as it was sent, with its
/// last slot.
RC_GTEST_PROP(SlotReader, every_frame_comes_whole_with_its_last_slot, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  RC_LOG("seed " + std::to_string(seed));
  Prng random(seed);
  const auto payload = static_cast<uint32_t>(random.between(256, 8192));
  const auto slots = static_cast<uint32_t>(limits::frame_bytes_max / (payload - 8) + 20);
  Bench bench({.messages = 4, .data_slots_max = slots, .payload_bytes_max = payload},
              MessageSeq(uint64_t{0} - 3));
  std::vector<TestFrame> frames;
  for (int i = 0; i < 60; ++i) {
    const size_t most = random.chance(0.5) ? 200 : limits::frame_bytes_max;
    frames.push_back(bench.add(random.between(20, most)));
    if (random.chance(0.3)) bench.packer.end_slot();
  }
  bench.packer.end_message();
  size_t expected = 0;
  for (uint32_t message = 0; message + 1 < bench.packer.messages().size(); ++message) {
    const auto count = static_cast<uint32_t>(bench.packer.messages()[message].size());
    std::vector<uint32_t> order(count);
    std::vector<bool> is_there(count);
    for (uint32_t i = 0; i < count; ++i) order[i] = i;
    for (uint32_t i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    for (const uint32_t slot : order) {
      bench.place(message, slot);
      is_there[slot] = true;
      for (const TestFrame& frame : frames) {
        if (frame.message != message || slot < frame.slot_first || slot > frame.slot_last) continue;
        bool is_whole = true;
        for (uint32_t s = frame.slot_first; s <= frame.slot_last; ++s) is_whole &= is_there[s];
        expected += is_whole;
      }
      RC_ASSERT(bench.count() == expected);
    }
    bench.say_length(message, count);
    bench.turn();
  }
  RC_ASSERT(expected == frames.size());
  RC_ASSERT(bench.drops.snapshot_any_thread().sum() == 0u);
  std::vector<ByteRow> sent, came;
  for (const auto& frame : frames) sent.push_back(frame.packet);
  for (const auto& frame : bench.frames) came.push_back(frame.packet);
  std::ranges::sort(sent);
  std::ranges::sort(came);
  RC_ASSERT(sent == came);
}

}  // namespace
}  // namespace cw::gateway::test
