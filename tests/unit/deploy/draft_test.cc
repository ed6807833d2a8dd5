// What runs, beside the files that lie there and those that will.
#include "control/deploy/draft.h"

#include <gtest/gtest.h>

#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

/// Two sites of which the second may have another rate.
std::vector<SiteFile> files(const std::string& rate = "") {
  const std::string more = rate.empty() ? "" : "wan.rate = \"" + rate + "\"\n";
  return files_of(deployment_text(1) + site_text(2, more));
}

class Drafts : public testing::Test {
 protected:
  Drafts() {
    for (const SiteFile& each : files()) {
      DraftSite& site = draft_.sites.emplace_back();
      site.change.need.site = each.name;
      site.path = each.name + ".toml";
      site.text = with_head(each.text, each.name, "deployment.toml");
      site.found = {Found::State::Made, site.text};
      site.running.is_reached = true;
      site.running.site = each.name;
      site.running.state = "running";
      const char* const far = each.name == "s1" ? "s2" : "s1";
      site.running.peers.push_back({{"name", far}, {"link", "up"}, {"why", ""}});
      site.running.in_force = each.tree;
    }
  }
  DraftSite& second() { return draft_.sites[1]; }
  /// The file that lies there, with another rate.
  void edit(const std::string& rate) {
    second().found = {Found::State::Edited, files(rate)[1].text};
  }
  /// "reload s2": all steps, of a deployment that wants this rate.
  std::string steps(const std::string& rate = "") {
    const auto wanted = files(rate);
    second().text = with_head(wanted[1].text, "s2", "deployment.toml");
    compare(draft_, wanted);
    std::string row;
    for (const Step& each : draft_.steps) row += std::string(name_of(each.act)) + " " + each.site;
    return row;
  }
  bool tells(const std::string& sentence) const {
    const std::string text = text_of(draft_, {});
    return text.contains(sentence) || (ADD_FAILURE() << text, false);
  }
  Json told() const { return json_of(draft_)["sites"][1]; }

  Draft draft_;
};

TEST_F(Drafts, of_files_that_are_in_force_have_no_step) {
  EXPECT_EQ(steps(), "");
  EXPECT_TRUE(tells("s2.toml is as it will be"));
  EXPECT_TRUE(tells("  runs, by the file that is there\n"));
  EXPECT_EQ(told()["running"]["is_file_told"], true);
}

TEST_F(Drafts, have_a_step_for_a_file_that_was_written_and_not_loaded) {
  edit("50 Mbit/s");
  second().found.state = Found::State::Made;
  EXPECT_EQ(steps("50 Mbit/s"), "reload s2");
  EXPECT_TRUE(tells("s2.toml is as it will be"));
  EXPECT_TRUE(tells("  wan.rate: \"100 Mbit/s\" -> \"50 Mbit/s\"  (live)\n"));
  EXPECT_TRUE(tells("and not by the file that is there, which differs in wan.rate: "));
  EXPECT_EQ(told()["file_changes"].size(), 0u);
}

TEST_F(Drafts, have_a_start_for_keys_that_were_loaded_and_wait_for_one) {
  put(second().running.in_force.value(), "lan", config::parse_toml("device = \"old\"").value());
  EXPECT_EQ(steps(), "restart s2");
}

TEST_F(Drafts, have_no_step_for_a_file_that_was_loaded_and_then_changed) {
  edit("50 Mbit/s");
  EXPECT_EQ(steps(), "");
  EXPECT_TRUE(tells("was changed by somebody since it was made"));
  EXPECT_TRUE(tells("which differs in wan.rate: what changes is told from what runs\n"));
  EXPECT_EQ(told()["changes"].size(), 0u);
  EXPECT_EQ(told()["file_changes"].size(), 1u);
  EXPECT_EQ(told()["running"]["not_loaded"][0]["after"], "\"50 Mbit/s\"");
}

TEST_F(Drafts, compare_with_the_file_where_nobody_is_reached_and_say_so) {
  edit("50 Mbit/s");
  second().running = {.why = "no gateway answers"};
  EXPECT_EQ(steps(), "reload s2");
  EXPECT_TRUE(tells("  not reached, so compared with that file alone: no gateway answers\n"));
}

TEST_F(Drafts, compare_with_the_file_where_the_gateway_does_not_tell_its_own_and_say_so) {
  edit("50 Mbit/s");
  second().running.in_force.reset();
  second().running.why_no_file = "this takes the right to control";
  EXPECT_EQ(steps(), "reload s2");
  EXPECT_TRUE(tells("compared with that alone, since it does not tell its own: this takes the"));
  EXPECT_EQ(told()["running"]["is_file_told"], false);
}

TEST_F(Drafts, do_not_take_another_site_for_this_one) {
  edit("50 Mbit/s");
  second().running.site = "s9";
  EXPECT_EQ(steps(), "reload s2");
  EXPECT_TRUE(tells("who answers calls itself \"s9\""));
}

TEST_F(Drafts, know_a_site_that_runs_without_a_file) {
  second().found = {};
  EXPECT_EQ(steps(), "");
  EXPECT_TRUE(tells("s2.toml is not there yet"));
  EXPECT_EQ(steps("50 Mbit/s"), "reload s2");
  EXPECT_TRUE(tells("  wan.rate: \"100 Mbit/s\" -> \"50 Mbit/s\"  (live)\n"));
  second().running.in_force.reset();
  EXPECT_EQ(steps(), "reload s2");
  EXPECT_TRUE(tells("by which file is not known here"));
}

TEST_F(Drafts, tell_what_else_the_gateway_does_from_what_it_runs_by) {
  second().running.open = {{{"key", "wan.rate"}}, {{"key", "site.log"}}};
  second().running.peers[0] = {{"name", "s1"}, {"link", "down"}, {"why", "no answer"}};
  edit("50 Mbit/s");
  EXPECT_EQ(steps(), "");
  EXPECT_TRUE(tells("    its link with s1 is down: no answer\n"));
  EXPECT_TRUE(tells("    its own file says and is not in force: site.log\n"));
  EXPECT_FALSE(text_of(draft_, {}).contains("is not in force: wan.rate")) << "that is told above";
}

}  // namespace
}  // namespace cw::deploy
