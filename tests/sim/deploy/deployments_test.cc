// Deployments as sites in virtual time: the files that were made for them, and changes of them in
// the order that was planned, while every host sends to every other.
#include <gtest/gtest.h>

#include "control/deploy/order/need.h"
#include "dataplane/sdr/swap/swap_seat.h"
#include "tests/sim/gateway/sites.h"
#include "tests/unit/deploy/sites.h"

namespace cw::sim {
namespace {

using deploy::Act;
using deploy::SiteFile;
using deploy::Step;
using namespace literals;

std::vector<std::string> texts_of(const std::vector<SiteFile>& files) {
  std::vector<std::string> texts;
  for (const SiteFile& each : files) texts.push_back(each.text);
  return texts;
}

uint16_t number_of(int from, int to) { return static_cast<uint16_t>(from * 32 + to); }

/// Sites of a deployment, with a flow each way between each two.
class Deployed {
 public:
  Deployed(const std::string& text, const Impairment& wan)
      : files_(deploy::files_of(text)),
        sites_({.seed = 3,
                .files = texts_of(files_),
                .wan = wan,
                .wire_packets = 1 << 18,
                .serves_relinks = true}) {}

  Sites& sites() { return sites_; }
  void send_all_ways(uint64_t packets, Rate rate) {
    for_each_way([&](int from, int to) {
      FlowOptions flow;
      flow.number = number_of(from, to);
      flow.bytes = 500;
      flow.rate = rate;
      flow.packets = packets;
      flow.begin = sites_.now();
      flow.from = static_cast<uint8_t>(from), flow.to = static_cast<uint8_t>(to);
      sites_.host(from).add_flow(flow);
    });
  }
  /// No frame is missing, twice or wrong.
  void expect_all_arrived() {
    for (int site = 1; site <= sites_.count(); ++site) sites_.host(site).stop();
    sites_.run_for(1_s);
    uint64_t sent = 0, received = 0;
    for_each_way([&](int from, int to) {
      const FlowReport& report = sites_.host(to).report(number_of(from, to));
      EXPECT_GT(report.received, 0u) << from << " to " << to;
      EXPECT_EQ(report.received, report.next) << from << " to " << to;
      EXPECT_EQ(report.wrong + report.doubled, 0u) << from << " to " << to;
      received += report.received;
    });
    for (int site = 1; site <= sites_.count(); ++site) sent += sites_.host(site).sent_count();
    EXPECT_EQ(received, sent);
    EXPECT_GT(lost_by_line(), 0u) << "nothing was to be mended";
  }

  /// Takes another deployment step by step, as a person would who waits for each.
  std::vector<Step> change_to(const std::string& text) {
    std::vector<deploy::OldFile> before;
    for (const SiteFile& each : files_) before.push_back({each.name, each.text});
    std::vector<SiteFile> after = deploy::files_of(text);
    const std::vector<deploy::Need> needs = deploy::needs_of(deploy::changes_of(before, after));
    const std::vector<Step> steps = deploy::order_of(needs);
    for (const Step& step : steps) {
      EXPECT_EQ(step.act, Act::Reload) << step.site;
      EXPECT_TRUE(step.breaks.empty()) << step.site;
      const auto file = std::ranges::find(after, step.site, &SiteFile::name);
      const int site = static_cast<int>(file - after.begin()) + 1;
      const auto need = std::ranges::find(needs, step.site, &deploy::Need::site);
      need->is_by_links ? begin_links(site, *need, *file) : reload(site, *file);
      EXPECT_TRUE(sites_.is_up()) << step.site;
    }
    files_ = std::move(after);
    return steps;
  }
  /// Until nobody has links of before.
  bool come_over(Duration within) {
    const auto are_over = [&] {
      for (int site = 1; site <= sites_.count(); ++site) {
        if (sites_.gateway(site).plan_beside() != nullptr) return false;
      }
      return true;
    };
    return sites_.run_until(are_over, sites_.now() + within);
  }
  std::string policy_out(int site) { return sites_.state(site).lanes[0].policy_out; }

 private:
  template <class Call>
  void for_each_way(const Call& call) {
    for (int from = 1; from <= sites_.count(); ++from) {
      for (int to = 1; to <= sites_.count(); ++to) {
        if (from != to) call(from, to);
      }
    }
  }
  uint64_t lost_by_line() {
    uint64_t lost = 0;
    for_each_way([&](int from, int to) {
      lost += sites_.wan_counters({.from = from, .to = to}).lost_total();
    });
    return lost;
  }
  /// What all must have alike waits for all, and files come to sites a while apart.
  void begin_links(int site, const deploy::Need& need, const SiteFile& file) {
    EXPECT_TRUE(sites_.seat(site).relink(file.text, sites_.now())) << file.name;
    const bool is_over = come_over(need.is_alike ? 300_ms : 5_s);
    EXPECT_TRUE(is_over || need.is_alike) << file.name;
  }
  void reload(int site, const SiteFile& file) {
    sites_.seat(site).take_live_keys(file.text, sites_.now());
    std::vector<site::WantedPolicy> wanted;
    const auto& qps = file.plan.peers.front().qps;
    for (uint16_t i = 0; i < file.plan.classes.size(); ++i) {
      wanted.push_back({i, sdr::named(qps[i].policy), nullptr});
    }
    sites_.gateway(site).want_policies(wanted, sites_.now());
    for (int i = 0; i < 100; ++i) {
      sites_.run_for(20_ms);
      bool has_open = false;
      for (int each = 1; each <= sites_.count(); ++each) {
        if (!sites_.state(each).has_open_swaps) continue;
        has_open = true;
        sites_.gateway(each).pursue_swaps(sites_.now());
      }
      if (!has_open) return;
    }
    ADD_FAILURE() << "swaps of " << file.name << " are not over";
  }

