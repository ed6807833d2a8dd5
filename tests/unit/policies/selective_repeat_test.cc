#include <gtest/gtest.h>

#include <set>

#include "dataplane/base/prng.h"
#include "policies/parts/note.h"
#include "policies/policies.h"
#include "tests/unit/policies/scripted_host.h"

namespace cw::policy_test {
namespace {
using namespace literals;

constexpr double rto = 0, nack = 1;
const cw_policy_ops& policy() { return *cw_policy_selective_repeat(); }

/// Loses the given slot of message 7 the first `times` times it leaves.
auto losing(uint32_t slot, uint32_t times = 1) {
  return [=](const Transmission& t) { return t.slot == slot && t.attempt < times; };
}

Instant departure_of(const Host& host, uint32_t slot, uint32_t attempt = 0) {
  for (const Transmission& t : host.sent) {
    if (t.slot == slot && t.attempt == attempt) return t.departed;
  }
  return Instant::never();
}

class BothDetections : public testing::TestWithParam<double> {
 protected:
  std::map<std::string, double> params() const { return {{"detect", GetParam()}}; }
};
INSTANTIATE_TEST_SUITE_P(SelectiveRepeat, BothDetections, testing::Values(rto, nack),
                         [](auto& detect) { return detect.param == rto ? "rto" : "nack"; });

TEST_P(BothDetections, nothing_is_resent_without_loss) {
  Host host(policy(), params());
  for (uint32_t m = 7; m < 12; ++m) host.send(m, 2048);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.finished_at_source.size(), 5u);
  EXPECT_EQ(host.finished_at_sink.size(), 5u);
  EXPECT_FALSE(host.has_timer());
}

TEST_P(BothDetections, completion_is_acknowledged_in_the_burst_that_completes) {
  Host host(policy(), params());
  host.send(7, 100);
  host.run();
  // The last burst of 100 slots leaves at 100 us; CLOSED comes with it.
  EXPECT_EQ(host.finished_at_source[7], Instant::from_ns(1'000'000) + 100_us + 25_ms);
}

// All that a message may have is in place, and how long it is has yet to be told.
TEST_P(BothDetections, no_bit_behind_the_last_slot_is_read) {
  constexpr uint32_t slots_max = 256;
  Host host(policy(), params(), {}, 16, slots_max);
  host.open(7);
  host.append(7, 0, slots_max);
  host.run(host.now() + 200_ms);
  ASSERT_GE(host.notes, 1u);
  // Of the window, one run of words that are full: a byte.
  constexpr uint32_t note_bytes = policy::note_layout::bytes_min - 8;
  EXPECT_LE(host.note_bytes_sent, host.notes * note_bytes);
}

TEST_P(BothDetections, a_lost_tail_is_found) {
  Host host(policy(), params(),
            {.is_lost = [](auto& t) { return t.slot >= 90 && t.attempt == 0; }});
  host.send(7, 100);
  host.run();
  EXPECT_EQ(host.resent().size(), 10u);
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST_P(BothDetections, a_link_that_is_down_is_probed_with_back_off) {
  const Host* self = nullptr;
  Host host(policy(), params(),
            {.is_lost = [](auto& t) { return t.departed.ns() < 1'000'000'000; },
             .is_note_lost = [&](uint64_t, bool) { return self->now().ns() < 1'000'000'000; }});
  self = &host;
  host.send(7, 1000);
  host.run();
  EXPECT_EQ(host.status_at_source[7], uint32_t{CW_FINISH_OK});
  size_t during = 0;
  for (const Transmission& t : host.resent()) during += t.departed.ns() < 1'000'000'000;
  // RTO is 75 ms: sixteen slots each at 75, 225 and 525 ms, and no more within the second.
  EXPECT_EQ(during, 3u * 16);
}

TEST_P(BothDetections, duplicates_on_the_wire_do_no_harm) {
  Host host(policy(), params(), {.is_doubled = [](auto&) { return true; }});
  host.send(7, 500);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST_P(BothDetections, lost_notes_cost_time_and_nothing_else) {
  Prng prng(5);
  Host host(policy(), params(),
            {.is_lost = [&](auto&) { return prng.chance(0.05); },
             .is_note_lost = [&](uint64_t, bool) { return prng.chance(0.3); }});
  for (uint32_t m = 7; m < 10; ++m) host.send(m, 3000);
  host.run();
  EXPECT_EQ(host.finished_at_sink.size(), 3u);
  EXPECT_EQ(host.finished_at_source.size(), 3u);
}

TEST_P(BothDetections, nothing_leaves_twice_within_an_rtt) {
  Prng prng(11);
  Host host(policy(), params(), {.is_lost = [&](auto&) { return prng.chance(0.1); }});
  host.send(7, 4000);
  host.run();
  std::map<uint32_t, Instant> last;
  for (const Transmission& t : host.sent) {
    if (last.contains(t.slot)) {
      EXPECT_GE(t.departed - last[t.slot], 25_ms) << t.slot;
    }
    last[t.slot] = t.departed;
  }
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

// Ten times as many slots are on their way again as there is room for.
TEST_P(BothDetections, much_loss_makes_no_haste) {
  Prng prng(12);
  size_t lost = 0;
  Host host(policy(), params(), {.is_lost = [&](auto&) {
              const bool is_lost = prng.chance(0.3);
              lost += is_lost;
              return is_lost;
            }});
  for (uint32_t m = 7; m < 15; ++m) host.send(m, 4000);
  host.run();
  EXPECT_EQ(host.finished_at_source.size(), 8u);
  EXPECT_GT(lost, 10'000u);
  EXPECT_LE(host.resent().size() - lost, lost / 20);
}

TEST_P(BothDetections, exactly_the_lost_transmissions_are_repeated) {
  Prng prng(3);
  size_t lost = 0;
  Host host(policy(), params(), {.is_lost = [&](auto&) {
              const bool is_lost = prng.chance(0.02);
              lost += is_lost;
              return is_lost;
            }});
  host.send(7, 4000);
  host.run();
  EXPECT_GT(lost, 40u);
  EXPECT_EQ(host.resent().size(), lost);
}

TEST_P(BothDetections, a_range_of_300000_slots_costs_what_one_slot_costs) {
  const auto decisions_of = [&](uint32_t slots) {
    Host host(
        policy(), params(),
        {.slot_time = 1_ns, .burst = 300'000, .is_lost = [](auto& t) { return t.attempt == 0; }},
        16, 1u << 19);
    host.send(7, slots);
    host.run(Instant::from_ns(1'000'000) + 60_ms);  // before any probe
    const uint64_t before = host.decisions;
    EXPECT_LE(host.sends.size(), 2u);
    return before;
  };
  EXPECT_EQ(decisions_of(1), decisions_of(300'000));
}

TEST_P(BothDetections, refused_sends_are_tried_again) {
  int refusals = 3;
  Host host(policy(), params(), {.is_refused = [&](auto&) { return refusals-- > 0; }});
  host.send(7, 100);
  host.run();
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
  EXPECT_EQ(host.sent.size(), 100u);
}

TEST_P(BothDetections, slots_appended_out_of_order_are_not_taken_for_lost) {
  Host host(policy(), params());
  host.open(7);
  host.append(7, 500, 500);
  host.run(host.now() + 40_ms);
  host.append(7, 0, 500);
  host.close(7, 1000);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST_P(BothDetections, closed_long_before_the_slots_leave_is_not_a_lost_tail) {
  Host host(policy(), params(), {.slot_time = 50_us});  // 4000 slots take 200 ms
  host.open(7);
  host.append(7, 0, 4000);
  host.at(host.now() + 13_ms, [&] { host.close_sink(7, 4000); });
  host.close(7, 4000);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
}

TEST_P(BothDetections, what_the_core_gave_up_is_neither_asked_for_nor_resent) {
  Host host(policy(), params(), {.is_lost = [](auto& t) { return t.slot == 50; }});
  host.send(7, 100);
  host.run(host.now() + 20_ms);
  host.expire(CW_SINK, 7, 50, 1);
  EXPECT_EQ(host.status_at_sink[7], uint32_t{CW_FINISH_OK});
  host.run();
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
  EXPECT_LE(host.resent().size(), 1u);
}

TEST_P(BothDetections, a_drain_settles_what_cannot_be_repaired_by_its_deadline) {
  Host host(policy(), params(), {.is_lost = [](auto& t) { return t.slot == 50; }});
  host.send(7, 100);
  host.run(host.now() + 30_ms);
  const Instant by = host.now() + 200_ms;
  host.drain(200_ms);
  host.run();
  EXPECT_EQ(host.status_at_source[7], uint32_t{CW_FINISH_GIVEN_UP});
  EXPECT_EQ(host.status_at_sink[7], uint32_t{CW_FINISH_GIVEN_UP});
  EXPECT_LE(host.finished_at_source[7], by);
  EXPECT_LE(host.finished_at_sink[7], by);
  EXPECT_FALSE(host.has_timer());
}

// A sink can only miss what has left; one that asks for more is wrong, or worse.
TEST_P(BothDetections, what_has_not_left_yet_is_not_sent_again_whoever_asks) {
  Host host(policy(), params(), {.slot_time = 50_us});
  host.send(7, 4000);
  host.run(host.now() + 50_ms);
  ASSERT_LT(host.sent.size(), 2000u);
  std::vector<uint8_t> bytes(256);
  policy::NoteWriter note(bytes);
  note.section({7, 0, policy::note_layout::wanted, 32, 16}, [](uint32_t) { return ~uint64_t{0}; });
  bytes.resize(note.used());
  host.note(CW_SOURCE, bytes);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST(SelectiveRepeatRto, a_lost_slot_is_resent_once_at_departure_plus_rto) {
  Host host(policy(), {{"detect", rto}}, {.is_lost = losing(50)});
  host.send(7, 200);
  host.run();
  ASSERT_EQ(host.resent().size(), 1u);
  EXPECT_EQ(host.resent()[0].slot, 50u);
  const Duration waited = host.resent()[0].departed - departure_of(host, 50);
  EXPECT_GE(waited, 75_ms);
  EXPECT_LE(waited, 75_ms + 25_ms / 128 + 1_us);
}

TEST(SelectiveRepeatRto, every_loss_of_a_slot_costs_one_more_rto) {
  Host host(policy(), {{"detect", rto}}, {.is_lost = losing(50, 3)});
  host.send(7, 200);
  host.run();
  ASSERT_EQ(host.resent().size(), 3u);
  EXPECT_GE(host.resent()[2].departed - departure_of(host, 50), 75_ms * 3);
  EXPECT_LE(host.resent()[2].departed - departure_of(host, 50), 75_ms * 3 + 1_ms);
}

// Seed 101135 of the SDR swarm: the first and the last message are complete and told so three times
// in vain, and what the core says of them waits for the second.
TEST(SelectiveRepeatRto, a_message_between_two_that_nobody_answers_for_is_asked_about_too) {
  const Host* self = nullptr;
  Host host(policy(), {{"detect", rto}},
            {.is_lost = [](auto& t) { return t.message == 8 && t.attempt == 0; },
             .is_note_lost = [&](uint64_t, bool) { return self->now() < Instant() + 60_ms; }});
  self = &host;
  for (uint32_t m = 7; m < 10; ++m) host.send(m, 1);
  host.run(Instant() + 500_ms);
  EXPECT_EQ(host.finished_at_sink.size(), 3u);
}

// The acknowledgement of what left at first, and was late, says nothing of what was sent again.
TEST(SelectiveRepeatRto, a_question_is_not_answered_by_what_was_late) {
  Host host(policy(), {{"detect", rto}},
            {.slot_time = 20_us, .lateness = [](auto&) { return 120_ms; }});
  host.send(7, 3000);
  host.run();
  EXPECT_LE(host.resent().size(), 32u) << "3,000 were on their way, and none was lost";
  EXPECT_EQ(host.finished_at_source.count(7), 1u);
}

TEST(SelectiveRepeatNack, a_lost_slot_is_resent_one_rtt_after_it_left) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 0}}, {.is_lost = losing(50)});
  host.send(7, 200);
  host.run();
  ASSERT_EQ(host.resent().size(), 1u);
  const Duration waited = host.resent()[0].departed - departure_of(host, 50);
  EXPECT_GE(waited, 25_ms);
  EXPECT_LE(waited, 25_ms + 100_us);
}

TEST(SelectiveRepeatNack, a_lost_resend_costs_one_more_rtt) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 0}}, {.is_lost = losing(50, 4)});
  host.send(7, 200);
  host.run();
  ASSERT_EQ(host.resent().size(), 4u);
  EXPECT_LE(host.resent()[3].departed - departure_of(host, 50), 25_ms * 4 + 25_ms * 3 / 30);
}

TEST(SelectiveRepeatNack, a_lost_note_is_made_up_for_by_the_next) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 0}},
            {.is_lost = losing(50), .is_note_lost = [](uint64_t n, bool) { return n == 0; }});
  host.send(7, 200);
  host.run();
  ASSERT_EQ(host.resent().size(), 1u);
  EXPECT_LE(host.resent()[0].departed - departure_of(host, 50), 25_ms + 25_ms / 3);
}

TEST(SelectiveRepeatNack, reordering_within_the_budget_asks_for_nothing) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 2e6}},
            {.lateness = [](auto& t) { return t.slot % 7 == 3 ? 1900_us : 0_us; }});
  host.send(7, 4000);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
}

