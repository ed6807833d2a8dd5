// Two gateways over each kind of device that DPDK has here: who answers ARP and ND, who may be
// restarted, how many queues there are, which memory it takes.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame.h"
#include "offload/crc32.h"
#include "tests/integration/hosts_of_two_gateways.h"
#include "tests/unit/wire/capture.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GatewaysOf : public HostsOfTwoGateways {
 protected:
  using Change = std::function<void(GatewayFile&, const SiteAddresses&)>;

  /// The lab, with nobody told beforehand where the gateways are.
  void prepare_strangers() {
    prepare_for_dpdk();
    for (const At place : {At::HostA, At::HostB}) {
      sites().space(place).must("ip neigh flush nud permanent; ip -6 neigh flush nud permanent");
    }
  }

  void start_both(const Change& change) {
    for (Gateway* each : {&a(), &b()}) {
      GatewayFile file;
      change(file, each == &a() ? site_a : site_b);
      each->configure(file.text(each == &a(), folder()));
      each->start();
    }
    expect_up();
  }

  void expect_up() {
    for (Gateway* each : {&a(), &b()}) {
      ASSERT_TRUE(each->wait_up(seconds(20))) << each->program().err_so_far();
    }
  }

  void expect_served() {
    for (const char* target : {site_b.host, site_b.host_v6}) {
      ASSERT_TRUE(meet(target)) << target;
      expect_pings(target);
    }
    expect_pings(site_a.gateway);
    expect_all(exchange({.per_second = 500}, seconds(1)));
    expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6, .per_second = 500},
                        seconds(1)));
    EXPECT_GT(tcp_mbps(), 1);
  }

  void expect_driver(const char* side, const std::string& driver) {
    const Json port = a().status()[side];
    EXPECT_EQ(port["driver"], driver);
    EXPECT_EQ(port["rx_malformed"], 0);
    EXPECT_GT(port["rx_packets"], 0);
    EXPECT_GT(port["tx_packets"], 0);
  }
};

// ---- net_af_xdp: an XDP program takes every frame, and the kernel of the interface hears none ---

void over_af_xdp(GatewayFile& file, const SiteAddresses& own) {
  file.wan_device = std::string("net_af_xdp0,iface=") + own.wan_interface;
  file.lan_device = std::string("net_af_xdp1,iface=") + own.lan_interface;
}

class GatewaysOverXdp : public GatewaysOf, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(, GatewaysOverXdp, testing::Bool(),
                         [](const auto& it) { return it.param ? "ipv6" : "ipv4"; });

TEST_P(GatewaysOverXdp, find_each_other_and_their_hosts_by_arp_and_nd_of_their_own) {
  prepare_strangers();
  start_both([](GatewayFile& file, const SiteAddresses& own) {
    over_af_xdp(file, own);
    file.is_wan_v6 = GetParam();
  });
  expect_served();
  expect_driver("wan", "net_af_xdp");
  expect_driver("lan", "net_af_xdp");
  EXPECT_TRUE(a().status()["wan"]["unresolved"].empty());
}

TEST_F(GatewaysOf, over_af_xdp_may_be_killed_and_started_anew) {
  prepare_strangers();
  start_both(over_af_xdp);
  ASSERT_TRUE(meet(site_b.host));
  for (Gateway* each : {&a(), &b()}) {
    each->kill();  // its XDP programs stay, with nobody to hand frames to
    each->start();
    expect_up();
    ASSERT_TRUE(meet(site_b.host));
    expect_pings(site_b.host);
  }
}

// ---- what a stranger on the wire makes of it ----------------------------------------------------

