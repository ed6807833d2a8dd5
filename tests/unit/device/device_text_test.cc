// Devices as people write them: what is read in them, and what is chosen for who says nothing.
#include "dataplane/device/device_text.h"

#include <gtest/gtest.h>

#include "dataplane/device/device_obstacle.h"
#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

TEST(DeviceText, has_a_name_a_driver_and_arguments) {
  const std::string memif = "net_memif12,role=client,socket=/run/x,rsize=9";
  EXPECT_EQ(device_name(memif), "net_memif12");
  EXPECT_EQ(device_driver(memif), "net_memif");
  EXPECT_EQ(device_argument(memif, "socket"), "/run/x");
  EXPECT_EQ(device_argument(memif, "rsize", 1), 9u);
  EXPECT_EQ(device_argument(memif, "size"), "");
  EXPECT_EQ(device_argument(memif, "bsize", 7), 7u);
  EXPECT_EQ(device_name("3b:00.0,a=b"), "0000:3b:00.0");
  EXPECT_EQ(device_driver("3b:00.0"), "");
}

TEST(DeviceText, gets_buffers_that_hold_what_is_to_be_carried) {
  for (const uint32_t mtu : {576, 1500, 2026, 2027, 4096, 8300, 9216}) {
    for (const char* device : {"net_memif0,role=client", "net_af_packet0,iface=no-such-one"}) {
      const std::string whole = complete_device(device, mtu, 1);
      EXPECT_GE(slot_mtu_of(whole), mtu) << whole;
      EXPECT_EQ(mistake_in_device(whole), "") << whole;
    }
  }
  EXPECT_EQ(complete_device("net_memif0,role=client", 1500, 1),
            "net_memif0,role=client,bsize=2048");
  EXPECT_EQ(complete_device("net_memif0", 8300, 1), "net_memif0,bsize=9216");
  EXPECT_EQ(complete_device("net_af_packet0,iface=no-such-one", 1500, 3),
            "net_af_packet0,iface=no-such-one,blocksz=65536,framesz=2048,framecnt=2048,qpairs=3");
  EXPECT_EQ(complete_device("net_af_packet0,iface=lo", 1500, 1),
            "net_af_packet0,iface=lo,blocksz=65536,framesz=65536,framecnt=64,qpairs=1");
}

TEST(DeviceText, keeps_what_the_user_says) {
  for (const char* device :
       {"net_memif0,bsize=4096", "net_af_packet0,iface=lo,framesz=2048,qpairs=2",
        "net_af_xdp0,iface=lo,start_queue=1,queue_count=2", "0000:3b:00.0", "net_null0,copy=1"}) {
    EXPECT_EQ(complete_device(device, 9000, 1), device);
  }
}

TEST(DeviceText, has_an_argument_behind_every_comma) {
  EXPECT_EQ(mistake_in_device("net_memif0,role=client"), "");
  for (const char* wrong : {"net_memif0,role=client,", "net_memif0,,role=client", "net_memif0,"}) {
    EXPECT_TRUE(mistake_in_device(wrong).starts_with("net_memif has no argument \"\"")) << wrong;
  }
}

TEST(DeviceObstacle, is_told_before_dpdk_is_asked) {
  EXPECT_EQ(shared_mtu("net_af_packet0,iface=lo"), kernel_mtu("lo"));
  EXPECT_EQ(shared_mtu("net_memif0"), UINT32_MAX);
  EXPECT_EQ(obstacle_to_device("net_null0", 1), "");
  EXPECT_EQ(obstacle_to_device("net_af_packet0,iface=no-such-one", 1),
            "the kernel has no interface no-such-one here; `ip link` lists them, those of this "
            "network namespace");
}

}  // namespace
}  // namespace cw