TEST(SelectiveRepeatNack, reordering_beyond_the_budget_asks) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 1e6}},
            {.lateness = [](auto& t) { return t.slot == 3 ? 5_ms : 0_us; }});
  host.send(7, 4000);
  host.run();
  EXPECT_EQ(host.resent().size(), 1u);
}

TEST(SelectiveRepeatNack, skew_between_paths_is_not_loss) {
  Host host(policy(), {{"detect", nack}},
            {.reorder = 100_us, .paths = 2, .skew = 6_ms, .lateness = [](auto& t) {
               return t.slot % 2 == 1 ? 6_ms : 0_us;
             }});
  host.send(7, 4000);
  host.run();
  EXPECT_EQ(host.resent().size(), 0u);
}

TEST(SelectiveRepeatNack, a_lost_fact_does_not_wait_for_the_budget) {
  Host host(policy(), {{"detect", nack}, {"reorder_budget", 20e6}}, {.is_lost = losing(50)});
  host.send(7, 200);
  host.run(host.now() + 13_ms);
  host.lost(7, 50, 1);
  host.run();
  ASSERT_EQ(host.resent().size(), 1u);
  EXPECT_LE(host.resent()[0].departed - departure_of(host, 50), 26_ms);
}

TEST(SelectiveRepeatRto,
     more_departures_than_are_remembered_are_swept_together_and_none_forgotten) {
  // Slots of two messages by turns: no two departures join, and all of them, more than the 16,384
  // that are remembered one by one, are out before the first answer is in.
  constexpr uint32_t slots = 10'000;
  Host host(policy(), {{"detect", rto}},
            {.is_lost = [](auto& t) { return t.attempt == 0 && t.slot % 100 == 7; }}, 16, slots);
  for (uint32_t m : {1, 2}) host.open(m);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    for (uint32_t m : {1, 2}) host.append(m, slot, 1);
  }
  const Instant start = host.now();
  for (uint32_t m : {1, 2}) host.close(m, slots);
  host.run();
  EXPECT_EQ(host.status_at_source[1], uint32_t{CW_FINISH_OK});
  EXPECT_EQ(host.status_at_source[2], uint32_t{CW_FINISH_OK});
  ASSERT_EQ(host.resent().size(), 2 * slots / 100);
  // Late by no more than all departures took: 20 ms.
  EXPECT_LE(host.resent().back().departed - start, 20_ms + 75_ms + 1_ms);
  EXPECT_EQ(host.finished_at_source.size(), 2u);
}

