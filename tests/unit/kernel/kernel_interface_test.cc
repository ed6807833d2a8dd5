// What the kernel says of its interfaces, and of those that it has not.
#include "dataplane/kernel/kernel_interface.h"

#include <gtest/gtest.h>

namespace cw {
namespace {

TEST(KernelInterface, knows_its_mtu_and_says_when_there_is_none) {
  EXPECT_EQ(kernel_mtu("no-such-one"), 0u);
  EXPECT_GE(kernel_mtu("lo"), 576u);
  EXPECT_EQ(kernel_rx_queues("no-such-one"), 1u);
}

}  // namespace
}  // namespace cw
