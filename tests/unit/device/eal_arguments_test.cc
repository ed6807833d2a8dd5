// What is chosen for whom when DPDK is started.
#include "dataplane/device/eal_arguments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/device/device_text.h"

namespace cw {
namespace {

constexpr uint64_t gibibyte = uint64_t{1} << 30;

bool has(const std::vector<std::string>& arguments, const std::string& wanted) {
  return std::ranges::find(arguments, wanted) != arguments.end();
}

TEST(EalArguments, takes_hugepages_where_enough_are_free_and_plain_memory_elsewhere) {
  const EalOptions options{.memory_mib = 256};
  const auto rich = eal_arguments(options, gibibyte), poor = eal_arguments(options, gibibyte / 8);
  EXPECT_TRUE(has(rich, "--in-memory") && !has(rich, "--no-huge"));
  EXPECT_TRUE(has(poor, "--no-huge") && has(poor, "256") && !has(poor, "--in-memory"));
  EXPECT_TRUE(has(rich, "--no-shconf") && has(poor, "--no-shconf"));
}

TEST(EalArguments, looks_at_the_pci_bus_only_for_devices_that_are_named) {
  EXPECT_TRUE(has(eal_arguments({.devices = {"net_memif0,role=client"}}, 0), "--no-pci"));
  const auto pci = eal_arguments({.devices = {"0000:3b:00.0,dv_flow_en=1"}}, 0);
  EXPECT_TRUE(has(pci, "-a") && has(pci, "0000:3b:00.0,dv_flow_en=1") && !has(pci, "--no-pci"));
  for (const char* device : {"3b:00.1", "0000:3b:00.0", "3b:00.0,a=b"}) {
    EXPECT_TRUE(is_pci_device(device)) << device;
  }
  for (const char* device : {"net_null0", "net_memif0,mac=02:00:00:00:00:01", "", "eth0.1"}) {
    EXPECT_FALSE(is_pci_device(device)) << device;
  }
}

TEST(EalArguments, leaves_out_what_the_user_says_himself) {
  const auto memory = eal_arguments({.arguments = {"-m", "64", "--no-huge"}}, gibibyte);
  EXPECT_FALSE(has(memory, "--in-memory"));
  EXPECT_EQ(std::ranges::count(memory, "-m"), 1);
  EXPECT_TRUE(has(memory, "--no-shconf"));
  const auto cores = eal_arguments({.arguments = {"-l1", "--file-prefix=mine"}}, gibibyte);
  EXPECT_FALSE(has(cores, "-l") || has(cores, "--file-prefix"));
  EXPECT_TRUE(has(eal_arguments({.core = 1}, 0), "-l"));
}

}  // namespace
}  // namespace cw
