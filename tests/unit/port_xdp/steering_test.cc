// What the program in the kernel makes of each shape of frame, counted.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <span>

#include "tests/unit/port_xdp/steered.h"

namespace cw::test {
namespace {

TEST(Steering, of_a_wan_takes_what_peers_write_to_our_port_and_no_more) {
  CW_NEEDS_NETWORK_SPACE();
  const Steering it(wan(false));
  ASSERT_TRUE(it);
  EXPECT_EQ(it.fate_of({}, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.source = other_v4}, STEERING_STRANGER), XDP_DROP);
  EXPECT_EQ(it.fate_of({.options = 1}, STEERING_OPTIONS), XDP_DROP);
  EXPECT_EQ(it.fate_of({.options = 10}, STEERING_OPTIONS), XDP_DROP);
  EXPECT_EQ(it.fate_of({.fragment = 0x2000}, STEERING_FRAGMENT), XDP_DROP);
  EXPECT_EQ(it.fate_of({.payload = 11}, STEERING_SHORT), XDP_DROP);
  EXPECT_EQ(it.fate_of({.payload = 12}, STEERING_TAKEN), XDP_REDIRECT);
  // The kernel's.
  EXPECT_EQ(it.fate_of({.port = 4790}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.source = other_v4, .port = 22}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = other_v4}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.protocol = 6}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.fragment = 0x2001}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.fragment = 0x4000}, STEERING_TAKEN), XDP_REDIRECT) << "it may not be cut";
  EXPECT_EQ(it.fate_of({.vlan = 7}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.source = peer_v6, .target = us_v6}, STEERING_PASSED), XDP_PASS);
}

TEST(Steering, of_a_wan_over_ipv6_does_the_same) {
  CW_NEEDS_NETWORK_SPACE();
  const Steering it(wan(true));
  ASSERT_TRUE(it);
  const Shape right{.source = peer_v6, .target = us_v6};
  EXPECT_EQ(it.fate_of(right, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.source = other_v6, .target = us_v6}, STEERING_STRANGER), XDP_DROP);
  EXPECT_EQ(it.fate_of({.source = peer_v6, .target = other_v6}, STEERING_PASSED), XDP_PASS);
  // Hop-by-hop options, routing, a fragment: headers between that no peer writes.
  for (const int next : {0, 43, 44, 60, 58, 6}) {
    const Shape shape{.source = peer_v6, .target = us_v6, .protocol = next};
    EXPECT_EQ(it.fate_of(shape, STEERING_PASSED), XDP_PASS) << next;
  }
  EXPECT_EQ(it.fate_of({}, STEERING_PASSED), XDP_PASS);
}

/// What ends within any header is the kernel's.
TEST(Steering, reads_no_further_than_a_frame_goes) {
  CW_NEEDS_NETWORK_SPACE();
  const Steering it(wan(false));
  ASSERT_TRUE(it);
  const Bytes whole = frame_of({.is_hello = true});
  for (size_t bytes = 14; bytes <= whole.size(); ++bytes) {
    const int verdict = it.program().try_frame(std::span(whole).first(bytes), 1).verdict;
    const int right = bytes < 14 + 20 + 8        ? XDP_PASS
                      : bytes < 14 + 20 + 8 + 12 ? XDP_DROP
                                                 : XDP_REDIRECT;
    EXPECT_EQ(verdict, right) << bytes;
  }
}

TEST(Steering, lets_so_many_hellos_come_in_a_second) {
  CW_NEEDS_NETWORK_SPACE();
  const Steering it(wan(false));
  ASSERT_TRUE(it);
  const Bytes hello = frame_of({.is_hello = true}), data = frame_of({});
  const auto before = it.program().fates();
  it.program().try_frame(hello, 1'000'000);
  const auto flooded = it.program().fates();
  const uint64_t dropped = flooded[STEERING_HELLO_FLOOD] - before[STEERING_HELLO_FLOOD];
  EXPECT_EQ(dropped + flooded[STEERING_TAKEN] - before[STEERING_TAKEN], 1'000'000u);
  EXPECT_GT(dropped, 900'000u);
  EXPECT_GT(flooded[STEERING_TAKEN], before[STEERING_TAKEN]);
  // Whatever is no HELLO comes all the same.
  it.program().try_frame(data, 1000);
  EXPECT_EQ(it.program().fates()[STEERING_TAKEN] - flooded[STEERING_TAKEN], 1000u);
}

TEST(Steering, of_a_lan_takes_what_goes_to_our_prefixes_by_our_mac) {
  CW_NEEDS_NETWORK_SPACE();
  FrameDeviceOptions options;
  options.targets = {{IpVersion::V4, address(std::array<uint8_t, 4>{10, 2, 0, 0}), 16},
                     {IpVersion::V4, address(std::array<uint8_t, 4>{239, 1, 2, 3}), 32},
                     {IpVersion::V6, address(std::array<uint8_t, 2>{0xfd, 2}), 16}};
  const Steering it(options);
  ASSERT_TRUE(it);
  const MacAddress ours = it.device().mac(), group{1, 0, 0x5e, 1, 2, 3}, other{2, 0, 0, 0, 0, 7};
  const uint8_t far[] = {10, 2, 9, 9}, beyond[] = {10, 3, 0, 1}, many[] = {239, 1, 2, 3};
  const uint8_t far_v6[] = {0xfd, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  EXPECT_EQ(it.fate_of({.target = far, .mac = ours}, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.target = far, .protocol = 6, .mac = ours}, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.target = far, .fragment = 0x2001, .mac = ours}, STEERING_TAKEN),
            XDP_REDIRECT)
      << "hosts' fragments travel";
  EXPECT_EQ(it.fate_of({.target = many, .mac = group}, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.source = peer_v6, .target = far_v6, .mac = ours}, STEERING_TAKEN),
            XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.target = far, .mac = other}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = beyond, .mac = ours}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = us_v4, .mac = ours}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = far, .vlan = 7, .mac = ours}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = far, .vlan = 0, .mac = ours}, STEERING_TAKEN), XDP_REDIRECT)
      << "a tag that names no VLAN has a priority only";
}

TEST(Steering, of_a_lan_takes_one_vlan) {
  CW_NEEDS_NETWORK_SPACE();
  FrameDeviceOptions options;
  options.targets = {{IpVersion::V4, address(std::array<uint8_t, 4>{10, 2, 0, 0}), 16}};
  options.vlan = 7;
  const Steering it(options);
  ASSERT_TRUE(it);
  const MacAddress ours = it.device().mac();
  const uint8_t far[] = {10, 2, 9, 9};
  EXPECT_EQ(it.fate_of({.target = far, .vlan = 7, .mac = ours}, STEERING_TAKEN), XDP_REDIRECT);
  EXPECT_EQ(it.fate_of({.target = far, .vlan = 8, .mac = ours}, STEERING_PASSED), XDP_PASS);
  EXPECT_EQ(it.fate_of({.target = far, .mac = ours}, STEERING_PASSED), XDP_PASS);
}

}  // namespace
}  // namespace cw::test
