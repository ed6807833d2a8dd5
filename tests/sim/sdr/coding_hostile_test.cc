// Coding against whoever does not mean well or does not keep up: peers that lie about their blocks,
// policies that name what is not there, applications that end messages under way, slow codecs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "dataplane/sdr/stream/recv/recv_stream.h"
#include "dataplane/sdr/stream/send/send_stream.h"
#include "tests/sim/sdr/coding_world.h"
#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

constexpr uint32_t payload = 1024;
constexpr CodingKnobs small{.k = 4, .m = 2, .rows = 2};

uint64_t drops_at_b(World& world, DropReason reason) { return world.pair.dropped_at_b(reason); }

// ---- BLOCK_CLOSED -------------------------------------------------------------------------------

ClosedBlock entry(uint32_t block, uint32_t slot_first, uint32_t slots, uint16_t rows, uint8_t k,
                  uint8_t m, uint8_t codec = 0) {
  return {be32(block), be32(slot_first), be32(slots), be16(rows), k, m, codec, {}};
}

/// A receive is posted and nothing has come.
struct Posted : World {
  Posted() : World(coding_site(small), {.messages = 8}, [](uint32_t, bool) { return true; }) {
    CW_ASSERT(pair.run_until([&] { return pair.are_up(); }, 3_s));
    pair.run_for(1_ms);
  }
  /// Whether the sink takes it; if so its policy hears of it once.
  bool takes(const ClosedBlock& block, uint32_t message = 7) {
    const size_t told = coding_log().closed_at_sink.size();
    const uint64_t dropped = drops_at_b(*this, DropReason::record_body);
    BlockClosed record;
    record.seq = MessageSeq(message);
    record.blocks = Row<ClosedBlock>(&block, 1);
    EXPECT_TRUE(record.is_valid());
    pair.b->recv_stream().on_block_closed(record, pair.network().now());
    const bool is_dropped = drops_at_b(*this, DropReason::record_body) > dropped;
    EXPECT_TRUE(!is_dropped || coding_log().closed_at_sink.size() == told);
    return !is_dropped;
  }
};

