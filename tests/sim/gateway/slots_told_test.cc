// What gateways tell of slots adds up with what the line did.
#include "tests/sim/gateway/adapt_world.h"

namespace cw::sim {
namespace {

using namespace literals;

struct Told {
  sdr::SentSlots sent;
  sdr::HeardSlots heard;
  PathState path;
};

/// Ten seconds of transfers from site 1 to site 2, and a second of rest.
Told told_after(const std::string& classes, const Weather& weather) {
  AdaptSites world(classes, {.begin = weather});
  world.begin_transfers();
  world.run(weather, 10_s);
  world.sites().host(1).stop_programs();
  world.sites().run_for(1_s);
  const site::SiteState here = world.sites().state(1), there = world.sites().state(2);
  return {here.lanes[0].sent_slots, there.lanes[0].heard_slots, there.peers[0].paths[0]};
}

/// Packets behind which nothing came open no gap: the last repair of all.
constexpr uint64_t unseen_most = 70;

TEST(SlotsTold, are_as_many_as_the_line_has_had) {
  for (const std::string& classes : {fixed_class("\"selective_repeat\""), erasure_class(32, 4),
                                     erasure_class(32, 1), fixed_class("\"passthrough\"")}) {
    SCOPED_TRACE(classes);
    const Told told = told_after(classes, {"lossy", 0.01, 2});
    const uint64_t left = told.sent.data + told.sent.resends + told.sent.repairs;
    const uint64_t came = told.path.arrived + told.path.lost - told.path.late;
    EXPECT_GE(left, came);
    EXPECT_LE(left - came, unseen_most);
    EXPECT_EQ(told.sent.waits.count(), told.sent.data);
    EXPECT_GT(told.heard.lost(), 0u);
    EXPECT_EQ(told.heard.open, 0u) << "all is over";
    EXPECT_LE(told.heard.lost(), told.path.lost) << "a slot that was lost twice is one";
  }
}

TEST(SlotsTold, say_what_helped) {
  const Weather lossy{"lossy", 0.01, 2};
  const Told resent = told_after(fixed_class("\"selective_repeat\""), lossy);
  EXPECT_GT(resent.heard.by_resend, 100u);
  EXPECT_EQ(resent.heard.by_code + resent.heard.given_up, 0u);
  EXPECT_GE(resent.sent.resends, resent.heard.by_resend);
  const Told coded = told_after(erasure_class(32, 8), lossy);
  EXPECT_GT(coded.heard.by_code, 100u);
  EXPECT_LE(coded.heard.by_resend + coded.heard.given_up, coded.heard.by_code / 20);
  EXPECT_GT(coded.sent.repairs, coded.sent.data / 8);
  const Told lost = told_after(fixed_class("\"passthrough\""), lossy);
  EXPECT_GT(lost.heard.given_up, 100u);
  EXPECT_EQ(lost.heard.by_code + lost.heard.by_resend, 0u);
}

TEST(SlotsTold, are_all_there_where_nothing_is_lost) {
  const Told told = told_after(fixed_class("\"selective_repeat\""), {"fine"});
  EXPECT_EQ(told.heard.lost() + told.heard.needless, 0u);
  EXPECT_EQ(told.sent.resends + told.sent.abandoned, 0u);
  EXPECT_LT(told.sent.waits.sum_ns / told.sent.waits.count(), 1'000'000u) << "ns, the mean";
}

}  // namespace
}  // namespace cw::sim
