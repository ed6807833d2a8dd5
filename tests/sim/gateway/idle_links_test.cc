// A link that nobody uses takes 64 KiB at most, counted in pages that the kernel has given: what a
// site makes by default for one more peer, and what comes to be while it is up and rests.
#include <gtest/gtest.h>

#include <string>

#include "tests/sim/gateway/many_peers.h"
#include "tests/sim/gateway/site_memory.h"

namespace cw::sim {
namespace {

using namespace cw::literals;

/// What all links have in common cancels out between a few of them and many.
template <class Do>
uint64_t of_each(size_t few, size_t many, const Do& resident_with) {
  const auto of = [&](size_t peers) {
    return in_a_fresh_process([&] { return resident_with(peers); });
  };
  const uint64_t of_few = of(few), of_many = of(many);
  return of_many < of_few ? 0 : (of_many - of_few) / (many - few);
}

/// With places and slots as a plan has them (500 Mbit/s, 25 ms).
TwoSitesOptions as_by_default() {
  TwoSitesOptions options = ManyPeers::options();
  options.messages = 64;
  options.message_slots = 704;
  options.wan.loss = 0.01;
  return options;
}

/// What a site makes for one more peer.
uint64_t made() {
  return of_each(512, 1024,
                 [](size_t peers) { return SiteMemory::of(static_cast<int>(peers)).resident; });
}

/// What comes to be while a link is up; its other end is here, too.
uint64_t up() {
  return of_each(33, 161,
                 [](size_t peers) {
                   ManyPeers gateways(peers, as_by_default());
                   const uint64_t before = resident_bytes();
                   CW_ASSERT(gateways.come_up());
                   gateways.rest(3_s);
                   CW_ASSERT(gateways.count(Counter::links_rested) >= peers);
                   return resident_bytes() - before;
                 }) /
         2;
}

TEST(IdleLinks, take_64_KiB_at_most_and_what_the_plan_says) {
  const uint64_t each = made() + up();
  RecordProperty("bytes", std::to_string(each));
  EXPECT_LE(each, 64u << 10);
  const uint64_t said = in_a_fresh_process([] { return SiteMemory::of(64).said_idle / 64; });
  EXPECT_NEAR(double(each), double(said), double(said) / 8);
}

}  // namespace
}  // namespace cw::sim
