// The order of steps, and rules that no order may break.
#include "control/deploy/order/order.h"

#include <algorithm>
#include <map>
#include <random>

#include "tests/property/property.h"

namespace cw::deploy {
namespace {

Need need(const std::string& site, Act act, const std::set<std::string>& peers) {
  return {.site = site, .act = act, .peers_before = peers, .peers_after = peers};
}

std::string row_of(const std::vector<Step>& steps) {
  std::string row;
  for (const Step& each : steps) {
    row += (row.empty() ? "" : ", ") + std::string(name_of(each.act)) + " " + each.site;
  }
  return row;
}

TEST(Order, a_new_site_is_there_before_the_others_send_to_it) {
  std::vector<Need> needs = {need("a", Act::Reload, {"b"}), need("b", Act::Reload, {"a"}),
                             need("c", Act::Start, {"a", "b"})};
  for (Need* each : {&needs[0], &needs[1]}) each->peers_after.insert("c");
  const auto steps = order_of(needs);
  EXPECT_EQ(row_of(steps), "start c, reload a, reload b");
  EXPECT_EQ(steps[1].waits_for, (std::vector<std::string>{"b", "c"}));
}

TEST(Order, a_site_goes_when_nobody_sends_to_it_any_more) {
  std::vector<Need> needs = {need("c", Act::Stop, {"a", "b"}), need("a", Act::Reload, {"b"}),
                             need("b", Act::Reload, {"a"})};
  for (Need* each : {&needs[1], &needs[2]}) each->peers_before.insert("c");
  EXPECT_EQ(row_of(order_of(needs)), "reload a, reload b, stop c");
}

TEST(Order, who_takes_the_place_of_another_comes_when_that_has_gone) {
  std::vector<Need> needs = {need("a", Act::Reload, {"old"}), need("new", Act::Start, {"a"}),
                             need("old", Act::Stop, {"a"})};
  needs[0].peers_after = {"new"};
  needs[1].follows = {"old"};
  EXPECT_EQ(row_of(order_of(needs)), "stop old, start new, reload a");
}

TEST(Order, a_prefix_that_moves_is_known_where_it_goes_to_first_and_where_it_was_last) {
  std::vector<Need> needs = {need("from", Act::Reload, {"c", "to"}),
                             need("c", Act::Reload, {"from", "to"}),
                             need("to", Act::Restart, {"from", "c"})};
  needs[0].loses = needs[2].gains = true;
  EXPECT_EQ(row_of(order_of(needs)), "restart to, reload c, reload from");
}

TEST(Order, reloads_come_before_sites_that_start_again_one_by_one_and_wait_for_all_links) {
  const std::vector<Need> needs = {need("a", Act::Restart, {"b", "c"}),
                                   need("b", Act::Reload, {"a", "c"}),
                                   need("c", Act::Restart, {"a", "b"})};
  const auto steps = order_of(needs);
  EXPECT_EQ(row_of(steps), "reload b, restart a, restart c");
  EXPECT_EQ(steps[1].waits_for, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(steps[1].breaks.empty());
}

TEST(Order, what_must_be_alike_waits_for_no_site_that_has_it_not) {
  std::vector<Need> needs = {need("a", Act::Restart, {"b"}), need("b", Act::Restart, {"a"})};
  for (Need& each : needs) each.is_alike = true;
  const auto steps = order_of(needs);
  EXPECT_TRUE(steps[0].waits_for.empty());
  EXPECT_EQ(steps[0].breaks, std::vector<std::string>{"b"});
  EXPECT_EQ(steps[1].waits_for, std::vector<std::string>{"a"});
}

TEST(Order, what_must_be_alike_carries_on_where_links_can_be_beside_others) {
  std::vector<Need> needs = {
      need("a", Act::Restart, {"b", "c", "d"}), need("b", Act::Reload, {"a", "c", "d"}),
      need("c", Act::Reload, {"a", "b", "d"}), need("d", Act::Restart, {"a", "b", "c"})};
  for (Need& each : needs) {
    each.is_alike = true;
    each.is_by_links = each.act == Act::Reload;
  }
  const auto steps = order_of(needs);
  EXPECT_EQ(row_of(steps), "reload b, reload c, restart a, restart d");
  EXPECT_EQ(steps[0].carries_on, (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(steps[1].carries_on, (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(steps[1].waits_for, (std::vector<std::string>{"a", "b", "d"}));
  EXPECT_TRUE(steps[1].is_links_later) << "for those that start again";
  EXPECT_EQ(steps[2].breaks, std::vector<std::string>{"d"});
  EXPECT_EQ(steps[2].waits_for, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(steps[3].breaks.empty());
}

TEST(Order, links_of_sites_that_all_make_others_are_waited_for_at_the_last) {
  std::vector<Need> needs = {need("a", Act::Reload, {"b"}), need("b", Act::Reload, {"a"})};
  for (Need& each : needs) each.is_by_links = true;
  const auto steps = order_of(needs);
  EXPECT_TRUE(steps[0].carries_on.empty()) << "nothing must be alike";
  EXPECT_TRUE(steps[0].is_links_later && !steps[1].is_links_later);
}

TEST(Order, a_site_that_moves_is_found_by_those_who_know) {
  std::vector<Need> needs = {need("a", Act::Reload, {"b"}), need("b", Act::Restart, {"a"})};
  needs[1].moves = true;
  const auto steps = order_of(needs);
  EXPECT_EQ(row_of(steps), "restart b, reload a");
  EXPECT_EQ(steps[0].breaks, std::vector<std::string>{"a"});
  EXPECT_EQ(steps[1].waits_for, std::vector<std::string>{"b"});
}

TEST(Order, nothing_is_done_where_nothing_changes) {
  std::vector<Need> needs = {need("a", Act::Reload, {"b"}), need("b", Act::Reload, {"a"})};
  for (Need& each : needs) each.is_nothing = true;
  EXPECT_TRUE(order_of(needs).empty());
}

// ---- rules

/// Two to sixteen sites, some new, some going, and whatever each needs.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    const size_t count = 2 + draw(15);
    has_alike_ = draw(4) == 0;
    for (size_t i = 0; i < count; ++i) add("s" + std::to_string(i));
    join();
    for (Need& each : needs) settle(each);
  }
  std::vector<Need> needs;

 private:
  size_t draw(size_t below) { return random_() % below; }
  void add(const std::string& name) {
    Need& it = needs.emplace_back();
    it.site = name;
    const size_t kind = draw(8);
    it.act = kind == 0 ? Act::Start : kind == 1 ? Act::Stop : Act::Reload;
  }
  void join() {
    for (Need& a : needs) {
      for (Need& b : needs) {
        if (a.site >= b.site || draw(5) == 0) continue;
        const bool was = a.act != Act::Start && b.act != Act::Start;
        const bool will = a.act != Act::Stop && b.act != Act::Stop;
        if (was) a.peers_before.insert(b.site), b.peers_before.insert(a.site);
        if (will) a.peers_after.insert(b.site), b.peers_after.insert(a.site);
      }
    }
  }
  void settle(Need& it) {
    if (it.act != Act::Reload) return;
    it.is_alike = has_alike_;
    it.gains = draw(6) == 0;
    it.loses = !it.gains && draw(6) == 0;
    it.is_by_links = draw(4) != 0;
    if ((has_alike_ && !it.is_by_links) || draw(3) == 0) it.act = Act::Restart;
    it.is_by_links &= it.act == Act::Reload;
    const bool is_other = it.act == Act::Restart || it.peers_before != it.peers_after;
    it.is_nothing = !is_other && !it.gains && !it.loses && draw(2) == 0;
    if (it.is_nothing) it.is_alike = it.is_by_links = false;
  }
  std::mt19937_64 random_;
  bool has_alike_ = false;
};

const Need& need_of(const World& world, const std::string& site) {
  return *std::ranges::find(world.needs, site, &Need::site);
}

RC_GTEST_PROP(OrderRules, each_site_that_needs_something_has_one_step, (uint64_t seed)) {
  const World world(seed);
  std::map<std::string, int> counts;
  for (const Step& each : order_of(world.needs)) ++counts[each.site];
  for (const Need& each : world.needs) RC_ASSERT(counts[each.site] == (each.is_nothing ? 0 : 1));
}

RC_GTEST_PROP(OrderRules, who_receives_is_first_and_who_loses_is_last, (uint64_t seed)) {
  const World world(seed);
  // Ranks may only grow: starts, gainers, the others, losers, stops.
  int last = 0;
  for (const Step& each : order_of(world.needs)) {
    const Need& it = need_of(world, each.site);
    const int rank = it.act == Act::Start  ? 1
                     : it.act == Act::Stop ? 5
                     : it.gains            ? 2
                     : it.loses            ? 4
                                           : 3;
    RC_ASSERT(rank >= last);
    last = rank;
  }
}

RC_GTEST_PROP(OrderRules, no_link_that_stays_is_down_after_a_step_unless_all_must_be_alike,
              (uint64_t seed)) {
  const World world(seed);
  for (const Step& each : order_of(world.needs)) {
    const Need& it = need_of(world, each.site);
    if (it.is_alike || it.act == Act::Stop) continue;
    RC_ASSERT(each.breaks.empty());
    for (const std::string& far : it.peers_after) {
      if (!it.peers_before.contains(far) || need_of(world, far).is_alike) continue;
      RC_ASSERT(std::ranges::find(each.waits_for, far) != each.waits_for.end());
    }
  }
}

RC_GTEST_PROP(OrderRules, nobody_waits_for_a_link_that_cannot_be_up_yet, (uint64_t seed)) {
  const World world(seed);
  std::set<std::string> taken;
  for (const Step& each : order_of(world.needs)) {
    taken.insert(each.site);
    for (const std::string& far : each.waits_for) {
      const Need &here = need_of(world, each.site), &there = need_of(world, far);
      const bool has_there = there.is_nothing || taken.contains(far);
      RC_ASSERT(here.act != Act::Stop && (there.act != Act::Stop || !has_there));
      RC_ASSERT(there.act != Act::Start || has_there);
      RC_ASSERT((has_there ? there.peers_after : there.peers_before).contains(each.site));
      RC_ASSERT(has_there || !there.is_alike || here.is_by_links);
    }
  }
}

RC_GTEST_PROP(OrderRules, who_reloads_breaks_no_link, (uint64_t seed)) {
  const World world(seed);
  for (const Step& each : order_of(world.needs)) {
    if (each.act == Act::Reload) RC_ASSERT(each.breaks.empty());
  }
}

RC_GTEST_PROP(OrderRules, in_the_end_every_link_is_up, (uint64_t seed)) {
  const World world(seed);
  Progress progress(world.needs);
  for (const Step& each : order_of(world.needs)) progress.take(each.site);
  for (const Need& each : world.needs) {
    for (const std::string& far : each.peers_after) {
      if (each.act != Act::Stop) RC_ASSERT(progress.is_up(each.site, far));
    }
  }
}

}  // namespace
}  // namespace cw::deploy
