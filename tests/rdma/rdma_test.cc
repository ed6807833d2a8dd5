// Real RDMA hosts that know nothing of us, 20 ms apart behind two gateways: their programs end
// well, every byte is right, and the hosts' RDMA devices have nothing to send again. Nothing here
// depends on how fast an emulated processor is.
//
// The machines are started once, for all cases; each case has fresh gateways.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/json/json.h"
#include "tests/docs/document.h"
#include "tests/docs/runners.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/restarts/fd_store.h"
#include "tests/rdma/rdma_suite.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What runs at both hosts: `at_a` begins when `at_b` listens. Lines of bash.
struct Talk {
  std::string at_b, at_a;
  unsigned listeners = 1;
  bool says_the_same = false;  ///< both print one thing, of what was sent and of what came
};

/// perftest's `program`, whose QPs have the timeout that the gateways are told of.
Talk perftest(const std::string& program, const std::string& options) {
  const std::string server = program + " -d rx0 -F -u 18 " + options;
  return {server, server + " 10.2.0.2"};
}

/// WRITEs, READs and ATOMICs mixed, and every byte of them compared.
Talk contents(unsigned rounds) {
  return {CW_CONTENTS_PROGRAM, CW_CONTENTS_PROGRAM " 10.2.0.2 " + std::to_string(rounds)};
}

/// A file by librdmacm's rcopy, whose server does not end by itself.
Talk rcopy(unsigned bytes) {
  return {
      .at_b = "rcopy >/tmp/log & busybox nc -l -p 5002 </dev/null; kill %1; sha256sum </tmp/came",
      .at_a = "head -c " + std::to_string(bytes) +
              " /dev/urandom >/tmp/sent; "
              "rcopy /tmp/sent 10.2.0.2:/tmp/came >/tmp/log; "
              ": >/dev/tcp/10.2.0.2/5002; sha256sum </tmp/sent",
      .listeners = 2,
      .says_the_same = true};
}

Talk tcp_file(unsigned bytes) {
  return {.at_b = "busybox nc -l -p 5000 </dev/null | sha256sum",
          .at_a = "head -c " + std::to_string(bytes) +
                  " /dev/urandom >/tmp/file; "
                  "sha256sum </tmp/file; cat /tmp/file >/dev/tcp/10.2.0.2/5000",
          .says_the_same = true};
}

/// A line, its echo, the next line: as somebody types.
const Talk typing{"busybox nc -l -p 5001 -e cat",
                  "exec 3<>/dev/tcp/10.2.0.2/5001; for i in {1..30}; do echo \"line $i\" >&3; "
                  "read -r -t 10 -u 3 back; [[ $back == \"line $i\" ]]; done"};

/// Gives up in the machine itself, so that nothing of it is there when the next case begins.
std::string within(seconds most, const std::string& lines) {
  return "exec timeout " + std::to_string(most.count()) + " bash -ec \"$(cat <<'END'\n" + lines +
         "\nEND\n)\"\n";
}

const RdmaLine one_percent{.loss = "1%"};
constexpr auto patience = seconds(10);

class Rdma : public RdmaSuite {
 protected:
  /// Fresh gateways over this line; counting begins.
  void join(const std::string& policy, const RdmaLine& line = one_percent,
            const GatewayFile& more = {}) {
    sites().set_line(line);
    GatewayFile file = more;
    file.classes = rdma_classes(policy);
    sites().route_by_gateways(file, line);
    retransmits_before_ = retransmits();
  }