class GatewaysOnTheWire : public GatewaysOf, public testing::WithParamInterface<const char*> {
 protected:
  /// What gateways say to each other while they work, again and again until there is enough of it:
  /// on a busy machine it takes a while until a capture has begun at both interfaces.
  template <class Work>
  std::string capture(Work work) {
    const std::string file = folder().path("wire.pcapng");
    Program tshark(sites().namespace_of(At::Between), {"tshark", "-q", "-i", "ma", "-i", "mb", "-c",
                                                       "800", "-w", file, "-f", "udp port 4791"});
    EXPECT_TRUE(tshark.wait_for("Capturing on")) << tshark.err_so_far();
    for (int again = 0; again < 20 && !tshark.has_ended(); ++again) work();
    EXPECT_TRUE(tshark.has_ended()) << tshark.err_so_far();
    if (!tshark.has_ended()) tshark.signal(SIGINT);
    tshark.finish();
    return file;
  }
  size_t lines_of(const std::string& file, const std::string& filter) {
    const Outcome read = sites()
                             .space(At::Between)
                             .run({"tshark", "-r", file, "-o", "ip.check_checksum:TRUE", "-Y",
                                   filter, "-T", "fields", "-e", "frame.number"});
    EXPECT_EQ(read.status, 0) << read.err;
    return static_cast<size_t>(std::ranges::count(read.out, '\n'));
  }
};
INSTANTIATE_TEST_SUITE_P(, GatewaysOnTheWire, testing::Values("net_af_packet0", "net_af_xdp0"));

TEST_P(GatewaysOnTheWire, send_rocev2_only_with_the_exact_icrc) {
  prepare_strangers();
  start_both([](GatewayFile& file, const SiteAddresses& own) {
    file.wan_device = std::string(GetParam()) + ",iface=" + own.wan_interface;
  });
  ASSERT_TRUE(meet(site_b.host));
  const std::string file = capture([&] { expect_all(exchange({.per_second = 500}, seconds(1))); });
  const auto frames = test::read_capture(file);
  const Icrc icrc(IcrcMode::Exact, cw_crc32, 1024);
  size_t from_a = 0, right = 0;
  for (const auto& bytes : frames) {
    const auto frame = parse_frame(bytes, FrameStart::Ethernet);
    if (!frame) continue;
    right += icrc.is_right(frame->ip_and_udp_of(bytes), frame->covered_of(bytes)) ? 1 : 0;
    from_a += frame->address.source_ip[3] == 1 ? 1 : 0;  // 192.0.2.1
  }
  // Kernels say a word of their own now and then, and a capture begins before its filter holds.
  const size_t all = lines_of(file, "udp.dstport == 4791");
  tell(std::to_string(all) + " frames, " + std::to_string(from_a) + " from A");
  EXPECT_GT(from_a, 100u);
  EXPECT_GT(all - from_a, 10u);
  EXPECT_EQ(right, all);
  EXPECT_EQ(lines_of(file, "infiniband.bth && !_ws.malformed && ip.checksum.status == \"Good\""),
            all);
}

// ---- net_tap: an interface that the kernel sees as one more cable, here in a bridge -------------

class GatewaysOverTap : public GatewaysOf {
 protected:
  /// A tap `name` and `cable` in a bridge, which then has no address of its own.
  static std::string bridged(const std::string& name, const std::string& cable) {
    const std::string bridge = "br" + name;
    return "ip addr flush dev " + cable + "; ip tuntap add dev " + name +
           " mode tap multi_queue; ip link add name " + bridge + " type bridge; ip link set dev " +
           cable + " master " + bridge + "; ip link set dev " + name + " master " + bridge +
           " up; ip link set dev " + bridge + " up; ";
  }
  /// Beside the cables of the link, and those of the hosts too.
  void prepare_taps(bool has_lan) {
    prepare_strangers();
    const Space &near = sites().space(At::GatewayA), &far = sites().space(At::GatewayB);
    near.must(bridged("tw", "wa") + (has_lan ? bridged("tl", "la") : ""));
    far.must(bridged("tw", "wb") + (has_lan ? bridged("tl", "lb") : ""));
  }
};

TEST_F(GatewaysOverTap, carry_ping_udp_and_tcp_on_both_sides) {
  prepare_taps(true);
  start_both([](GatewayFile& file, const SiteAddresses&) {
    file.wan_device = "net_tap0,iface=tw";
    file.lan_device = "net_tap1,iface=tl";
  });
  expect_served();
  expect_driver("wan", "net_tap");
  expect_driver("lan", "net_tap");
}

TEST_F(GatewaysOverTap, may_have_several_queues) {
  prepare_taps(false);
  start_both([](GatewayFile& file, const SiteAddresses&) {
    file.wan_device = "net_tap0,iface=tw";
    file.wan_more = "queues = 4\npaths = 16\n";
  });
  expect_served();
  const Json wan = a().status()["wan"];
  tell("frames by queue: " + wan["rx_of_queue"].dump());
  EXPECT_EQ(wan["queues"], 4);
  EXPECT_EQ(wan["rx_of_queue"].size(), 4u);
}

