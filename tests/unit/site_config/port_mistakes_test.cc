// What a person may write of ports and their devices by mistake, and the exact sentence that says
// so.
#include <gtest/gtest.h>

#include "tests/unit/site_config/mistakes.h"

namespace cw::site {
namespace {

TEST(GatewayFile, names_what_is_wrong_with_the_lan) {
  expect_all({
      {"[lan]", "[lan]\ndevice = 'a name that is long'", "",
       "f:4:10: lan.device \"a name that is long\" is no name for an interface: 1 to 15 characters "
       "without space, / and %"},
      {"[lan]", "[lan]\nmtu = 65535", "", "f:4:7: lan.mtu is 65535; 68 to 9216 is accepted"},
      {"10.1.0.1/24", "10.1.0/24", "",
       "f:4:13: lan.addresses: \"10.1.0/24\" is no address prefix such as \"10.2.0.0/16\" or "
       "\"2001:db8:2::/48\""},
      {"10.1.0.1/24", "10.1.0.1/33", "",
       "f:4:13: lan.addresses: \"10.1.0.1/33\" must end in /0 to /32"},
      {"[\"10.1.0.1/24\"]", "['fd00::1/64']\nmtu = 1000", "",
       "f:5:7: lan.mtu is 1000 and lan.addresses has fd00::1/64; IPv6 needs an MTU of 1280 at "
       "least"},
      {"[lan]", "[lan]\nport = 'udp'", "",
       "f:4:8: lan.port is \"udp\"; it must be \"tun\", \"dpdk\" or \"xdp\": did you mean "
       "\"xdp\"?"},
      {"[lan]", "[lan]\nport = 'dpdk'", "",
       "f:4:8: lan.port is \"dpdk\" and lan.device is missing; such as \"0000:3b:00.0\" or "
       "\"net_memif0,role=client\""},
      {"[lan]\naddresses = [\"10.1.0.1/24\"]", "[lan]\nport = 'dpdk'\ndevice = 'net_null0'", "",
       "f:4:8: lan.port is \"dpdk\" and lan.addresses is missing: hosts need an address to send "
       "their packets to"},
      {"[lan]", "[lan]\nvlan = 7", "",
       "f:4:8: lan.vlan is of lan.port \"dpdk\" or \"xdp\", and lan.port is \"tun\""},
      {"[lan]", "[lan]\nport = 'xdp'", "",
       "f:4:8: lan.port is \"xdp\" and lan.device is missing; such as \"eth0\""},
      {"[lan]", "[lan]\nport = 'xdp'\ndevice = 'eth 0'", "",
       "f:5:10: lan.device \"eth 0\" is no name for an interface: 1 to 15 characters without "
       "space, / and %"},
      {"[lan]\naddresses = [\"10.1.0.1/24\"]", "[lan]\nport = 'xdp'\ndevice = 'eth0'", "",
       "f:4:8: lan.port is \"xdp\" and lan.addresses is missing: hosts need an address to send "
       "their packets to"},
      {"[wan]",
       "port = 'xdp'\ndevice = 'eth0'\n[wan]\nport = 'xdp'\naddress = '192.0.2.1'\ndevice = 'eth0'",
       "",
       "f:10:10: wan.device and lan.device are both eth0, and one program of ours is on an "
       "interface; give each side one of its own"},
      {"[lan]", "[lan]\nvlan = 4095", "", "f:4:8: lan.vlan is 4095; 0 to 4094 is accepted"},
      {"[lan]", "[lan]\ndescriptors = 1", "",
       "f:4:15: lan.descriptors is 1; 64 to 8192 is accepted"},
      {"[wan]",
       "port = 'dpdk'\ndevice = 'net_null0,copy=1'\n[wan]\nport = 'dpdk'\naddress = "
       "'192.0.2.1'\ndevice = 'net_null0'",
       "",
       "f:10:10: wan.device and lan.device are both called net_null0; two devices of DPDK need two "
       "names, such as net_af_packet0 and net_af_packet1"},
  });
}

TEST(GatewayFile, names_what_is_wrong_with_the_wan) {
  expect_all({
      {"rate = \"1 Gbit/s\"", "", "",
       "f:5:1: wan.rate is missing; it is a rate such as \"10 Gbit/s\""},
      {"1 Gbit/s", "1 Gbps", "",
       "f:6:8: wan.rate is \"1 Gbps\"; it must be a rate such as \"10 Gbit/s\""},
      {"[wan]", "[wan]\naddress = 'here'", "",
       "f:6:11: wan.address: \"here\" is not an IP address, such as 192.0.2.1 or 2001:db8::1"},
      {"[wan]", "[wan]\nport = 'dpdk'\ndevice = 'net_null0'", "",
       "f:6:8: wan.port is \"dpdk\" and wan.address is missing: queues of our own have no address "
       "but this"},
      {"[wan]", "[wan]\nport = 'xdp'\naddress = '192.0.2.1'", "",
       "f:6:8: wan.port is \"xdp\" and wan.device is missing; such as \"eth0\""},
      {"[wan]", "[wan]\nport = 'dpdk'\naddress = '192.0.2.1'", "",
       "f:6:8: wan.port is \"dpdk\" and wan.device is missing; such as \"0000:3b:00.0\" or "
       "\"net_memif0,role=client\""},
      {"[wan]", "[wan]\ndevice = 'net_null0'", "",
       "f:6:10: wan.device is of wan.port \"dpdk\", \"xdp\" or \"verbs\", and wan.port is "
       "\"udp\""},
      {"[wan]", "[wan]\nport = 'verbs'\naddress = '192.0.2.1'", "",
       "f:6:8: wan.port is \"verbs\" and wan.device is missing; such as \"mlx5_0\" (rdma link "
       "show)"},
      {"[wan]", "[wan]\nport = 'verbs'\ndevice = 'mlx5_0'", "",
       "f:6:8: wan.port is \"verbs\" and wan.address is missing: an RNIC is found by an address of "
       "its interface"},
      {"[wan]", "[wan]\nport = 'verbs'\ndevice = 'mlx5_0'\naddress = '192.0.2.1'\nudp_port = 5000",
       "",
       "f:9:12: wan.port is \"verbs\" and wan.udp_port is 5000: an RNIC hears no port but 4791; "
       "leave it out"},
      {"[wan]",
       "[wan]\nport = 'verbs'\ndevice = 'mlx5_0'\naddress = '192.0.2.1'\nsource_port = 65400", "",
       "f:9:15: wan.port is \"verbs\" and wan.source_port is 65400: it must leave room for 256 "
       "ports; the last is 65535"},
      {"[wan]", "[wan]\nport = 'verbs'\ndevice = 'mlx5_0'\naddress = '192.0.2.1'",
       "[wan.impair]\nloss = '1 %'",
       "f:17:1: wan.port is \"verbs\" and wan.impair is for ports that move bytes: an RNIC's "
       "packets "
       "are not seen"},
      {"[wan]", "[wan]\nicrc = 'exact'", "",
       "f:6:8: wan.icrc is \"exact\" and wan.address is missing: an exact ICRC covers the address "
       "that packets leave from"},
      {"[wan]", "[wan]\naddress = '0.0.0.0'\nicrc = 'exact'", "",
       "f:7:8: wan.icrc is \"exact\" and wan.address is missing: an exact ICRC covers the address "
       "that packets leave from"},
      {"[wan]",
       "[wan]\nport = 'dpdk'\ndevice = 'net_null0'\naddress = '192.0.2.1'\nicrc = 'pseudo'", "",
       "f:9:8: wan.icrc \"pseudo\" is of wan.port \"udp\", and wan.port is \"dpdk\", whose ICRCs "
       "are "
       "exact; set wan.icrc = \"exact\" at sites with sockets"},
      {"[wan]", "[wan]\nicrc = 'none'", "",
       "f:6:8: wan.icrc is \"none\"; it must be \"exact\" or \"pseudo\""},
      {"[wan]", "[wan]\npaths = 3\npath_weights = [2, 1]", "",
       "f:7:16: wan.path_weights has 2 numbers and wan.paths is 3; write one for each path, or "
       "leave it out"},
      {"[wan]", "[wan]\npaths = 2\npath_weights = [17, 1]", "",
       "f:7:17: wan.path_weights is 17; 1 to 16 is accepted"},
      {"[wan]", "[wan]\nudp_port = 65530\npaths = 8", "",
       "f:7:9: wan.udp_port 65530 leaves no room for wan.paths 8: the last port is 65535"},
      {"[wan]", "[wan]\noverhead_limit = '120 %'", "",
       "f:6:18: wan.overhead_limit is \"120 %\"; 0 to 1 is accepted"},
      {"[pair]", "[wan.impair]\nqueue_time = '5 ms'\n[pair]", "",
       "f:7:1: wan.impair: queue_bytes, queue_time and mark_above need a rate; rate is 0 "
       "(unlimited)"},
  });
}

/// The sentence about a wan.device, behind its place.
std::string of_device(const std::string& device, const std::string& more = {}) {
  const std::string found =
      verdict(file_with("[wan]", "[wan]\nport = 'dpdk'\naddress = '192.0.2.1'\n" + more +
                                     "device = '" + device + "'"));
  const size_t key = found.find("wan.");
  return key == std::string::npos ? found : found.substr(key);
}

TEST(GatewayFile, names_what_is_wrong_with_the_text_of_a_device) {
  const Folder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"eth0",
       "wan.device: \"eth0\" is no device of DPDK's; an interface of the kernel is written "
       "\"net_af_packet0,iface=eth0\", a NIC of our own by its PCI address, which "
       "`dpdk-devbind.py --status` tells"},
      {"net_af_packet0",
       "wan.device: net_af_packet needs an interface of the kernel's: "
       "\"net_af_packet0,iface=eth1\"; `ip link` lists them"},
      {"net_af_xdp0,interface=eth1",
       "wan.device: net_af_xdp has no argument \"interface\"; it has iface start_queue queue_count "
       "shared_umem xdp_prog busy_budget force_copy"},
      {"net_memif0,role", "wan.device: net_memif: the argument role has no value; role=.."},
      {"net_memif0,role=onlooker",
       "wan.device: net_memif: role=onlooker is neither server nor client; each wire has one of "
       "each"},
      {"net_tap0,iface=a-name-that-is-long",
       "wan.device: iface=a-name-that-is-long is no name for an interface: 1 to 15 characters"},
      {"net_af_packet0,iface=e,blocksz=5000",
       "wan.device: net_af_packet: blocksz=5000 is no multiple of a page, 4096"},
      {"net_af_packet0,iface=e,framesz=8192",
       "wan.device: net_af_packet: framesz=8192 must be a multiple of 16 and fit into "
       "blocksz=4096; framesz=16384,blocksz=65536 carries every MTU"},
      {"net_memif0,role=client,bsize=1024",
       "wan.device: net_memif0 has bsize=1024, which carries packets of 1002 bytes, and pair.mtu "
       "is "
       "1500; leave it out to have it chosen, at both ends"},
      {"net_af_packet0,iface=e,blocksz=4096,framesz=1024",
       "wan.device: net_af_packet0 has framesz=1024, which carries packets of 920 bytes, and "
       "pair.mtu is 1500; leave it out to have it chosen"},
  };
  for (const auto& [device, sentence] : cases) EXPECT_EQ(of_device(device), sentence);
  for (const char* right : {"net_memif0,role=client", "0000:3b:00.0,dv_flow_en=1", "3b:00.0",
                            "net_af_xdp0,iface=eth1", "net_tap0", "net_something_new0,a=b"}) {
    EXPECT_EQ(of_device(right), "") << right;
  }
}

TEST(GatewayFile, gives_each_side_a_device_of_its_own) {
  const auto both = [](const std::string& lan, const std::string& wan) {
    const std::string found =
        verdict(file_with("[wan]", "port = 'dpdk'\ndevice = '" + lan +
                                       "'\n[wan]\nport = 'dpdk'\naddress = '192.0.2.1'\n"
                                       "device = '" +
                                       wan + "'"));
    const size_t key = found.find("wan.");
    return key == std::string::npos ? found : found.substr(key);
  };
  const Folder folder;
  EXPECT_EQ(both("3b:00.0", "0000:3b:00.0"),
            "wan.device and lan.device are both called 0000:3b:00.0; one NIC is one device, and "
            "each side needs its own");
  EXPECT_EQ(both("net_af_packet0,iface=e", "net_af_xdp0,iface=e"),
            "wan.device and lan.device both take e, of which net_af_xdp takes every packet; give "
            "each side an interface of its own");
  EXPECT_EQ(both("net_af_packet0,iface=e", "net_af_packet1,iface=f"), "");
}

}  // namespace
}  // namespace cw::site
