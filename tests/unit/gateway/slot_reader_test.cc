#include "dataplane/gateway/slot_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/gateway/slots.h"

namespace cw::gateway::test {
namespace {

using namespace cw::literals;

/// Keeps what was read, and lets it go.
struct Collected final : FrameSink {
  struct One {
    ParsedFrame frame;
    ByteRow packet;
  };
  Frame* try_take(Instant) override { return is_full ? nullptr : &taken; }
  void on_frame(Frame& whole, Instant) override {
    const ParsedFrame& frame = whole.parsed;
    ByteRow packet(frame.header.bytes);
    reader->copy(frame, packet.data());
    frames.push_back({frame, packet});
    if (!keeps) reader->done(frame);
  }
  void on_settled(uint32_t place, uint32_t slot_first, uint32_t slot_end, Instant) override {
    EXPECT_LT(slot_first, slot_end);
    settled.emplace_back(place, slot_first, slot_end);
  }
  SlotReader* reader = nullptr;
  bool keeps = false, is_full = false;
  Frame taken;
  std::vector<One> frames;
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> settled;
};

/// A reader of slots of 256 bytes: 248 of the stream in each.
struct Bench {
  explicit Bench(SlotReaderOptions with = {.messages = 2,
                                           .data_slots_max = 70,
                                           .payload_bytes_max = 256,
                                           .stall = 10_ms},
                 MessageSeq first_seq = {})
      : options(with),
        receives(with, first_seq),
        packer(with.payload_bytes_max, with.data_slots_max, first_seq),
        memory(with.messages * with.message_bytes(), 0xdd),
        reader(with, memory, receives, sink, drops) {
    sink.reader = &reader;
    reader.on_time(now);
  }
  TestFrame add(size_t bytes, FrameHeader header = {.order = FrameOrder::AtOnce}) {
    TestFrame frame{header, ip_packet(random, bytes)};
    packer.add(frame);
    return frame;
  }
  void place(uint32_t message, uint32_t slot) {
    place_bytes(message, slot, packer.messages()[message][slot]);
  }
  void place_bytes(uint32_t message, uint32_t slot, const ByteRow& bytes) {
    receives.place(packer.seq_of(message), slot, bytes);
    receives.flush([&](auto... args) { reader.on_placed(args..., now); });
  }
  sdr::RecvHandle handle(uint32_t message) {
    return receives.handle_of(packer.seq_of(message)).value();
  }
  size_t count() const { return sink.frames.size(); }
  uint64_t dropped(DropReason reason) const { return drops.read_any_thread(reason); }

  SlotReaderOptions options;
  Instant now = Instant::from_ns(1'000'000);
  Prng random{7};
  Drops drops;
  Collected sink;
  FakeReceives receives;
  Packer packer;
  ByteRow memory;
  SlotReader reader;
};

TEST(SlotReader, reads_the_frames_of_one_slot_in_their_order) {
  Bench bench;
  const TestFrame first = bench.add(20), second = bench.add(100);
  bench.packer.end_slot();
  bench.place(0, 0);
  ASSERT_EQ(bench.count(), 2u);
  EXPECT_EQ(bench.sink.frames[0].packet, first.packet);
  EXPECT_EQ(bench.sink.frames[1].packet, second.packet);
  EXPECT_EQ(bench.sink.frames[1].frame.header, second.header);
}

TEST(SlotReader, goes_on_behind_a_frame_that_nobody_has_room_for) {
  Bench bench;
  bench.add(100), bench.add(300);
  bench.packer.end_message();
  bench.sink.is_full = true;
  bench.place(0, 0);
  EXPECT_EQ(bench.count(), 0u);
  bench.sink.is_full = false;
  bench.place(0, 1);
  ASSERT_EQ(bench.count(), 1u);
  // expect: it came whole, so it is none of those given up, and nothing of it is lent
  bench.reader.on_length(bench.handle(0), {.slots = 2, .frames = 2}, bench.now);
  EXPECT_EQ(bench.reader.given_up_count(), 0u);
  EXPECT_TRUE(bench.reader.on_time(bench.now));
  EXPECT_FALSE(bench.receives.is_open(MessageSeq(0)));
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
    bench.reader.on_length(bench.handle(message), {.slots = 1, .frames = 1}, bench.now);
    bench.reader.on_time(bench.now);
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
    EXPECT_EQ(bench.sink.frames[0].packet, frame.packet);
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
      EXPECT_EQ(bench.sink.frames[1].packet, frame.packet) << cut;
    }
  }
}

