// What a port of RNICs says of options that cannot be.
#include <gtest/gtest.h>

#include <string>

#include "tests/verbs/end.h"

namespace cw::stand_in {
namespace {

TEST(PortOfRnicOptions, name_what_is_wrong) {
  Fabric::the().reset();
  Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_4096);
  const auto sentence = [](const auto& change) {
    VerbsPortOptions options;
    options.device = "rnic0";
    options.address = "10.9.0.1";
    options.peers = {{.address = "10.9.0.2"}};
    change(options);
    const auto made = VerbsPort::make(options);
    return made ? std::string() : made.error().sentence;
  };
  EXPECT_EQ(sentence([](auto&) {}), "");
  EXPECT_EQ(sentence([](auto& it) { it.device = "mlx5_0"; }),
            "there is no RDMA device \"mlx5_0\": there are rnic0");
  EXPECT_EQ(sentence([](auto& it) { it.address = "10.9.0.7"; }),
            "device \"rnic0\" has no RoCEv2 GID of address 10.9.0.7: does its interface have this "
            "address (ip address show)?");
  EXPECT_EQ(sentence([](auto& it) { it.peers[0].address = "b"; }),
            "the address of a peer is \"b\" and must be an IPv4 or IPv6 address");
  const std::string range = " and must be 49152 to 65280: an RNIC sends from no other";
  EXPECT_EQ(sentence([](auto& it) { it.source_port = 4791; }), "source_port is 4791" + range);
  EXPECT_EQ(sentence([](auto& it) { it.source_port = 65281; }), "source_port is 65281" + range);
  EXPECT_EQ(sentence([](auto& it) { it.paths = 17; }), "paths is 17 and must be 1 to 16");
}

TEST(PortOfRnicOptions, one_gateway_answers_at_an_address) {
  Fabric::the().reset();
  Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_4096);
  End first("rnic0", "10.9.0.1", "10.9.0.2");
  VerbsPortOptions options;
  options.device = "rnic0";
  options.address = "10.9.0.1";
  const auto second = VerbsPort::make(options);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().sentence.find("is another gateway running at this address?"),
            std::string::npos);
}

}  // namespace
}  // namespace cw::stand_in
