#include "dataplane/sdr/line/transmitter.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace cw::sdr {
namespace {

std::vector<uint16_t> take(Transmitter& transmitter, size_t count) {
  std::vector<uint16_t> paths(count);
  for (uint16_t& path : paths) path = transmitter.choose(CW_CHOOSE_ANY, 0, 0);
  return paths;
}

TEST(Transmitter, takes_paths_in_turn) {
  Transmitter transmitter(3);
  EXPECT_EQ(take(transmitter, 7), (std::vector<uint16_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Transmitter, spreads_by_weight_and_as_evenly_as_that_allows) {
  const std::array<uint8_t, 3> weights{4, 2, 1};
  Transmitter transmitter(3, weights);
  EXPECT_EQ(take(transmitter, 7), (std::vector<uint16_t>{0, 1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(take(transmitter, 2), (std::vector<uint16_t>{0, 1}));
}

TEST(Transmitter, leaves_out_what_is_down_and_keeps_the_others_weights) {
  const std::array<uint8_t, 3> weights{4, 2, 1};
  Transmitter transmitter(3, weights);
  take(transmitter, 5);
  transmitter.set_up(0b110);
  std::map<uint16_t, int> counts;
  for (const uint16_t path : take(transmitter, 300)) ++counts[path];
  EXPECT_EQ(counts, (std::map<uint16_t, int>{{1, 200}, {2, 100}}));
  EXPECT_FALSE(transmitter.is_up(0));
  EXPECT_FALSE(transmitter.is_up(3));
}

TEST(Transmitter, takes_the_path_that_is_asked_for_while_it_is_up) {
  Transmitter transmitter(2);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 1);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 1);
  transmitter.set_up(0b01);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_ID, 1, 0), 0);
}

TEST(Transmitter, avoids_the_last_path_where_there_is_another) {
  const std::array<uint8_t, 2> weights{16, 1};
  Transmitter transmitter(2, weights);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(transmitter.choose(CW_CHOOSE_NOT_LAST, 0, 0), 1);
  transmitter.set_up(0b01);
  EXPECT_EQ(transmitter.choose(CW_CHOOSE_NOT_LAST, 0, 0), 0);
}

TEST(Transmitter, counts_what_took_a_path_over_all_channels) {
  Transmitter transmitter(2);
  for (int i = 0; i < 5; ++i) transmitter.take_psn(0, 1);
  for (int i = 0; i < 3; ++i) transmitter.take_psn(2, 1);
  EXPECT_EQ(transmitter.sent(0), 0u);
  EXPECT_EQ(transmitter.sent(1), 8u);
  transmitter.restart_psns();
  EXPECT_EQ(transmitter.sent(1), 0u);
}

}  // namespace
}  // namespace cw::sdr
