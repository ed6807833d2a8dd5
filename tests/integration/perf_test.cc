// causeway-perf between two processes: over the loopback interface, and between two hosts whose
// link loses packets.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "tests/lab/lab.h"

#include "control/json/json.h"

namespace cw::lab {
namespace {

Arguments operator+(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const Arguments server{CW_PERF_PROGRAM, "server", "--json"};
Arguments client(const char* host) { return {CW_PERF_PROGRAM, "client", host, "--json"}; }

class Perf : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = obstacle();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    lab_.emplace();
  }
  void impair(const Arguments& how) {
    wan_.emplace(lab_->namespace_of(Middle), Arguments{CW_WAN_PROGRAM, "ma", "mb"} + how);
    ASSERT_TRUE(wan_->wait_for("ready")) << wan_->finish().err;
  }
  /// Waits until the client's data is under way on a host's loopback interface.
  void wait_for_traffic(Place place) const {
    const std::string wait =
        "for i in $(seq 1000); do "
        "[ $(ip -s -s link show lo | awk 'f {print $1; exit} /TX:/ {f = 1}') -gt 30000000 ] && "
        "exit; "
        "sleep 0.03; done; exit 1";
    ASSERT_EQ(lab_->run(place, {"sh", "-c", wait}).status, 0);
  }
  /// From one host to the other, with an address at each end; of 32 bits: without a route.
  void lay_cable(int bits) const {
    const std::string near =
        "ip link add xa address 02:00:00:00:01:01 numrxqueues 1 numtxqueues 1 type veth "
        "peer name xb address 02:00:00:00:01:02 numrxqueues 1 numtxqueues 1 netns " +
        lab_->path_of(HostB) + "; ip addr add 192.0.2.1/" + std::to_string(bits) +
        " dev xa; ip link set xa up";
    const std::string far =
        "ip addr add 192.0.2.2/" + std::to_string(bits) + " dev xb; ip link set xb up";
    ASSERT_EQ(lab_->run(HostA, {"sh", "-ec", near}).status, 0);
    ASSERT_EQ(lab_->run(HostB, {"sh", "-ec", far}).status, 0);
  }
  void serve(Place place, const Arguments& arguments = server) {
    server_.emplace(lab_->namespace_of(place), arguments);
    ASSERT_TRUE(server_->wait_for("ready")) << server_->finish().err;
  }

