// A group of two machines whose RNICs multicast to each other: soft-RoCE, one LAN, a line in its
// middle that loses packets or none. Every byte is compared at both, and a stranger reads the wire.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>
#include <string>

#include "tests/rdma/rdma_suite.h"

namespace cw::lab {
namespace {

using std::chrono::seconds;

constexpr const char* members = "10.9.0.1,10.9.0.2";
constexpr const char* group = "239.1.2.3";

/// What a member has printed, by name; of what it says of each round the sums.
using Said = std::map<std::string, uint64_t>;

Said said_by(const Outcome& outcome) {
  Said said;
  std::istringstream words(outcome.out);
  for (std::string word; words >> word;) {
    const size_t middle = word.find('=');
    const bool is_number = middle != std::string::npos && middle + 1 < word.size() &&
                           std::isdigit(word[middle + 1]) != 0;
    if (is_number) said[word.substr(0, middle)] += std::stoull(word.substr(middle + 1));
  }
  return said;
}

struct Both {
  Said a, b;
};

class RnicGroup : public RdmaSuite {
 protected:
  void SetUp() override {
    RdmaSuite::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sites().bridge();
    // IGMP, too, has what it needs: the machines' own addresses in this LAN.
    for (VirtualHost* each : {&a(), &b()}) {
      const Outcome outcome = each->run(
          "ip addr replace 10.9.0." + std::string(each == &a() ? "1" : "2") + "/24 dev eth0",
          seconds(30));
      ASSERT_EQ(outcome.status, 0) << outcome.err;
    }
  }

  /// Both have it done, right to the last byte.
  Both expect_done(const std::string& operation, const std::string& loss, uint32_t bytes,
                   int rounds) {
    sites().set_line({.rtt = "4ms", .loss = loss, .rate = "200Mbit/s"});
    const auto lines = [&](const char* rank) {
      return "exec timeout 100 " CW_GROUP_PROGRAM " rx0 " + std::string(rank) + " " + members +
             " " + group + " 4 " + operation + " " + std::to_string(bytes) + " " +
             std::to_string(rounds);
    };
    const int of_b = b().start(lines("1")), of_a = a().start(lines("0"));
    const Outcome at_a = a().finish(of_a, seconds(110)), at_b = b().finish(of_b, seconds(110));
    EXPECT_EQ(at_a.status, 0) << at_a.out << at_a.err;
    EXPECT_EQ(at_b.status, 0) << at_b.out << at_b.err;
    tell(operation + " at " + loss + ":\n" + at_a.out + "-- b:\n" + at_b.out);
    Both both{said_by(at_a), said_by(at_b)};
    for (Said* each : {&both.a, &both.b}) {
      EXPECT_EQ((*each)["parts_wrong"], 0u);
      for (const char* count : {"slots_copied", "queues_broken", "tx_lost", "rx_unknown"}) {
        EXPECT_EQ((*each)[count], 0u) << count;
      }
      EXPECT_EQ((*each)["path_mtu"], 1024u);
    }
    return both;
  }

  /// Of what was captured, how many frames this filter shows.
  size_t frames_of(const std::string& filter) {
    const Outcome read = sites()
                             .sites()
                             .space(At::Between)
                             .run({"tshark", "-r", folder_.path("wire"), "-Y", filter, "-T",
                                   "fields", "-e", "frame.number"});
    EXPECT_EQ(read.status, 0) << read.err;
    return static_cast<size_t>(std::ranges::count(read.out, '\n'));
  }

  Folder folder_{enclosure_folder};
};

TEST_F(RnicGroup, broadcasts_as_one_packet_for_all) {
  Program tshark(
      sites().sites().namespace_of(At::GatewayA),
      {"tshark", "-q", "-i", "la", "-w", folder_.path("wire"), "-f", "udp port 4791 or igmp"});
  ASSERT_TRUE(tshark.wait_for("Capturing on")) << tshark.err_so_far();
  constexpr uint32_t bytes = 250'000;
  constexpr size_t rounds = 4, slots_of_round = (bytes + 987) / 988;
  const Both both = expect_done("broadcast", "0%", bytes, rounds);
  tshark.signal(SIGINT);
  EXPECT_EQ(tshark.finish().status, 0);
  const std::string slots =
      "infiniband.bth.opcode == 0x65 && infiniband.bth.destqp == 0xffffff && ip.dst == 239.1.2.3";
  // Who is late, as an emulated machine may be, is asked for what it has not sent yet, and does not
  // multicast that.
  const size_t count = frames_of(slots);
  EXPECT_LE(count, rounds * slots_of_round) << "each slot once, whoever hears it";
  EXPECT_GE(count + both.b.at("fetched"), rounds * slots_of_round);
  EXPECT_GT(count, rounds * slots_of_round / 2);
  EXPECT_EQ(both.a.at("rx_own"), count) << "which soft-RoCE brings back";
  EXPECT_EQ(frames_of(slots + " && infiniband.deth.q_key == 0x1ca05e0a && ip.ttl == 4"), count);
  EXPECT_EQ(frames_of("!infiniband && udp.dstport == 4791"), 0u);
  EXPECT_EQ(frames_of("infiniband.bth.opcode == 0x65 && "
                      "(_ws.malformed || _ws.expert.severity >= 0x00600000)"),
            0u);
  EXPECT_GT(frames_of("igmp && igmp.maddr == 239.1.2.3"), 0u) << "as a switch expects it";
}

TEST_F(RnicGroup, gathers_from_all_and_fetches_what_is_lost) {
  const Both both = expect_done("allgather", "2%", 125'000, 6);
  EXPECT_GT(both.a.at("fetched") + both.b.at("fetched"), 0u) << "the line has lost packets";
}

}  // namespace
}  // namespace cw::lab
