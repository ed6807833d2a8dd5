// Each field of a decision, and a deadline, as a real stream obeys it. policies/fields.md lists
// which test sees which field.
#include "tests/sim/sdr/fields_world.h"
#include "tests/sim/sdr/slots_world.h"

namespace cw::sim {
namespace {
using namespace fields;

// ---- deadlines ----

TEST(PolicyFields, what_has_not_left_by_its_deadline_does_not_leave) {
  SiteOptions options = site();
  options.rate = 10_Mbps;  // a slot takes 0.9 ms
  World world(options);
  const sdr::SendHandle late = world.open(64 * payload, {.deadline = world.now() + 20_ms});
  const sdr::SendHandle next = world.open(4 * payload);
  world.pair.run_for(20_ms);
  const uint64_t sent = world.count_at_a(Counter::data_sent);
  EXPECT_LT(sent, 30u);
  world.pair.run_for(200_ms);
  EXPECT_EQ(world.count_at_a(Counter::data_sent), sent + 4) << "the next message's";
  EXPECT_EQ(world.status(late), sdr::MessageStatus::GivenUp);
  EXPECT_EQ(world.received(0).status, sdr::MessageStatus::GivenUp);
  EXPECT_EQ(world.received(1).slots_in_place, 4u);
  EXPECT_EQ(world.status(next), sdr::MessageStatus::Open);
}

TEST(PolicyFields, what_is_not_settled_by_its_deadline_is_given_up) {
  World world;
  const Instant deadline = world.now() + 300_ms;
  const sdr::SendHandle handle = world.send(6, {.deadline = deadline});
  world.decide(CW_DECIDE_FINISH, [](auto& u) { u.finish = {.first = 0, .count = 2}; });
  EXPECT_EQ(world.status(handle), sdr::MessageStatus::Open);
  world.pair.run_until([&] { return world.status(handle) != sdr::MessageStatus::Open; }, 1_s);
  EXPECT_EQ(world.status(handle), sdr::MessageStatus::GivenUp);
  EXPECT_EQ(world.now(), deadline);
  ASSERT_EQ(scribe().source().expired.size(), 1u);
  const cw_fact_expired& expired = scribe().source().expired[0];
  EXPECT_EQ(expired.message, 0u);
  EXPECT_EQ(expired.first, 2u) << "what was settled is";
  EXPECT_EQ(expired.count, 4u);
  EXPECT_EQ(expired.state, scribe().source().opened[0].state);
}

TEST(PolicyFields, a_deadline_bounds_what_a_send_asks_for) {
  World world;
  world.open(2 * payload, {.deadline = world.now() + 100_ms});
  world.pair.run_for(1_ms);
  const int64_t late = (world.now() + 150_ms).ns();
  world.decide_send({.first = 0,
                     .count = 1,
                     .stride = 1,
                     .kind = CW_SEND_RESEND,
                     .not_before_ns = late,
                     .drop_after_ns = late + 1'000'000});
  world.pair.run_for(500_ms);
  EXPECT_EQ(world.count_at_a(Counter::resends_sent), 0u);
}

// ---- decisions ----

TEST(PolicyFields, a_send_names_its_slots_its_kind_and_its_times) {
  World world;
  scribe().sends = false;
  world.send(9);
  const int64_t at = (world.now() + 30_ms).ns();
  world.decide_send({.message = 0,
                     .first = 1,
                     .count = 3,
                     .stride = 3,
                     .kind = CW_SEND_RESEND,
                     .not_before_ns = at});
  EXPECT_EQ(world.count_at_a(Counter::resends_sent), 3u);
  EXPECT_EQ(world.count_at_a(Counter::data_sent), 0u);
  ASSERT_EQ(scribe().source().sent.size(), 1u);
  EXPECT_EQ(scribe().source().sent[0].first, 1u);
  EXPECT_EQ(scribe().source().sent[0].stride, 3u);
  EXPECT_EQ(scribe().source().sent[0].kind, CW_SEND_RESEND);
  EXPECT_GE(scribe().source().sent[0].departed_ns, at);
  EXPECT_EQ(scribe().sink().words.back(), 0b10010010u);
  world.decide_send({.first = 0,
                     .count = 1,
                     .stride = 1,
                     .kind = CW_SEND_DATA,
                     .drop_after_ns = world.now().ns() - 1});
  ASSERT_EQ(scribe().source().refused.size(), 1u);
  EXPECT_EQ(scribe().source().refused[0].reason, CW_REFUSED_EXPIRED);
  world.decide_send({.message = 5, .first = 0, .count = 1, .stride = 1});
  EXPECT_EQ(scribe().source().refused.back().reason, CW_REFUSED_MESSAGE);
  EXPECT_EQ(scribe().source().refused.back().state, nullptr);
}

TEST(PolicyFields, not_last_avoids_the_path_that_took_this_slot_last) {
  World world(site(2));
  world.send(4);
  for (const uint32_t slot : {0, 1, 2, 3}) {
    const uint16_t path = last_path_of(slot);
    world.decide_send({.first = slot,
                       .count = 1,
                       .stride = 1,
                       .kind = CW_SEND_RESEND,
                       .path_choice = CW_CHOOSE_NOT_LAST});
    EXPECT_NE(last_path_of(slot), path) << "slot " << slot;
  }
}

TEST(PolicyFields, a_note_carries_its_bytes_so_many_times) {
  World world;
  world.decide(CW_DECIDE_NOTE, [](auto& u) { u.note = {.offset = 1, .count = 3, .repeat = 2}; });
  world.pair.run_for(200_ms);
  const std::vector<uint8_t> bytes{11, 12, 13};
  EXPECT_EQ(scribe().sink().notes, (std::vector<std::vector<uint8_t>>{bytes, bytes}));
}

TEST(PolicyFields, a_finish_settles_a_message_from_its_front) {
  World world;
  const sdr::SendHandle handle = world.send(4);
  const auto finish = [&](uint32_t message, uint32_t first, uint32_t count, uint32_t status) {
    world.decide(CW_DECIDE_FINISH, [&](auto& u) { u.finish = {message, first, count, status}; });
  };
  finish(0, 2, 2, CW_FINISH_OK);
  EXPECT_EQ(world.status(handle), sdr::MessageStatus::Open) << "not from the front";
  finish(0, 0, 2, CW_FINISH_OK);
  EXPECT_EQ(world.status(handle), sdr::MessageStatus::Open);
  finish(0, 2, CW_UNKNOWN, CW_FINISH_OK);
  EXPECT_EQ(world.status(handle), sdr::MessageStatus::Done);
  const sdr::SendHandle other = world.send(4);
  finish(1, 0, 4, CW_FINISH_GIVEN_UP);
  EXPECT_EQ(world.status(other), sdr::MessageStatus::GivenUp);
  world.pair.b->receives().complete(world.handles[0], world.now());
  world.pair.b->receives().complete(world.handles[1], world.now());
  world.pair.run_for(100_ms);
  EXPECT_EQ(scribe().source().ended, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(scribe().sink().ended, (std::vector<uint32_t>{0, 1}));
}

TEST(PolicyFields, a_layout_shapes_the_blocks_that_are_opened_from_then_on) {
  World world(coded_site());
  world.decide(CW_DECIDE_LAYOUT,
               [](auto& u) { u.layout = {.codec = 1, .rows = 1, .k = 3, .m = 2}; });
  world.send(3);
  for (const Heard* heard : {&scribe().source(), &scribe().sink()}) {
    ASSERT_EQ(heard->block_closed.size(), 1u);
    EXPECT_EQ(heard->block_closed[0].codec, 1u);
    EXPECT_EQ(heard->block_closed[0].rows, 1u);
    EXPECT_EQ(heard->block_closed[0].k, 3u);
    EXPECT_EQ(heard->block_closed[0].m, 2u);
  }
}

TEST(PolicyFields, what_is_released_does_not_grow_too_old) {
  scribe() = {};
  PairOptions options = slots_pair(scribe_policy());
  options.a.send.hold = options.b.send.hold = 100_ms;
  SlotsWorld world(options);
  ASSERT_TRUE(world.comes_up());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.append(400));
  scribe().want(CW_SOURCE, CW_DECIDE_RELEASE).u.release = {.message = 0, .up_to = 3};
  world.pair.run_for(300_ms);
  const std::vector<cw_fact_expired>& expired = scribe().source().expired;
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].first + expired[0].count, 5u);
  EXPECT_EQ(world.count_at_a(Counter::slots_abandoned), 2u);
}