  /// The same, with room for what is swapped to.
  void join_swapping(const std::string& policy) {
    sites().set_line(one_percent);
    sites().route_by_gateways(swapping_file(policy), one_percent);
    retransmits_before_ = retransmits();
  }
  static GatewayFile swapping_file(const std::string& policy) {
    GatewayFile file{.rate = one_percent.rate, .rtt = one_percent.rtt};
    file.classes = rdma_classes(policy);
    const std::string named = "policy = \"" + policy + "\"\n";
    const std::string room = "policies = [\"hybrid\", \"erasure\", \"selective_repeat\"]\n";
    for (size_t at = 0; (at = file.classes.find(named, at)) != std::string::npos;) {
      at += named.size();
      file.classes.insert(at, room);
    }
    return file;
  }
  /// What both gateways send, of both classes.
  static void swap_to(const std::string& policy) {
    const auto swaps = [](Gateway& gateway) {
      const std::string said = gateway.program().err_so_far(), word = "info swapped ";
      size_t count = 0;
      for (size_t at = 0; (at = said.find(word, at)) != std::string::npos; ++at) ++count;
      return count;
    };
    for (Gateway* each : {&sites().gateway_a(), &sites().gateway_b()}) {
      const size_t before = swaps(*each);
      each->configure(swapping_file(policy));
      each->program().signal(SIGHUP);
      const auto end = Time::now() + seconds(30);
      while (swaps(*each) < before + 2) {
        if (Time::now() > end) throw std::runtime_error(each->program().err_so_far());
        std::this_thread::sleep_for(milliseconds(10));
      }
    }
  }

  /// Gateways whose descriptors somebody keeps, as long as this lives.
  class Kept {
   public:
    Kept(RdmaSites& sites, FdStore& a, FdStore& b) : sites_(sites) {
      sites_.gateway_a().be_kept_by(&a);
      sites_.gateway_b().be_kept_by(&b);
    }
    ~Kept() {
      for (Gateway* each : {&sites_.gateway_a(), &sites_.gateway_b()}) {
        if (each->is_running()) each->kill();
        each->be_kept_by(nullptr);
      }
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

   private:
    RdmaSites& sites_;
  };

  struct Running {
    Talk talk;
    int at_b = 0, at_a = 0;
  };

  std::vector<Running> start(const std::vector<Talk>& talks, seconds most) {
    // What a program of the case before listened with goes a moment after it, in the kernel's own
    // time, and would be taken for a listener of these.
    (void)b().run("until ! rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done",
                  seconds(10));
    std::vector<Running> all;
    unsigned listeners = 0;
    for (const Talk& each : talks) {
      all.push_back({each, b().start(within(most, each.at_b))});
      listeners += each.listeners;
    }
    if (!b().wait_for_listeners(listeners)) {
      throw std::runtime_error("nobody listens at host B: " + b().finish(all[0].at_b, {}).err);
    }
    for (Running& each : all) each.at_a = a().start(within(most, each.talk.at_a));
    return all;
  }

  static void expect_good_end(const std::vector<Running>& all, seconds most) {
    const auto begin = Time::now();
    for (const Running& each : all) {
      const Outcome at_a = a().finish(each.at_a, most + patience);
      const Outcome at_b = b().finish(each.at_b, most + patience);
      tell(seconds_since(begin) + ": " + each.talk.at_a.substr(0, each.talk.at_a.find(' ')));
      EXPECT_EQ(at_a.status, 0) << each.talk.at_a << "\n" << at_a.out << at_a.err;
      EXPECT_EQ(at_b.status, 0) << each.talk.at_b << "\n" << at_b.out << at_b.err;
      if (each.talk.says_the_same) {
        EXPECT_EQ(at_a.out, at_b.out);
      }
    }
  }

  /// Runs all of these at the same time: each ends well, at both hosts.
  void expect_good_end(const std::vector<Talk>& talks, seconds most = seconds(60)) {
    expect_good_end(start(talks, most), most);
  }

  /// The line has lost packets since join(), and no host has missed one.
  void expect_all_mended() {
    uint64_t mended = 0;
    for (Gateway* each : {&sites().gateway_a(), &sites().gateway_b()}) {
      const Json status = each->status(), counters = status["counters"];
      mended +=
          counters["resends_sent"].get<uint64_t>() + counters["slots_rebuilt"].get<uint64_t>();
      for (const Json& one : status["classes"]) {
        EXPECT_EQ(one["received"]["missed"], 0) << one.dump();
        EXPECT_EQ(one["received"]["dropped"], 0) << one.dump();
      }
    }
    EXPECT_GT(mended, 0u);
  }
  /// Nor has one sent again, or asked for it.
  void expect_no_host_retransmitted() {
    expect_all_mended();
    EXPECT_EQ(retransmits() - retransmits_before_, 0u);
  }

