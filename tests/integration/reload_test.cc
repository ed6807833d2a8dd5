// A gateway's file that is read again while traffic flows.
#include <signal.h>

#include "tests/integration/daemon_lab.h"

namespace cw::lab {
namespace {

/// Both have room for what the other may want.
std::string with_class(const std::string& config, const std::string& policy,
                       const std::string& params = "") {
  return config +
         "[[class]]\nname = 'all'\nhold = '500 ms'\npolicies = ['hybrid', 'go_back_n', "
         "'selective_repeat']\npolicy = '" +
         policy + "'\n" + params;
}

class Reload : public Causewayd {
 protected:
  void start_under(const std::string& policy) {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms", "--loss", "0.01"});
    start(a_, At::GatewayA, with_class(config_of(true), policy));
    start(b_, At::GatewayB, with_class(config_of(false), policy));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    ASSERT_TRUE(b_->wait_for("info up peer=south")) << b_->err_so_far();
  }
  /// At site a.
  void reload(const std::string& config) {
    std::ofstream(folder_ / "a.toml") << config;
    a_->signal(SIGHUP);
  }
};

TEST_F(Reload, replaces_a_policy_while_datagrams_cross) {
  start_under("selective_repeat");
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  uint32_t sent = 0;
  const auto cross = [&](uint32_t count) {
    for (const uint32_t end = sent + count; sent < end; ++sent) {
      from.send(to, sent);
      EXPECT_EQ(to.receive(), sent);
    }
  };
  cross(100);
  for (const char* policy : {"hybrid", "go_back_n", "selective_repeat"}) {
    reload(with_class(config_of(true), policy));
    const std::string named = "class=all peer=north direction=out policy=" + std::string(policy);
    const auto end = Time::now() + seconds(20);
    while (a_->err_so_far().find("info swapped " + named) == std::string::npos) {
      ASSERT_LT(Time::now(), end) << a_->err_so_far() << b_->err_so_far();
      cross(20);
    }
    EXPECT_TRUE(b_->wait_for("info swapped class=all peer=south direction=in policy=" +
                             std::string(policy)))
        << b_->err_so_far();
  }
  cross(100);
  const Json south = status("south.json"), north = status("north.json");
  EXPECT_EQ(south["classes"][0]["policy"]["out"], "selective_repeat");
  EXPECT_EQ(north["classes"][0]["policy"]["in"], "selective_repeat");
  EXPECT_EQ(south["swaps"][0]["fate"], "done");
  EXPECT_EQ(south["counters"]["epochs"], 1);
  EXPECT_EQ(north["swaps"][0]["ordered_here"], false);
}

TEST_F(Reload, changes_parameters_by_a_swap_to_the_same_policy) {
  start_under("hybrid");
  reload(with_class(config_of(true), "hybrid", "[class.params]\nalpha = 1.5\n"));
  EXPECT_TRUE(a_->wait_for("info swapped class=all peer=north")) << a_->err_so_far();
  EXPECT_TRUE(b_->wait_for("direction=in policy=hybrid/1")) << b_->err_so_far();
  EXPECT_NE(b_->err_so_far().find("alpha=1.5"), std::string::npos) << b_->err_so_far();
}

TEST_F(Reload, tells_every_mistake_and_takes_nothing_of_that_file) {
  start_under("selective_repeat");
  reload(with_class(replaced(config_of(true), "200 Mbit/s", "many"), "hybridd"));
  EXPECT_TRUE(a_->wait_for("error not_reloaded why=\"")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("wan.rate")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("hybridd")) << a_->err_so_far();
  EXPECT_EQ(a_->err_so_far().find("reloaded file="), std::string::npos);
  fs::remove(folder_ / "a.toml");
  a_->signal(SIGHUP);
  EXPECT_TRUE(a_->wait_for("a.toml cannot be read")) << a_->err_so_far();
  const Json south = status("south.json");
  EXPECT_EQ(south["swaps"], Json::array());
  EXPECT_EQ(south["peers"][0]["link"], "up");
}

TEST_F(Reload, names_what_takes_other_links) {
  start_under("selective_repeat");
  reload(with_class(replaced(config_of(true), "200 Mbit/s", "300 Mbit/s"), "hybrid"));
  EXPECT_TRUE(a_->wait_for("by_other_links=[\"wan.rate\"]")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("info swapped")) << a_->err_so_far();
}

/// Blocks that are larger than what both have made room for.
TEST_F(Reload, takes_other_links_for_a_policy_without_room) {
  start_under("selective_repeat");
  const std::string large = "[class.params]\nk = 64\nm = 16\n";
  reload(with_class(config_of(true), "erasure", large));
  EXPECT_TRUE(a_->wait_for("info relink_waits for=[\"north\"]")) << a_->err_so_far();
  EXPECT_EQ(a_->err_so_far().find("not_swapped"), std::string::npos) << a_->err_so_far();
  EXPECT_EQ(status("south.json")["classes"][0]["policy"]["out"], "selective_repeat");
  std::ofstream(folder_ / "b.toml") << with_class(config_of(false), "erasure", large);
  b_->signal(SIGHUP);
  EXPECT_TRUE(a_->wait_for("info relinked")) << a_->err_so_far();
  EXPECT_TRUE(b_->wait_for("info relinked")) << b_->err_so_far();
  const Json policy = status("south.json")["classes"][0]["policy"];
  EXPECT_EQ(policy["out"], "erasure");
  EXPECT_EQ(policy["in"], "erasure");
}

/// Whatever a swap is at when one of both dies: the other goes on with it when he is back.
TEST_F(Reload, outlives_the_death_of_either_gateway_in_the_middle) {
  start_under("selective_repeat");
  const Host from(*sites_, At::HostA, site_a.host), to(*sites_, At::HostB, site_b.host);
  uint32_t sent = 0;
  for (int life = 0; life < 8; ++life) {
    SCOPED_TRACE(life);
    const char* const policy = life % 2 == 0 ? "hybrid" : "selective_repeat";
    reload(with_class(config_of(true), policy));
    std::this_thread::sleep_for(milliseconds(life * 40));
    const bool is_a = life % 4 == 3;
    std::optional<Program>& victim = is_a ? a_ : b_;
    victim->signal(SIGKILL);
    victim->finish();
    start(victim, is_a ? At::GatewayA : At::GatewayB,
          with_class(config_of(is_a), is_a ? policy : "selective_repeat"));
    ASSERT_TRUE(victim->wait_for(is_a ? "info up peer=north" : "info up peer=south"))
        << a_->err_so_far() << b_->err_so_far();
    const auto end = Time::now() + seconds(20);
    while (status("south.json")["classes"][0]["policy"]["out"] != policy) {
      ASSERT_LT(Time::now(), end) << a_->err_so_far() << b_->err_so_far();
    }
    for (const uint32_t last = sent + 20; sent < last; ++sent) {
      from.send(to, sent);
      EXPECT_EQ(to.receive(), sent);
    }
  }
}

/// Another version of the file of a policy that runs: the old one runs on until the new one has
/// taken over, under the same name.
TEST_F(Reload, takes_a_new_version_of_a_plugins_file) {
  const auto with_plugin = [](const std::string& config) {
    return with_class(replaced(config, "[site]\n", "[site]\nplugins = ['repeat.so']\n"),
                      "selective_repeat");
  };
  const auto put = [&] {
    fs::copy_file(CW_PLUGIN, folder_ / "fresh.so", fs::copy_options::overwrite_existing);
    fs::rename(folder_ / "fresh.so", folder_ / "repeat.so");
  };
  put();
  sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
  start(a_, At::GatewayA, with_plugin(config_of(true)));
  start(b_, At::GatewayB, with_plugin(config_of(false)));
  ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
  a_->signal(SIGHUP);
  EXPECT_TRUE(a_->wait_for("info reloaded")) << a_->err_so_far();
  put();
  a_->signal(SIGHUP);
  EXPECT_TRUE(a_->wait_for("info plugin_loaded file=")) << a_->err_so_far();
  EXPECT_TRUE(a_->wait_for("info swapped class=all peer=north direction=out policy=selective_rep"))
      << a_->err_so_far();
  const std::string before = a_->err_so_far().substr(0, a_->err_so_far().find("plugin_loaded"));
  EXPECT_EQ(before.find("swapped"), std::string::npos) << "nothing was new then";
  std::ofstream(folder_ / "fresh.so") << "no plugin";
  fs::rename(folder_ / "fresh.so", folder_ / "repeat.so");
  a_->signal(SIGHUP);
  EXPECT_TRUE(a_->wait_for("error not_reloaded")) << a_->err_so_far();
  EXPECT_EQ(status("south.json")["peers"][0]["link"], "up");
}

/// What the peer must take part in waits for it.
TEST_F(Reload, waits_for_a_link_that_is_down) {
  start(a_, At::GatewayA, with_class(config_of(true), "selective_repeat"));
  ASSERT_TRUE(a_->wait_for("info ready")) << a_->err_so_far();
  reload(with_class(config_of(true), "hybrid"));
  EXPECT_TRUE(a_->wait_for("info swap_waits class=all peer=north")) << a_->err_so_far();
  sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
  start(b_, At::GatewayB, with_class(config_of(false), "selective_repeat"));
  EXPECT_TRUE(a_->wait_for("info swapped class=all peer=north direction=out policy=hybrid/1"))
      << a_->err_so_far();
}

}  // namespace
}  // namespace cw::lab
