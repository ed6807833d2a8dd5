// Each field of a fact, as a policy is told it by a real stream. policies/fields.md lists which
// test sees which field.
#include <algorithm>
#include <array>

#include "dataplane/sdr/seat/policy_needs.h"
#include "tests/sim/sdr/fields_world.h"

namespace cw::sim {
namespace {
using namespace fields;

// ---- what an instance is made for ----

TEST(PolicyFields, an_instance_is_told_its_seat_and_its_stream) {
  const SiteOptions options = coded_site();
  World world(options);
  for (const cw_role role : {CW_SOURCE, CW_SINK}) {
    const cw_env& env = scribe().heard[role].env;
    EXPECT_EQ(env.size, sizeof(cw_env));
    EXPECT_EQ(env.seat, CW_SEAT_STREAM);
    EXPECT_EQ(env.role, role);
    EXPECT_EQ(env.peers, 1u);
    EXPECT_EQ(env.messages, options.stream.messages);
    EXPECT_EQ(env.data_slots_max, options.stream.data_slots_max);
    EXPECT_EQ(env.repair_slots_max, options.stream.repair_slots_max);
    EXPECT_EQ(env.repair_slots_max % env.m_cap, 0u);
    EXPECT_EQ(env.chunk_slots, options.stream.chunk_slots);
    EXPECT_EQ(env.payload_bytes, payload);
    EXPECT_EQ(env.slot_wire_bytes, payload + slot_write_header_bytes);
    EXPECT_GT(env.note_bytes_max, 31u);
    EXPECT_EQ(env.paths, 1u);
    EXPECT_EQ(env.k, 4u);
    EXPECT_EQ(env.rows, 2u);
    EXPECT_EQ(env.m_cap, 4u);
    EXPECT_EQ(env.codecs, code::all().size());
    EXPECT_EQ(env.rate_bps, options.rate.bps());
  }
}

TEST(PolicyFields, a_stream_has_the_blocks_that_its_policy_asks_for) {
  scribe() = {};
  scribe().needs = {.k = 6, .rows = 3, .m_cap = 9};
  const sdr::StreamConfig plain = site().stream;
  const cw_policy_limits needs = sdr::needs_of({scribe_policy(), {}}, plain, {});
  const sdr::StreamConfig stream = sdr::coded(plain, needs, code::all());
  EXPECT_EQ(stream.k, 6u);
  EXPECT_EQ(stream.rows, 3u);
  EXPECT_EQ(stream.m_cap, 9u);
  EXPECT_EQ(stream.repair_slots_max % 9, 0u);
}

TEST(PolicyFields, ends_whose_notes_differ_do_not_come_up) {
  scribe() = {};
  cw_policy_ops other = *scribe_policy();
  other.wire_version = 2;
  PairOptions options{.a = site(), .b = site()};
  options.b.policy = &other;
  const WireScript wire;
  Pair pair(options, wire);
  EXPECT_FALSE(pair.run_until([&] { return pair.are_up(); }, 3_s));
}

// ---- facts of a message ----

TEST(PolicyFields, opened_tells_what_the_application_has_hinted) {
  World world;
  const Instant deadline = world.now() + 1_s;
  world.send(3, {.kind = CW_HINT_STEP,
                 .expected_bytes = 123'456'789'012,
                 .step = 77,
                 .is_last = true,
                 .deadline = deadline});
  world.send(4);
  ASSERT_EQ(scribe().source().opened.size(), 2u);
  const cw_fact_opened& hinted = scribe().source().opened[0];
  EXPECT_EQ(hinted.message, 0u);
  EXPECT_EQ(hinted.slots, 3u);
  EXPECT_EQ(hinted.hint_kind, CW_HINT_STEP);
  EXPECT_EQ(hinted.hint_bytes, 123'456'789'012u);
  EXPECT_EQ(hinted.hint_step, 77u);
  EXPECT_EQ(hinted.hint_last, 1u);
  EXPECT_EQ(hinted.deadline_ns, deadline.ns());
  const cw_fact_opened& plain = scribe().source().opened[1];
  EXPECT_EQ(plain.message, 1u);
  EXPECT_NE(plain.state, hinted.state);
  EXPECT_EQ(plain.hint_kind, CW_HINT_NONE);
  EXPECT_EQ(plain.deadline_ns, CW_NEVER_NS);
  ASSERT_EQ(scribe().sink().opened.size(), 2u);
  EXPECT_EQ(scribe().sink().opened[1].message, 1u);
}

TEST(PolicyFields, a_new_instance_hears_the_hints_again) {
  World world;
  world.send(3, {.kind = CW_HINT_BULK, .step = 5, .deadline = world.now() + 1_s});
  scribe().source().opened.clear();
  static_cast<uint64_t*>(scribe().source().appended[0].state)[0] = 0;
  sdr::PolicyHost& host = world.pair.a->send_stream().seat().current();
  world.pair.a->send_stream().on_quarantine(host, world.now());
  ASSERT_EQ(scribe().source().opened.size(), 1u);
  EXPECT_EQ(scribe().source().opened[0].hint_step, 5u);
  EXPECT_EQ(scribe().source().opened[0].hint_kind, CW_HINT_BULK);
  EXPECT_NE(scribe().source().opened[0].deadline_ns, CW_NEVER_NS);
}

TEST(PolicyFields, appended_closed_and_sent_tell_the_life_of_slots) {
  World world;
  world.send(5);
  world.send(2);
  const Heard& source = scribe().source();
  ASSERT_EQ(source.appended.size(), 2u);
  EXPECT_EQ(source.appended[1].message, 1u);
  EXPECT_EQ(source.appended[0].first, 0u);
  EXPECT_EQ(source.appended[0].count, 5u);
  EXPECT_EQ(source.appended[0].state, source.opened[0].state);
  for (const Heard* heard : {&scribe().source(), &scribe().sink()}) {
    ASSERT_EQ(heard->closed.size(), 2u);
    EXPECT_EQ(heard->closed[1].message, 1u);
    EXPECT_EQ(heard->closed[1].slots, 2u);
    EXPECT_EQ(heard->closed[1].state, heard->opened[1].state);
  }
  uint32_t psn = source.sent[0].psn_first;
  std::array<uint32_t, 2> slots{};
  int64_t departed_ns = 0;
  for (const cw_fact_sent& sent : source.sent) {
    ASSERT_LT(sent.message, 2u);
    EXPECT_EQ(sent.first, slots[sent.message]);
    EXPECT_EQ(sent.stride, 1u);
    EXPECT_EQ(sent.psn_first, psn);
    EXPECT_EQ(sent.kind, CW_SEND_DATA);
    EXPECT_EQ(sent.path, 0u);
    EXPECT_GT(sent.departed_ns, departed_ns);
    EXPECT_EQ(sent.state, source.opened[sent.message].state);
    slots[sent.message] += sent.count;
    psn += sent.count;
    departed_ns = sent.departed_ns;
  }
  EXPECT_EQ(slots, (std::array<uint32_t, 2>{5, 2}));
}

TEST(PolicyFields, arrived_shows_the_bitmap_as_it_is) {
  WireScript script;
  SiteOptions options = site();
  options.stream.data_slots_max = 128;
  script.data = [&](const Packet& packet) {
    return slot_of(packet, options.stream) == 66 ? Fate::Lose : Fate::Pass;
  };
  World world(options, script);
  world.open(70 * payload);
  world.pair.run_until([&] { return world.received().slots_in_place == 69; }, 1_s);
  world.pair.run_for(20_ms);
  const Heard& sink = scribe().sink();
  ASSERT_FALSE(sink.arrived.empty());
  const cw_fact_arrived& fact = sink.arrived.back();
  EXPECT_EQ(fact.message, 0u);
  EXPECT_EQ(fact.word_first, 1u);
  EXPECT_EQ(fact.word_count, 1u);
  EXPECT_EQ(sink.words.back(), 0b111011u);
  EXPECT_EQ(fact.first_missing, 66u);
  EXPECT_EQ(fact.highest, 70u);
  EXPECT_EQ(fact.duplicates, 0u);
  EXPECT_EQ(fact.path, 0u);
  EXPECT_EQ(fact.repair, nullptr);
  EXPECT_EQ(fact.state, sink.opened[0].state);
  world.decide_send({.message = 0, .first = 67, .count = 2, .stride = 1, .kind = CW_SEND_RESEND});
  EXPECT_EQ(sink.arrived.back().slots, 70u) << "known by now";
  uint32_t duplicates = 0;
  for (const cw_fact_arrived& each : sink.arrived) duplicates += each.duplicates;
  EXPECT_EQ(duplicates, 2u);
}

TEST(PolicyFields, the_first_missing_slot_is_beyond_a_word_that_has_become_full) {
  WireScript script;
  SiteOptions options = site();
  options.stream.data_slots_max = 128;
  bool loses = true;
  script.data = [&](const Packet& packet) {
    return loses && slot_of(packet, options.stream) == 40 ? Fate::Lose : Fate::Pass;
  };
  World world(options, script);
  world.send(70);
  EXPECT_EQ(scribe().sink().arrived.back().first_missing, 40u);
  loses = false;
  world.decide_send({.first = 40, .count = 1, .stride = 1, .kind = CW_SEND_RESEND});
  EXPECT_EQ(scribe().sink().arrived.back().first_missing, 70u);
}

TEST(PolicyFields, lost_names_the_slots_of_a_gap) {
  WireScript script;
  const SiteOptions options = site(2);
  script.data = [&](const Packet& packet) {
    const uint32_t slot = slot_of(packet, options.stream);
    return slot == 4 || slot == 6 ? Fate::Lose : Fate::Pass;  // every second takes path 0
  };
  World world(options, script);
  world.send(16);
  ASSERT_FALSE(scribe().sink().lost.empty());
  const cw_fact_lost& lost = scribe().sink().lost[0];
  EXPECT_EQ(lost.message, 0u);
  EXPECT_EQ(lost.first, 4u);
  EXPECT_EQ(lost.count, 2u);
  EXPECT_EQ(lost.stride, 2u);
  EXPECT_EQ(lost.path, last_path_of(4));
  EXPECT_EQ(lost.state, scribe().sink().opened[0].state);
}

TEST(PolicyFields, blocks_are_told_at_both_ends_and_code_comes_back_as_coded) {
  World world(coded_site());
  world.send(16);
  for (const Heard* heard : {&scribe().source(), &scribe().sink()}) {
    ASSERT_EQ(heard->block_closed.size(), 2u);
    const cw_fact_block_closed& block = heard->block_closed[1];
    EXPECT_EQ(block.message, 0u);
    EXPECT_EQ(block.block, 1u);
    EXPECT_EQ(block.slots, 8u);
    EXPECT_EQ(block.rows, 2u);
    EXPECT_EQ(block.k, 4u);
    EXPECT_EQ(block.m, 2u);
    EXPECT_EQ(block.slot_first, 8u);
    EXPECT_EQ(block.repair_first, 4u);
    EXPECT_EQ(block.codec, 0u);
    EXPECT_EQ(block.state, heard->opened[0].state);
  }
  world.decide(CW_DECIDE_CODE, [](auto& u) {
    u.code = {.message = 0,
              .block = 99,
              .slots = 8,
              .rows = 2,
              .k = 4,
              .m = 1,
              .slot_first = 8,
              .repair_first = 6,
              .codec = 0,
              .row_first = 1,
              .row_count = 1};
  });
  ASSERT_EQ(scribe().source().coded.size(), 1u);
  const cw_fact_coded& coded = scribe().source().coded[0];
  EXPECT_EQ(coded.message, 0u);
  EXPECT_EQ(coded.block, 99u);
  EXPECT_EQ(coded.result, CW_CODED_OK);
  EXPECT_EQ(coded.need, 0u);
  EXPECT_EQ(coded.slot_first, 8u);
  EXPECT_EQ(coded.repair_first, 6u);
  EXPECT_EQ(coded.row_first, 1u);
  EXPECT_EQ(coded.row_count, 1u);
  EXPECT_EQ(coded.state, scribe().source().opened[0].state);
  // Of the two rows only the second came into being: repair slot 6 + 0 * 2 + 1.
  world.decide_send({.first = 64 + 6, .count = 1, .stride = 1, .kind = CW_SEND_REPAIR});
  EXPECT_EQ(scribe().source().refused.size(), 1u);
  world.decide_send({.first = 64 + 7, .count = 1, .stride = 1, .kind = CW_SEND_REPAIR});
  EXPECT_EQ(scribe().source().refused.size(), 1u);
  const cw_fact_arrived& fact = scribe().sink().arrived.back();
  EXPECT_EQ(fact.repair_word_first, 0u);
  EXPECT_EQ(fact.repair_word_count, 1u);
  ASSERT_NE(fact.repair, nullptr);
  EXPECT_EQ(cw_word(fact.repair), 1u << 7);
}

// ---- facts of the line ----

TEST(PolicyFields, a_link_tells_what_each_path_measures) {
  Impairment wire{.loss = 0.1, .delay = 10_ms};
  wire.jitter_max = 2_ms;
  wire.jitter_reorders = true;
  SiteOptions options = site(2);
  options.rate = 500_Mbps;
  World world(options, {}, wire);
  for (int i = 0; i < 3; ++i) world.send(60);
  world.pair.run_for(1_s);
  const cw_fact_link& link = scribe().source().links.back();
  EXPECT_EQ(link.paths, 2u);
  EXPECT_EQ(link.rate_bps, 500'000'000u);
  EXPECT_NEAR(static_cast<double>(link.rtt_ns), 22e6, 3e6);
  for (const cw_path_facts& path : scribe().source().paths.back()) {
    EXPECT_NEAR(static_cast<double>(path.rtt_min_ns), 21e6, 2e6);
    EXPECT_GE(path.rtt_smooth_ns, path.rtt_min_ns);
    EXPECT_GT(path.rtt_var_ns, 0);
    EXPECT_EQ(path.queue_delay_ns, path.rtt_smooth_ns - path.rtt_min_ns);
    EXPECT_GT(path.reorder_ns, 0);
    EXPECT_EQ(path.mtu, payload);
    EXPECT_EQ(path.is_up, 1u);
  }
}

/// One path of four is up alone, and by it no echo came back before: the first that does comes in
/// a turn right after a pause, which says little of its time, or in any other.
void expect_measured_times(bool comes_after_pause) {
  WireScript script;
  script.control = [](const Packet& packet) {
    const bool is_long = packet.bytes + packet.payload_bytes > 500;
    return (packet.path == 3) == is_long ? Fate::Pass : Fate::Lose;
  };
  SiteOptions options = site(4);
  options.in_real_time = comes_after_pause;
  World world(options, script);
  world.send(4);
  size_t alone = 0;
  for (size_t i = 0; i < scribe().source().paths.size(); ++i) {
    const std::vector<cw_path_facts>& paths = scribe().source().paths[i];
    if (paths[3].is_up == 0 || std::ranges::count(paths, 1u, &cw_path_facts::is_up) != 1) continue;
    ++alone;
    EXPECT_EQ(paths[3].rtt_smooth_ns > 0, !comes_after_pause);
  }
  EXPECT_GT(alone, 0u) << "or this is not that story";
  for (const Heard* heard : {&scribe().source(), &scribe().sink()}) {
    for (const cw_fact_link& link : heard->links) EXPECT_GE(link.rtt_ns, (20_ms).ns());
  }
}

TEST(PolicyFields, a_link_tells_no_time_that_nobody_has_measured) {
  expect_measured_times(false);
  expect_measured_times(true);
}

TEST(PolicyFields, both_ends_are_told_what_a_path_loses) {
  // Of what takes path 1 three of ten are lost, in a row.
  uint64_t count = 0;
  WireScript script;
  script.data = [&](const Packet& packet) {
    return packet.path == 1 && count++ % 10 < 3 ? Fate::Lose : Fate::Pass;
  };
  World world(site(2), script);
  for (int i = 0; i < 4; ++i) world.send(60);
  for (Heard* heard : {&scribe().source(), &scribe().sink()}) {
    double loss = 0, burst = 0;
    for (const std::vector<cw_path_facts>& paths : heard->paths) {
      EXPECT_EQ(paths[0].loss, 0);
      EXPECT_LE(paths[1].loss_low, paths[1].loss);
      EXPECT_GE(paths[1].loss_high, paths[1].loss);
      loss = std::max(loss, paths[1].loss_low);
      burst = std::max(burst, paths[1].burst_mean);
    }
    EXPECT_GT(loss, 0.1) << "sure to be more";
    EXPECT_NEAR(burst, 3, 0.5);
  }
}

TEST(PolicyFields, a_path_that_dies_is_told_and_sends_to_it_are_refused) {
  bool is_dead = false;
  WireScript script;
  script.control = script.data = [&](const Packet& packet) {
    return is_dead && packet.path == 1 ? Fate::Lose : Fate::Pass;
  };
  World world(site(2), script);
  world.send(4);
  EXPECT_EQ(scribe().source().paths.back()[1].is_up, 1u);
  world.decide_send({.first = 0,
                     .count = 1,
                     .stride = 1,
                     .kind = CW_SEND_RESEND,
                     .path_choice = CW_CHOOSE_ID,
                     .path = 1});
  EXPECT_EQ(scribe().source().sent.back().path, 1u) << "while it is up";
  is_dead = true;
  const auto is_found_out = [&] { return world.pair.a->link().path_health().up() == 1; };
  ASSERT_TRUE(world.pair.run_until(is_found_out, 30_s));
  EXPECT_EQ(scribe().source().paths.back()[1].is_up, 0u);
  EXPECT_EQ(scribe().source().paths.back()[0].is_up, 1u);
  world.decide_send({.first = 1,
                     .count = 3,
                     .stride = 1,
                     .kind = CW_SEND_RESEND,
                     .path_choice = CW_CHOOSE_ID,
                     .path = 1});
  ASSERT_EQ(scribe().source().refused.size(), 1u);
  const cw_fact_refused& refused = scribe().source().refused[0];
  EXPECT_EQ(refused.reason, CW_REFUSED_PATH);
  EXPECT_EQ(refused.decision, CW_DECIDE_SEND);
  EXPECT_EQ(refused.message, 0u);
  EXPECT_EQ(refused.first, 1u);
  EXPECT_EQ(refused.count, 3u);
  EXPECT_EQ(refused.stride, 1u);
  EXPECT_EQ(refused.state, scribe().source().opened[0].state);
}

TEST(PolicyFields, a_budget_is_told_when_it_changes_and_else_not) {
  SiteOptions options = site();
  options.rate = 10_Mbps;
  options.overhead_ppm = 500'000;
  World world(options);
  world.pair.run_for(1_s);  // the idle line has saved up what it may
  const size_t told = scribe().source().budgets.size();
  ASSERT_GT(told, 0u);
  EXPECT_EQ(scribe().source().budgets.back().backlog_ns, 0);
  EXPECT_EQ(scribe().source().budgets.back().slot_credit, 4 * 64u);
  const uint64_t allowance = scribe().source().budgets.back().repair_bytes;
  EXPECT_GT(allowance, 0u);
  world.pair.run_for(1_s);
  EXPECT_EQ(scribe().source().budgets.size(), told) << "nothing has changed";
  // 64 slots take 56 ms of the line.
  world.open(64 * payload);
  world.pair.run_for(10_ms);
  EXPECT_GT(scribe().source().budgets.back().backlog_ns, 0);
  world.open(64 * payload);
  world.pair.run_for(200_ms);
  EXPECT_EQ(scribe().source().budgets.back().backlog_ns, 0);
  EXPECT_EQ(scribe().source().budgets.back().slot_credit, 2 * 64u);
  EXPECT_LT(scribe().source().budgets.size(), told + 30) << "of hundreds of turns";
  for (int i = 0; i < 4; ++i) {
    world.decide_send({.first = 0, .count = 64, .stride = 1, .kind = CW_SEND_RESEND});
  }
  EXPECT_LT(scribe().source().budgets.back().repair_bytes, allowance / 4 * 3);
}

TEST(PolicyFields, who_has_no_function_for_a_budget_is_not_asked) {
  SiteOptions options = site();
  options.policy = thrifty_scribe_policy();
  World world(options);
  world.send(4);
  EXPECT_FALSE(world.pair.a->send_stream().hears_budget());
  EXPECT_EQ(world.received().slots_in_place, 4u);
}

}  // namespace
}  // namespace cw::sim