// [C-45]
TEST(SlotReader, a_slot_says_no_more_than_its_packet_brought) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  const sdr::RecvHandle handle = bench.handle(0);
  const auto& slots = bench.packer.messages()[0];
  const auto place = [&](uint32_t slot, size_t bytes) {
    bench.receives.place(handle.seq, slot, std::span(slots[slot]).first(bytes));
  };
  place(0, slot_header_bytes - 1);
  place(1, slots[1].size() - 1);
  place(2, slots[2].size());
  bench.receives.flush(
      [&](sdr::RecvHandle each, uint32_t first, uint32_t end, const uint64_t* placed) {
        bench.reader.on_placed(each, first, end, placed, bench.now);
      });
  EXPECT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.drops.read_any_thread(DropReason::slot_short), 2u);
}

TEST(SlotReader, a_message_that_nobody_reads_any_more_is_posted_anew) {
  Bench bench;
  bench.sink.keeps = true;
  bench.add(50);
  bench.packer.end_message();
  const MessageSeq seq = bench.packer.seq_of(0);
  bench.place(0, 0);
  bench.reader.on_length(bench.handle(0), {1}, bench.now);
  EXPECT_FALSE(bench.reader.on_time(bench.now));  // the frame is lent
  EXPECT_TRUE(bench.receives.is_open(seq));
  bench.reader.done(bench.sink.frames[0].frame);
  EXPECT_LE(bench.reader.next_due(), bench.now);
  EXPECT_TRUE(bench.reader.on_time(bench.now));
  EXPECT_FALSE(bench.receives.is_open(seq));
  EXPECT_EQ(bench.receives.posted_count(), 2u);
  EXPECT_EQ(bench.reader.next_due(), Instant::never());
}

TEST(SlotReader, a_message_without_a_length_is_kept) {
  Bench bench;
  bench.add(50);
  bench.packer.end_message();
  bench.place(0, 0);
  bench.reader.on_time(bench.now);
  EXPECT_TRUE(bench.receives.is_open(bench.packer.seq_of(0)));
}

TEST(SlotReader, an_empty_message_is_over_with_its_length) {
  Bench bench;
  bench.reader.on_length(bench.handle(0), {0}, bench.now);
  EXPECT_TRUE(bench.reader.on_time(bench.now));
  EXPECT_FALSE(bench.receives.is_open(MessageSeq(0)));
}

TEST(SlotReader, bits_beyond_the_end_of_a_message_mean_nothing) {
  Bench bench;
  const TestFrame frame = bench.add(50);
  bench.packer.end_message();
  bench.reader.on_length(bench.handle(0), {1}, bench.now);
  const sdr::RecvHandle handle = bench.handle(0);
  bench.receives.place(handle.seq, 0, bench.packer.messages()[0][0]);
  const std::vector<uint64_t> all(2, ~uint64_t{0});
  bench.reader.on_placed(handle, 0, 2, all.data(), bench.now);
  ASSERT_EQ(bench.count(), 1u);
  EXPECT_EQ(bench.sink.frames[0].packet, frame.packet);
  EXPECT_EQ(bench.drops.snapshot_any_thread().sum(), 0u);
}

TEST(SlotReader, the_front_stops_at_what_is_awaited) {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.add(200), bench.packer.end_slot();
  bench.place(0, 0);
  bench.place(0, 2);
  bench.place(0, 3);
  using Passed = decltype(bench.sink.settled);
  EXPECT_EQ(bench.sink.settled, (Passed{{0, 0, 1}}));
  bench.reader.on_abandoned(bench.handle(0), 1, 1, bench.now);
  EXPECT_EQ(bench.sink.settled, (Passed{{0, 0, 1}, {0, 1, 4}}));
}

TEST(SlotReader, a_frame_that_loses_a_slot_is_given_up_whichever_comes_first) {
  for (const bool is_abandoned_first : {false, true}) {
    Bench bench;
    bench.add(600);
    bench.packer.end_slot();
    if (is_abandoned_first) bench.reader.on_abandoned(bench.handle(0), 1, 1, bench.now);
    bench.place(0, 0);
    bench.place(0, 2);
    if (!is_abandoned_first) bench.reader.on_abandoned(bench.handle(0), 1, 1, bench.now);
    EXPECT_EQ(bench.count(), 0u);
    EXPECT_EQ(bench.dropped(DropReason::frame_partial), 1u);
  }
}