/// Mean completion in ms of messages of 512 slots, 1.31072 us each, at 1 % loss and 25 ms RTT.
double mean_completion(double detect) {
  Prng prng(77);
  constexpr int rounds = 400;
  Duration sum;
  for (int i = 0; i < rounds; ++i) {
    Host host(
        policy(), {{"detect", detect}, {"reorder_budget", 0}},
        {.slot_time = 1311_ns, .burst = 8, .is_lost = [&](auto&) { return prng.chance(0.01); }});
    const Instant start = host.now();
    host.send(7, 512);
    host.run();
    sum += host.finished_at_source[7] - start;
  }
  return sum.ms() / rounds;
}

TEST(SelectiveRepeat, mean_completion_is_that_of_the_papers_model) {
  EXPECT_NEAR(mean_completion(rto), 103.882, 103.882 * 0.05);  // SR3
  EXPECT_NEAR(mean_completion(nack), 51.651, 51.651 * 0.05);   // SR1
}

TEST(SelectiveRepeat, a_link_that_stays_down_is_asked_ever_more_rarely) {
  Host host(
      policy(), {},
      {.is_lost = [](auto&) { return true; }, .is_note_lost = [](uint64_t, bool) { return true; }});
  host.send(7, 1000);
  host.run(Instant::from_ns(60'000'000'000));
  // 75 ms x (1 + 2 + ... + 64) = 9.5 s for the first seven, then one in 4.8 s.
  EXPECT_LE(host.resent().size(), (7u + 11) * 16);
  EXPECT_GE(host.resent().size(), (7u + 10) * 16);
}

TEST(SelectiveRepeat, refuses_an_endpoint_with_a_sentence) {
  std::vector<double> params(policy().param_count, 1);
  cw_env env{};
  env.seat = CW_SEAT_ENDPOINT;
  env.role = CW_SINK;
  env.messages = 1;
  env.params = params.data();
  char why[128] = "";
  struct cw_policy* made = nullptr;
  EXPECT_LT(policy().create(&env, &made, why, sizeof why), 0);
  EXPECT_EQ(std::string(why), "selective_repeat: serves streams only");
}

}  // namespace
}  // namespace cw::policy_test
