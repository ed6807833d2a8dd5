// What others make of the frames: tshark, and a kernel that owns the interface.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/device.h"
#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/port/udp/udp_port.h"
#include "tests/command.h"
#include "tests/unit/port/network_space.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"
#include "tests/unit/wire/capture.h"

namespace cw::test {
namespace {

std::vector<std::string> lines_of(const std::string& command) {
  const Output output = output_of(command);
  EXPECT_EQ(output.status, 0) << command;
  return output.lines();
}

/// Sends one packet of each size through a device that writes a capture; returns its path.
std::string capture_of(const char* own, const char* peer, std::span<const size_t> sizes) {
  start_small_eal();
  const std::string in = own_path("in.pcap"), out = own_path("out.pcap");
  write_capture(in, {});
  auto options = wan_options("net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out, own, peer);
  options.peers[0].next_hop = "02:00:00:00:00:02";
  options.paths = 2;
  const auto port = make_wan_port(options);
  for (const size_t size : sizes) {
    Packet* packet = make_packet(*port, size, 1);
    packet->path = 1;
    packet->dscp = 26;
    EXPECT_EQ(port->tx_burst({&packet, 1}, clock_now()), 1u);
  }
  std::filesystem::remove(in);
  return out;
}

constexpr size_t sizes[] = {0, 1, 2, 3, 64, 1023, 1400, 4096, 8192};

// SPEC 2.2, SPEC 2.3, SPEC 2.4, SPEC 3.2
TEST(DpdkStrangers, every_frame_is_whole_and_its_icrc_is_the_exact_one) {
  for (const bool is_v6 : {false, true}) {
    const auto file = is_v6 ? capture_of("2001:db8::1", "2001:db8::2", sizes)
                            : capture_of("192.0.2.1", "192.0.2.2", sizes);
    const auto frames = read_capture(file);
    ASSERT_EQ(frames.size(), std::size(sizes));
    const Icrc icrc(IcrcMode::Exact, cw_crc32, 1024);
    for (size_t i = 0; i < frames.size(); ++i) {
      const auto frame = parse_frame(frames[i], FrameStart::Ethernet);
      ASSERT_TRUE(frame.has_value()) << i;
      EXPECT_TRUE(icrc.is_right(frame->ip_and_udp_of(frames[i]), frame->covered_of(frames[i])));
      EXPECT_EQ(frame->address.target_mac, (MacAddress{2, 0, 0, 0, 0, 2}));
      EXPECT_EQ(frame->address.source_udp_port, roce_udp_port + 1);
      EXPECT_EQ(frame->address.flow_label, is_v6 ? roce_udp_port + 1u : 0u);
      EXPECT_EQ(frame->address.dscp, 26);
      EXPECT_TRUE(frame->address.dont_fragment);
    }
    std::filesystem::remove(file);
  }
}

TEST(DpdkStrangers, tshark_reads_roce_in_every_frame_and_finds_nothing_malformed) {
  const std::string file = capture_of("192.0.2.1", "192.0.2.2", std::span(sizes).subspan(1));
  const auto lines = lines_of("tshark -r " + file +
                              " -T fields -E separator=, -e ip.src -e ip.dst -e udp.dstport"
                              " -e infiniband.bth.opcode -e infiniband.reth.dmalen"
                              " -o ip.check_checksum:TRUE -e ip.checksum.status"
                              " -e _ws.malformed 2>/dev/null");
  ASSERT_EQ(lines.size(), std::size(sizes) - 1);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], "192.0.2.1,192.0.2.2,4791,43," + std::to_string(sizes[i + 1]) + ",1,");
  }
  std::filesystem::remove(file);
}

/// What a port that belongs to two groups says within three seconds of its life, and at its end.
std::string capture_of_reports() {
  start_small_eal();
  const std::string in = own_path("in.pcap"), out = own_path("out.pcap");
  write_capture(in, {});
  FrameLanOptions options;
  options.device = "net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out;
  options.addresses = {{*parse_host_address("10.1.0.1", ""), 24}};
  options.groups = {*parse_host_address("239.1.2.3", ""), *parse_host_address("ff05::1:2", "")};
  options.descriptors = 256;
  options.packets = 512;
  const auto port = FrameLanPort::make(dpdk_driver(), options);
  EXPECT_TRUE(port.has_value()) << port.error().sentence;
  for (Instant now; now < Instant() + Duration::from_s(3); now += Duration::from_ms(10)) {
    Packet* packet = nullptr;
    EXPECT_EQ((*port)->rx_burst({&packet, 1}, now), 0u);
  }
  std::filesystem::remove(in);
  return out;
}