TEST(HostileCoding, blocks_that_cannot_be_are_refused_and_counted) {
  Posted world;
  // 128 slots in blocks of 8, and one block more; 4 repair slots each.
  EXPECT_FALSE(world.takes(entry(0, 1, 8, 2, 4, 2))) << "the first begins at 0";
  EXPECT_FALSE(world.takes(entry(17, 100, 8, 2, 4, 2))) << "so many there are not";
  EXPECT_FALSE(world.takes(entry(0xffffffff, 100, 8, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(3, 121, 8, 2, 4, 2))) << "beyond D";
  EXPECT_FALSE(world.takes(entry(3, 1 << 24, 8, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(0, 0, 12, 3, 4, 1))) << "rows";
  EXPECT_FALSE(world.takes(entry(0, 0, 5, 1, 5, 2))) << "k";
  EXPECT_FALSE(world.takes(entry(0, 0, 8, 2, 4, 3))) << "m x rows beyond m_cap";
  EXPECT_FALSE(world.takes(entry(0, 0, 6, 2, 4, 2))) << "a chunk without slots";
  EXPECT_FALSE(world.takes(entry(0, 0, 0, 1, 1, 2))) << "no slots";
  EXPECT_FALSE(world.takes(entry(0, 0, 8, 2, 4, 2, 2))) << "codec";
  EXPECT_TRUE(world.takes(entry(1, 8, 7, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(0, 0, 7, 2, 4, 2))) << "a hole before the next";
  EXPECT_FALSE(world.takes(entry(2, 14, 8, 2, 4, 2))) << "overlap";
  EXPECT_FALSE(world.takes(entry(1, 8, 8, 2, 4, 2))) << "the first stands";
  EXPECT_TRUE(world.takes(entry(1, 8, 7, 2, 4, 2))) << "again is no news";
  EXPECT_TRUE(world.takes(entry(2, 15, 3, 1, 3, 4)));
  EXPECT_TRUE(world.takes(entry(0, 0, 8, 2, 4, 0))) << "m may be 0";
  EXPECT_EQ(coding_log().closed_at_sink.size(), 3u);
  EXPECT_TRUE(world.takes(entry(0, 0, 8, 2, 4, 2), 100))
      << "a message that is not there: no matter";
}

TEST(HostileCoding, blocks_leave_room_for_those_that_are_not_known_yet) {
  Posted world;
  EXPECT_TRUE(world.takes(entry(5, 40, 8, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(9, 42, 8, 2, 4, 2))) << "overlap beyond unknown blocks";
  EXPECT_FALSE(world.takes(entry(9, 50, 8, 2, 4, 2))) << "three blocks between, two slots";
  EXPECT_TRUE(world.takes(entry(9, 51, 8, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(3, 32, 8, 2, 4, 2))) << "a block between, no slot";
  EXPECT_FALSE(world.takes(entry(3, 2, 8, 2, 4, 2))) << "three blocks before, two slots";
  EXPECT_TRUE(world.takes(entry(3, 31, 8, 2, 4, 2)));
  EXPECT_FALSE(world.takes(entry(7, 48, 3, 1, 3, 2))) << "two more besides it, no slot";
  EXPECT_TRUE(world.takes(entry(7, 49, 1, 1, 1, 2)));
  EXPECT_FALSE(world.takes(entry(4, 39, 2, 1, 2, 2)));
  EXPECT_TRUE(world.takes(entry(4, 39, 1, 1, 1, 2)));
}

TEST(HostileCoding, decodes_of_what_a_peer_has_made_up_stay_inside_their_message) {
  Posted world;
  ASSERT_TRUE(world.takes(entry(0, 0, 8, 2, 4, 2)));
  coding_log().coded_at_sink.clear();
  cw_code code{.message = 7, .block = 9, .slots = 8, .rows = 2, .k = 4, .m = 2, .codec = 0};
  code.row_count = CW_UNKNOWN;
  code.slot_first = 120;
  code.repair_first = 64;
  world.pair.b->recv_stream().on_code(code, world.pair.network().now());
  world.pair.run_for(1_ms);
  ASSERT_EQ(coding_log().coded_at_sink.size(), 1u);
  EXPECT_EQ(coding_log().coded_at_sink[0].result, unsigned{CW_CODED_NEED_MORE});
  EXPECT_EQ(coding_log().coded_at_sink[0].need, 4u);
  EXPECT_EQ(coding_log().coded_at_sink[0].block, 9u);
}

// [C-54], said the other way round.
TEST(HostileCoding, a_message_that_would_be_shorter_than_its_blocks_is_refused) {
  Posted world;
  ASSERT_TRUE(world.takes(entry(2, 16, 4, 1, 4, 2))) << "those before it are not known yet";
  const uint64_t dropped = drops_at_b(world, DropReason::record_body);
  Closed closed{.seq = MessageSeq(7), .slots = 17, .message_bytes = 17 * payload};
  world.pair.b->recv_stream().on_closed(closed, world.pair.network().now());
  EXPECT_EQ(drops_at_b(world, DropReason::record_body), dropped + 1);
  closed.slots = 20;
  closed.message_bytes = 20 * payload;
  world.pair.b->recv_stream().on_closed(closed, world.pair.network().now());
  EXPECT_EQ(drops_at_b(world, DropReason::record_body), dropped + 1);
}

// Slots behind the end are zeros to a code. Nothing has come here, so the message has no memory.
TEST(HostileCoding, a_decode_reads_nothing_behind_the_end_of_a_message) {
  WireScript script;
  const SiteOptions site = coding_site(small);
  Pair pair({.a = site, .b = site, .wire = {.delay = 2_ms}}, script);
  pair.courier().stop();
  pair.courier().post_nothing();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  sdr::RecvStream& stream = pair.b->recv_stream();
  std::vector<uint8_t> memory(stream.config().messages * stream.config().message_bytes_max());
  sdr::RecvBuffers buffers(memory, stream.config().message_bytes_max());
  stream.read_along(buffers);
  ASSERT_TRUE(stream.try_post());
  stream.on_closed({.slots = 17, .message_bytes = 17 * payload}, pair.network().now());
  coding_log().coded_at_sink.clear();
  stream.on_code({.slots = 4,
                  .rows = 1,
                  .k = 4,
                  .m = 2,
                  .slot_first = 16,
                  .repair_first = 8,
                  .row_count = CW_UNKNOWN},
                 pair.network().now());
  pair.run_for(1_ms);
  ASSERT_EQ(coding_log().coded_at_sink.size(), 1u);
  EXPECT_EQ(coding_log().coded_at_sink[0].need, 1u) << "all but slot 16 are zeros";
  EXPECT_EQ(buffers.unused().size(), buffers.count());
}

// ---- repair slots from the wire -----------------------------------------------------------------

TEST(HostileCoding, repair_slots_must_name_their_window_key_and_place) {
  const SiteOptions site = coding_site(small);
  Recorded recorded;
  World world(site, {.messages = 20, .bytes_of = [](uint64_t) { return 8 * payload; }});
  world.a_script.data = [&](const Packet& packet) {
    SlotWrite slot;
    CW_ASSERT(try_parse_slot_write({packet.data, packet.bytes},
                                   size_t{packet.bytes} + packet.payload_bytes, slot));
    if (site.stream.split.unpack(slot.immediate).slot >= site.stream.data_slots_max) {
      return recorded.take_data(packet);
    }
    return Fate::Pass;
  };
  world.a_script.control = [&](const Packet& packet) { return recorded.take_control(packet); };
  ASSERT_TRUE(world.is_done_within(3_s));
  world.pair.run_for(50_ms);
  const Intruder intruder(recorded, site.key);
  const auto drops_of = [&](DropReason reason, const std::function<void(SlotWrite&)>& change) {
    const uint64_t before = drops_at_b(world, reason);
    inject(world.pair, intruder.slot(change));
    world.pair.run_for(10_ms);
    return drops_at_b(world, reason) - before;
  };
  const ImmediateSplit& split = site.stream.split;
  const uint32_t end = site.stream.data_slots_max + site.stream.repair_slots_max;
  EXPECT_EQ(drops_of(DropReason::key_stale, [](SlotWrite& slot) { slot.key ^= 1; }), 1u);
  EXPECT_EQ(drops_of(DropReason::window_misaligned, [](SlotWrite& slot) { ++slot.address; }), 1u);
  EXPECT_EQ(
      drops_of(DropReason::window_misaligned, [](SlotWrite& slot) { slot.address += payload; }),
      1u);
  EXPECT_EQ(drops_of(DropReason::slot_range,
                     [&](SlotWrite& slot) { slot.immediate = split.pack({0, end, 0}); }),
            1u);
  EXPECT_EQ(drops_of(DropReason::slot_range,
                     [&](SlotWrite& slot) { slot.immediate = split.pack({8, end - 1, 0}); }),
            1u);
  EXPECT_EQ(drops_of(DropReason::generation_late, [](SlotWrite&) {}) +
                drops_of(DropReason::message_not_open, [](SlotWrite&) {}),
            1u)
      << "its message is over";
  EXPECT_EQ(world.complaint(), "");
}

// ---- policies -----------------------------------------------------------------------------------

TEST(HostileCoding, codes_and_repair_that_cannot_be_are_refused) {
  World world(coding_site(small), {.messages = 1, .bytes_of = [](uint64_t) { return 8 * payload; }},
              [](uint32_t, bool) { return true; });
  world.pair.run_until([&] { return !coding_log().coded_at_source.empty(); }, 3_s);
  sdr::SendStream& stream = world.pair.a->send_stream();
  const cw_code good{.slots = 8, .rows = 2, .k = 4, .m = 2, .row_count = CW_UNKNOWN};
  const auto refusal_of = [&](cw_code code) {
    coding_log().refused.clear();
    stream.on_code(code, world.pair.network().now());
    stream.flush_facts(world.pair.network().now());
    return coding_log().refused.empty() ? 0u : coding_log().refused[0].reason;
  };
  const auto with = [&](auto change) {
    cw_code code = good;
    change(code);
    return refusal_of(code);
  };
  EXPECT_EQ(refusal_of(good), 0u);
  EXPECT_EQ(with([](cw_code& c) { c.message = 5; }), CW_REFUSED_MESSAGE);
  EXPECT_EQ(with([](cw_code& c) { c.codec = 2; }), CW_REFUSED_CODEC);
  EXPECT_EQ(with([](cw_code& c) { c.slot_first = 1; }), CW_REFUSED_RANGE) << "not appended";
  EXPECT_EQ(with([](cw_code& c) { c.m = 0; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.m = 5; }), CW_REFUSED_RANGE) << "m_cap is 4";
  EXPECT_EQ(with([](cw_code& c) { c.k = 5; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.rows = 3, c.k = 3; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.rows = 0; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.row_first = 2; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.row_count = 3; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.row_count = 0; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.repair_first = 65; }), CW_REFUSED_RANGE);
  EXPECT_EQ(with([](cw_code& c) { c.repair_first = 0xfffffffe; }), CW_REFUSED_RANGE);

  const auto send_refusal = [&](uint32_t first, uint32_t count, uint32_t stride) {
    coding_log().refused.clear();
    cw_send send{.first = first, .count = count, .stride = stride, .kind = CW_SEND_REPAIR};
    stream.on_send(send, world.pair.network().now());
    stream.flush_facts(world.pair.network().now());
    return coding_log().refused.empty() ? 0u : coding_log().refused[0].reason;
  };
  EXPECT_EQ(send_refusal(128, 4, 1), 0u);
  EXPECT_EQ(send_refusal(128, 5, 1), CW_REFUSED_RANGE) << "not coded";
  EXPECT_EQ(send_refusal(127, 2, 1), CW_REFUSED_RANGE) << "data";
  EXPECT_EQ(send_refusal(128, 2, 0xffffffff), CW_REFUSED_RANGE);
  EXPECT_EQ(send_refusal(0xffffffff, 1, 1), CW_REFUSED_RANGE);
}

TEST(HostileCoding, layouts_that_do_not_fit_are_refused_and_others_hold_from_the_next_block) {
  World world(coding_site(small),
              {.messages = 1, .bytes_of = [](uint64_t) { return 24 * payload; }});
  const auto lay = [&](uint32_t codec, uint16_t rows, uint8_t k, uint8_t m) {
    coding_log().refused.clear();
    world.pair.a->send_stream().seat().current().set_layout({codec, rows, k, m});
    world.pair.a->send_stream().flush_facts(world.pair.network().now());
    return coding_log().refused.empty() ? 0u : coding_log().refused[0].reason;
  };
  EXPECT_EQ(lay(2, 2, 4, 2), CW_REFUSED_CODEC);
  EXPECT_EQ(lay(0, 2, 4, 3), CW_REFUSED_RANGE);
  EXPECT_EQ(lay(0, 3, 2, 1), CW_REFUSED_RANGE);
  EXPECT_EQ(lay(0, 0, 4, 1), CW_REFUSED_RANGE);
  EXPECT_EQ(lay(0, 1, 0, 1), CW_REFUSED_RANGE);
  EXPECT_EQ(lay(1, 1, 4, 4), 0u);
}

// ---- the configuration --------------------------------------------------------------------------

TEST(HostileCoding,
     a_stream_that_cannot_be_coded_is_refused_in_a_sentence_that_says_what_would_fit) {
  const auto why = [](auto change) {
    sdr::StreamConfig stream = coded_stream(small, 128);
    change(stream);
    const auto checked = sdr::check(stream);
    return checked ? std::string() : checked.error().sentence;
  };
  EXPECT_EQ(why([](sdr::StreamConfig&) {}), "");
  EXPECT_NE(why([](auto& s) { s.repair_slots_max = 60; }).find("64 would"), std::string::npos);
  EXPECT_NE(why([](auto& s) { s.m_cap = 0; }), "");
  EXPECT_NE(why([](auto& s) { s.codecs = {}; }).find("codec"), std::string::npos);
  EXPECT_NE(why([](auto& s) { s.rows = s.k = 0; }).find("rows and k"), std::string::npos);
  EXPECT_NE(why([](auto& s) { s.data_slots_max = 7; }).find("larger than a message"),
            std::string::npos);
  EXPECT_NE(why([](auto& s) { s.split = ImmediateSplit(10, 7, 15); }).find("would fit"),
            std::string::npos);
  EXPECT_NE(why([](auto& s) {
              s.messages = 1024;
              s.data_slots_max = 65536;
              s = sdr::coded(s, {.k = 4, .rows = 2, .m_cap = 4}, code::all());
            }).find("bytes"),
            std::string::npos);
}

TEST(HostileCoding, ends_with_other_codecs_do_not_come_up_and_say_so) {
  SiteOptions a = coding_site(small), b = a;
  std::swap(b.stream.codecs[0], b.stream.codecs[1]);
  WireScript script;
  Pair pair({.a = a, .b = b}, script);
  EXPECT_FALSE(pair.run_until([&] { return pair.are_up(); }, 1_s));
  EXPECT_NE(pair.a->link().why().find("qp0.codecs is rs/1,xor/1 here"), std::string::npos)
      << pair.a->link().why();
}

// ---- threads ------------------------------------------------------------------------------------

std::atomic<bool> is_gate_open;
std::atomic<uint32_t> at_gate, coded_by_others;
std::thread::id owner;
uint32_t coded_by_owner;

void gated_encode(const void* table, const cw_shard* data, const cw_shard* repair, uint32_t count,
                  void* scratch) {
  if (std::this_thread::get_id() == owner) {
    ++coded_by_owner;
  } else {
    at_gate.fetch_add(1);
    is_gate_open.wait(false);
    coded_by_others.fetch_add(1);
  }
  cw_codec_rs()->encode(table, data, repair, count, scratch);
}

/// `rs`, which stands still on every thread but the test's until the gate opens.
const cw_codec_ops& gated_codec() {
  static const cw_codec_ops ops = [] {
    cw_codec_ops made = *cw_codec_rs();
    made.encode = gated_encode;
    return made;
  }();
  is_gate_open = false;
  at_gate = coded_by_others = coded_by_owner = 0;
  owner = std::this_thread::get_id();
  return ops;
}

void open_gate() {
  is_gate_open = true;
  is_gate_open.notify_all();
}

SiteOptions threaded_site(uint64_t turn_work_max) {
  SiteOptions site = coding_site({.k = 8, .m = 4, .rows = 2, .resend_ms = 50});
  site.stream.codecs[0] = &gated_codec();
  site.coding.executor = {.turn_work_max = turn_work_max, .threads = 1};
  return site;
}

TEST(HostileCoding, a_codec_that_stands_still_stalls_no_turn_and_no_data) {
  World world(threaded_site(0),
              {.messages = 3, .bytes_of = [](uint64_t) { return 128 * payload; }});
  // Simulated time stands still while the thread does: turns go on, and data leaves.
  uint64_t turns = 0;
  // On a busy machine the thread may take its time to come there: 20,000 turns are some 10 ms.
  const auto is_enough = [&] { return ++turns >= 20'000 && (at_gate == 1 || turns == 50'000'000); };
  (void)world.pair.run_until(is_enough, 10_s);
  EXPECT_GT(turns, 19'000u);
  EXPECT_EQ(coded_by_owner, 0u) << "the longest turn, in rows";
  EXPECT_EQ(at_gate, 1u);
  open_gate();
  EXPECT_TRUE(world.is_done_within(3_s));
  EXPECT_EQ(coded_by_owner, 0u);
  EXPECT_EQ(world.complaint(), "");
}

TEST(HostileCoding, rows_are_coded_right_wherever_they_are) {
  for (const uint64_t budget : {uint64_t{0}, uint64_t{8 * 4 * payload}, uint64_t{1'000'000}}) {
    const SiteOptions site = threaded_site(budget);
    open_gate();
    World world(site, {.messages = 30, .bytes_of = [](uint64_t i) { return i * 4099 % 131'000; }},
                [](uint32_t slot, bool is_repair) { return !is_repair && slot % 3 == 0; });
    EXPECT_TRUE(world.is_done_within(10_s));
    EXPECT_EQ(world.transfer.whole_count(), 30u);
    EXPECT_EQ(world.complaint(), "");
    EXPECT_EQ(coded_by_owner == 0, budget == 0);
    EXPECT_GT(world.at_b(Counter::slots_rebuilt), 500u);
  }
}

TEST(HostileCoding, a_message_that_ends_under_the_codec_keeps_its_memory_until_the_row_is_back) {
  SiteOptions site = threaded_site(0);
  WireScript script;
  Pair pair({.a = site, .b = site, .wire = {.delay = 2_ms}}, script);
  pair.courier().stop();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  pair.run_for(50_ms);
  sdr::SendStream& stream = pair.a->send_stream();
  auto memory = std::make_unique<uint8_t[]>(32 * payload);
  const auto handle = stream.try_open({});
  ASSERT_TRUE(handle);
  ASSERT_TRUE(stream.append(*handle, 0, {memory.get(), 32 * payload}));
  ASSERT_TRUE(stream.close(*handle));
  uint64_t turns = 0;
  (void)pair.run_until([&] { return at_gate == 1 || ++turns > 10'000'000; }, 1_s);
  ASSERT_EQ(at_gate, 1u);
  stream.cancel(*handle, pair.network().now());
  EXPECT_EQ(stream.status(*handle), sdr::MessageStatus::GivenUp);
  EXPECT_FALSE(stream.is_released(*handle)) << "a codec still reads its memory";
  EXPECT_FALSE(stream.is_growing(*handle));
  turns = 0;
  (void)pair.run_until([&] { return ++turns > 1000; }, 1_s);
  EXPECT_FALSE(stream.is_released(*handle));
  open_gate();
  EXPECT_TRUE(pair.run_until([&] { return stream.is_released(*handle); }, 1_s));
  stream.forget(*handle);
  EXPECT_TRUE(pair.run_until([&] { return stream.live_count() == 0; }, 1_s))
      << "its place is free again";
}

TEST(HostileCoding, an_end_that_goes_waits_for_its_codec_and_another_begins_anew) {
  SiteOptions site = threaded_site(0);
  open_gate();
  WireScript script;
  Pair pair({.seed = 5,
             .a = site,
             .b = site,
             .wire = {.loss = 0.02, .delay = 2_ms},
             .courier = {.bytes_max = 100'000}},
            script);
  for (int life = 0; life < 6; ++life) {
    EXPECT_TRUE(pair.delivers(20, 20_s)) << life;
    life % 2 ? pair.restart_sender() : pair.restart_receiver();
  }
  EXPECT_TRUE(pair.delivers(20, 20_s));
  EXPECT_EQ(pair.courier().complaint(), "");
}

}  // namespace
}  // namespace cw::sim
