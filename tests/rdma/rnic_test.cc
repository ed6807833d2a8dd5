// Gateways, and programs of the SDK, whose WAN is an RNIC: soft-RoCE of a virtual machine, 20 ms
// from the other one over a line that loses packets. Counts and bytes are compared, and no times.
//
// The machines are started once. The gateways' machines route plainly: what is a host elsewhere is
// a gateway here, and its own TUN device stands for its hosts.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "control/json/json.h"
#include "tests/rdma/rdma_suite.h"

namespace cw::lab {
namespace {

using std::chrono::seconds;

constexpr const char* key = "a secret of thirty-two bytes or more, of this pair alone";

/// The ends of the two TUN devices, and what they stand for.
struct Inside {
  const char *name, *wan, *lan, *prefix;
};
constexpr Inside inside_a{"a", "10.1.0.2", "10.50.1.1", "10.50.1.0/24"};
constexpr Inside inside_b{"b", "10.2.0.2", "10.50.2.1", "10.50.2.0/24"};

std::string rows_of(const Inside& own, const Inside& other, const std::string& port) {
  return "[site]\nname = \"" + std::string(own.name) +
         "\"\nstatus = \"/tmp/status.json\"\n[api]\nfolder = \"/tmp/api\"\n[lan]\n" +
         "device = \"inside\"\nmtu = 1400\naddresses = [\"" + own.lan + "/24\"]\n[wan]\n" + port +
         "address = \"" + own.wan + "\"\nrate = \"100 Mbit/s\"\npaths = 2\n[pair]\n" +
         "key_file = \"/tmp/pair.key\"\nrtt = \"20 ms\"\nmtu = 1500\n[[peer]]\nname = \"" +
         other.name + "\"\naddress = \"" + other.wan + "\"\nroutes = [\"" + other.prefix +
         "\"]\n[[class]]\nname = \"all\"\npolicy = \"hybrid\"\nqueue = \"500 ms\"\nhold = \"1 "
         "s\"\n";
}

/// Lines of bash that start one, wait until its link is up, run `then` and end it, whose status
/// stays.
std::string with_gateway(const Inside& own, const Inside& other, const std::string& then) {
  const std::string port = "port = \"verbs\"\ndevice = \"rx0\"\n";
  return "modprobe tun; mkdir -p /dev/net; [[ -e /dev/net/tun ]] || mknod /dev/net/tun c 10 200\n"
         "rm -f /tmp/status.json; printf %s '" +
         std::string(key) +
         "' >/tmp/pair.key; chmod 600 /tmp/pair.key\ncat >/tmp/gw.toml <<'END'\n" +
         rows_of(own, other, port) +
         "END\n" CW_DAEMON_PROGRAM
         " --config /tmp/gw.toml >/tmp/gw.log 2>&1 &\ngateway=$!\n"
         "for ((i = 0; i < 300; ++i)); do grep -q 'info up' /tmp/gw.log && break; sleep 0.1; done\n"
         "grep -q 'info up' /tmp/gw.log || { cat /tmp/gw.log >&2; exit 9; }\n(set -e\n" +
         then +
         "\n)\nended=$?\nsleep 1\ncp /tmp/status.json /tmp/status.last; kill $gateway; wait "
         "$gateway\ncat /tmp/gw.log >&2\n"
         "cat /tmp/status.last\nexit $ended\n";
}

/// Of the status that with_gateway() has left behind what its lines printed.
Json status_of(const Outcome& outcome) {
  const size_t begin = outcome.out.find("{\n");
  return begin == std::string::npos ? Json() : Json::parse_or_null(outcome.out.substr(begin));
}

uint64_t count_of(const Json& wan, const char* name) { return wan.value(name, uint64_t{99999}); }

class RnicWan : public RdmaSuite {
 protected:
  void SetUp() override {
    RdmaSuite::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sites().set_line({.loss = "1%", .rate = "100Mbit/s"});
    sites().route_plainly();
  }

