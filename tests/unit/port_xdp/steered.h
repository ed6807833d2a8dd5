// Frames of all shapes, and a program in the kernel that tells what becomes of each.
#pragma once

#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/port/xdp/xdp_device.h"
#include "tests/unit/port_xdp/veth.h"

namespace cw::test {

using Bytes = std::vector<uint8_t>;

inline constexpr uint8_t us_v4[] = {192, 0, 2, 1}, peer_v4[] = {192, 0, 2, 2},
                         other_v4[] = {192, 0, 2, 3};
inline constexpr uint8_t us_v6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
inline constexpr uint8_t peer_v6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
inline constexpr uint8_t other_v6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};

inline void put(Bytes& out, std::initializer_list<int> bytes) {
  for (const int byte : bytes) out.push_back(static_cast<uint8_t>(byte));
}
inline void put(Bytes& out, std::span<const uint8_t> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

struct Shape {
  std::span<const uint8_t> source = peer_v4, target = us_v4;
  int protocol = 17, port = 4791, options = 0, fragment = 0, vlan = -1;
  size_t payload = 64;
  int opcode = 0x29;
  bool is_hello = false;
  MacAddress mac{};
};

/// Ethernet, a tag or none, IP, UDP, a transport packet.
inline Bytes frame_of(const Shape& it) {
  Bytes frame;
  put(frame, it.mac);
  put(frame, {2, 0, 0, 0, 0, 9});
  if (it.vlan >= 0) put(frame, {0x81, 0, it.vlan >> 8, it.vlan & 0xff});
  const bool is_v4 = it.source.size() == 4;
  const int udp_bytes = static_cast<int>(8 + it.payload);
  if (is_v4) {
    put(frame, {8, 0, 0x45 + it.options, 0, 0, 20 + 4 * it.options + udp_bytes, 0, 0});
    put(frame, {it.fragment >> 8, it.fragment & 0xff, 64, it.protocol, 0, 0});
  } else {
    put(frame, {0x86, 0xdd, 0x60, 0, 0, 0, 0, udp_bytes, it.protocol, 64});
  }
  put(frame, it.source);
  put(frame, it.target);
  for (int i = 0; i < 4 * it.options; ++i) put(frame, {1});
  put(frame, {0x12, 0x34, it.port >> 8, it.port & 0xff, 0, udp_bytes, 0, 0});
  Bytes transport(it.payload, 0x55);
  if (!transport.empty()) transport[0] = static_cast<uint8_t>(it.opcode);
  if (it.is_hello) {
    transport[0] = 0x64;
    transport[20] = 0xca, transport[21] = 0x05;
    std::fill_n(transport.begin() + 36, 8, uint8_t{0});
  }
  put(frame, transport);
  return frame;
}

/// `near` has v0 and its addresses; nothing comes there but what a test makes up.
class Steering {
 public:
  explicit Steering(FrameDeviceOptions options) {
    veth_.silence_far_end();
    options.device = "v0";
    options.packet_bytes = 1500;
    options.packets = 256;
    options.descriptors = 64;
    auto made = XdpDevice::make(options);
    if (!made) {
      ADD_FAILURE() << made.error().sentence;
      return;
    }
    device_ = std::move(*made);
  }
  explicit operator bool() const { return device_ != nullptr; }
  const FrameDevice& device() const { return *device_; }
  const SteeringProgram& program() const {
    return static_cast<const XdpDevice&>(*device_).program();
  }
  /// The verdict, and that this fate and no other was counted.
  int fate_of(const Shape& shape, steering_fate fate) const {
    const auto before = program().fates();
    const int verdict = program().try_frame(frame_of(shape), 1).verdict;
    const auto after = program().fates();
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i] - before[i], i == static_cast<size_t>(fate) ? 1u : 0u) << i;
    }
    return verdict;
  }

 private:
  Veth veth_;
  std::unique_ptr<FrameDevice> device_;
};

inline IpAddress address(std::span<const uint8_t> bytes) {
  IpAddress ip{};
  std::ranges::copy(bytes, ip.begin());
  return ip;
}

inline FrameDeviceOptions wan(bool is_v6) {
  FrameDeviceOptions options;
  options.flows = {{.ip_version = is_v6 ? IpVersion::V6 : IpVersion::V4,
                    .source = is_v6 ? address(peer_v6) : address(peer_v4),
                    .target = is_v6 ? address(us_v6) : address(us_v4),
                    .source_udp_port = 4791,
                    .target_udp_port = 4791}};
  return options;
}

}  // namespace cw::test
