// What ./demo understands and what it shows.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "control/json/json.h"
#include "tests/demo/options.h"
#include "tests/demo/rdma.h"
#include "tests/demo/report.h"
#include "tests/rdma/perftest.h"

namespace cw::demo {
namespace {

// ---- options ----

Result<Options> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "causeway-demo");
  return parse_options(arguments);
}

TEST(DemoOptions, rdma_has_defaults_of_its_own) {
  const auto plain = parsed({}), rdma = parsed({"--rdma"});
  ASSERT_TRUE(plain && rdma);
  EXPECT_FALSE(plain->is_rdma);
  EXPECT_EQ(plain->rtt, Duration::from_ms(25));
  EXPECT_EQ(plain->policy, "selective_repeat");
  EXPECT_EQ(plain->seconds, 30);
  EXPECT_TRUE(rdma->is_rdma);
  EXPECT_EQ(rdma->rtt, Duration::from_ms(20));
  EXPECT_EQ(rdma->policy, "hybrid");
  EXPECT_EQ(rdma->seconds, 3);
  EXPECT_EQ(rdma->rounds, 3);
}

TEST(DemoOptions, rdma_takes_what_is_said_of_the_link_and_the_run) {
  const auto it = parsed({"--rdma", "--rtt", "60ms", "--loss", "3%", "--burst", "8", "--policy",
                          "erasure", "--seconds", "5", "--rounds", "1", "--mtu", "4200", "--guest",
                          "/somewhere", "--json"});
  ASSERT_TRUE(it) << it.error().sentence;
  EXPECT_EQ(it->rtt, Duration::from_ms(60));
  EXPECT_DOUBLE_EQ(it->loss, 0.03);
  EXPECT_EQ(it->policy, "erasure");
  EXPECT_EQ(it->seconds, 5);
  EXPECT_EQ(it->rounds, 1);
  EXPECT_EQ(it->mtu, 4200);
  EXPECT_EQ(it->guest, "/somewhere");
  EXPECT_TRUE(it->is_json);
}