  std::vector<SiteFile> files_;
  Sites sites_;
};

/// A site that sends slowly, and forgets soon, costs a test little.
std::string text_of(int count, const std::string& class_keys, const std::string& rate = "20") {
  return "[pair]\nkey_file = \"key\"\nrtt = \"20 ms\"\nrtt_max = \"40 ms\"\nrate = \"40 Mbit/s\"\n"
         "[defaults.wan]\nrate = \"" +
         rate + " Mbit/s\"\n[[class]]\nname = \"all\"\nhold = \"400 ms\"\n" + class_keys + [&] {
           std::string sites;
           for (int i = 1; i <= count; ++i) sites += deploy::site_text(i);
           return sites;
         }();
}

class Deployments : public testing::TestWithParam<int> {};

TEST_P(Deployments, carry_frames_both_ways_between_each_two_sites) {
  Deployed world(text_of(GetParam(), ""), {.loss = 0.005, .delay = 10_ms});
  ASSERT_TRUE(world.sites().come_up());
  world.send_all_ways(200, Rate::from_bps(400'000));
  world.sites().run_for(2_s);
  world.expect_all_arrived();
}

INSTANTIATE_TEST_SUITE_P(OfSites, Deployments, testing::Values(2, 3, 4, 7, 11, 16));

const std::string roomy = "policies = [\"hybrid\", \"selective_repeat\"]\n";

TEST(DeploymentChange, of_the_policy_everywhere_and_of_rates_loses_no_frame) {
  for (const int count : {2, 4, 6}) {
    Deployed world(text_of(count, roomy + "policy = \"selective_repeat\"\n"),
                   {.loss = 0.005, .delay = 10_ms});
    ASSERT_TRUE(world.sites().come_up());
    world.send_all_ways(UINT64_MAX, Rate::from_bps(400'000));
    world.sites().run_for(300_ms);
    const auto steps =
        world.change_to(text_of(count, roomy + "policy = \"hybrid\"\nweight = 3\n", "30"));
    EXPECT_EQ(steps.size(), static_cast<size_t>(count));
    world.sites().run_for(300_ms);
    for (int site = 1; site <= count; ++site) EXPECT_EQ(world.policy_out(site), "hybrid");
    world.expect_all_arrived();
  }
}

TEST(DeploymentChange, of_what_must_be_alike_goes_by_reloads_and_loses_no_frame) {
  const std::string base = text_of(4, roomy);
  const struct {
    std::string from, to;
    size_t wait;  // for the first, when it has its file
  } changes[] = {
      {"[pair]\n", "[pair]\nmtu = 1300\n", 3},
      {"[[class]]", "[[class]]\nname = \"raw\"\nmatch = [{ dscp = 46 }]\n[[class]]", 3},
      {"rtt = \"20 ms\"", "rtt = \"30 ms\"", 0},
      {"hold = \"400 ms\"", "hold = \"600 ms\"", 0},
  };
  for (const auto& [from, to, wait] : changes) {
    SCOPED_TRACE(to);
    std::string after = base;
    after.replace(after.find(from), from.size(), to);
    Deployed world(base, {.loss = 0.005, .delay = 10_ms});
    ASSERT_TRUE(world.sites().come_up());
    world.send_all_ways(UINT64_MAX, Rate::from_bps(400'000));
    world.sites().run_for(300_ms);
    const auto steps = world.change_to(after);
    ASSERT_EQ(steps.size(), 4u);
    EXPECT_EQ(steps[0].carries_on.size(), wait);
    EXPECT_TRUE(steps[3].carries_on.empty());
    EXPECT_TRUE(steps[2].is_links_later && !steps[3].is_links_later);
    EXPECT_TRUE(world.come_over(5_s));
    world.expect_all_arrived();
  }
}

TEST(DeploymentChange, of_one_site_and_back_again_loses_no_frame) {
  const std::string base = text_of(3, roomy + "policy = \"selective_repeat\"\n");
  const std::string other =
      base + "[[site.class]]\nname = \"all\"\npolicy = \"hybrid\"\nweight = 2\n";
  Deployed world(base, {.loss = 0.01, .delay = 10_ms});
  ASSERT_TRUE(world.sites().come_up());
  world.send_all_ways(UINT64_MAX, Rate::from_bps(800'000));
  for (const std::string& text : {other, base, other}) {
    const auto steps = world.change_to(text);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].site, "s3");
    world.sites().run_for(200_ms);
  }
  EXPECT_EQ(world.policy_out(3), "hybrid");
  EXPECT_EQ(world.policy_out(1), "selective_repeat");
  world.expect_all_arrived();
}

}  // namespace
}  // namespace cw::sim
