// What is said of machines that the tests lay out as files: every outcome of every check.
#include "control/preflight/preflight.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "control/gateway/plan.h"
#include "control/json/json.h"
#include "control/preflight/routes.h"
#include "tests/unit/site_config/folder.h"

namespace cw::preflight {
namespace {

namespace fs = std::filesystem;

constexpr const char* all_rights = "Name:\tx\nCapEff:\t000001ffffffffff\n";
constexpr const char* no_rights = "Name:\tx\nCapEff:\t0000000000000000\n";

/// A machine without a fault: one NIC of ice at node 1, two nodes of two cores.
class Laid {
 public:
  Laid() {
    std::string name = fs::temp_directory_path() / "causeway-machine-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    put("dev/net/tun", "");
    put("proc/self/status", all_rights);
    put("proc/self/limits", "Max locked memory         unlimited   unlimited   bytes\n");
    put("proc/sys/net/core/rmem_max", "33554432\n");
    put("proc/sys/net/core/wmem_max", "33554432\n");
    put("proc/net/udp", "  sl  local_address rem_address\n");
    put("proc/net/route",
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "other\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    for (const char* node : {"node0", "node1"}) {
      const std::string folder = std::string("sys/devices/system/node/") + node;
      put(folder + "/hugepages/hugepages-2048kB/free_hugepages", "8192\n");
      put(folder + "/cpulist", std::string(node) == "node0" ? "0-1\n" : "2,3\n");
    }
    put("sys/devices/system/cpu/isolated", "2-3\n");
    put("sys/devices/system/cpu/nohz_full", "2-3\n");
    for (const char* core : {"cpu0", "cpu1", "cpu2", "cpu3"}) {
      put(std::string("sys/devices/system/cpu/") + core + "/cpufreq/scaling_governor",
          "performance\n");
    }
    put("sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
    put("sys/bus/pci/devices/0000:3b:00.0/net/eth1/mtu", "");
    put("sys/bus/pci/subsystem", "");
    put("sys/class/net/eth1/mtu", "1500\n");
    link("sys/class/net/eth1/device", root_ / "sys/bus/pci/devices/0000:3b:00.0");
    link("sys/bus/pci/devices/0000:3b:00.0/subsystem", root_ / "sys/bus/pci");
    put("sys/kernel/iommu_groups/0", "");
    put("sys/module/vfio_pci/version", "");
    drive("ice");
  }
  ~Laid() { fs::remove_all(root_); }
  Laid(const Laid&) = delete;
  Laid& operator=(const Laid&) = delete;

  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void remove(const std::string& name) const { fs::remove_all(root_ / name); }
  void link(const std::string& name, const fs::path& target) const {
    remove(name);
    fs::create_directories((root_ / name).parent_path());
    fs::create_symlink(target, root_ / name);
  }
  /// Binds the NIC to a driver.
  void drive(const std::string& driver) const {
    put("sys/bus/pci/drivers/" + driver + "/bind", "");
    link("sys/bus/pci/devices/0000:3b:00.0/driver", root_ / "sys/bus/pci/drivers" / driver);
  }
  /// Makes it an mlx5 with all it needs.
  void make_mlx5(const std::string& gid_type) const {
    drive("mlx5_core");
    put("usr/lib/x86_64-linux-gnu/libmlx5.so.1", "");
    put("usr/lib/x86_64-linux-gnu/libibverbs.so.1", "");
    put("sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/0", gid_type);
  }
  /// And a RoCE device by the interface's name and address.
  void make_rnic() const {
    make_mlx5("RoCE v2\n");
    const std::string device = "sys/class/infiniband/mlx5_0/ports/1/";
    put(device + "state", "4: ACTIVE\n");
    put(device + "gid_attrs/ndevs/0", "");
    put(device + "gid_attrs/ndevs/1", "eth1\n");
    put("sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0\n");
    put("dev/infiniband/uverbs3", "");
    put("dev/infiniband/rdma_cm", "");
  }
  Machine machine() const { return Machine(root_); }

 private:
  fs::path root_;
};

constexpr const char* over_udp = "rate = \"1 Gbit/s\"";
constexpr const char* over_pci =
    "rate = \"1 Gbit/s\"\nport = \"dpdk\"\ndevice = \"3b:00.0\"\naddress = \"192.0.2.1\"";
constexpr const char* over_af_packet =
    "rate = \"1 Gbit/s\"\nport = \"dpdk\"\naddress = \"192.0.2.1\"\n"
    "device = \"net_af_packet0,iface=eth1,framesz=2048\"";
constexpr const char* over_af_xdp =
    "rate = \"1 Gbit/s\"\nport = \"dpdk\"\naddress = \"192.0.2.1\"\n"
    "device = \"net_af_xdp0,iface=eth1\"";
constexpr const char* over_rnic =
    "rate = \"1 Gbit/s\"\nport = \"verbs\"\naddress = \"192.0.2.1\"\ndevice = \"mlx5_0\"";
constexpr const char* over_memif =
    "rate = \"1 Gbit/s\"\nport = \"dpdk\"\naddress = \"192.0.2.1\"\n"
    "device = \"net_memif0,role=client\"";

std::vector<Finding> look(const Laid& laid, const std::string& wan,
                          std::optional<uint32_t> core = {},
                          IdlePolicy idle = IdlePolicy::Adaptive) {
  const site::Folder folder;
  auto plan = site::read_plan(folder.path() + "/south.toml", site::file_with(over_udp, wan));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().sentence);
  plan->cores = {core};  // which this machine may not have
  plan->idle = idle;
  return look_over(laid.machine(), &*plan);
}

/// The first of this name that is worst.
Finding finding(const std::vector<Finding>& all, const std::string& name) {
  Finding worst{"no such finding", Status::Ok, "", ""};
  for (const Finding& it : all) {
    const bool is_worse = worst.name != name || it.status > worst.status;
    if (it.name == name && is_worse) worst = it;
  }
  return worst;
}

void expect(const std::vector<Finding>& all, const std::string& name, Status status,
            const std::string& part) {
  const Finding it = finding(all, name);
  EXPECT_EQ(it.name, name);
  EXPECT_EQ(it.status, status) << text_of(all);
  EXPECT_NE((it.found + " > " + it.advice).find(part), std::string::npos) << text_of(all);
  EXPECT_EQ(it.advice.empty(), status == Status::Ok) << it.advice;
}

TEST(Preflight, finds_nothing_where_all_is_well) {
  const Laid laid;
  for (const char* wan : {over_udp, over_af_packet, over_af_xdp, over_memif}) {
    for (const Finding& it : look(laid, wan, 1)) {
      if (it.name == "cores" || it.name == "numa") continue;  // core 1 is neither free nor near
      EXPECT_EQ(it.status, Status::Ok) << it.name << ": " << it.found;
    }
  }
  laid.drive("vfio-pci");
  EXPECT_FALSE(has_problem(look(laid, over_pci)));
}

std::vector<Finding> look_with_lan(const Laid& laid, const std::string& device) {
  const site::Folder folder;
  const std::string lan = "[lan]\nport = \"dpdk\"\ndevice = \"" + device + "\"";
  const auto plan = site::read_plan(folder.path() + "/south.toml", site::file_with("[lan]", lan));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().sentence);
  return look_over(laid.machine(), &*plan);
}

TEST(Preflight, looks_at_a_lan_over_dpdk_too) {
  const Laid laid;
  laid.remove("dev/net/tun");
  const auto found = look_with_lan(laid, "net_af_packet0,iface=eth2");
  expect(found, "tun", Status::Ok, "not needed");
  expect(found, "lan queue", Status::Ok, "not needed");
  expect(found, "hugepages", Status::Ok, "DPDK wants");
  expect(found, "nic", Status::Problem, "there is no interface eth2");
  laid.put("sys/class/net/eth2/mtu", "1400\n");
  expect(look_with_lan(laid, "net_af_packet0,iface=eth2"), "mtu", Status::Problem,
         "eth2 has an MTU of 1400");
  laid.put("sys/class/net/eth2/mtu", "9000\n");
  expect(look_with_lan(laid, "net_af_xdp0,iface=eth2"), "mtu", Status::Problem,
         "net_af_xdp takes at most 3498");
  expect(look_with_lan(laid, "net_tap0"), "tun", Status::Problem, "/dev/net/tun is not there");
  laid.put("proc/self/status", no_rights);
  expect(look_with_lan(laid, "net_af_xdp0,iface=eth2"), "rights", Status::Problem, "CAP_NET_ADMIN");
}

TEST(Preflight, says_what_af_xdp_can_do_here) {
  const Laid laid;
  const char* const over_xdp =
      "rate = \"1 Gbit/s\"\nport = \"xdp\"\naddress = \"192.0.2.1\"\ndevice = \"eth1\"";
  laid.put("proc/self/mounts", "bpf /sys/fs/bpf bpf rw 0 0\n");
  laid.drive("ice");
  laid.put("sys/class/net/eth1/queues/rx-0/rps_cpus", "0\n");
  expect(look(laid, over_xdp), "xdp", Status::Ok, "in the driver, without copies");
  expect(look(laid, over_xdp), "nic", Status::Ok, "a program of ours takes what is the gateway's");
  expect(look(laid, over_xdp), "hugepages", Status::Ok, "not needed");
  laid.drive("ena");
  expect(look(laid, over_xdp), "xdp", Status::Ok, "frames copied once");
  laid.put("proc/self/mounts", "\n");
  expect(look(laid, over_xdp), "xdp", Status::Note, "mount -t bpf bpf /sys/fs/bpf");
  laid.drive("e1000");
  laid.put("proc/self/mounts", "bpf /sys/fs/bpf bpf rw 0 0\n");
  expect(look(laid, over_xdp), "xdp", Status::Note, "generic place");
  laid.put("sys/class/net/eth1/mtu", "9000\n");
  laid.put("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
  expect(look(laid, over_xdp), "xdp", Status::Problem, "before Linux 6.6");
  laid.drive("ena");
  laid.put("proc/sys/kernel/osrelease", "6.12.1\n");
  expect(look(laid, over_xdp), "xdp", Status::Note, "come in pieces");
  laid.put("proc/self/status", no_rights);
  expect(look(laid, over_xdp), "rights", Status::Problem, "CAP_NET_ADMIN");
}

TEST(Preflight, counts_free_hugepages_where_the_nic_is) {
  const Laid laid;
  expect(look(laid, over_udp), "hugepages", Status::Ok, "not needed");
  expect(look(laid, over_af_packet), "hugepages", Status::Ok, "16384 MiB on node1");
  laid.put("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "3\n");
  expect(look(laid, over_af_packet), "hugepages", Status::Note, "nr_hugepages");
  expect(look(laid, over_memif), "hugepages", Status::Ok, "6 MiB on node1");
  laid.remove("sys/devices/system/node");
  expect(look(laid, over_memif), "hugepages", Status::Note, "0 MiB; DPDK wants");
}

TEST(Preflight, knows_how_much_memory_may_be_locked) {
  const Laid laid;
  laid.put("proc/self/limits", "Max locked memory         8388608     8388608     bytes\n");
  expect(look(laid, over_udp), "memory lock", Status::Ok, "not needed");
  expect(look(laid, over_af_xdp), "memory lock", Status::Ok, "CAP_IPC_LOCK");
  laid.put("proc/self/status", no_rights);
  expect(look(laid, over_af_xdp), "memory lock", Status::Note, "`ulimit -l unlimited`");
}

TEST(Preflight, says_whose_the_nic_is) {
  const Laid laid;
  expect(look(laid, over_udp), "nic", Status::Ok, "by eth1");
  expect(look(laid, over_memif), "nic", Status::Ok, "net_memif needs no NIC");
  expect(look(laid, over_pci), "nic", Status::Problem,
         "dpdk-devbind.py --bind=vfio-pci 0000:3b:00.0`, or wan.device = \"net_af_packet0,iface=");
  laid.remove("sys/module/vfio_pci");
  expect(look(laid, over_pci), "nic", Status::Problem, "`modprobe vfio-pci && ");
  laid.remove("sys/bus/pci/devices/0000:3b:00.0/driver");
  expect(look(laid, over_pci), "nic", Status::Problem, "belongs to no driver");
  laid.drive("vfio-pci");
  expect(look(laid, over_pci), "nic", Status::Ok, "is DPDK's, by vfio-pci");
  laid.remove("sys/kernel/iommu_groups");
  expect(look(laid, over_pci), "nic", Status::Problem, "no IOMMU");
  laid.remove("sys/bus/pci/devices");
  expect(look(laid, over_pci), "nic", Status::Problem, "there is no PCI device 0000:3b:00.0");
  laid.remove("sys/class/net/eth1");
  expect(look(laid, over_af_xdp), "nic", Status::Problem, "there is no interface eth1");
  laid.remove("proc/net/route");
  expect(look(laid, over_udp), "nic", Status::Note, "names no interface");
}

TEST(Preflight, asks_an_mlx5_for_its_libraries_and_its_roce) {
  const Laid laid;
  laid.drive("mlx5_core");
  expect(look(laid, over_pci), "nic", Status::Problem, "apt-get install");
  laid.make_mlx5("IB/RoCE v1\n");
  for (const char* wan : {over_pci, over_udp}) {
    expect(look(laid, wan), "roce", Status::Problem,
           "devlink dev param set pci/0000:3b:00.0 name enable_roce value false");
  }
  const std::string elsewhere = std::string(over_pci) + "\nudp_port = 4800";
  expect(look(laid, elsewhere), "roce", Status::Note, "keeps UDP port 4791");
  laid.make_mlx5("");
  expect(look(laid, over_pci), "nic", Status::Ok, "shared by DPDK");
  expect(look(laid, over_pci), "roce", Status::Ok, "leaves UDP port 4791 to us");
}

TEST(Preflight, looks_for_all_that_an_rnic_is_reached_by) {
  const Laid laid;
  expect(look(laid, over_rnic), "rnic", Status::Problem, "this machine has none");
  laid.put("sys/class/infiniband/mlx5_1/x", "");
  expect(look(laid, over_rnic), "rnic", Status::Problem, "no RDMA device mlx5_0: there are mlx5_1");
  laid.make_rnic();
  laid.put("proc/net/udp", "  sl  local_address\n 1: 00000000:12B7 00000000:0000 07\n");
  const auto all = look(laid, over_rnic, 2);
  EXPECT_FALSE(has_problem(all)) << text_of(all);
  expect(all, "rnic", Status::Ok, "mlx5_0 is there");
  expect(all, "roce", Status::Ok, "eth1 speaks RoCE");
  expect(all, "udp port", Status::Ok, "an RNIC has its own");
  expect(all, "mtu", Status::Ok, "an MTU of 1500");
  laid.put("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
  expect(look(laid, over_rnic), "rnic", Status::Problem, "is 1: DOWN");
  laid.remove("dev/infiniband/uverbs3");
  expect(look(laid, over_rnic), "rnic", Status::Problem, "`modprobe ib_uverbs`");
  laid.remove("dev/infiniband/rdma_cm");
  expect(look(laid, over_rnic), "rdma_cm", Status::Problem, "`modprobe rdma_ucm`");
  laid.make_mlx5("");
  expect(look(laid, over_rnic), "roce", Status::Problem, "enable_roce value true");
}

TEST(Preflight, knows_how_much_an_rnic_is_given) {
  const Laid laid;
  laid.make_rnic();
  laid.put("proc/self/limits", "Max locked memory         8388608     8388608     bytes\n");
  expect(look(laid, over_rnic), "memory lock", Status::Ok, "CAP_IPC_LOCK");
  laid.put("proc/self/status", no_rights);
  expect(look(laid, over_rnic), "memory lock", Status::Problem, "an RNIC wants");
}

TEST(Preflight, compares_the_mtu_with_the_longest_packet) {
  const Laid laid;
  expect(look(laid, over_udp), "mtu", Status::Ok, "up to 1500 bytes");
  laid.put("sys/class/net/eth1/mtu", "1400\n");
  expect(look(laid, over_udp), "mtu", Status::Problem, "`ip link set dev eth1 mtu 1500`");
  laid.put("sys/class/net/eth1/mtu", "9000\n");
  expect(look(laid, over_af_packet), "mtu", Status::Ok, "an MTU of 9000");
  expect(look(laid, over_af_xdp), "mtu", Status::Problem, "`ip link set dev eth1 mtu 3498`");
}

TEST(Preflight, looks_at_the_core_that_the_file_names) {
  const Laid laid;
  expect(look(laid, over_udp), "cores", Status::Note, "name one as site.core");
  laid.put("sys/devices/system/cpu/isolated", "1\n");
  expect(look(laid, over_udp, 1), "cores", Status::Note, "kernel's timer");
  laid.put("sys/devices/system/cpu/nohz_full", "0-1\n");
  expect(look(laid, over_udp, 1), "cores", Status::Ok, "kept free");
  expect(look(laid, over_udp, 0), "cores", Status::Note, "isolcpus=0 nohz_full=0");
  laid.put("sys/devices/system/cpu/isolated", "\n");
  expect(look(laid, over_udp), "cores", Status::Ok, "no core is kept free");
  expect(look(laid, over_udp, {}, IdlePolicy::Poll), "cores", Status::Note, "site.core");
}

TEST(Preflight, looks_at_speed_and_at_the_way_to_the_nic) {
  const Laid laid;
  expect(look(laid, over_udp, 1), "governor", Status::Ok, "performance");
  laid.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  expect(look(laid, over_udp, 1), "governor", Status::Note, "`cpupower");
  expect(look(laid, over_udp, 0), "governor", Status::Ok, "performance");
  for (const char* core : {"cpu0", "cpu1", "cpu2", "cpu3"}) {
    laid.remove(std::string("sys/devices/system/cpu/") + core + "/cpufreq");
  }
  expect(look(laid, over_udp), "governor", Status::Ok, "does not set");
  expect(look(laid, over_udp), "numa", Status::Ok, "at node 1");
  expect(look(laid, over_udp, 1), "numa", Status::Note, "set site.core to one of 2,3");
  laid.put("sys/bus/pci/devices/0000:3b:00.0/numa_node", "-1\n");
  expect(look(laid, over_udp, 1), "numa", Status::Ok, "equally near");
}

TEST(Preflight, asks_for_the_tun_device_and_for_rights) {
  const Laid laid;
  expect(look(laid, over_af_packet), "rights", Status::Ok, "all that is needed");
  laid.put("proc/self/status", no_rights);
  expect(look(laid, over_udp), "rights", Status::Problem, "`ip tuntap add dev causeway0");
  laid.put("sys/class/net/causeway0/tx_queue_len", "500\n");
  expect(look(laid, over_udp), "rights", Status::Note, "CAP_NET_ADMIN");
  expect(look(laid, over_af_packet), "rights", Status::Problem, "CAP_NET_RAW");
  expect(look(laid, over_udp), "lan queue", Status::Note, "txqueuelen 9765`");
  laid.put("sys/class/net/causeway0/tx_queue_len", "20000\n");
  expect(look(laid, over_udp), "lan queue", Status::Ok, "keeps 20000 packets");
  laid.remove("dev/net/tun");
  expect(look(laid, over_udp), "tun", Status::Problem, "`modprobe tun`");
}

TEST(Preflight, asks_for_room_in_sockets_without_the_right_to_take_it) {
  const Laid laid;
  laid.put("proc/sys/net/core/wmem_max", "212992\n");
  expect(look(laid, over_udp), "socket buffers", Status::Ok, "CAP_NET_ADMIN");
  expect(look(laid, over_memif), "socket buffers", Status::Ok, "not needed");
  laid.put("proc/self/status", no_rights);
  expect(look(laid, over_udp), "socket buffers", Status::Note,
         "`sysctl -w net.core.wmem_max=16777216`");
}

TEST(Preflight, finds_who_has_the_udp_ports) {
  const Laid laid;
  laid.put("proc/net/udp", "  sl  local_address\n 1: 0100007F:12B7 00000000:0000 07\n");
  EXPECT_TRUE(is_udp_port_taken(laid.machine(), "", 4791));
  EXPECT_TRUE(is_udp_port_taken(laid.machine(), "127.0.0.1", 4791));
  EXPECT_FALSE(is_udp_port_taken(laid.machine(), "192.0.2.1", 4791));
  EXPECT_FALSE(is_udp_port_taken(laid.machine(), "", 4792));
  expect(look(laid, over_udp), "udp port", Status::Problem, "`ss -ulpn sport = :4791`");
  laid.put("proc/net/udp", "");
  laid.put("proc/net/udp6", " 1: 00000000000000000000000000000000:12B9 0 07\n");
  const std::string paths = std::string(over_udp) + "\npaths = 3";
  expect(look(laid, over_udp), "udp port", Status::Ok, "4791 is free");
  expect(look(laid, paths), "udp port", Status::Problem, "4793 is another program's");
}

TEST(Preflight, follows_routes_of_both_families) {
  const Laid laid;
  laid.put("proc/net/ipv6_route",
           "20010db8000000000000000000000000 20 00000000000000000000000000000000 00 "
           "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n"
           "20010db8000000010000000000000000 40 00000000000000000000000000000000 00 "
           "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth2\n");
  EXPECT_EQ(interface_towards(laid.machine(), "192.0.2.9"), "eth1");
  EXPECT_EQ(interface_towards(laid.machine(), "198.51.100.1"), "other");
  EXPECT_EQ(interface_towards(laid.machine(), "2001:db8::1"), "eth1");
  EXPECT_EQ(interface_towards(laid.machine(), "2001:db8:0:1::1"), "eth2");
  EXPECT_EQ(interface_towards(laid.machine(), "2001:db9::1"), "");
  EXPECT_EQ(interface_towards(laid.machine(), "gateway"), "");
}

TEST(Preflight, without_a_file_says_what_the_machine_offers) {
  const Laid laid;
  auto all = look_over(laid.machine(), nullptr);
  EXPECT_FALSE(has_problem(all));
  EXPECT_NE(finding(all, "nic").advice.find("net_af_packet0,iface=eth1"), std::string::npos);
  laid.drive("mlx5_core");
  laid.put("sys/class/net/eth1/mtu", "1400\n");
  all = look_over(laid.machine(), nullptr);
  expect(all, "nic", Status::Note, "apt-get install");
  expect(all, "mtu", Status::Note, "an MTU of 1400");
  laid.make_mlx5("RoCE v2\n");
  laid.put("proc/net/udp", " 1: 00000000:12B7 00000000:0000 07\n");
  all = look_over(laid.machine(), nullptr);
  expect(all, "roce", Status::Note, "enable_roce");
  expect(all, "udp port", Status::Note, "4791");
}

TEST(Preflight, is_told_as_an_aligned_list_and_as_json) {
  const std::vector<Finding> all = {{"tun", Status::Ok, "it is there", ""},
                                    {"udp port", Status::Problem, "it is taken", "stop it"}};
  EXPECT_EQ(text_of(all),
            "ok      tun       it is there\n"
            "problem udp port  it is taken\n"
            "                  > stop it\n");
  const auto json = json_of(all);
  EXPECT_EQ(json[1]["status"], "problem");
  EXPECT_EQ(json[1]["advice"], "stop it");
  EXPECT_EQ(json[0]["found"], "it is there");
}

TEST(Machine, reads_sets_of_processors) {
  const auto numbers_in = [](std::string_view list) {
    std::vector<uint32_t> all;
    for (uint32_t number = 0; number < 10; ++number) {
      if (has_number(list, number)) all.push_back(number);
    }
    return all;
  };
  EXPECT_EQ(numbers_in("0-2,5"), (std::vector<uint32_t>{0, 1, 2, 5}));
  EXPECT_EQ(numbers_in(""), std::vector<uint32_t>{});
  EXPECT_EQ(numbers_in("7-3,x,2-"), std::vector<uint32_t>{2});
  // Nothing is written out: that would be sixteen gigabytes.
  EXPECT_TRUE(has_number("0-4294967295", UINT32_MAX));
}

TEST(Machine, what_is_no_number_of_a_processor_is_in_no_set) {
  EXPECT_FALSE(has_number("0-99999999999", 5));
}

}  // namespace
}  // namespace cw::preflight