TEST(SlotReader, a_message_that_is_given_up_to_its_end_waits_for_no_length) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  bench.place(0, 0);
  bench.reader.on_abandoned(bench.handle(0), 0, 70, bench.now);
  bench.reader.on_time(bench.now);
  EXPECT_TRUE(bench.receives.is_open(MessageSeq(0))) << "its slots were too old, its length comes";
  bench.reader.on_abandoned(bench.handle(0), 70, CW_UNKNOWN, bench.now);
  bench.reader.on_time(bench.now);
  EXPECT_FALSE(bench.receives.is_open(MessageSeq(0)));
  EXPECT_TRUE(bench.receives.is_open(MessageSeq(2)));
  EXPECT_EQ(bench.count(), 1u);
}

TEST(SlotReader, a_message_over_before_its_length_is_heard_is_counted_as_such) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.add(200), bench.packer.end_slot();
  bench.place(0, 0);
  bench.reader.on_abandoned(bench.handle(0), 0, CW_UNKNOWN, bench.now);
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
  EXPECT_TRUE(bench.sink.frames[0].frame.is_settled);
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
  EXPECT_EQ(bench.sink.frames[0].packet, good.packet);
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
    if (is_length_first) bench.reader.on_length(bench.handle(0), {1}, bench.now);
    bench.place(0, 0);
    if (!is_length_first) bench.reader.on_length(bench.handle(0), {1}, bench.now);
    EXPECT_EQ(bench.dropped(DropReason::frame_cut), 1u);
    EXPECT_TRUE(bench.reader.on_time(bench.now));
    EXPECT_FALSE(bench.receives.is_open(MessageSeq(0)));
  }
}

TEST(SlotReader, gives_up_the_holes_of_a_message_that_stalls_its_sender) {
  Bench bench;
  bench.add(50);
  bench.packer.end_message();
  bench.add(50);
  bench.packer.end_message();
  bench.place(1, 0);
  bench.reader.on_length(bench.handle(0), {1}, bench.now);
  bench.reader.on_length(bench.handle(1), {1}, bench.now);
  bench.reader.on_time(bench.now);
  EXPECT_EQ(bench.reader.next_due(), bench.now + 10_ms);
  bench.reader.on_time(bench.now + 9_ms);
  EXPECT_TRUE(bench.receives.is_open(MessageSeq(0)));
  bench.reader.on_time(bench.now + 10_ms);
  bench.reader.on_time(bench.now + 10_ms);
  EXPECT_FALSE(bench.receives.is_open(MessageSeq(0)));
  EXPECT_TRUE(bench.receives.is_open(MessageSeq(2)));
  EXPECT_EQ(bench.reader.stalled_slot_count(), 1u);
}

TEST(SlotReader, a_new_epoch_begins_with_empty_messages) {
  Bench bench;
  bench.sink.keeps = true;
  bench.add(300);
  bench.packer.end_slot();
  const sdr::RecvHandle old = bench.handle(0);
  bench.place(0, 0);
  bench.receives.reset();
  bench.reader.on_reset();
  const uint64_t all = ~uint64_t{0};
  bench.reader.on_placed(old, 0, 1, &all, bench.now);
  EXPECT_TRUE(bench.reader.on_time(bench.now));
  EXPECT_EQ(bench.receives.posted_count(), 2u);
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
      if (random.chance(0.05)) bench.reader.on_abandoned(bench.handle(message), slot, 1, {});
      bench.place_bytes(message, slot, bytes);
    }
    bench.reader.on_length(bench.handle(message), {static_cast<uint32_t>(random.below(70))}, {});
    bench.reader.on_time({});
    RC_ASSERT(!bench.receives.is_open(bench.packer.seq_of(message)));
  }
  for (const auto& [frame, packet] : bench.sink.frames) {
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
    bench.reader.on_length(bench.handle(message), {count}, bench.now);
    bench.reader.on_time(bench.now);
  }
  RC_ASSERT(expected == frames.size());
  RC_ASSERT(bench.drops.snapshot_any_thread().sum() == 0u);
  std::vector<ByteRow> sent, came;
  for (const auto& frame : frames) sent.push_back(frame.packet);
  for (const auto& frame : bench.sink.frames) came.push_back(frame.packet);
  std::ranges::sort(sent);
  std::ranges::sort(came);
  RC_ASSERT(sent == came);
}

}  // namespace
}  // namespace cw::gateway::test