TEST(DpdkStrangers, tshark_reads_who_joins_and_who_leaves_in_igmp_and_mld) {
  const std::string file = capture_of_reports();
  const auto lines = lines_of("tshark -r " + file +
                              " -T fields -E separator=, -e ip.src -e igmp.type -e igmp.maddr"
                              " -e igmp.record_type -e igmp.checksum.status -e icmpv6.type"
                              " -e icmpv6.mldr.mar.multicast_address -e icmpv6.mldr.mar.record_type"
                              " -e icmpv6.checksum.status -e _ws.malformed 2>/dev/null");
  const std::string igmp = "10.1.0.1,0x22,239.1.2.3,", mld = ",143,ff05::1:2,";
  EXPECT_EQ(std::ranges::count(lines, igmp + "4,1,,,,,"), 2) << "joins, said twice";
  EXPECT_EQ(std::ranges::count(lines, igmp + "3,1,,,,,"), 1) << "leaves";
  EXPECT_EQ(std::ranges::count(lines, ",,,,," + mld.substr(1) + "4,1,"), 2);
  EXPECT_EQ(std::ranges::count(lines, ",,,,," + mld.substr(1) + "3,1,"), 1);
  EXPECT_EQ(lines.size(), 6u);
  std::filesystem::remove(file);
}

ByteVector answer_of(const HostAddress& who, const MacAddress& mac, const HostAddress& asked_by) {
  ByteVector frame(neighbour_message_bytes_max);
  const NeighbourMessage question{.is_question = true, .sender = asked_by, .target = who};
  frame.resize(encode_neighbour_answer({.ip = who, .mac = mac}, question, frame));
  return frame;
}