  static void wait_for_round(int number, unsigned round) {
    const std::string line = "\n" + std::to_string(round) + " rounds";
    const auto end = Time::now() + seconds(60);
    while (("\n" + a().out_so_far(number)).find(line) == std::string::npos) {
      if (Time::now() > end || a().has_ended(number)) {
        throw std::runtime_error("round " + std::to_string(round) + " does not come" +
                                 (a().has_ended(number) ? ", it has ended: " : ": ") +
                                 a().out_so_far(number).substr(0, 400));
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  uint64_t retransmitted() const { return retransmits() - retransmits_before_; }
  static uint64_t retransmits() { return a().retransmits() + b().retransmits(); }

 private:
  uint64_t retransmits_before_ = 0;
};

TEST_F(Rdma, writes_lose_nothing_at_one_percent) {
  join("hybrid");
  expect_good_end({perftest("ib_write_bw", "-n 100")});
  expect_no_host_retransmitted();
}

TEST_F(Rdma, sends_of_eight_qps_lose_nothing) {
  join("erasure");
  expect_good_end({perftest("ib_send_bw", "-q 8 -s 16384 -n 50")});
  expect_no_host_retransmitted();
}

// An acknowledgement that passes the response to an outstanding READ makes the requester send
// again.
TEST_F(Rdma, reads_and_atomics_keep_their_order_over_a_line_that_reorders) {
  RdmaLine line = one_percent;
  line.more = {"--reorder", "5%,3ms"};
  join("hybrid", line);
  expect_good_end({perftest("ib_read_bw", "-n 60")});
  expect_good_end({perftest("ib_atomic_bw", "-n 500")});
  expect_good_end({contents(1000)});
  expect_no_host_retransmitted();
}

// Their servers wait for every message: one that is lost never ends.
TEST_F(Rdma, uc_and_ud_arrive_whole) {
  join("hybrid");
  expect_good_end({perftest("ib_send_bw", "-c UC -s 4096 -n 500"),
                   perftest("ib_send_bw", "-c UD -p 18516 -s 1024 -r 600 -n 500")});
  expect_no_host_retransmitted();
}

// Ten rounds, each told when its bytes have been compared. The exit status is not asked: a thread
// of rping may come back to its channel when that is closed, and then calls a good end a failure
// (rdma-core's pull request 1622; Debian 12 has 44.0).
std::string ten_rounds(const std::string& rping) {
  return "test $(" + rping + " -v -V -S 2000 -C 10 | grep -c 'ping data: ') = 10";
}

// rxe lets rping wait for a timeout now and then even where nothing is lost.
TEST_F(Rdma, rdma_cm_connects_and_rcopy_copies) {
  join("selective_repeat");
  expect_good_end({{ten_rounds("rping -s"), ten_rounds("rping -c -a 10.2.0.2")}});
  expect_good_end({{"udaddy", "udaddy -s 10.2.0.2"}});
  expect_good_end({perftest("ib_write_bw", "-R -n 50")});
  expect_good_end({rcopy(3'000'000)});
  expect_all_mended();
}

TEST_F(Rdma, share_a_line_with_datagrams_tcp_and_somebody_who_types) {
  join("hybrid");
  // Soft-RoCE on an emulated processor, in company, may take longer than 1.07 s to acknowledge one
  // write. With 8.6 s a packet sent again is one that got lost: a gap is said at once, the last of
  // a write is missed after that time.
  expect_good_end({perftest("ib_write_bw", "-n 30 -u 21"),
                   perftest("ib_send_bw", "-c UD -p 18516 -s 1024 -r 600 -n 500"),
                   tcp_file(2'000'000), typing});
  expect_no_host_retransmitted();
}

// Word by word; but here a host has its RDMA device already.
TEST_F(Rdma, hosts_do_what_the_guide_says) {
  constexpr auto most = seconds(60);
  join("hybrid");
  ASSERT_EQ(a().run("rdma link delete rx0", patience).status, 0);
  const docs::Document guide = docs::read_document(CW_SOURCE_DIR, "control/guide/rdma-hosts.md");
  const std::vector<docs::Block> blocks = docs::blocks_by("rdma_test", guide);
  EXPECT_GE(blocks.size(), 7u);
  int server = -1;
  for (const docs::Block& block : blocks) {
    const std::string lines = within(most, block.text);
    if (block.is_background) {
      server = b().start(lines);
      ASSERT_TRUE(b().wait_for_listeners(1, most)) << block.text;
      continue;
    }
    const Outcome outcome = a().run(lines, most);
    EXPECT_EQ(outcome.status, 0) << block.line << ": " << outcome.out << outcome.err;
    if (server < 0) continue;
    EXPECT_EQ(b().finish(std::exchange(server, -1), most).status, 0) << block.text;
  }
  a().run("rmdir /sys/kernel/config/rdma_cm/rx0; umount /sys/kernel/config", patience);
}

/// What ./check has no time for.
using RdmaNight = Rdma;

TEST_F(RdmaNight, survive_either_gateways_death_without_a_wrong_byte) {
  constexpr auto most = seconds(100);
  join("hybrid");
  const auto all = start({contents(1500), rcopy(3'000'000)}, most);
  unsigned rounds = 0;
  for (Gateway* each : {&sites().gateway_a(), &sites().gateway_b()}) {
    rounds += 300;
    wait_for_round(all[0].at_a, rounds);
    each->kill();
    std::this_thread::sleep_for(milliseconds(300));
    each->start();
  }
  expect_good_end(all, most);
}

/// How often gateways are restarted; the night asks for more.
unsigned restarts() {
  const char* const text = std::getenv("CW_RESTARTS");
  return text == nullptr ? 5 : static_cast<unsigned>(std::stoul(text));
}

// QPs with timeout 18 send again after 1.07 s at the earliest, and a restart is over before they do
// so for the second time.
TEST_F(Rdma, bear_restarts_of_either_gateway_without_a_wrong_byte) {
  const seconds most(100 + 20 * restarts());
  FdStore store_a(std::string(enclosure_folder) + "/notify_a"),
      store_b(std::string(enclosure_folder) + "/notify_b");
  const Kept kept(sites(), store_a, store_b);
  join("hybrid");
  const std::string count = std::to_string(80 * restarts());
  const auto all =
      start({contents(100 * (restarts() + 2)), perftest("ib_write_bw", "-n " + count)}, most);
  for (unsigned i = 0; i < restarts(); ++i) {
    wait_for_round(all[0].at_a, 100 * (i + 1));
    Gateway& gateway = i % 2 == 0 ? sites().gateway_a() : sites().gateway_b();
    EXPECT_EQ(gateway.stop().status, 0);
    gateway.start();
    ASSERT_TRUE(gateway.program().wait_for(" up peer=")) << gateway.program().err_so_far();
    EXPECT_NE(gateway.program().err_so_far().find(" taken_over "), std::string::npos);
  }
  expect_good_end(all, most);
  tell(std::to_string(restarts()) + " restarts; hosts sent " + std::to_string(retransmitted()) +
       " packets again");
}

TEST_F(Rdma, see_nothing_of_policies_that_are_replaced) {
  constexpr auto most = seconds(100);
  join_swapping("hybrid");
  const auto all = start({perftest("ib_write_bw", "-n 400"), contents(1500)}, most);
  unsigned swaps = 0;
  while (!a().has_ended(all[0].at_a) || !a().has_ended(all[1].at_a)) {
    for (const char* policy : {"erasure", "selective_repeat", "hybrid"}) {
      swap_to(policy);
      ++swaps;
    }
  }
  tell(std::to_string(swaps) + " times, both ways and both classes");
  EXPECT_GE(swaps, 6u);
  expect_good_end(all, most);
  expect_no_host_retransmitted();
}

#ifdef CW_HAVE_DPDK
TEST_F(RdmaNight, writes_lose_nothing_behind_lan_ports_of_dpdk_when_losses_come_in_bursts) {
  GatewayFile file;
  file.is_lan_over_dpdk = true;
  join("hybrid", {.loss = "1%", .burst = "8"}, file);
  expect_good_end({perftest("ib_write_bw", "-n 100"), contents(500)});
  expect_no_host_retransmitted();
}
#endif

}  // namespace
}  // namespace cw::lab