  std::optional<Lab> lab_;
  std::optional<Program> wan_, server_;
};

TEST_F(Perf, a_thousand_messages_cross_the_loopback_unharmed) {
  serve(HostA);
  const Outcome outcome = lab_->run(
      HostA, client("127.0.0.1") + Arguments{"--size", "64KiB", "--count", "1000", "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["done"], 1000);
  EXPECT_EQ(it["arrived_whole"], 1000);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["verified"], true);
  EXPECT_GT(it["bandwidth_mbps"], 0.0);
  const Outcome served = server_->finish();
  EXPECT_EQ(served.status, 0) << served.err;
  EXPECT_EQ(Json::parse(served.out), it["server"]);
}

TEST_F(Perf, crosses_ipv6_too) {
  serve(HostA);
  const Outcome outcome = lab_->run(HostA, client("::1") + Arguments{"--count", "50", "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  EXPECT_EQ(Json::parse(outcome.out)["arrived_whole"], 50);
}

#ifdef CW_HAVE_DPDK
Arguments memif(const char* role, const char* own, const char* peer) {
  const std::string device = std::string("net_memif0,bsize=9216,socket=/tmp/causeway-perf-test-") +
                             std::to_string(getpid()) + ",socket-abstract=no,role=" + role;
  return {"--port", "dpdk", "--device", device, "--address", own, "--peer", peer};
}

TEST_F(Perf, crosses_a_wire_in_memory_over_dpdk) {
  serve(HostA, server + memif("server", "192.0.2.1", "192.0.2.2"));
  const Outcome outcome =
      lab_->run(HostA, client("127.0.0.1") + memif("client", "192.0.2.2", "192.0.2.1") +
                           Arguments{"--size", "64KiB", "--count", "1000", "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["arrived_whole"], 1000);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(it["payload"], 8192);
  EXPECT_EQ(server_->finish().status, 0);
}
#endif

#ifdef CW_HAVE_DPDK
// A cable that the hosts' kernels have no route over. Each end is in a namespace of its own: within
// one, two processes whose number XOR interface is the same would ask for one fanout group.
TEST_F(Perf, crosses_a_cable_of_the_kernels_over_dpdk) {
  lay_cable(32);
  impair({});  // what the two say to each other beforehand goes the other way
  const auto end = [](const std::string& driver, bool is_a) {
    return Arguments{"--port",     "dpdk",
                     "--device",   driver + ",iface=" + (is_a ? "xa" : "xb"),
                     "--address",  is_a ? "192.0.2.1" : "192.0.2.2",
                     "--peer",     is_a ? "192.0.2.2" : "192.0.2.1",
                     "--next-hop", is_a ? "02:00:00:00:01:02" : "02:00:00:00:01:01"};
  };
  for (const char* driver : {"net_af_packet0", "net_af_xdp0"}) {
    serve(HostA, server + end(driver, true));
    const Outcome outcome =
        lab_->run(HostB, client(address_of_a) + end(driver, false) +
                             Arguments{"--size", "64KiB", "--count", "500", "--verify"});
    ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
    const Json it = Json::parse(outcome.out);
    EXPECT_EQ(it["arrived_whole"], 500) << driver;
    EXPECT_EQ(it["bytes_wrong"], 0);
    EXPECT_EQ(server_->finish().status, 0);
  }
}
#endif

#ifdef CW_HAVE_XDP
// One interface for what is measured and for what the ends say to each other by the kernel's TCP.
TEST_F(Perf, crosses_an_interface_that_the_kernel_keeps_over_xdp) {
  lay_cable(24);
  const auto end = [](bool is_a) {
    return Arguments{"--port",    "xdp",
                     "--device",  is_a ? "xa" : "xb",
                     "--address", is_a ? "192.0.2.1" : "192.0.2.2",
                     "--peer",    is_a ? "192.0.2.2" : "192.0.2.1"};
  };
  serve(HostA, server + end(true));
  const Outcome outcome =
      lab_->run(HostB, client("192.0.2.1") + end(false) +
                           Arguments{"--size", "64KiB", "--count", "500", "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["arrived_whole"], 500);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(server_->finish().status, 0);
}
#endif

TEST_F(Perf, repairs_what_the_link_loses) {
  impair({"--rtt", "10ms", "--loss", "1%", "--seed", "3"});
  serve(HostB);
  const Outcome outcome = lab_->run(
      HostA, client(address_of_b) + Arguments{"--count", "200", "--rate", "200Mbit/s", "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["arrived_whole"], 200);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_GT(it["resends"], 20);  // of some 9,400 packets
  EXPECT_GE(it["completion_us"]["p50"], 10'000.0);
}

TEST_F(Perf, changes_the_link_between_blocks_of_messages) {
  const std::string control = testing::TempDir() + "perf_test_control";
  impair({"--rtt", "10ms", "--json", "--control", control});
  serve(HostB);
  const Arguments phases{
      "--wan",   control,     "--phase", "loss=0%",  "--phase", "loss=5%", "--phase-messages",
      "10",      "--warm-up", "5",       "--policy", "hybrid",  "--rate",  "200Mbit/s",
      "--count", "45",        "--verify"};
  const Outcome outcome = lab_->run(HostA, client(address_of_b) + phases);
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["arrived_whole"], 45);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_GT(it["repairs"], 0);
  ASSERT_EQ(it["phases"].size(), 2u);
  EXPECT_EQ(it["phases"][0]["link"], "loss=0%");
  for (const Json& phase : it["phases"]) {
    EXPECT_EQ(phase["done"], 20) << phase;
    EXPECT_GE(phase["completion_us"]["p50"], 10'000.0);
  }
  EXPECT_EQ(it["phases"][0]["over_first"]["p99"], 1.0);
  wan_->signal(SIGTERM);
  const Json link = Json::parse(wan_->finish().out);
  EXPECT_EQ(link["link"]["changes"], 5);  // the warm-up and four blocks
  EXPECT_GT(link["a_to_b"]["lost"]["uniform"], 0);
}

TEST_F(Perf, says_that_nobody_changes_the_link) {
  serve(HostA);
  const Outcome outcome =
      lab_->run(HostA, client("127.0.0.1") + Arguments{"--wan", "/nowhere", "--phase", "loss=1%"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("--phase: /nowhere"), std::string::npos) << outcome.err;
}

TEST_F(Perf, tells_both_ends_why_keys_do_not_match) {
  const auto key_file = testing::TempDir() + "perf_test_key_" + std::to_string(getpid());
  std::ofstream(key_file) << "a secret that the client does not know";
  serve(HostA, server + Arguments{"--key-file", key_file});
  const Outcome outcome = lab_->run(HostA, client("127.0.0.1"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("the link does not come up"), std::string::npos) << outcome.err;
  EXPECT_EQ(server_->finish().status, 3);
  unlink(key_file.c_str());
}

TEST_F(Perf, a_client_is_told_what_the_server_refuses) {
  serve(HostA);
  // Not a policy of the server, which has no such plugin.
  const Outcome outcome =
      lab_->run(HostA, client("127.0.0.1") + Arguments{"--policy-param", "nonsense=1"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("nonsense"), std::string::npos) << outcome.err;
}

TEST_F(Perf, says_that_no_server_is_there) {
  const Outcome outcome = lab_->run(HostA, client("127.0.0.1"));
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("is `causeway-perf server` running there"), std::string::npos)
      << outcome.err;
}

TEST_F(Perf, reports_what_it_has_measured_when_it_is_interrupted) {
  serve(HostA);
  Program program(lab_->namespace_of(HostA),
                  client("127.0.0.1") + Arguments{"--count", "100000000", "--verify"});
  wait_for_traffic(HostA);
  program.signal(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  const Json it = Json::parse(outcome.out);
  EXPECT_EQ(it["ended"], "interrupted");
  EXPECT_GT(it["done"], 0);
  EXPECT_GT(it["arrived_whole"], 0);
  EXPECT_EQ(it["bytes_wrong"], 0);
  EXPECT_EQ(server_->finish().status, 0);  // it did what it was asked to
}

TEST_F(Perf, ends_soon_when_the_server_dies) {
  serve(HostA);
  Program program(lab_->namespace_of(HostA),
                  client("127.0.0.1") + Arguments{"--count", "100000000"});
  wait_for_traffic(HostA);
  server_->signal(SIGKILL);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["ended"], "the other end was lost");
}

}  // namespace
}  // namespace cw::lab