// Headers are made once, for a next hop that may be another one day.
TEST(DpdkStrangers, frames_go_to_the_next_hop_that_was_heard_last) {
  start_small_eal();
  constexpr MacAddress macs[] = {{2, 0, 0, 0, 0, 7}, {2, 0, 0, 0, 0, 8}};
  const auto own = *parse_host_address("192.0.2.1", ""),
             peer = *parse_host_address("192.0.2.2", "");
  const std::string in = own_path("in.pcap"), out = own_path("out.pcap");
  const ByteVector answers[] = {answer_of(peer, macs[0], own), answer_of(peer, macs[1], own)};
  write_capture(in, answers);
  {
    const auto port = make_wan_port(
        wan_options("net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out, "192.0.2.1", "192.0.2.2"));
    for (size_t i = 0; i < std::size(macs); ++i) {
      Packet* arrived = nullptr;
      EXPECT_EQ(port->rx_burst({&arrived, 1}, clock_now()), 0u);  // the port's own affair
      Packet* packet = make_packet(*port, 64, 1);
      EXPECT_EQ(port->tx_burst({&packet, 1}, clock_now()), 1u);
    }
    EXPECT_EQ(port->status().tx_unresolved, 0u);
  }
  std::vector<MacAddress> targets;
  for (const ByteVector& bytes : read_capture(out)) {
    const auto frame = parse_frame(bytes, FrameStart::Ethernet);
    if (frame) targets.push_back(frame->address.target_mac);
  }
  EXPECT_EQ(targets, (std::vector<MacAddress>{macs[0], macs[1]}));
  std::filesystem::remove(in);
  std::filesystem::remove(out);
}

// ---- af_packet ----------------------------------------------------------------------------------

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
}

std::string af_packet(int number, const std::string& interface) {
  return "net_af_packet" + std::to_string(number) + ",iface=" + interface +
         ",blocksz=65536,framesz=2048,framecnt=512";
}

FrameWanOptions kernel_options(int number, const std::string& own, const std::string& peer) {
  auto options = wan_options(af_packet(number, "v" + std::to_string(number)), own, peer);
  options.payload_bytes_max = 1024;
  return options;
}

/// Counts of a namespace's kernel, by the name that nstat has for them.
uint64_t kernel_count(const std::string& name) {
  const auto lines = lines_of("nstat -asz " + name + " | awk '/^" + name + "/{print $2}'");
  return lines.empty() ? 0 : std::strtoull(lines[0].c_str(), nullptr, 10);
}

TEST(DpdkStrangers, a_kernel_that_owns_the_interface_finds_the_next_hop_and_keeps_quiet) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace far;
  const int far_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  NetworkSpace near;
  run("ip link add v0 mtu 1400 numrxqueues 1 type veth peer name v1 mtu 1400 netns /proc/" +
      std::to_string(getpid()) + "/fd/" + std::to_string(far_fd));
  close(far_fd);
  run("ip addr add 192.0.2.1/24 dev v0 && ip link set v0 up && ip link set lo up");
  far.enter();
  run("ip addr add 192.0.2.2/24 dev v1 && ip link set v1 up && ip link set lo up");
  const auto b = make_wan_port(kernel_options(1, "192.0.2.2", "192.0.2.1"));
  near.enter();
  const auto a = make_wan_port(kernel_options(0, "192.0.2.1", "192.0.2.2"));
  EXPECT_EQ(a->status().device.interface, "v0");
  EXPECT_EQ(a->facts().payload_max, 1024u);

  const Instant start = clock_now();
  Packet* none = nullptr;
  while (!a->status().unresolved.empty() && clock_now() - start < Duration::from_s(20)) {
    a->rx_burst({&none, 1}, clock_now());
    usleep(10'000);
  }
  ASSERT_TRUE(a->status().unresolved.empty());
  far.enter();
  const uint64_t complaints = kernel_count("IcmpOutDestUnreachs");
  std::vector<Packet*> packets;
  for (uint8_t i = 0; i < 50; ++i) packets.push_back(make_packet(*a, 1000, i));
  ASSERT_EQ(a->tx_burst(packets, clock_now()), packets.size());
  const auto received = receive(*b, packets.size());
  ASSERT_EQ(received.size(), packets.size());
  for (uint8_t i = 0; i < 50; ++i) EXPECT_TRUE(is_made_packet(*received[i], 1000, i));
  b->give_back(received);
  EXPECT_EQ(kernel_count("IcmpOutDestUnreachs"), complaints);
}

TEST(DpdkStrangers, sockets_with_exact_icrcs_are_a_peer) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace far;
  const int far_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  NetworkSpace near;
  run("ip link add v0 mtu 1400 numrxqueues 1 type veth peer name v1 mtu 1400 netns /proc/" +
      std::to_string(getpid()) + "/fd/" + std::to_string(far_fd));
  close(far_fd);
  run("ip addr add 192.0.2.1/24 dev v0 && ip addr add 2001:db8::1/64 dev v0 nodad && "
      "ip link set v0 up && ip link set lo up");
  far.enter();
  // A packet socket is shown what the kernel would cut behind it.
  run("ip addr add 192.0.2.2/24 dev v1 && ip addr add 2001:db8::2/64 dev v1 nodad && "
      "ip link set v1 up && ip link set lo up && ethtool -K v1 tx-udp-segmentation off");
  for (const bool is_v6 : {false, true}) {
    const char *const own = is_v6 ? "2001:db8::1" : "192.0.2.1", *const other = is_v6
                                                                                    ? "2001:db8::2"
                                                                                    : "192.0.2.2";
    near.enter();
    const auto a = make_wan_port(kernel_options(0, own, other));
    far.enter();
    UdpPortOptions options;
    options.address = other;
    options.peers = {{.address = own}};
    options.payload_bytes_max = 1024;
    options.icrc = IcrcMode::Exact;
    options.crc32 = cw_crc32;
    const auto b = UdpPort::make(options);
    ASSERT_TRUE(b) << b.error().sentence;
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 50; ++i) packets.push_back(make_packet(**b, 1000, i));
    ASSERT_EQ((*b)->tx_burst(packets, clock_now()), packets.size());
    EXPECT_LT((*b)->status().tx_messages, packets.size());
    const auto there = receive(*a, packets.size());
    ASSERT_EQ(there.size(), packets.size());
    for (uint8_t i = 0; i < 50; ++i) EXPECT_TRUE(is_made_packet(*there[i], 1000, i));
    // And back, once their kernel has told whose MAC is whose.
    ASSERT_TRUE(receive_until(*a, [&] { return a->status().unresolved.empty(); }).empty());
    ASSERT_EQ(a->tx_burst(there, clock_now()), there.size());
    const auto back = receive(**b, there.size());
    ASSERT_EQ(back.size(), there.size());
    for (uint8_t i = 0; i < 50; ++i) EXPECT_TRUE(is_made_packet(*back[i], 1000, i));
    (*b)->give_back(back);
    EXPECT_EQ(a->counters().rx_malformed + (*b)->counters().rx_malformed, 0u);
  }
}

TEST(DpdkStrangers, af_packet_frames_too_small_for_the_interface_are_refused_with_the_way_out) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace space;
  run("ip link add v0 mtu 9000 type veth peer name v1 && ip addr add 192.0.2.1/24 dev v0");
  auto options = wan_options("net_af_packet0,iface=v0,framesz=4096", "192.0.2.1", "192.0.2.2");
  const auto made = FrameWanPort::make(dpdk_driver(), options);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().sentence.find("framesz=16384"), std::string::npos)
      << made.error().sentence;
}