// ---- net_af_packet with several sockets, over which the kernel spreads flows --------------------

TEST_F(GatewaysOf, over_af_packet_receive_by_several_queues) {
  prepare_strangers();
  start_both([](GatewayFile& file, const SiteAddresses& own) {
    file.wan_device = std::string("net_af_packet0,iface=") + own.wan_interface;
    file.lan_device = std::string("net_af_packet1,iface=") + own.lan_interface;
    file.wan_more = "queues = 4\npaths = 16\n";
    file.lan_more += "queues = 2\n";
  });
  expect_served();
  const Json status = a().status();
  size_t used = 0;
  const Json frames = status["wan"]["rx_of_queue"];
  for (const Json& each : frames) used += each.get<uint64_t>() > 0 ? 1 : 0;
  tell("frames by queue: " + frames.dump() + ", " + status["lan"]["rx_of_queue"].dump());
  EXPECT_GE(used, 2u);
  EXPECT_EQ(status["lan"]["queues"], 2);
}

// ---- several links, on one core or on two -------------------------------------------------------

// Each has source ports of its own [C-63].
TEST_F(GatewaysOf, over_af_packet_have_several_links) {
  prepare_strangers();
  start_both([](GatewayFile& file, const SiteAddresses& own) {
    file.wan_device = std::string("net_af_packet0,iface=") + own.wan_interface;
    file.links = 4;
    file.wan_more = "paths = 2\n";
  });
  expect_served();
  const Json links = a().status()["peers"][0]["links"];
  ASSERT_EQ(links.size(), 4u);
  for (const Json& link : links) EXPECT_EQ(link["link"], "up") << link;
}

class GatewaysOfTwoCores : public GatewaysOf {
 protected:
  void start_on_two_cores(const Change& change) {
    prepare_strangers();
    start_both([&](GatewayFile& file, const SiteAddresses& own) {
      file.shards = 2;
      file.links = 4;
      file.wan_more = "paths = 2\n";
      change(file, own);
    });
  }
  /// Both cores have had packets of both sides, many flows of hosts provided.
  void expect_both_work() {
    expect_served();
    for (const char* source : {site_a.host, site_a.beside}) {
      expect_all(exchange({.source = source, .per_second = 500}, milliseconds(500)));
    }
    for (Gateway* each : {&a(), &b()}) {
      const Json status = each->status();
      for (const Json& link : status["peers"][0]["links"]) EXPECT_EQ(link["link"], "up") << link;
      const Json cores = status["shards"];
      tell(cores.dump());
      ASSERT_EQ(cores.size(), 2u);
      for (const Json& core : cores) {
        EXPECT_GT(core["from_wan"], 0) << core;
        EXPECT_GT(core["to_wan"], 0) << core;
      }
    }
  }
};

// The kernel spreads flows over the sockets of both sides, whichever link they are of.
TEST_F(GatewaysOfTwoCores, over_af_packet_hand_over_what_came_to_the_other) {
  start_on_two_cores([](GatewayFile& file, const SiteAddresses& own) {
    file.wan_device = std::string("net_af_packet0,iface=") + own.wan_interface;
    file.lan_device = std::string("net_af_packet1,iface=") + own.lan_interface;
  });
  expect_both_work();
  EXPECT_EQ(a().status()["wan"]["queues"], 2);
  EXPECT_EQ(a().status()["lan"]["queues"], 2);
}

// One queue each way: the second core sends by the first's, and has from it what is for it; ARP and
// ND too.
TEST_F(GatewaysOfTwoCores, over_af_xdp_share_one_queue) {
  start_on_two_cores(over_af_xdp);
  expect_both_work();
  EXPECT_EQ(a().status()["wan"]["queues"], 1);
  EXPECT_EQ(a().status()["lan"]["queues"], 1);
  EXPECT_TRUE(a().status()["wan"]["unresolved"].empty());
}

