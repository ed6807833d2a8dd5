// Runs that once went wrong, each with what was wrong. They were found by the swarm and by the
// stories; the story of a fixed fault stays here for good.
#include <gtest/gtest.h>

#include "tests/sim/sdr/intruder.h"
#include "tests/sim/sdr/story.h"

namespace cw::sim {
namespace {
using namespace literals;

// A probe that was due, without any record of state being due, was asked for and never sent: the
// sender wanted a turn at once, for ever.
TEST(Regress, a_sender_that_only_waits_probes_and_then_sleeps) {
  // Holes stay, so that the receiver completes nothing and has nothing to say.
  Story story({.site = site_under(cw_policy_passthrough()),
               .transfer = {.messages = 20},
               .wire = {.loss = 0.3, .delay = 5_ms}});
  story.run_faults(2_s);
  EXPECT_EQ(story.stage.complaint(), std::nullopt);
  EXPECT_GE(story.a.counters().read_any_thread(Counter::probes_sent), 2u);
  EXPECT_LT(story.stage.turn_count(), 20'000u);
}

// A resend avoided the path of the message's latest packet instead of the slot's own: with one of
// two paths dead to data every second one was lost again.
TEST(Regress, a_resend_takes_another_path_than_its_slot_took) {
  WireScript script;
  uint64_t lost = 0;
  script.data = [&](const Packet& packet) {
    if (packet.path == 0) return Fate::Pass;
    return ++lost, Fate::Lose;
  };
  PairOptions options = reliable_pair();
  options.a.paths = options.b.paths = 2;
  options.courier.messages = 200;
  Pair pair(options, script);
  ASSERT_TRUE(pair.run_until([&] { return pair.courier().is_done(); }, 60_s));
  EXPECT_EQ(pair.courier().complaint(), "");
  const uint64_t resent = pair.a->counters().read_any_thread(Counter::resends_sent);
  const uint64_t sent = pair.a->counters().read_any_thread(Counter::data_sent);
  EXPECT_GE(lost, sent / 3);
  EXPECT_LE(lost, sent / 2 + sent / 20);
  EXPECT_LE(resent, lost + lost / 10);
}

// Echoes named one path and took another, so that all paths seemed equally long.
TEST(Regress, every_path_is_measured_by_itself) {
  SiteOptions site = site_under(cw_policy_selective_repeat());
  site.paths = 3;
  Story story({.site = site, .transfer = {.messages = 300}, .wire = {.delay = 5_ms}});
  for (uint16_t path = 0; path < site.paths; ++path) {
    story.set_forward(path, {.delay = 5_ms * (path + 1)});
  }
  story.run_faults(2_s);
  for (uint16_t path = 0; path < site.paths; ++path) {
    const Duration rtt = story.a.link().path_state(path, story.network.now()).rtt_smoothed;
    EXPECT_NEAR(rtt.ms(), 10 + 5 * path, 0.5) << "path " << path;
  }
}

// A sink was told of messages in the order of their first packets. When all of one was lost and the
// next arrived, go_back_n took the lost one for settled, and its receive waited for ever.
TEST(Regress, a_message_of_which_nothing_arrived_is_missed_under_every_policy) {
  for (const cw_policy_ops* policy : {cw_policy_go_back_n(), cw_policy_selective_repeat()}) {
    Story story({.site = site_under(policy),
                 .transfer = {.messages = 500, .bytes_of = [](uint64_t) { return uint64_t{100}; }},
                 .wire = {.loss = 0.1, .delay = 2_ms}});
    story.run_faults(20_s);
    EXPECT_EQ(story.run_calm(), "") << policy->name;
    EXPECT_EQ(story.transfer.whole_count(), 500u);
  }
}

// Reports of all paths had to fit into one envelope; where they did not, the first ones were sent
// again and again.
TEST(Regress, reports_of_many_paths_fit_into_small_envelopes) {
  SiteOptions site = site_under(cw_policy_selective_repeat());
  site.paths = 16;
  site.stream.payload_bytes = 256;
  Story story({.site = site, .transfer = {.messages = 100}, .wire = {.delay = 5_ms}});
  story.run_faults(2_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_LT(story.stage.turn_count(), 20'000u);
}

// Seed 476 of the swarm. Data of the old epoch, then what begins the new one, in one burst: when
// the burst was done, path reports were due for the data, the link was down and could not say them,
// and the receiver wanted a turn at once until it was up again.
TEST(Regress, an_epoch_that_ends_within_a_burst_leaves_nobody_wanting_turns_at_once) {
  Recorded recorded;
  bool is_new_life = false;
  Pair* running = nullptr;
  WireScript script;
  script.data = [&](const Packet& packet) { return recorded.take_data(packet); };
  script.control = [&](const Packet&) {
    if (is_new_life) inject(*running, recorded.data);
    return Fate::Pass;
  };
  const WireScript calm;
  Pair pair(reliable_pair(), script, calm);
  running = &pair;
  ASSERT_TRUE(pair.delivers(10, 3_s));
  pair.restart_sender();
  is_new_life = true;
  const uint64_t before = pair.turn_count();
  ASSERT_TRUE(pair.run_until([&] { return pair.are_up(); }, 3_s));
  EXPECT_LT(pair.turn_count() - before, 1000u);
}

/// passthrough, but that what it sends is sent again, as if the first of each were still to leave.
const cw_policy_ops* passthrough_again() {
  static const cw_policy_ops ops = [] {
    cw_policy_ops made = *cw_policy_passthrough();
    made.appended = [](cw_policy* policy, const cw_fact_appended* fact, int64_t now, cw_out* out) {
      cw_policy_passthrough()->appended(policy, fact, now, out);
      for (uint32_t i = 0; i < out->decision_count; ++i) {
        if (out->decisions[i].kind == CW_DECIDE_SEND) {
          out->decisions[i].u.send.kind = CW_SEND_RESEND;
        }
      }
    };
    return made;
  }();
  return &ops;
}

// Seed 901223 of the swarm. go_back_n sent again what had not left yet, all of it arrived, and the
// message was settled with a slot still to leave for the first time. CLOSED waited for that slot,
// which nobody sends of a message that is over, and the receiver waited for CLOSED.
TEST(Regress, a_message_that_is_settled_before_it_has_left_is_closed_all_the_same) {
  Story story({.site = site_under(passthrough_again()),
               .transfer = {.messages = 20},
               .wire = {.delay = 5_ms}});
  story.run_faults(2_s);
  EXPECT_EQ(story.run_calm(), "");
  EXPECT_EQ(story.transfer.whole_count(), 20u);
}

}  // namespace
}  // namespace cw::sim