  struct Both {
    Outcome a, b;
  };
  static Both run(const std::string& at_a, const std::string& at_b, seconds most = seconds(90)) {
    const int of_b = b().start(at_b), of_a = a().start(at_a);
    Both both{a().finish(of_a, most), {}};
    both.b = b().finish(of_b, most);
    return both;
  }
};

// Who takes what comes waits for the end of it, so that its gateway stays as long.
TEST_F(RnicWan, carries_what_hosts_send_without_a_loss) {
  const std::string stay =
      "for ((i = 0; i < 600; ++i)); do [[ -e /tmp/over ]] && break; sleep 0.1; "
      "done";
  const std::string take =
      "rm -f /tmp/over\nbusybox nc -l -p 5000 </dev/null | sha256sum\ntouch /tmp/over\n" + stay;
  const std::string send =
      "head -c 3000000 /dev/urandom >/tmp/file\nsha256sum </tmp/file\n"
      "busybox ping -q -c 200 -i 0.02 10.50.2.1 | grep -q '200 packets received'\n"
      "for ((i = 0; i < 50; ++i)); do cat /tmp/file 2>/dev/null >/dev/tcp/10.50.2.1/5000 && exit "
      "0; "
      "sleep 0.2; done; exit 8";
  const Both both =
      run(with_gateway(inside_a, inside_b, send), with_gateway(inside_b, inside_a, take));
  EXPECT_EQ(both.a.status, 0) << both.a.out << both.a.err;
  EXPECT_EQ(both.b.status, 0) << both.b.out << both.b.err;
  EXPECT_EQ(both.a.out.substr(0, 64), both.b.out.substr(0, 64)) << "every byte";
  for (const Outcome* each : {&both.a, &both.b}) {
    const Json status = status_of(*each);
    ASSERT_TRUE(status.is_object()) << each->out << each->err;
    const Json& wan = status["wan"];
    EXPECT_EQ(count_of(wan, "queues_broken"), 0u) << wan.dump();
    EXPECT_EQ(count_of(wan, "rx_starved"), 0u) << wan.dump();
    EXPECT_EQ(count_of(wan, "tx_lost"), 0u) << wan.dump();
    EXPECT_EQ(count_of(wan, "windows_refused"), 0u) << wan.dump();
    for (const Json& one : status["classes"]) {
      EXPECT_EQ(one["received"]["missed"], 0) << one.dump();
    }
  }
  const Json sent = status_of(both.a)["counters"];
  const Json came = status_of(both.b)["counters"];
  EXPECT_GT(sent["resends_sent"].get<uint64_t>() + came["slots_rebuilt"].get<uint64_t>(), 0u)
      << "the line has lost packets";
}

// Every message ends by repair or resends of ours; its bytes are compared where they were placed.
TEST_F(RnicWan, programs_write_into_each_others_memory) {
  const std::string perf = CW_PERF_PROGRAM;
  const auto line = [](const Inside& own, const Inside& other) {
    return std::string(" --port verbs --device rx0 --address ") + own.wan + " --peer " + other.wan;
  };
  const std::string server = "exec timeout 80 " + perf + " server" + line(inside_b, inside_a);
  const std::string client =
      "sleep 2\nexec timeout 80 " + perf + " client 10.2.0.2" + line(inside_a, inside_b) +
      " --policy erasure --size 256KiB --count 60 --inflight 4 --rate 20Mbit/s --verify --json";
  const Both both = run(client, server);
  EXPECT_EQ(both.a.status, 0) << both.a.out << both.a.err;
  EXPECT_EQ(both.b.status, 0) << both.b.out << both.b.err;
  const Json report = Json::parse_or_null(both.a.out);
  ASSERT_TRUE(report.is_object()) << both.a.out;
  EXPECT_EQ(report["done"], 60);
  EXPECT_EQ(report["bytes_wrong"], 0);
  EXPECT_EQ(report["server"]["whole"], 60);
  for (const char* end : {"client", "server"}) {
    for (const char* count : {"port.tx_lost", "port.rx_starved", "port.queues_broken"}) {
      EXPECT_FALSE(report[end]["drops"].contains(count)) << report[end].dump();
    }
  }
}

}  // namespace
}  // namespace cw::lab

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!cw::lab::obstacle().empty()) return RUN_ALL_TESTS();
  return cw::lab::run_enclosed([] { return RUN_ALL_TESTS(); });
}
