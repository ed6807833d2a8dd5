// The program's commands, where no gateway runs.
#include "control/deploy/commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/deploy/sites.h"

namespace cw::deploy {
namespace {

namespace fs = std::filesystem;

class Commands : public testing::Test {
 protected:
  Commands() {
    std::string path = (fs::temp_directory_path() / "causeway-deploy-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    options_.file = (folder_ / "deployment.toml").string();
    options_.folder = (folder_ / "sites").string();
    options_.is_json = true;
    options_.is_offline = true;
  }
  ~Commands() override { fs::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(options_.file) << text; }
  std::string path(const std::string& site) const { return options_.folder + "/" + site + ".toml"; }
  std::string text_of_site(const std::string& site) const {
    return find_file(path(site)).value().text;
  }
  struct Outcome {
    int status;
    std::string out, err;
    Json json() const { return Json::parse_or_null(out); }
  };
  Outcome run(int (*command)(const Options&)) const {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = command(options_);
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  fs::path folder_;
  Options options_;
};

TEST_F(Commands, a_deployment_is_rendered_and_then_nothing_changes) {
  write(deployment_text(3));
  const Outcome planned = run(plan);
  EXPECT_EQ(planned.status, exit_done);
  EXPECT_EQ(planned.json()["steps"].size(), 3u);
  EXPECT_FALSE(fs::exists(path("s1")));
  EXPECT_EQ(run(render).status, exit_done);
  for (const char* const site : {"s1", "s2", "s3"}) {
    EXPECT_EQ(find_file(path(site)).value().state, Found::State::Made);
    EXPECT_TRUE(plan_of(path(site), text_of_site(site)));
  }
  EXPECT_EQ(run(plan).json()["steps"].size(), 0u);
}

TEST_F(Commands, a_plan_tells_each_key_with_its_kind_and_each_step_with_its_command) {
  write(deployment_text(2));
  (void)run(render);
  write(deployment_text(1) + site_text(2, "wan.rate = \"50 Mbit/s\"\n"));
  const Json json = run(plan).json();
  ASSERT_EQ(json["sites"][1]["changes"].size(), 1u) << json;
  const Json& change = json["sites"][1]["changes"][0];
  EXPECT_EQ(change["key"], "wan.rate");
  EXPECT_EQ(change["kind"], "live");
  EXPECT_EQ(change["after"], "\"50 Mbit/s\"");
  ASSERT_EQ(json["steps"].size(), 1u);
  EXPECT_EQ(json["steps"][0]["command"],
            "causewayctl --config " + path("s2") + " reload --wait 10s");
  options_.is_json = false;
  const std::string text = run(plan).out;
  EXPECT_TRUE(text.contains("wan.rate: \"100 Mbit/s\" -> \"50 Mbit/s\"  (live)")) << text;
  EXPECT_TRUE(text.contains("1. reload s2: ")) << text;
}

TEST_F(Commands, what_somebody_has_changed_is_not_written_over_unasked) {
  write(deployment_text(2));
  (void)run(render);
  std::ofstream(path("s2"), std::ios::app) << "[lan]\nmtu = 1400\n";
  const std::string by_hand = "# by hand\n" + text_of_site("s1");
  std::ofstream(path("s1")) << by_hand;
  const std::string before = text_of_site("s2");
  const Outcome refused = run(render);
  EXPECT_EQ(refused.status, exit_failed);
  EXPECT_TRUE(refused.err.contains("s2.toml has been changed since it was made")) << refused.err;
  EXPECT_TRUE(refused.err.contains("lan.mtu: 1400 -> ")) << refused.err;
  EXPECT_TRUE(refused.err.contains("s1.toml was written by somebody else; only remarks"))
      << refused.err;
  EXPECT_EQ(text_of_site("s2"), before);
  options_.is_forced = true;
  EXPECT_EQ(run(render).status, exit_done);
  EXPECT_EQ(find_file(path("s2")).value().state, Found::State::Made);
}

TEST_F(Commands, of_a_file_with_mistakes_all_are_told_and_nothing_is_written) {
  write(deployment_text(2) + site_text(2));
  const Outcome outcome = run(render);
  EXPECT_EQ(outcome.status, exit_mistakes);
  EXPECT_EQ(outcome.json()["mistakes"][0]["line"], 15) << outcome.out;
  EXPECT_FALSE(fs::exists(path("s1")));
  options_.is_json = false;
  EXPECT_TRUE(run(plan).err.contains("deployment.toml:15:8: site \"s2\" is there twice"));
}

TEST_F(Commands, a_site_that_goes_is_known_by_its_file) {
  write(deployment_text(3));
  (void)run(render);
  write(deployment_text(2));
  const Json json = run(plan).json();
  EXPECT_EQ(json["steps"].back()["do"], "stop");
  EXPECT_EQ(json["steps"].back()["site"], "s3");
}

TEST_F(Commands, apply_leaves_to_the_site_what_is_no_reload) {
  write(deployment_text(2));
  const Outcome outcome = run(apply);
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_TRUE(outcome.err.contains("causewayd --config " + path("s1"))) << outcome.err;
  EXPECT_TRUE(fs::exists(path("s1")));
  EXPECT_FALSE(fs::exists(path("s2")));
  EXPECT_EQ(run(apply).status, exit_failed);
  EXPECT_TRUE(fs::exists(path("s2")));
  EXPECT_EQ(run(apply).status, exit_done);
  options_.wait = "soon";
  EXPECT_EQ(run(apply).status, exit_mistakes);
}

TEST_F(Commands, apply_writes_files_of_sites_that_need_no_step) {
  write(deployment_text(2));
  (void)run(render);
  const std::string made = text_of_site("s2");
  std::ofstream(path("s2"), std::ios::app) << "# a remark\n";
  EXPECT_EQ(run(apply).status, exit_failed);
  EXPECT_NE(text_of_site("s2"), made);
  options_.is_forced = true;
  EXPECT_EQ(run(apply).status, exit_done);
  EXPECT_EQ(text_of_site("s2"), made);
}

TEST_F(Commands, a_file_that_is_not_there_is_told) {
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.status, exit_failed);
  EXPECT_TRUE(outcome.err.contains("deployment.toml cannot be read")) << outcome.err;
}

}  // namespace
}  // namespace cw::deploy