TEST(DemoOptions, options_of_the_other_demo_are_refused_in_one_sentence) {
  for (const char* const each : {"--cores", "--seed", "--warm-up", "--udp-rate", "--file"}) {
    const auto it = parsed({"--rdma", each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence,
              std::string(each) + " has no meaning with --rdma; leave one of them out");
  }
  for (const char* const each : {"--rounds", "--guest"}) {
    const auto it = parsed({each, "1"});
    ASSERT_FALSE(it) << each;
    EXPECT_EQ(it.error().sentence, std::string(each) + " is for --rdma only; add it");
  }
}

TEST(DemoOptions, gateways_have_a_port_that_there_is) {
  EXPECT_EQ(parsed({"--wan", "dpdk"})->wan, Wan::Dpdk);
  EXPECT_EQ(parsed({"--rdma"})->wan, Wan::Udp);
  EXPECT_EQ(parsed({"--rdma", "--wan", "dpdk"})->wan, Wan::Dpdk);
  EXPECT_EQ(parsed({"--rdma", "--wan", "verbs"})->wan, Wan::Verbs);
  EXPECT_EQ(parsed({"--wan", "tin"}).error().sentence,
            "--wan: \"tin\" is no port; udp, dpdk, xdp and verbs are");
  EXPECT_EQ(parsed({"--wan", "xdp", "--lan", "xdp"})->lan, Lan::Xdp);
  EXPECT_EQ(parsed({"--lan", "tan"}).error().sentence,
            "--lan: \"tan\" is no port; tun and xdp are");
  EXPECT_EQ(parsed({"--wan", "xdp", "--mtu", "9000"})->mtu, 9000u);
  EXPECT_EQ(parsed({"--lan", "xdp", "--cores", "2"}).error().sentence,
            "--cores: the demo's cables have one queue each, for one core");
  EXPECT_EQ(parsed({"--wan", "verbs"}).error().sentence,
            "--wan verbs is for --rdma only, whose machines have RNICs; add it");
}

TEST(DemoOptions, datagrams_leave_room_for_the_repair_of_the_policy) {
  const auto offered_mbps = [](std::vector<const char*> arguments) {
    const auto it = parsed(std::move(arguments));
    return it ? static_cast<double>(it->offered_udp().bps()) / 1e6 : 0;
  };
  EXPECT_NEAR(offered_mbps({}), 400, 0.1) << "four fifths of the link";
  // At most 8 repair slots for 32 of data, and 16 for 32.
  EXPECT_NEAR(offered_mbps({"--policy", "hybrid"}), 320, 0.1);
  EXPECT_NEAR(offered_mbps({"--policy", "erasure", "--rate", "100Mbit/s"}), 53.3, 0.1);
  EXPECT_NEAR(offered_mbps({"--policy", "erasure", "--udp-rate", "77Mbit/s"}), 77, 0.1);
}

TEST(DemoOptions, a_policy_is_one_that_the_gateways_have) {
  const auto none = parsed({"--rdma", "--policy", "hybird"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence,
            "--policy: \"hybird\" is none; there are passthrough, go_back_n, selective_repeat, "
            "erasure, hybrid, layered_interleave");
  EXPECT_TRUE(parsed({"--policy", "erasure"}));
}

TEST(DemoOptions, numbers_have_bounds) {
  const auto none = parsed({"--rdma", "--rounds", "0"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sentence, "--rounds: \"0\" is not a whole number from 1 to 100");
  EXPECT_FALSE(parsed({"--rdma", "--rounds", "101"}));
  EXPECT_TRUE(parsed({"--rdma", "--rounds", "100"}));
}

}  // namespace

}  // namespace cw::demo

namespace cw::lab {
namespace {

// ---- What perftest 4.5 printed on virtual hosts, word by word, in tests/data/perftest ----

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

namespace cw::demo {
namespace {

// ---- What the demo says of a run ----

Report report_of(const char* emulator) {
  Report report;
  report.options.policy = "hybrid";
  report.emulator = emulator;
  read_emulator(report);
  return report;
}

TEST(DemoReport, says_what_was_offered) {
  const Report report = report_of(R"({"void": false, "lateness_us": {"p99": 120.4}})");
  const std::string table = to_table(report);
  EXPECT_NE(table.find("UDP offered                          320.0 Mbit/s"), std::string::npos)
      << table;
  EXPECT_NE(table.find("emulator late           p99 120 us"), std::string::npos) << table;
  EXPECT_EQ(table.find("VOID"), std::string::npos) << table;
  EXPECT_EQ(Json::parse(to_json(report))["udp_offered_mbps"], 320.0);
}

TEST(DemoReport, says_what_was_late_and_by_how_much_where_a_run_is_void) {
  const Report report = report_of(R"({"void": true, "lateness_us": {"p99": 2100},
      "void_because": "the emulator was 2100 us late"})");
  const std::string table = to_table(report);
  EXPECT_NE(table.find("VOID: the emulator was 2100 us late\n"), std::string::npos) << table;
  const auto link = Json::parse(to_json(report))["link"];
  EXPECT_EQ(link["void"], true);
  EXPECT_EQ(link["void_because"], "the emulator was 2100 us late");
}

// ---- rdma report ----

RdmaReport some_report() {
  RdmaReport report;
  report.options.is_rdma = true;
  report.options.rtt = Duration::from_ms(20);
  report.options.policy = "hybrid";
  report.plain = {{2, 6, 4}, 195};
  report.plain_quick = {{12, 14, 13}, 300};
  report.plain_lossless = {{40, 40, 40}, 0};
  report.gateway = {{38, 39, 10}, 7};
  report.gateway_lossless = {{39, 40, 20}, 0};
  return report;
}

TEST(RdmaReport, a_program_finds_medians_by_name_and_retransmissions_as_a_number) {
  const Json it = Json::parse(to_json(some_report()));
  EXPECT_EQ(it["rc_mbps"]["plain"], 4);
  EXPECT_EQ(it["rc_mbps"]["plain_timeout_14"], 13);
  EXPECT_EQ(it["rc_mbps"]["plain_lossless"], 40);
  EXPECT_EQ(it["rc_mbps"]["gateway"], 38);
  EXPECT_EQ(it["rc_mbps"]["gateway_lossless"], 39);
  EXPECT_EQ(it["rc_mbps_runs"]["plain"], Json({2, 6, 4}));
  EXPECT_EQ(it["host_retransmits"], 7);
  EXPECT_EQ(it["host_retransmits_by_way"]["plain"], 195);
  EXPECT_EQ(it["link"]["rtt_ms"], 20);
  EXPECT_EQ(it["link"]["loss"], 0.01);
  EXPECT_EQ(it["policy"], "hybrid");
}

TEST(RdmaReport, a_person_sees_each_way_beside_its_own_without_loss) {
  const std::string text = to_table(some_report());
  EXPECT_NE(text.find("loses 1 % of all packets"), std::string::npos) << text;
  EXPECT_NE(text.find("without gateways                 4.0 Mbit/s               10 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("with gateways                   38.0 Mbit/s               97 %"),
            std::string::npos)
      << text;
}

TEST(RdmaReport, a_median_is_in_the_middle) {
  EXPECT_EQ(RdmaWay().median_mbps(), 0);
  EXPECT_EQ((RdmaWay{{3}, 0}).median_mbps(), 3);
  EXPECT_EQ((RdmaWay{{4, 2}, 0}).median_mbps(), 3);
  EXPECT_EQ((RdmaWay{{9, 1, 2}, 0}).median_mbps(), 2);
}

}  // namespace

}  // namespace cw::demo
