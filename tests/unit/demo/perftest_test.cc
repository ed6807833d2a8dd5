// What perftest 4.5 printed on virtual hosts, word by word, in tests/data/perftest.
#include "tests/rdma/perftest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace cw::lab {
namespace {

std::string printed(const std::string& name) {
  std::ifstream stream(std::string(CW_SOURCE_DIR) + "/tests/data/perftest/" + name + ".txt");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Perftest, bandwidth_is_the_average_in_bits_of_ten_to_the_sixth) {
  const auto row = parse_bandwidth(printed("write_bw"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->message_bytes, 65536);
  EXPECT_EQ(row->messages, 154);
  EXPECT_DOUBLE_EQ(row->mbps, 4.78 * 1048576 * 8 / 1e6);
}

TEST(Perftest, of_small_messages_their_number_tells_more_than_hundredths_of_a_mebibyte) {
  const auto atomics = parse_bandwidth(printed("atomic_bw"));
  ASSERT_TRUE(atomics);
  EXPECT_EQ(atomics->message_bytes, 8);
  EXPECT_DOUBLE_EQ(atomics->mbps, 2046 * 8 * 8 / 1e6);
  const auto datagrams = parse_bandwidth(printed("send_bw_ud"));
  ASSERT_TRUE(datagrams);
  EXPECT_EQ(datagrams->message_bytes, 1024);
  // Both columns agree as far as they go.
  EXPECT_NEAR(datagrams->mbps, 2.86 * 1048576 * 8 / 1e6, 0.5);
}

TEST(Perftest, eight_qps_have_one_row) {
  const auto row = parse_bandwidth(printed("send_bw_8_qps"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->messages, 226);
  EXPECT_DOUBLE_EQ(row->mbps, 7.06 * 1048576 * 8 / 1e6);
}

TEST(Perftest, latency_is_the_median_and_the_99th_percentile) {
  const auto row = parse_latency(printed("write_lat"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->messages, 100);
  EXPECT_DOUBLE_EQ(row->p50_us, 12297.78);
  EXPECT_DOUBLE_EQ(row->p99_us, 22772.06);
}

TEST(Perftest, messages_in_no_time_are_no_bandwidth_and_none_at_all_are) {
  const std::string head = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n";
  EXPECT_FALSE(parse_bandwidth(head + " 65536 78 0.00 0.00 0.000000\n"));
  const auto none = parse_bandwidth(head + " 65536 0 0.00 0.00 0.000000\n");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->mbps, 0);
  EXPECT_FALSE(
      parse_latency(" #bytes #iterations t_min[usec] t_typical[usec]\n"
                    " 2 200 inf inf inf inf -nan inf inf\n"));
}

TEST(Perftest, what_holds_no_row_of_that_kind_has_no_figures) {
  EXPECT_FALSE(parse_bandwidth(""));
  EXPECT_FALSE(parse_bandwidth("Couldn't connect to 10.2.0.2:18515\n"));
  EXPECT_FALSE(parse_bandwidth(printed("write_lat")));
  EXPECT_FALSE(parse_latency(printed("write_bw")));
  // Killed between the head and the row, and within the row.
  const std::string whole = printed("write_bw");
  const size_t below = whole.find('\n', whole.find("#bytes"));
  EXPECT_FALSE(parse_bandwidth(whole.substr(0, below + 1)));
  EXPECT_FALSE(parse_bandwidth(whole.substr(0, below + 20)));
}

}  // namespace
}  // namespace cw::lab
