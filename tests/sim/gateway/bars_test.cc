// What was put in quarantine stays away, in later lives too, until it is forgiven.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/gateway/site/care/bars.h"
#include "tests/sim/gateway/ordered_sites.h"

namespace cw::sim {
namespace {

using namespace literals;
using site::Bars;
using site::SwapView;

/// A folder of its own, that goes with it.
struct StateFolder {
  StateFolder() { std::filesystem::create_directories(path); }
  ~StateFolder() { std::filesystem::remove_all(path); }
  std::string text() const {
    std::ifstream in(path + "/barred.json");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(path + "/barred.json") << text; }

  const std::string path = testing::TempDir() + "bars_" + std::to_string(getpid()) + "_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name();
};

sdr::PolicyChoice choice_of(const cw_policy_ops* policy, const std::vector<double>& params) {
  return {policy, params};
}

TEST(Bars, outlive_whoever_set_them) {
  const StateFolder folder;
  plugins::Registry registry;
  const std::vector<double> params = config::default_params(*cw_policy_hybrid());
  std::vector<double> others = params;
  others.front() = cw_policy_hybrid()->params[0].max;
  {
    Bars bars(registry);
    ASSERT_TRUE(bars.keep_in(folder.path));
    EXPECT_EQ(bars.find(choice_of(cw_policy_hybrid(), params)), nullptr);
    bars.add(choice_of(cw_policy_hybrid(), params));
    bars.add(choice_of(cw_policy_hybrid(), params));
    EXPECT_EQ(bars.all().size(), 1u);
    EXPECT_EQ(bars.trouble(), "");
  }
  Bars bars(registry);
  ASSERT_TRUE(bars.keep_in(folder.path));
  ASSERT_EQ(bars.all().size(), 1u);
  EXPECT_NE(bars.find(choice_of(cw_policy_hybrid(), params)), nullptr);
  EXPECT_EQ(bars.find(choice_of(cw_policy_hybrid(), others)), nullptr);
  const std::string policy = bars.all()[0].policy, text = bars.all()[0].params;
  EXPECT_EQ(policy, "hybrid/1");
  EXPECT_EQ(bars.forgive(policy, "other=1"), 0u);
  EXPECT_EQ(bars.forgive(policy, text), 1u);
  Bars later(registry);
  ASSERT_TRUE(later.keep_in(folder.path));
  EXPECT_TRUE(later.all().empty());
}

TEST(Bars, without_a_folder_are_of_this_life) {
  plugins::Registry registry;
  const std::vector<double> params = config::default_params(*cw_policy_hybrid());
  Bars bars(registry);
  bars.add(choice_of(cw_policy_hybrid(), params));
  EXPECT_NE(bars.find(choice_of(cw_policy_hybrid(), params)), nullptr);
  EXPECT_EQ(bars.trouble(), "");
}

TEST(Bars, tell_what_cannot_be_read_or_written) {
  const StateFolder folder;
  plugins::Registry registry;
  folder.write("{\"barred\": [{}]}");
  Bars bars(registry);
  const auto read = bars.keep_in(folder.path);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().sentence.find("barred.json is not what a gateway has written"),
            std::string::npos)
      << read.error().sentence;
  bars.add(choice_of(cw_policy_passthrough(), {}));
  EXPECT_EQ(folder.text(), "{\"barred\": [{}]}") << "left for whoever mends it";
  Bars elsewhere(registry);
  ASSERT_TRUE(elsewhere.keep_in(folder.path + "/nowhere"));
  elsewhere.add(choice_of(cw_policy_passthrough(), {}));
  EXPECT_NE(elsewhere.trouble().find("cannot be written"), std::string::npos);
}

/// The next life begins with the fallback, and no order brings it back before it is forgiven.
TEST(Bars, hold_from_the_first_epoch_of_a_later_life_on) {
  const StateFolder folder;
  {
    plugins::Registry registry;
    Bars bars(registry);
    ASSERT_TRUE(bars.keep_in(folder.path));
    const std::vector<double> params = config::default_params(*cw_policy_hybrid());
    bars.add(choice_of(cw_policy_hybrid(), params));
  }
  SiteText text;
  text.classes = "[[class]]\nname = \"all\"\npolicy = \"hybrid\"\n";
  SiteText with_state = text;
  with_state.site = "state_folder = \"" + folder.path + "\"\n";
  OrderedSites world({site_files(2, with_state)[0], site_files(2, text)[1]});
  EXPECT_EQ(world.out(1), "selective_repeat");
  const auto& warnings = world.sites.gateway(1).plan().warnings;
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string& each) {
    return each.find("hybrid/1 is barred since ") != std::string::npos;
  }));
  const uint32_t first = world.order(order_of(cw_policy_hybrid()));
  world.run_for(500_ms);
  EXPECT_EQ(world.view(first).fate, SwapView::Fate::NotDone);
  EXPECT_EQ(world.view(first).status, SwapStatus::Barred) << world.view(first).why;
  site::Site& gateway = world.sites.gateway(1);
  ASSERT_EQ(gateway.bars().size(), 1u);
  const site::Bar bar = gateway.bars()[0];
  EXPECT_EQ(gateway.forgive(bar.policy, bar.params), 1u);
  const uint32_t second = world.order(order_of(cw_policy_hybrid()));
  world.run_for(500_ms);
  EXPECT_EQ(world.view(second).fate, SwapView::Fate::Done) << world.view(second).why;
  EXPECT_EQ(world.out(1), "hybrid");
}

}  // namespace
}  // namespace cw::sim
