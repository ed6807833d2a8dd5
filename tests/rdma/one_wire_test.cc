// An RNIC as the WAN of one site, and what makes and takes an RNIC's packets at the other: sockets
// with exact ICRCs, or a NIC's own queues. Both ways, over a line that loses and reorders, and
// through the sudden end of either.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "control/json/json.h"
#include "tests/lab/gateway.h"
#include "tests/rdma/rnic_wan.h"

namespace cw::lab {
namespace {

using std::chrono::seconds;

/// At the site's edge, where the others' hosts are behind the machine's gateway.
constexpr Inside edge_b{"b", "192.0.2.2", "10.50.2.1", "10.50.2.0/24"};

/// Takes a file of 3 MB from the other site, and sends it back.
const char* const take_and_return =
    "busybox nc -l -p 5000 </dev/null >/mnt/file; sha256sum </mnt/file\n"
    "for ((i = 0; i < 100; ++i)); do\n"
    "  cat /mnt/file 2>/dev/null >/dev/tcp/10.50.1.1/5001 && exit 0; sleep 0.2\n"
    "done; exit 8";
const char* const send_and_compare =
    "cd /tmp; head -c 3000000 /dev/urandom >file; sha256sum <file\n"
    "busybox nc -l -p 5001 </dev/null >back & back=$!\n"
    "for ((i = 0; i < 100; ++i)); do cat file 2>/dev/null >/dev/tcp/10.50.2.1/5000 && break; "
    "sleep 0.2; done\n"
    "wait $back; sha256sum <back; cmp file back";
const char* const ping_all =
    "busybox ping -q -c 100 -i 0.02 10.50.2.1 | tee /dev/stderr | grep -q '100 packets received'";

class OneWire : public RnicWan {
 protected:
  RdmaLine line() const override {
    return {.loss = "1%", .rate = "100Mbit/s", .more = {"--reorder", "1%,500us"}};
  }

  /// Both gateways, that of site B with these rows of its WAN; waits until they are up.
  void begin(const std::string& wan) {
    folder_.write("b.key", private_key_of(edge_b) + "\n");
    const std::string site = "status = \"" + folder_.path("b.json") + "\"\n[api]\nfolder = \"" +
                             folder_.path("api") + "\"\n";
    edge_.be_urgent();
    edge_.configure(rows_of(edge_b, inside_a, site, wan, "source_port = 49152\n"));
    edge_.start();
    start_machine();
    ASSERT_TRUE(edge_.wait_up()) << edge_.program().err_so_far();
  }
  void start_machine() {
    const Outcome outcome = a().run(start_gateway(inside_a, edge_b) + wait_up(), seconds(60));
    ASSERT_EQ(outcome.status, 0) << outcome.err << a().run("cat /tmp/gw.log", seconds(20)).out;
  }
  /// Ends the machine's gateway and returns its last status.
  static Json end_machine(const char* signal) {
    const std::string lines = "cd /tmp; sleep 1; cat status.json; kill -" + std::string(signal) +
                              " $(cat gw.pid); while kill -0 $(cat gw.pid); do sleep 0.1; done";
    return status_of(a().run(lines, seconds(30)));
  }
  static void expect_pings() {
    const Outcome outcome = a().run(ping_all, seconds(60));
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  }
  void expect_every_byte() {
    Program taker(sites().sites().namespace_of(At::GatewayB), {"bash", "-c", take_and_return});
    const Outcome sent = a().run(send_and_compare, seconds(90));
    EXPECT_EQ(sent.status, 0) << sent.out << sent.err;
    const Outcome taken = taker.finish();
    EXPECT_EQ(taken.status, 0) << taken.err;
    EXPECT_EQ(taken.out.substr(0, 64), sent.out.substr(0, 64));
  }

  /// Of what a stranger has captured, how many frames this filter shows.
  size_t frames_of(const std::string& filter) {
    const Outcome read = sites()
                             .sites()
                             .space(At::GatewayB)
                             .run({"tshark", "-r", folder_.path("wire"), "-Y", filter, "-T",
                                   "fields", "-e", "frame.number"});
    EXPECT_EQ(read.status, 0) << read.err;
    return static_cast<size_t>(std::ranges::count(read.out, '\n'));
  }
  /// Of both ends together: writes and datagrams of RoCEv2, and nothing that is not as it should
  /// be.
  void expect_a_stranger_finds_nothing(Program& tshark) {
    tshark.signal(SIGINT);
    const Outcome captured = tshark.finish();
    EXPECT_EQ(captured.status, 0) << captured.err;
    const size_t frames = frames_of("infiniband");
    EXPECT_EQ(frames_of("infiniband.bth.opcode in {0x2b, 0x64}"), frames);
    // From either: an RNIC's writes bear no migrated bit, those of a port of ours do.
    for (const char* const migrated : {"0", "1"}) {
      EXPECT_GT(frames_of(std::string("infiniband.bth.opcode == 0x2b && infiniband.bth.m == ") +
                          migrated),
                3'000u)
          << migrated;
    }
    EXPECT_EQ(frames_of("!infiniband && udp.dstport == 4791"), 0u);
    // What it guesses of datagrams' payloads says nothing.
    EXPECT_EQ(frames_of("infiniband.bth.opcode == 0x2b && "
                        "(_ws.malformed || _ws.expert.severity >= 0x00600000)"),
              0u);
  }

  /// What is asked of every port that an RNIC may meet.
  void expect_to_be_met(const std::string& wan) {
    // Where all of it arrives: what DPDK sends is not seen where it leaves.
    Program tshark(sites().sites().namespace_of(At::Between),
                   {"tshark", "-q", "-i", "ma", "-i", "mb", "-w", folder_.path("wire"), "-f",
                    "udp port 4791"});
    ASSERT_TRUE(tshark.wait_for("Capturing on")) << tshark.err_so_far();
    begin(wan);
    if (HasFatalFailure()) return;
    expect_pings();
    expect_every_byte();
    expect_sound(edge_.status());

    edge_.kill();
    edge_.start();
    ASSERT_TRUE(edge_.wait_up()) << edge_.program().err_so_far();
    expect_pings();
    expect_sound_rnic(end_machine("KILL"));

    start_machine();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(edge_.wait_up()) << edge_.program().err_so_far();
    expect_pings();
    expect_every_byte();
    expect_sound(edge_.status());
    expect_sound_rnic(end_machine("TERM"));
    EXPECT_EQ(edge_.stop().status, 0);
    expect_a_stranger_finds_nothing(tshark);
  }

 private:
  Folder folder_{enclosure_folder};
  Gateway edge_{sites().sites().space(At::GatewayB), folder_, CW_DAEMON_PROGRAM, "b"};
};

TEST_F(OneWire, meets_sockets_with_exact_icrcs) { expect_to_be_met("icrc = \"exact\"\n"); }

#ifdef CW_HAVE_DPDK
TEST_F(OneWire, meets_a_nic_over_dpdk) {
  expect_to_be_met(
      std::string("port = \"dpdk\"\ndevice = \"net_af_packet0,iface=wb,qpairs=1,blocksz=65536,") +
      (wan_mtu > 1900 ? "framesz=8192,framecnt=512" : "framesz=2048,framecnt=2048") + "\"\n");
}
#endif

}  // namespace
}  // namespace cw::lab
