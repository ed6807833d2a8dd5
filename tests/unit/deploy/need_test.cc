// What a change of a deployment takes at each site.
#include "control/deploy/order/need.h"

#include <gtest/gtest.h>

#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

std::vector<OldFile> old_of(const std::string& text) {
  std::vector<OldFile> old;
  for (const SiteFile& each : files_of(text)) old.push_back({each.name, each.text});
  return old;
}

std::vector<SiteChange> change(const std::string& before, const std::string& after) {
  return changes_of(old_of(before), files_of(after));
}

/// "reload s1, restart s2".
std::string steps_of(const std::string& before, const std::string& after) {
  std::string row;
  for (const Step& each : order_of(needs_of(change(before, after)))) {
    row += (row.empty() ? "" : ", ") + std::string(name_of(each.act)) + " " + each.site;
  }
  return row;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

const std::string two_policies =
    "[[class]]\nname = \"all\"\npolicy = \"selective_repeat\"\npolicies = [\"hybrid\", "
    "\"selective_repeat\"]\nhold = \"500 ms\"\n";

TEST(Need, is_none_where_both_are_the_same) {
  EXPECT_EQ(steps_of(deployment_text(3), deployment_text(3)), "");
}

TEST(Need, all_start_where_there_was_nothing) {
  EXPECT_EQ(changes_of({}, files_of(deployment_text(2))).size(), 2u);
  const auto steps = order_of(needs_of(changes_of({}, files_of(deployment_text(2)))));
  EXPECT_EQ(steps[0].act, Act::Start);
  EXPECT_EQ(steps[1].waits_for, std::vector<std::string>{"s1"});
}

TEST(Need, a_policy_with_room_is_swapped_and_one_without_takes_other_links) {
  const std::string roomy = deployment_text(3, two_policies);
  EXPECT_EQ(steps_of(roomy, replaced(roomy, "policy = \"sel", "policy = \"hybrid\" # \"sel")),
            "reload s1, reload s2, reload s3");
  const std::string narrow = deployment_text(2, "[[class]]\nname = \"all\"\nhold = \"500 ms\"\n");
  const std::string coded = narrow + "policy = \"hybrid\"\n";
  EXPECT_EQ(steps_of(narrow, coded), "reload s1, reload s2");
  for (const SiteChange& each : change(narrow, coded)) {
    EXPECT_TRUE(each.need.is_alike);
    EXPECT_EQ(each.notes, std::vector<std::string>());
  }
}

TEST(Need, one_more_site_takes_a_spare_place_or_a_start) {
  const std::string full = deployment_text(3);
  EXPECT_EQ(steps_of(full, deployment_text(4)), "start s4, restart s1, restart s2, restart s3");
  const std::string spare = "\n[defaults]\nspare_peers = 1\n";
  EXPECT_EQ(steps_of(full + spare, deployment_text(4) + spare),
            "start s4, reload s1, reload s2, reload s3");
}

TEST(Need, a_site_less_is_forgotten_by_the_others_first) {
  EXPECT_EQ(steps_of(deployment_text(4), deployment_text(3)),
            "reload s1, reload s2, reload s3, stop s4");
}

TEST(Need, a_prefix_that_moves_from_one_to_another) {
  const std::string before = deployment_text(3);
  const std::string there = replaced(before, "\"10.2.0.0/16\"", "\"10.2.0.0/17\"");
  const std::string after =
      replaced(there, "\"10.3.0.0/16\"", "\"10.3.0.0/16\", \"10.2.128.0/17\"");
  const auto all = change(before, after);
  EXPECT_TRUE(all[2].need.gains && !all[2].need.loses);
  EXPECT_TRUE(all[1].need.loses && !all[1].need.gains);
  EXPECT_EQ(steps_of(before, after), "reload s3, reload s1, reload s2");
}

TEST(Need, an_address_that_changes_is_a_move) {
  const std::string before = deployment_text(3);
  EXPECT_EQ(steps_of(before, replaced(before, "192.0.2.2", "192.0.2.77")),
            "restart s2, reload s1, reload s3");
}

const std::string pair_of_1400 = "rtt = \"20 ms\"\nmtu = 1400\n";

TEST(Need, source_ports_that_change_are_a_move) {
  const std::string before = deployment_text(2);
  const std::string after =
      before + "[[site.peer]]\nname = \"s1\"\nsource_port = 49152\n";  // of s2
  const auto all = change(before, after);
  EXPECT_TRUE(all[0].need.moves && !all[1].need.moves);
  EXPECT_EQ(steps_of(before, after), "reload s2");
}

TEST(Need, what_must_be_alike_goes_by_other_links_as_far_as_these_can_be) {
  const std::string before =
      deployment_text(2, two_policies, pair_of_1400 + "rate = \"100 Mbit/s\"\n");
  const struct {
    const char *from, *to;
    bool is_by_links;
  } changes[] = {
      {"mtu = 1400", "mtu = 1300", true},
      {"mtu = 1400", "mtu = 1450", false},
      {"rtt = \"20 ms\"", "rtt = \"60 ms\"", true},
      {"rtt = \"20 ms\"", "rtt = \"20 ms\"\nlinks = 2", false},
      {"rate = \"100 Mbit/s\"", "rate = \"200 Mbit/s\"", true},
      {"500 ms", "2 s", true},
      {"name = \"all\"", "name = \"everything\"", true},
      {"[[class]]", "[[class]]\nname = \"raw\"\nmatch = [{ dscp = 46 }]\n[[class]]", true},
      {"\"key\"", "\"key2\"", false},
  };
  for (const auto& [from, to, is_by_links] : changes) {
    for (const SiteChange& each : change(before, replaced(before, from, to))) {
      EXPECT_TRUE(each.need.is_alike) << to;
      EXPECT_EQ(each.need.is_by_links, is_by_links) << to;
      EXPECT_EQ(each.need.act, is_by_links ? Act::Reload : Act::Restart) << to;
    }
  }
}

TEST(Need, a_larger_mtu_goes_by_other_links_where_the_port_was_started_with_it) {
  const std::string large = deployment_text(2, "", pair_of_1400);
  const std::string small = replaced(large, "mtu = 1400", "mtu = 1300");
  std::vector<OldFile> there = old_of(small);
  for (OldFile& each : there) {
    each.payload_max = files_of(large)[0].plan.wan.payload_bytes_max;
  }
  for (const SiteChange& each : changes_of(there, files_of(large))) {
    EXPECT_EQ(each.need.act, Act::Reload);
  }
  for (const SiteChange& each :
       changes_of(there, files_of(replaced(large, "mtu = 1400", "mtu = 1450")))) {
    EXPECT_EQ(each.need.act, Act::Restart);
    EXPECT_TRUE(each.notes[0].contains("pair.mtu: the WAN port's packets have room for"));
  }
}

TEST(Need, a_reload_by_other_links_parts_nobody) {
  const std::string before = deployment_text(3, "", pair_of_1400);
  const auto steps =
      order_of(needs_of(change(before, replaced(before, "mtu = 1400", "mtu = 1300"))));
  ASSERT_EQ(steps.size(), 3u);
  const std::vector<std::string> carries_on[] = {{"s2", "s3"}, {"s3"}, {}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(steps[i].breaks.empty());
    EXPECT_EQ(steps[i].waits_for.size(), 2u);
    EXPECT_EQ(steps[i].carries_on, carries_on[i]);
    EXPECT_TRUE(steps[i].why.contains("take their place when all sites have loaded them"));
  }
}

TEST(Need, who_starts_again_in_such_a_change_is_last) {
  const std::string before = deployment_text(3, "", pair_of_1400);
  const std::string after =
      replaced(replaced(before, "mtu = 1400", "mtu = 1300"), "routes = [\"10.1.0.0/16\"]",
               "routes = [\"10.1.0.0/16\"]\nmemory = \"2 GiB\"");
  const auto steps = order_of(needs_of(change(before, after)));
  EXPECT_EQ(steps_of(before, after), "reload s2, reload s3, restart s1");
  EXPECT_EQ(steps[1].carries_on, std::vector<std::string>{"s1"});
  for (const Step& each : steps) EXPECT_TRUE(each.breaks.empty()) << each.site;
  EXPECT_EQ(steps[2].waits_for, (std::vector<std::string>{"s2", "s3"}));
}

TEST(Need, other_links_of_one_site_take_nobody_else) {
  const std::string before = deployment_text(3, "", pair_of_1400) + "wan.paths = 2\n";
  const std::string after = before + "wan.path_weights = [2, 1]\n";
  EXPECT_EQ(steps_of(before, after), "reload s3");
  const auto steps = order_of(needs_of(change(before, after)));
  EXPECT_TRUE(steps[0].carries_on.empty() && steps[0].breaks.empty());
  EXPECT_TRUE(steps[0].why.contains("its peers have nothing to load")) << steps[0].why;
}

TEST(Need, live_keys_that_need_what_takes_other_links_take_a_start) {
  const std::string before = deployment_text(2, two_policies);
  const std::string after = replaced(replaced(before, "20 ms", "1 ms"), "500 ms", "10 ms");
  EXPECT_EQ(steps_of(before, after), "restart s1, restart s2");
  const auto all = change(before, after);
  ASSERT_EQ(all[0].notes.size(), 1u);
  EXPECT_TRUE(all[0].notes[0].contains("does not go without")) << all[0].notes[0];
}

TEST(Need, a_shorter_hold_is_live_whoever_starts_again) {
  const std::string before = deployment_text(3, two_policies);
  const std::string after = replaced(before, "500 ms", "400 ms");
  EXPECT_EQ(steps_of(before, after), "reload s1, reload s2, reload s3");
  const std::string one = replaced(after, "routes = [\"10.2.0.0/16\"]",
                                   "routes = [\"10.2.0.0/16\"]\nmemory = \"2 GiB\"");
  // Ends may say it differently where they cut messages alike: nobody else has to start.
  EXPECT_EQ(steps_of(before, one), "reload s1, reload s3, restart s2");
  EXPECT_EQ(steps_of(before, replaced(before, "500 ms", "600 ms")),
            "reload s1, reload s2, reload s3");
}

TEST(Need, keys_of_one_site_start_it_alone) {
  const std::string before = deployment_text(3);
  const std::string after = replaced(before, "routes = [\"10.2.0.0/16\"]",
                                     "routes = [\"10.2.0.0/16\"]\nmemory = \"2 GiB\"");
  EXPECT_EQ(steps_of(before, after), "restart s2");
}

TEST(Need, a_site_that_is_called_otherwise_takes_the_place_of_the_old_one) {
  const std::string before = deployment_text(2) + "\n[defaults]\nspare_peers = 1\n";
  EXPECT_EQ(steps_of(before, replaced(before, "name = \"s2\"", "name = \"south\"")),
            "stop s2, start south, reload s1");
}

TEST(Need, a_twin_comes_before_the_others_send_by_it_and_is_nobodys_place) {
  const std::string spare = "\n[defaults]\nspare_peers = 1\n";
  const std::string alone = deployment_text(3) + spare;
  const std::string both = deployment_text(3) + twin_text() + spare;
  EXPECT_EQ(steps_of(alone, both), "start twin, reload s2, reload s3");
  EXPECT_EQ(steps_of(both, replaced(both, "prefer = 50", "prefer = 150")), "reload s2, reload s3");
  EXPECT_EQ(steps_of(both, alone), "reload s2, reload s3, stop twin");
}

TEST(Need, a_file_with_mistakes_tells_not_what_runs) {
  auto old = old_of(deployment_text(2));
  old[0].text += "\n[nonsense]\nkey = 1\n";
  const auto all = changes_of(old, files_of(deployment_text(2)));
  EXPECT_EQ(all[0].need.act, Act::Restart);
  EXPECT_TRUE(all[1].need.is_nothing);
}

/// Who is interrupted plans again: what is left is what was left, in the same order.
TEST(Need, of_a_change_that_was_begun_is_the_rest_of_it) {
  const std::string spare = "\n[defaults]\nspare_peers = 2\n";
  const std::string four = deployment_text(4, two_policies) + spare;
  const std::string moved = replaced(replaced(four, "\"10.2.0.0/16\"", "\"10.2.0.0/17\""),
                                     "\"10.3.0.0/16\"", "\"10.3.0.0/16\", \"10.2.128.0/17\"");
  const std::pair<std::string, std::string> changes[] = {
      {four, replaced(four, "policy = \"sel", "policy = \"hybrid\" # \"sel")},
      {four, deployment_text(5, two_policies) + spare},
      {deployment_text(5, two_policies) + spare, four},
      {four, moved},
      {four, replaced(four, "rtt = \"20 ms\"", "rtt = \"30 ms\"")},
      {four, replaced(four, "\"key\"", "\"key2\"")},
      {four, replaced(four, "192.0.2.2", "192.0.2.77")},
  };
  for (const auto& [from, to] : changes) {
    std::vector<OldFile> there = old_of(from);
    const std::vector<SiteFile> files = files_of(to);
    std::vector<Step> steps = order_of(needs_of(changes_of(there, files)));
    while (!steps.empty()) {
      const Step taken = steps.front();
      std::erase_if(there, [&](const OldFile& each) { return each.site == taken.site; });
      const auto file = std::ranges::find(files, taken.site, &SiteFile::name);
      if (file != files.end()) there.push_back({file->name, file->text});
      const std::vector<Step> rest = order_of(needs_of(changes_of(there, files)));
      ASSERT_EQ(rest.size(), steps.size() - 1);
      for (size_t i = 0; i < rest.size(); ++i) {
        EXPECT_EQ(rest[i].site, steps[i + 1].site);
        EXPECT_EQ(rest[i].act, steps[i + 1].act);
        EXPECT_EQ(rest[i].breaks, steps[i + 1].breaks) << rest[i].site;
        EXPECT_EQ(rest[i].carries_on, steps[i + 1].carries_on) << rest[i].site;
        // Of who has the new file it is not known whether it has links of before, too.
        if (!rest[i].carries_on.empty()) continue;
        EXPECT_EQ(rest[i].waits_for, steps[i + 1].waits_for) << rest[i].site;
      }
      steps = rest;
    }
  }
}

}  // namespace
}  // namespace cw::deploy