TEST_F(GatewaysOfTwoCores, over_memif_share_one_queue) {
  const std::string wire = ",socket-abstract=no,socket=" + folder().path("memif.sock");
  start_on_two_cores([&](GatewayFile& file, const SiteAddresses& own) {
    const bool is_a = &own == &site_a;
    file.wan_device = std::string("net_memif0,role=") + (is_a ? "server" : "client") + wire;
    file.lan_device = std::string("net_af_packet0,iface=") + own.lan_interface;
  });
  expect_both_work();
  EXPECT_EQ(a().status()["wan"]["queues"], 1);
  for (Gateway* each : {&a(), &b()}) EXPECT_EQ(each->stop().status, 0);
}

// ---- net_memif between the gateways, hosts on the kernel's interfaces ---------------------------

TEST_F(GatewaysOf, with_hosts_on_af_packet_and_a_memif_between_them_carry_all) {
  prepare_strangers();
  const std::string wire = ",socket-abstract=no,socket=" + folder().path("memif.sock");
  start_both([&](GatewayFile& file, const SiteAddresses& own) {
    const bool is_a = &own == &site_a;
    file.wan_device = std::string("net_memif0,role=") + (is_a ? "server" : "client") + wire;
    file.lan_device = std::string("net_af_packet0,iface=") + own.lan_interface;
  });
  expect_served();
  expect_driver("wan", "net_memif");
  expect_driver("lan", "net_af_packet");
  for (Gateway* each : {&a(), &b()}) {
    each->kill();
    each->start();
    expect_up();
    ASSERT_TRUE(meet(site_b.host));
    expect_pings(site_b.host);
  }
}

// ---- what cannot be had -------------------------------------------------------------------------

struct Refused {
  const char *device, *site, *sentence, *wan = "";
};

class RefusedGateways : public GatewaysOf {
 protected:
  /// Starts A, which must end soon, with nothing but a sentence, and leave nothing behind.
  void expect_refused(const Refused& it) {
    GatewayFile file;
    file.wan_device = it.device;
    file.site_more = it.site;
    file.wan_more = it.wan;
    a().configure(file.text(true, folder()));
    a().start_in_vain();
    if (a().program().wait_for(" ready ")) {
      ADD_FAILURE() << it.device << " " << it.site << " is accepted";
      return a().kill();
    }
    const Outcome outcome = a().program().finish();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(it.sentence), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(" ready "), std::string::npos);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(sites().space(At::GatewayA).run({"ip", "link", "show", "causeway0"}).status, 0);
  }
};

TEST_F(RefusedGateways, say_what_is_missing_and_what_to_do) {
  prepare_strangers();
  constexpr const char* on_wa = "net_af_packet0,iface=wa";
  const Refused all[] = {
      {"net_af_packet0,iface=w9", "", "wan.device: the kernel has no interface w9 here; `ip link`"},
      {"net_af_xdp0,iface=w9", "", "wan.device: the kernel has no interface w9 here; `ip link`"},
      {"net_nothing0", "", "wan.device: net_nothing0 cannot be had: EAL: failed to parse device"},
      {"0000:ff:1f.7", "", "wan.device: 0000:ff:1f.7 is not there for DPDK; `dpdk-devbind.py"},
      {"net_memif0,role=server,socket-abstract=no,socket=/no/such/folder/x", "",
       "socket= must lie in a folder that is there"},
      {on_wa, "eal = [\"--main-lcore\", \"99\"]\n",
       "EAL: Main lcore is not enabled for DPDK; see eal"},
      {on_wa, "eal = [\"-l\", \"99\"]\n", "EAL: lcore 99 unavailable; see eal"},
      {on_wa, "eal = [\"--no-such-thing\"]\n", "see eal, whose arguments are those of any DPDK"},
      {"net_af_packet0,iface=wa,qpairs=4", "",
       "wan.queues: 2 given, and the device's text says 4; leave one of both out", "queues = 2\n"},
      {"net_memif0,role=server,socket-abstract=no,socket=/tmp/x", "",
       "wan.queues: 2 given, and a memif's server has 1", "queues = 2\n"},
      {on_wa, "eal_memory = \"32 MiB\"\n", "site.eal_memory: the packets of net_af_packet0 need",
       "descriptors = 8192\n"},
  };
  for (const Refused& each : all) expect_refused(each);
}

