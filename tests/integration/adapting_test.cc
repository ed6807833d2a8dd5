// Gateways whose class adapts, as processes: what the log and causewayctl say of it, what orders
// and files do to it.
#include <signal.h>

#include <map>

#include "tests/integration/daemon_lab.h"
#include "tests/lab/datagrams.h"

namespace cw::lab {
namespace {

/// Loss of what site A sends, and its class.
struct Choice {
  std::string loss = "0", policy = "adaptive", more;
};

std::string file_of(bool is_a, const Choice& choice = {}) {
  return replaced(config_of(is_a), "[pair]",
                  "[wan.impair]\nloss = '" + choice.loss + " %'\n[pair]") +
         "[[class]]\nname = 'bulk'\npolicies = ['selective_repeat', 'erasure']\npolicy = '" +
         choice.policy + "'\n" + (choice.policy == "adaptive" ? "transfer = '64 KiB'\n" : "") +
         choice.more;
}

class Adapting : public Causewayd {
 protected:
  void start_pair(const Choice& choice) {
    sites_->join(CW_WAN_PROGRAM, {"--rtt", "10ms"});
    start(a_, At::GatewayA, file_of(true, choice));
    start(b_, At::GatewayB, file_of(false));
    ASSERT_TRUE(a_->wait_for("info up peer=north")) << a_->err_so_far();
    datagrams_.emplace(*sites_, DatagramsOptions{});
    datagrams_->start();
  }
  void TearDown() override {
    if (datagrams_) datagrams_->stop();
    datagrams_.reset();
    Causewayd::TearDown();
  }
  void reload(const Choice& choice) const {
    std::ofstream(folder_ / "a.toml") << file_of(true, choice);
    a_->signal(SIGHUP);
  }
  Outcome ctl(const Arguments& more) const {
    Arguments all = {CW_CTL_PROGRAM, "--config", folder_ / "a.toml"};
    all.insert(all.end(), more.begin(), more.end());
    return sites_->space(At::GatewayA).run(all);
  }
  Json row() const {
    const Outcome outcome = ctl({"adaptive", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json rows = Json::parse(outcome.out)["adaptive"];
    return rows.empty() ? Json() : rows[0];
  }
  bool wait_for_row(const std::function<bool(const Json&)>& is_so) const {
    for (const auto end = Time::now() + seconds(40); Time::now() < end;) {
      if (is_so(row())) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    ADD_FAILURE() << row().dump() << a_->err_so_far();
    return false;
  }
  bool wait_to_send_by(const std::string& name) const {
    return wait_for_row([&](const Json& it) {
      return it["state"] != "changing" && it["present"].get<std::string>().starts_with(name);
    });
  }

  std::optional<Datagrams> datagrams_;
};

TEST_F(Adapting, follows_the_line_and_says_why) {
  start_pair({});
  ASSERT_TRUE(wait_to_send_by("selective_repeat/1"));
  reload({.loss = "2"});
  ASSERT_TRUE(a_->wait_for("info adapted ")) << a_->err_so_far();
  EXPECT_TRUE(wait_to_send_by("erasure/1"));
  const Json it = row();
  EXPECT_EQ(it["class"], "bulk");
  EXPECT_EQ(it["peer"], "north");
  EXPECT_GE(it["raised"].get<uint64_t>(), 1u);
  EXPECT_GT(it["loss"].get<double>(), 0.002);
  EXPECT_NE(it["last"].get<std::string>().find("erasure"), std::string::npos);
  const Outcome table = ctl({"adaptive"});
  EXPECT_NE(table.out.find("s ago, bulk to north: loss "), std::string::npos) << table.out;
}

TEST_F(Adapting, is_over_by_an_order_until_it_is_told_to_go_on) {
  start_pair({.loss = "2", .policy = "adaptive", .more = ""});
  ASSERT_TRUE(wait_to_send_by("erasure/1"));
  EXPECT_EQ(ctl({"swap", "bulk", "selective_repeat"}).status, 0);
  ASSERT_TRUE(wait_for_row([](const Json& it) { return it["state"] == "held"; }));
  std::this_thread::sleep_for(seconds(2));
  EXPECT_TRUE(row()["present"].get<std::string>().starts_with("selective_repeat/1"));
  EXPECT_EQ(ctl({"adapt", "bulk", "--peer", "north"}).status, 0);
  EXPECT_TRUE(wait_to_send_by("erasure/1"));
  const Outcome wrong = ctl({"adapt", "mine"});
  EXPECT_EQ(wrong.status, 2) << wrong.err;
  EXPECT_NE(wrong.err.find("there is no class \"mine\" here; there are bulk"), std::string::npos)
      << wrong.err;
}

/// A file makes it begin and end, and leaves alone what it does not speak of.
TEST_F(Adapting, begins_and_ends_with_the_file) {
  start_pair({.loss = "2", .policy = "selective_repeat", .more = ""});
  ASSERT_TRUE(row().is_null());
  EXPECT_EQ(ctl({"adapt", "bulk"}).status, 2) << "it does not adapt";
  reload({.loss = "2"});
  ASSERT_TRUE(wait_to_send_by("erasure/1"));
  reload({.loss = "2.5"});
  ASSERT_TRUE(a_->wait_for("info reloaded ")) << a_->err_so_far();
  std::this_thread::sleep_for(seconds(1));
  EXPECT_TRUE(wait_to_send_by("erasure/1"));
  reload({.loss = "2.5", .policy = "adaptive", .more = "dry_run = true\n"});
  EXPECT_TRUE(wait_for_row([](const Json& it) { return it["state"] == "dry run"; }));
  reload({.loss = "2.5", .policy = "selective_repeat", .more = ""});
  EXPECT_TRUE(wait_for_row([](const Json& it) { return it.is_null(); }));
  ASSERT_TRUE(a_->wait_for("policy=selective_repeat/1")) << a_->err_so_far();
  EXPECT_EQ(ctl({"adaptive"}).status, 0);
}

}  // namespace
}  // namespace cw::lab
