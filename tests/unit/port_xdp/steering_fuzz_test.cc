// The program in the kernel reads frames that nobody meant to write as its rules say, told a second
// time here.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <span>

#include "tests/unit/port_xdp/steered.h"

namespace cw::test {
namespace {

constexpr int frames_tried = 100'000;

uint16_t number_at(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}
bool is_at(std::span<const uint8_t> bytes, size_t at, std::span<const uint8_t> what) {
  return std::memcmp(bytes.data() + at, what.data(), what.size()) == 0;
}

/// What may become of UDP from a source that is or is no peer's; HELLOs by their number.
std::set<int> fates_of_udp(std::span<const uint8_t> udp, bool is_peer, int flaw) {
  if (udp.size() < 8 || number_at(udp, 2) != 4791) return {STEERING_PASSED};
  if (flaw != 0) return {flaw};
  if (!is_peer) return {STEERING_STRANGER};
  const auto transport = udp.subspan(8);
  if (transport.size() < 12) return {STEERING_SHORT};
  const bool is_hello = transport.size() >= 44 && transport[0] == 0x64 && transport[20] == 0xca &&
                        transport[21] == 0x05 &&
                        std::ranges::count(transport.subspan(36, 8), 0) == 8;
  if (is_hello) return {STEERING_TAKEN, STEERING_HELLO_FLOOD};
  return {STEERING_TAKEN};
}

std::set<int> fates_of_wan_v4(std::span<const uint8_t> frame) {
  if (number_at(frame, 12) != 0x800 || frame.size() < 14 + 20) return {STEERING_PASSED};
  const auto ip = frame.subspan(14);
  const size_t header = (ip[0] & 15) * 4u;
  const uint16_t fragment = number_at(ip, 6);
  if (ip[9] != 17 || !is_at(ip, 16, us_v4) || (fragment & 0x1fff) != 0 || header < 20) {
    return {STEERING_PASSED};
  }
  const int flaw = header > 20 ? STEERING_OPTIONS : fragment & 0x2000 ? STEERING_FRAGMENT : 0;
  const auto udp = header <= ip.size() ? ip.subspan(header) : ip.first(0);
  return fates_of_udp(udp, is_at(ip, 12, peer_v4), flaw);
}

std::set<int> fates_of_wan_v6(std::span<const uint8_t> frame) {
  if (number_at(frame, 12) != 0x86dd || frame.size() < 14 + 40) return {STEERING_PASSED};
  const auto ip = frame.subspan(14);
  if (ip[6] != 17 || !is_at(ip, 24, us_v6)) return {STEERING_PASSED};
  return fates_of_udp(ip.subspan(40), is_at(ip, 8, peer_v6), 0);
}

/// A frame as a peer or a host writes it but for some bytes, and cut somewhere.
class Scribbler {
 public:
  explicit Scribbler(uint32_t seed) : random_(seed) {}

  Bytes frame(bool is_v6) {
    Shape shape{.source = is_v6 ? std::span<const uint8_t>(peer_v6) : peer_v4,
                .target = is_v6 ? std::span<const uint8_t>(us_v6) : us_v4,
                .options = is_v6 || below(4) > 0 ? 0 : static_cast<int>(below(11)),
                .payload = below(70),
                .is_hello = false};
    shape.is_hello = shape.payload >= 44 && below(8) == 0;
    Bytes bytes = frame_of(shape);
    for (size_t changes = below(4); changes > 0; --changes) {
      bytes[below(std::min<size_t>(bytes.size(), 100))] = static_cast<uint8_t>(below(256));
    }
    if (below(4) == 0) bytes.resize(14 + below(bytes.size() - 13));
    return bytes;
  }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  std::mt19937 random_;
};

int verdict_of(int fate) {
  return fate == STEERING_TAKEN ? XDP_REDIRECT : fate == STEERING_PASSED ? XDP_PASS : XDP_DROP;
}

template <class FatesOf>
void expect_as_told(bool is_v6, FatesOf fates_of) {
  const uint32_t seed = std::random_device()();
  std::cout << "             seed " << seed << "\n";
  Scribbler scribbler(seed);
  const Steering it(wan(is_v6));
  ASSERT_TRUE(it);
  const auto before = it.program().fates();
  std::array<uint64_t, STEERING_FATES> expected{};
  for (int i = 0; i < frames_tried; ++i) {
    const Bytes frame = scribbler.frame(is_v6);
    const std::set<int> fates = fates_of(frame);
    const int verdict = it.program().try_frame(frame, 1).verdict;
    const auto fate = std::ranges::find(fates, verdict, verdict_of);
    ASSERT_NE(fate, fates.end()) << "frame " << i << " of seed " << seed << ": " << verdict;
    ++expected[static_cast<size_t>(*fate)];
  }
  const auto after = it.program().fates();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(after[i] - before[i], expected[i]) << i;
    const bool is_rare = is_v6 || i == STEERING_HELLO_FLOOD;  // a slow machine floods nobody
    EXPECT_TRUE(expected[i] > 0 || is_rare) << i << " was never tried";
  }
}

TEST(SteeringFuzz, of_a_wan_agrees_with_its_rules) {
  CW_NEEDS_NETWORK_SPACE();
  expect_as_told(false, fates_of_wan_v4);
}

TEST(SteeringFuzz, of_a_wan_over_ipv6_agrees_with_its_rules) {
  CW_NEEDS_NETWORK_SPACE();
  expect_as_told(true, fates_of_wan_v6);
}

}  // namespace
}  // namespace cw::test
