// What is asked of the model and what it says: plans, scenes, refusals, notes, choices, rings.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "control/model/choose.h"
#include "control/model/predict.h"
#include "control/model/ring.h"
#include "control/units/text.h"

namespace cw::model {
namespace {

Scene scene_of(double loss, double size_mib = 128, uint32_t in_flight = 1) {
  Link link{.bandwidth = Rate::from_gbps(400), .rtt = Duration::from_ms(25)};
  link.loss.independent = loss;
  auto scene = make_scene(link, {.size = Bytes(static_cast<uint64_t>(size_mib * (1 << 20))),
                                 .chunk = Bytes(64 << 10),
                                 .in_flight = in_flight});
  EXPECT_TRUE(scene);
  return *scene;
}

Prediction prediction_of(const Scene& scene, const std::string& text,
                         FallbackLaw law = FallbackLaw::Keeping) {
  const auto plan = parse_plan(text);
  EXPECT_TRUE(plan) << text;
  auto prediction = predict(scene, *plan, law);
  EXPECT_TRUE(prediction) << (prediction ? "" : prediction.error().sentence);
  return std::move(*prediction);
}

std::string refusal_of(const Scene& scene, const std::string& text,
                       FallbackLaw law = FallbackLaw::Keeping) {
  const auto prediction = predict(scene, *parse_plan(text), law);
  return prediction ? "" : prediction.error().sentence;
}

// ---- Plans and scenes ----

TEST(Plan, has_the_declared_defaults_of_what_is_not_named) {
  const auto plan = parse_plan("erasure:k=16,codec=xor");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan_text(*plan),
            "erasure:k=16,m=8,m_max=16,rows=4,codec=xor,fallback=0.5,alpha=2,ack_interval=0ns,"
            "deadline=60s");
  EXPECT_EQ(plan_short_text(*plan), "erasure:k=16,codec=xor");
  EXPECT_EQ(plan_text(*parse_plan(plan_text(*plan))), plan_text(*plan));
}

TEST(Plan, is_refused_with_all_its_mistakes) {
  const auto plan = parse_plan("erasure:k=0,depth=3,m");
  ASSERT_FALSE(plan);
  for (const char* word : {"k", "depth", "\"m\""}) {
    EXPECT_NE(plan.error().sentence.find(word), std::string::npos) << plan.error().sentence;
  }
  EXPECT_NE(parse_plan("tcp").error().sentence.find("selective_repeat"), std::string::npos);
}

TEST(Scene, is_refused_with_all_its_mistakes) {
  Link link{.rtt = Duration()};
  link.loss.independent = 0.7;
  const auto scene = make_scene(link, {.size = Bytes()});
  ASSERT_FALSE(scene);
  for (const char* word : {"rtt", "size", "loss"}) {
    EXPECT_NE(scene.error().sentence.find(word), std::string::npos) << scene.error().sentence;
  }
}

TEST(Scene, loses_a_chunk_with_any_of_its_packets) {
  Link link;
  link.loss = {.independent = 1e-3, .of_chunks = false};
  const auto scene = make_scene(link, {.chunk = Bytes(64 << 10)});
  ASSERT_TRUE(scene);
  EXPECT_NEAR(scene->loss.loss(), chunk_loss(1e-3, 16), 1e-15);
  EXPECT_FALSE(make_scene(link, {.chunk = Bytes(5000)}));
}

// ---- Predictions ----

// 400 Gbit/s, 25 ms, 128 MiB in chunks of 64 KiB, one in a thousand lost: the published figures.
TEST(Predict, meets_the_published_figures_for_what_our_policies_do) {
  const Scene scene = scene_of(1e-3);
  const Prediction sr3 = prediction_of(scene, "selective_repeat:detect=rto,alpha=2");
  EXPECT_NEAR(sr3.mean_ms, 92.379, 0.02 * 92.379);
  EXPECT_NEAR(sr3.p999_ms, 176.38, 0.02 * 176.38);
  const Prediction sr1 = prediction_of(scene, "selective_repeat:detect=nack");
  EXPECT_NEAR(sr1.mean_ms, 48.719, 0.02 * 48.719);
  EXPECT_NEAR(sr1.p999_ms, 76.38, 0.02 * 76.38);
  const Prediction coded = prediction_of(scene, "erasure:codec=rs,k=32,m=8");
  EXPECT_NEAR(coded.mean_ms, 28.355, 0.02 * 28.355);
  EXPECT_NEAR(coded.overhead, 1.25, 1e-6);
  const Prediction paper = prediction_of(scene, "erasure:codec=rs,k=32,m=8", FallbackLaw::Paper);
  EXPECT_NEAR(paper.mean_ms, 28.355, 0.001);
  EXPECT_NEAR(paper.goodput_gbps, 1.073741824 / 28.355e-3, 0.01);
}

TEST(Predict, without_losses_everything_takes_its_injection_and_a_round_trip) {
  const Scene scene = scene_of(0);
  const double ms = double(scene.slots) * scene.slot_ms + 25;
  for (const char* text :
       {"selective_repeat", "selective_repeat:detect=rto", "go_back_n", "erasure"}) {
    const Prediction it = prediction_of(scene, text);
    EXPECT_NEAR(it.mean_ms, ms, 1e-9) << text;
    EXPECT_NEAR(it.p999_ms, ms, 1e-9) << text;
    EXPECT_EQ(it.fallback_probability, 0) << text;
  }
}

TEST(Predict, orders_mean_and_quantiles_as_one_law_does) {
  for (const double loss : {1e-5, 1e-3, 1e-2}) {
    for (const char* text : {"selective_repeat", "go_back_n", "erasure:m=2,m_max=2"}) {
      const Prediction it = prediction_of(scene_of(loss), text);
      EXPECT_LE(it.p50_ms, it.p99_ms);
      EXPECT_LE(it.p99_ms, it.p999_ms);
      EXPECT_NEAR(it.mean_ms, it.law.mean_ms(), 0);
    }
  }
}

TEST(Predict, lets_repair_rise_with_the_loss_as_far_as_the_policy_may) {
  const Prediction rises = prediction_of(scene_of(5e-2), "erasure:k=32,m=8");
  EXPECT_NEAR(rises.overhead, 1 + 10.0 / 32, 0.001);
  ASSERT_FALSE(rises.notes.empty());
  EXPECT_NE(rises.notes[0].find("m rises from 8 to 10"), std::string::npos);
  const Prediction stays = prediction_of(scene_of(5e-2), "erasure:k=32,m=8,m_max=8");
  EXPECT_NEAR(stays.overhead, 1.25, 0.001);
  EXPECT_NEAR(stays.fallback_probability, 8.3e-3, 2e-4);
}

TEST(Predict, says_where_it_has_a_bound_only) {
  // 2 GiB leave in 43 ms, and a loss is found in 25.
  const Prediction it = prediction_of(scene_of(1e-4, 2048), "selective_repeat");
  EXPECT_TRUE(it.is_bound);
  EXPECT_NE(it.notes.at(0).find("lower bound"), std::string::npos);
  EXPECT_FALSE(prediction_of(scene_of(1e-4, 2048), "selective_repeat:detect=rto").is_bound);
}

TEST(Predict, says_where_a_fallback_begins_too_early) {
  const Prediction hasty = prediction_of(scene_of(1e-3, 2048), "erasure:k=32,m=8,m_max=8");
  ASSERT_FALSE(hasty.notes.empty());
  EXPECT_NE(hasty.notes[0].find("fallback=1.8 would not"), std::string::npos) << hasty.notes[0];
  EXPECT_NEAR(hasty.overhead, 1.25 + 1e-3, 1e-4);
  EXPECT_TRUE(prediction_of(scene_of(1e-3, 2048), "erasure:m_max=8,fallback=1.8").notes.empty());
}

TEST(Predict, says_where_p999_stands_at_a_step) {
  // Two chunks, of which one message in a thousand loses one.
  const Prediction it = prediction_of(scene_of(5e-4, 0.125), "selective_repeat:detect=rto");
  ASSERT_FALSE(it.notes.empty());
  EXPECT_NE(it.notes[0].find("p99.9 stands at a step"), std::string::npos);
}

TEST(Predict, refuses_in_a_sentence_where_no_law_holds) {
  EXPECT_NE(refusal_of(scene_of(1e-3), "passthrough").find("repairs nothing"), std::string::npos);
  EXPECT_NE(refusal_of(scene_of(1e-3), "hybrid").find("causeway-sim"), std::string::npos);
  EXPECT_NE(refusal_of(scene_of(1e-3, 2048), "go_back_n").find("7/8"), std::string::npos);
  EXPECT_NE(refusal_of(scene_of(1e-3, 1, 4), "go_back_n").find("in flight"), std::string::npos);
  EXPECT_NE(refusal_of(scene_of(1e-3, 128, 64), "selective_repeat").find("line is full"),
            std::string::npos);
  Link link;
  link.loss.bursts = BurstLoss{.loss = 1e-3, .profile = *find_burst_profile("amazon")};
  const auto profile = make_scene(link, {});
  ASSERT_TRUE(profile);
  EXPECT_NE(refusal_of(*profile, "go_back_n").find("cloud profile"), std::string::npos);
  EXPECT_NE(refusal_of(*profile, "erasure", FallbackLaw::Paper).find("independent"),
            std::string::npos);
  EXPECT_EQ(refusal_of(*profile, "selective_repeat"), "");
}

TEST(Predict, several_in_flight_fill_the_line) {
  const Prediction one = prediction_of(scene_of(1e-4, 1), "selective_repeat");
  const Prediction eight = prediction_of(scene_of(1e-4, 1, 8), "selective_repeat");
  EXPECT_NEAR(eight.goodput_gbps, 8 * one.goodput_gbps, 1e-9);
  EXPECT_FALSE(eight.is_bound);
  EXPECT_TRUE(prediction_of(scene_of(1e-4, 16, 8), "selective_repeat").is_bound);
}

// ---- Choices ----

std::vector<Prediction> predictions_of(const Scene& scene) {
  std::vector<Prediction> all;
  for (const Plan& plan : usual_plans()) {
    if (auto it = predict(scene, plan)) all.push_back(std::move(*it));
  }
  return all;
}

TEST(Choose, takes_codes_where_losses_are_likely_and_repeats_where_not) {
  for (const auto& [loss, name] : {std::pair{1e-3, "erasure"}, {1e-9, "selective_repeat"}}) {
    const Scene scene = scene_of(loss);
    const auto all = predictions_of(scene);
    const auto choice = choose(scene, all, {});
    ASSERT_TRUE(choice);
    EXPECT_STREQ(all[choice->index].plan.policy->name, name) << choice->why;
    EXPECT_NE(choice->why.find("against"), std::string::npos) << choice->why;
  }
}

TEST(Choose, keeps_to_the_limit_and_says_what_it_missed) {
  const Scene scene = scene_of(1e-3);
  const auto all = predictions_of(scene);
  const auto choice = choose(scene, all, {.aim = Aim::Tail, .overhead_max = 1.05});
  ASSERT_TRUE(choice);
  EXPECT_LE(all[choice->index].overhead, 1.05);
  EXPECT_NE(choice->why.find("where 1.05 are the limit"), std::string::npos) << choice->why;
  EXPECT_FALSE(choose(scene, all, {.overhead_max = 1}));
}

TEST(Choose, aims_at_what_is_asked_for) {
  const Scene scene = scene_of(1e-3);
  const auto all = predictions_of(scene);
  for (const Aim aim : {Aim::Tail, Aim::Mean, Aim::Goodput}) {
    const auto choice = choose(scene, all, {.aim = aim});
    ASSERT_TRUE(choice);
    for (const Prediction& it : all) {
      EXPECT_LE(cost_of(all[choice->index], aim), 1.01 * cost_of(it, aim)) << choice->why;
    }
  }
}

// ---- Rings ----

TEST(Ring, takes_its_rounds_where_nothing_varies) {
  const Ring ring{.datacenters = 4, .compute_ms = 2, .samples = 10};
  const RingTimes times = ring_times(Law::of_steps({{10, 1}}), ring);
  EXPECT_NEAR(times.mean_ms, 6 * 12, 1e-9);
  EXPECT_NEAR(times.p999_ms, 6 * 12, 1e-9);
  EXPECT_NEAR(times.bound_ms, 6 * 12, 1e-9);
}

// Of two there are two rounds: the larger of two, and then one more on the later side at least.
TEST(Ring, waits_for_the_slowest_and_is_never_below_its_bound) {
  const Law law = Law::of_steps({{10, 0.9}, {20, 1}});
  const RingTimes two = ring_times(law, {.datacenters = 2});
  // Both rounds of both are max of two each: 2 (10 + 10 (1 - 0.81)).
  EXPECT_NEAR(two.mean_ms, 2 * (10 + 10 * (1 - 0.81)), 0.1);
  EXPECT_NEAR(two.bound_ms, 22, 1e-9);
  const RingTimes eight = ring_times(law, {.datacenters = 8});
  EXPECT_GT(eight.mean_ms, eight.bound_ms);
  EXPECT_EQ(ring_times(law, {.datacenters = 8}).mean_ms, eight.mean_ms);  // by its seed
}

}  // namespace
}  // namespace cw::model