TEST_F(RefusedGateways, say_which_interface_xdp_can_do_with) {
  prepare_strangers();
  const Space &gateway = sites().space(At::GatewayA), &far = sites().space(At::GatewayB);
  gateway.must(
      "ip link add x0 numrxqueues 2 numtxqueues 2 type veth peer name x1 numrxqueues 2 "
      "numtxqueues 2 netns " +
      far.path() + "; ethtool -L x0 rx 2 tx 2");
  expect_refused({"net_af_xdp0,iface=x0", "",
                  "wan.device: x0 spreads packets over 2 queues, and net_af_xdp would hear 1; "
                  "`ethtool -L x0 combined 1` (a veth: rx 1 tx 1, at both ends)"});
  gateway.must("ethtool -L x0 rx 1 tx 1; ip link set dev x0 mtu 9000");
  expect_refused({"net_af_xdp0,iface=x0", "",
                  "wan.device: x0 has an MTU of 9000, and net_af_xdp takes at most 3498; `ip link "
                  "set dev x0 mtu 3498`"});
}

// ---- memory -------------------------------------------------------------------------------------

/// As many hugepages as there were, plus some, while this lives.
class MoreHugepages {
 public:
  explicit MoreHugepages(uint64_t count) : before_(read()) { write(before_ + count); }
  ~MoreHugepages() { write(before_); }
  MoreHugepages(const MoreHugepages&) = delete;
  MoreHugepages& operator=(const MoreHugepages&) = delete;

  static uint64_t free() {
    uint64_t pages = 0;
    std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> pages;
    return pages;
  }

 private:
  static constexpr const char* file = "/proc/sys/vm/nr_hugepages";
  static uint64_t read() {
    uint64_t pages = 0;
    std::ifstream(file) >> pages;
    return pages;
  }
  static void write(uint64_t pages) { std::ofstream(file) << pages; }

  uint64_t before_;
};

TEST_F(GatewaysOf, take_hugepages_where_there_are_enough_and_do_without_elsewhere) {
  constexpr uint64_t wanted = 320, needed = 128;  // more than needed: other tests may take some
  const MoreHugepages more(wanted);
  // A machine may grant none, and then both do without.
  const uint64_t before = MoreHugepages::free();
  const bool has_enough = before >= needed;
  prepare_strangers();
  start_both([&](GatewayFile& file, const SiteAddresses& own) {
    const bool is_a = &own == &site_a;
    file.wan_device = std::string("net_af_packet0,iface=") + own.wan_interface;
    file.site_more = is_a ? "eal_memory = \"256 MiB\"\n"
                          : "eal_memory = \"256 MiB\"\neal = [\"--no-huge\", \"-m\", \"256\"]\n";
  });
  ASSERT_TRUE(meet(site_b.host));
  expect_pings(site_b.host);
  expect_all(exchange({.per_second = 500}, seconds(1)));
  const char* const of_a = has_enough ? "dpdk memory=hugepages" : "dpdk memory=plain";
  EXPECT_NE(a().program().err_so_far().find(of_a), std::string::npos)
      << before << " pages were free\n"
      << a().program().err_so_far();
  EXPECT_NE(b().program().err_so_far().find("dpdk memory=plain"), std::string::npos);
}

// ---- idle ---------------------------------------------------------------------------------------

TEST_F(GatewaysOf, with_nothing_to_do_step_seldom) {
  prepare_strangers();
  start_both([](GatewayFile& file, const SiteAddresses& own) {
    file.wan_device = std::string("net_af_packet0,iface=") + own.wan_interface;
    file.lan_device = std::string("net_af_packet1,iface=") + own.lan_interface;
  });
  const auto turns = [this] { return a().status()["counters"]["turns"].get<double>(); };
  const double before = turns();
  const auto start = Time::now();
  std::this_thread::sleep_for(seconds(3));
  const std::chrono::duration<double> wall = Time::now() - start;
  const double per_second = (turns() - before) / wall.count();
  tell(std::to_string(per_second) + " turns per second");
  EXPECT_LT(per_second, 2500);
  EXPECT_NE(a().program().err_so_far().find("steps meaning="), std::string::npos);
}

}  // namespace
}  // namespace cw::lab