TEST(PolicyFields, a_sink_that_sends_or_asks_hears_that_it_is_not_its_affair) {
  World world;
  scribe().want(CW_SINK, CW_DECIDE_SEND).u.send = {.first = 0, .count = 1, .stride = 1};
  scribe().want(CW_SINK, CW_DECIDE_ASK).u.ask = {.message = 0, .peer = 0, .first = 2, .count = 7};
  world.send(4);
  ASSERT_EQ(scribe().sink().refused.size(), 2u);
  EXPECT_EQ(scribe().sink().refused[0].decision, CW_DECIDE_SEND);
  EXPECT_EQ(scribe().sink().refused[1].decision, CW_DECIDE_ASK);
  EXPECT_EQ(scribe().sink().refused[1].first, 2u);
  EXPECT_EQ(scribe().sink().refused[1].count, 7u);
  for (const cw_fact_refused& refused : scribe().sink().refused) {
    EXPECT_EQ(refused.reason, CW_REFUSED_SEAT);
  }
}

TEST(PolicyFields, decisions_that_do_not_fit_are_asked_for_again_in_the_same_turn) {
  World world;
  world.send(4);
  for (uint64_t cookie = 0; cookie < 200; ++cookie) {
    scribe().want(CW_SOURCE, CW_DECIDE_TIMER).u.timer = {.cookie = cookie % 50,
                                                         .at_ns = (world.now() + 10_ms).ns()};
  }
  world.decide(CW_DECIDE_TIMER, [&](auto& u) { u.timer = {50, (world.now() + 10_ms).ns()}; });
  EXPECT_EQ(scribe().source().resumes, 1u) << "128 fit";
  EXPECT_EQ(scribe().source().timers.size(), 51u);
}

}  // namespace
}  // namespace cw::sim