/// A kernel takes the tag out of a frame before it shows it to a packet socket.
TEST(DpdkStrangers, a_tag_that_the_kernel_took_out_is_in_its_place_again) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace space;
  run("ip link add v0 type veth peer name v1 && ip addr add 10.1.0.1/24 dev v0 && "
      "ip link set v0 up && ip link set v1 up");
  FrameLanOptions options;
  options.device = af_packet(0, "v0");
  options.addresses = {{*parse_host_address("10.1.0.1", "test"), 24}};
  options.vlan = 7;
  options.packets = 512;
  auto port = FrameLanPort::make(dpdk_driver(), options);
  ASSERT_TRUE(port.has_value()) << port.error().sentence;
  auto far = DpdkDevice::make({.device = af_packet(1, "v1"), .packet_bytes = 1500, .packets = 512});
  ASSERT_TRUE(far.has_value()) << far.error().sentence;

  std::vector<uint8_t> ip(40, 5);  // 10.1.0.2 to 10.2.0.2
  const uint8_t header[] = {0x45, 0, 0, 40, 0, 0, 0, 0, 64, 200, 0, 0, 10, 1, 0, 2, 10, 2, 0, 2};
  std::ranges::copy(header, ip.begin());
  std::array<uint8_t, 18> link = {0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0x81, 0, 0, 7, 8, 0};
  std::ranges::copy((*port)->status().device.mac, link.begin());
  Packet* packet = nullptr;
  ASSERT_EQ((*far)->take_burst({&packet, 1}), 1u);
  std::ranges::copy(link, packet->data);
  std::ranges::copy(ip, packet->data + link.size());
  packet->bytes = static_cast<uint32_t>(link.size() + ip.size());
  ASSERT_EQ((*far)->tx_burst({&packet, 1}), 1u);
  const auto received = receive(**port, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(std::span(received[0]->data, received[0]->bytes), ip));
  (*port)->give_back(received);
}

/// The driver tells the kernel where a pool's packets lie; what it leaves out never leaves.
TEST(DpdkStrangers, every_packet_of_a_pool_leaves_by_xdp) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace space;
  run("ip link add v0 numrxqueues 1 numtxqueues 1 type veth peer name v1 numrxqueues 1 "
      "numtxqueues 1 && ip link set v0 up && "
      "ip link set v1 up");
  auto near =
      DpdkDevice::make({.device = "net_af_xdp0,iface=v0", .packet_bytes = 1500, .packets = 4096});
  ASSERT_TRUE(near.has_value()) << near.error().sentence;
  auto far = DpdkDevice::make({.device = af_packet(1, "v1"), .packet_bytes = 1500, .packets = 512});
  ASSERT_TRUE(far.has_value()) << far.error().sentence;
  std::vector<Packet*> all(8192);
  all.resize((*near)->take_burst(all));
  EXPECT_GE(all.size(), 4096u);
  const size_t count = all.size();
  std::vector<bool> has_come(count);
  size_t come = 0;
  const auto take = [&] {
    std::array<Packet*, limits::burst_packets_max> burst;
    const size_t got = (*far)->rx_burst(burst);
    for (Packet* packet : std::span(burst).first(got)) {
      uint32_t number = 0;
      std::memcpy(&number, packet->data + 60, sizeof number);
      if (packet->bytes != 200 || number >= count || has_come[number]) continue;
      has_come[number] = true;
      ++come;
    }
    (*far)->give_back({burst.data(), got});
  };
  for (uint32_t i = 0; i < count; ++i) {
    std::fill_n(all[i]->data, 200, uint8_t{2});
    std::memcpy(all[i]->data + 60, &i, sizeof i);
    all[i]->bytes = 200;
    const Instant start = clock_now();
    while ((*near)->tx_burst({&all[i], 1}) == 0 && clock_now() - start < Duration::from_s(20)) {
    }
    if (i % 16 == 0) take();
  }
  const Instant start = clock_now();
  while (come < count && clock_now() - start < Duration::from_s(20)) take();
  EXPECT_EQ(come, count);
}

TEST(DpdkStrangers, a_udp_port_that_another_program_has_is_not_taken_from_it) {
  CW_NEEDS_NETWORK_SPACE();
  start_small_eal();
  NetworkSpace space;
  run("ip link add v0 mtu 1400 type veth peer name v1 && ip addr add 192.0.2.1/24 dev v0");
  const auto first = silence_udp_port(*parse_host_address("192.0.2.1", "address"), roce_udp_port);
  ASSERT_TRUE(first.has_value()) << first.error().sentence;
  const auto made = FrameWanPort::make(dpdk_driver(), kernel_options(0, "192.0.2.1", "192.0.2.2"));
  ASSERT_FALSE(made.has_value());
  EXPECT_TRUE(made.error().sentence.starts_with("udp_port: ")) << made.error().sentence;
  const auto absent =
      FrameWanPort::make(dpdk_driver(), kernel_options(0, "192.0.2.9", "192.0.2.2"));
  ASSERT_FALSE(absent.has_value());
  EXPECT_TRUE(absent.error().sentence.starts_with("address: ")) << absent.error().sentence;
}

}  // namespace
}  // namespace cw::test
