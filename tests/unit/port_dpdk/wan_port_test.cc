// The EAL, and the WAN port over a device of DPDK's.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/device.h"
#include "dataplane/port/dpdk/eal/eal.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"
#include "tests/unit/port_dpdk/other_process.h"

namespace cw::test {
namespace {

// ---- The EAL starts once and leaves nothing behind; devices come and go ----

void expect_nothing_left() {
  for (const std::string folder : {"/var/run/dpdk", "/tmp/dpdk"}) {
    const std::string own = folder + "/causeway-" + std::to_string(getpid());
    EXPECT_FALSE(std::filesystem::exists(own)) << own;
  }
}

TEST(Eal, starts_once_keeps_the_threads_affinity_and_leaves_no_files) {
  expect_in_own_process([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const auto first = start_eal({.memory_mib = 64});
    ASSERT_TRUE(first.has_value()) << first.error().sentence;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    const auto second = start_eal({.arguments = {"--no-such-argument"}});
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->arguments, first->arguments);
    expect_nothing_left();
  });
}

TEST(Eal, leaves_no_files_with_memory_arguments_of_the_user_s) {
  expect_in_own_process([] {
    const auto started = start_eal({.arguments = {"--no-huge", "-m", "64"}});
    ASSERT_TRUE(started.has_value()) << started.error().sentence;
    expect_nothing_left();
  });
}

TEST(Eal, says_what_it_was_started_with_and_what_is_wrong) {
  expect_in_own_process([] {
    const auto started = start_eal({.arguments = {"--main-lcore", "999"}});
    ASSERT_FALSE(started.has_value());
    const std::string& sentence = started.error().sentence;
    EXPECT_NE(sentence.find("--main-lcore 999"), std::string::npos) << sentence;
    EXPECT_EQ(start_eal({}).error().sentence, sentence);
  });
}

TEST(DpdkDevice, is_refused_with_the_reason) {
  start_small_eal();
  const auto refused = [](FrameDeviceOptions options) {
    options.packet_bytes = 2048;
    const auto made = DpdkDevice::make(options);
    return made ? std::string() : made.error().sentence;
  };
  const std::string driver = refused({.device = "net_nothing0"});
  EXPECT_TRUE(driver.starts_with("device: net_nothing0 cannot be had")) << driver;
  EXPECT_NE(driver.find("lists the drivers"), std::string::npos) << driver;
  const std::string arguments = refused({.device = "net_memif0,role=onlooker"});
  EXPECT_TRUE(arguments.starts_with("device: ")) << arguments;
  const std::string pci = refused({.device = "0000:ff:1f.7"});
  EXPECT_NE(pci.find("dpdk-devbind.py"), std::string::npos) << pci;
  const std::string queues = refused({.device = "net_null0", .queues = 60000});
  EXPECT_TRUE(queues.starts_with("queues: 60000 given")) << queues;
  const std::string memory = refused({.device = "net_null0", .packets = 1'000'000});
  EXPECT_TRUE(memory.starts_with("eal_memory: ")) << memory;
}

// A cache holds a few lines of each remainder by 4 KiB: packets that begin alike would throw each
// other out.
TEST(DpdkDevice, spreads_its_packets_over_the_lines_of_a_cache) {
  start_small_eal();
  auto made = DpdkDevice::make({.device = "net_null0", .packet_bytes = 1500, .packets = 512});
  ASSERT_TRUE(made) << made.error().sentence;
  std::array<Packet*, limits::burst_packets_max> packets;
  ASSERT_EQ((*made)->take_burst(packets), packets.size());
  std::array<size_t, 64> of_place{};
  for (const Packet* packet : packets) ++of_place[reinterpret_cast<uintptr_t>(packet) / 64 % 64];
  EXPECT_LE(*std::ranges::max_element(of_place), 8u);
  (*made)->give_back(packets);
}

TEST(DpdkDevice, goes_with_its_object_and_may_come_again) {
  start_small_eal();
  for (int life = 0; life < 3; ++life) {
    const auto device = DpdkDevice::make({.device = "net_null0", .packet_bytes = 2048});
    ASSERT_TRUE(device.has_value()) << device.error().sentence;
    EXPECT_EQ((*device)->driver(), "net_null");
    EXPECT_TRUE((*device)->interface().empty());
  }
}

TEST(DpdkDevice, lends_every_packet_once_and_gets_short_when_they_run_out) {
  start_small_eal();
  const auto made = DpdkDevice::make(
      {.device = "net_null0", .descriptors = 64, .packet_bytes = 512, .packets = 300});
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  DpdkDevice& device = **made;
  std::vector<Packet*> all(5000);
  const size_t count = device.take_burst(all);
  EXPECT_GE(count, 300u);
  ASSERT_LT(count, all.size());
  all.resize(count);
  for (Packet* packet : all) {
    EXPECT_EQ(packet->bytes_max, 512u);
    packet->data[0] = packet->data[511] = 1;
  }
  std::vector<Packet*> sorted = all;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
  Packet* more = nullptr;
  EXPECT_EQ(device.take_burst({&more, 1}), 0u);
  device.give_back(all);
  EXPECT_EQ(device.take_burst(all), count);
  device.give_back(all);
}

// ---- wan port ----
// The WAN port over DPDK: what one end sends, the other must have, in frames that strangers read.

void expect_carried(FrameWanPort& from, FrameWanPort& to, size_t count, size_t payload_bytes) {
  std::vector<Packet*> packets;
  for (size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(from, payload_bytes, static_cast<uint8_t>(i)));
    packets.back()->dscp = 46;
    packets.back()->ecn = 1;
  }
  ASSERT_EQ(from.tx_burst(packets, clock_now()), count);
  const auto received = receive(to, count);
  ASSERT_EQ(received.size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(is_made_packet(*received[i], payload_bytes, static_cast<uint8_t>(i))) << i;
    EXPECT_EQ(received[i]->peer, 0);
    EXPECT_EQ(received[i]->path, 0);
    EXPECT_EQ(received[i]->dscp, 46);
    EXPECT_EQ(received[i]->ecn, 1);
  }
  to.give_back(received);
}

void expect_every_size_both_ways(DpdkPair& pair) {
  ASSERT_TRUE(pair.meet());
  EXPECT_TRUE(pair.a->status().device.is_link_up);
  for (const size_t payload_bytes : {0, 1, 2, 3, 4, 1023, 1400, 4096, 8192}) {
    expect_carried(*pair.a, *pair.b, 32, payload_bytes);
    expect_carried(*pair.b, *pair.a, 3, payload_bytes);
  }
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
  EXPECT_EQ(pair.b->counters().rx_packets, pair.a->counters().tx_packets);
  EXPECT_EQ(pair.b->counters().rx_bytes, pair.a->counters().tx_bytes);
  EXPECT_EQ(pair.b->counters().system_calls, 0u);
}

TEST(FrameWanPort, carries_packets_of_every_size_both_ways_over_ipv4) {
  DpdkPair pair;
  expect_every_size_both_ways(pair);
}

TEST(FrameWanPort, carries_packets_of_every_size_both_ways_over_ipv6) {
  DpdkPair pair("2001:db8::1", "2001:db8::2");
  expect_every_size_both_ways(pair);
}

TEST(FrameWanPort, a_received_packet_may_be_sent_back) {
  DpdkPair pair;
  ASSERT_TRUE(pair.meet());
  Packet* packet = make_packet(*pair.a, 1000, 7);
  ASSERT_EQ(pair.a->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto there = receive(*pair.b, 1);
  ASSERT_EQ(there.size(), 1u);
  ASSERT_EQ(pair.b->tx_burst(there, clock_now()), 1u);
  const auto back = receive(*pair.a, 1);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_TRUE(is_made_packet(*back[0], 1000, 7));
  pair.a->give_back(back);
}

TEST(FrameWanPort, a_packet_may_be_kept_and_sent_again) {
  DpdkPair pair;
  ASSERT_TRUE(pair.meet());
  expect_kept_and_given_back(*pair.a, [&](Packet& packet) {
    Packet* const one = &packet;
    ASSERT_EQ(pair.a->tx_burst({&one, 1}, clock_now()), 1u);
    const auto received = receive(*pair.b, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_TRUE(is_made_packet(*received[0], 1400, 7));
    pair.b->give_back(received);
  });
}

TEST(FrameWanPort, tells_paths_apart_by_their_udp_port) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](FrameWanOptions& o) { o.paths = 4; });
  ASSERT_TRUE(pair.meet());
  for (uint16_t path = 0; path < 4; ++path) {
    Packet* packet = make_packet(*pair.a, 100, 1);
    packet->path = path;
    ASSERT_EQ(pair.a->tx_burst({&packet, 1}, clock_now()), 1u);
    const auto received = receive(*pair.b, 1);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0]->path, path);
    pair.b->give_back(received);
  }
}

TEST(FrameWanPort, a_memif_carries_no_more_than_one_of_its_buffers_holds) {
  start_small_eal();
  const auto port = make_wan_port(wan_options(
      "net_memif0,role=server,bsize=2048,socket-abstract=no,socket=" + own_path("memif"),
      "192.0.2.1", "192.0.2.2"));
  EXPECT_LT(port->facts().payload_max, 2048u - 14 - 20 - 8 - 32 - 4);
  EXPECT_GT(port->facts().payload_max, 1900u);
  std::filesystem::remove(own_path("memif"));
}

FrameWanOptions end_of_wire(const std::string& file, bool is_server) {
  const std::string wire = ",socket-abstract=no,socket=" + file;
  return is_server ? wan_options("net_memif0,role=server" + wire, "192.0.2.1", "192.0.2.2")
                   : wan_options("net_memif0,role=client" + wire, "192.0.2.2", "192.0.2.1");
}

/// Sends back what comes.
[[noreturn]] void echo(const std::string& file) {
  const auto port = make_wan_port(end_of_wire(file, true));
  while (true) {
    const auto packets = receive(*port, 1);
    const bool has_way = port->status().unresolved.empty();
    const size_t sent = has_way ? port->tx_burst(packets, clock_now()) : 0;
    port->give_back(std::span(packets).subspan(sent));
  }
}

size_t echoed_by(FrameWanPort& port) {
  const Instant start = clock_now();
  std::vector<Packet*> back;
  while (back.size() < 32 && clock_now() - start < Duration::from_s(30)) {
    Packet* packet = make_packet(port, 1000, 1);
    if (port.tx_burst({&packet, 1}, clock_now()) == 0) port.give_back({&packet, 1});
    Packet* answer = nullptr;
    if (port.rx_burst({&answer, 1}, clock_now()) == 1) back.push_back(answer);
    usleep(1000);
  }
  port.give_back(back);
  return back.size();
}

bool wait_for_link_down(FrameWanPort& port) {
  const auto is_down = [&port] { return !port.status().device.is_link_up; };
  port.give_back(receive_until(port, is_down));
  return is_down();
}

TEST(FrameWanPort, finds_a_memif_that_comes_later_and_one_that_comes_again) {
  expect_in_own_process([] {
    const std::string file = own_path("memif");
    OtherProcess server([&file] { echo(file); });
    start_small_eal();
    const auto port = make_wan_port(end_of_wire(file, false));
    EXPECT_FALSE(port->status().device.is_link_up);
    Packet* packet = make_packet(*port, 10, 1);
    EXPECT_EQ(port->tx_burst({&packet, 1}, clock_now()), 1u);
    EXPECT_EQ(port->status().tx_link_down, 1u);
    for (int life = 0; life < 2; ++life) {
      server.start();
      EXPECT_EQ(echoed_by(*port), 32u) << life;
      server.kill();
      EXPECT_TRUE(wait_for_link_down(*port)) << life;
    }
    std::filesystem::remove(file);
  });
}

TEST(FrameWanPort, a_packet_without_a_way_behind_others_is_counted_once) {
  start_small_eal();
  auto options = wan_options("net_null0", "192.0.2.1", "192.0.2.2");
  options.peers[0].next_hop = "02:00:00:00:00:02";
  const auto port = make_wan_port(options);
  Packet* packets[3];
  for (Packet*& each : packets) each = make_packet(*port, 10, 1);
  packets[1]->path = 9;
  EXPECT_EQ(port->tx_burst(packets, clock_now()), 3u);
  EXPECT_EQ(port->status().tx_unrouted, 1u);
  EXPECT_EQ(port->counters().tx_packets, 2u);
}

TEST(FrameWanPort, packets_without_a_next_hop_are_lost_and_counted) {
  start_small_eal();
  const auto port = make_wan_port(wan_options("net_null0", "192.0.2.1", "192.0.2.2"));
  Packet* packets[] = {make_packet(*port, 10, 1), make_packet(*port, 10, 2)};
  packets[1]->peer = 9;
  EXPECT_EQ(port->tx_burst(packets, clock_now()), 2u);
  EXPECT_EQ(port->status().tx_unresolved, 1u);
  EXPECT_EQ(port->status().tx_unrouted, 1u);
  EXPECT_EQ(port->status().unresolved, std::vector<std::string>{"192.0.2.2"});
  EXPECT_EQ(port->counters().tx_packets, 0u);
}

uint64_t crc_count = 0;
uint32_t counted_crc32(uint32_t crc, const void* bytes, size_t count) {
  ++crc_count;
  return cw_crc32(crc, bytes, count);
}

TEST(FrameWanPort, what_a_full_queue_does_not_take_stays_the_callers_unharmed) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](auto& o) { o.crc32 = counted_crc32; });
  ASSERT_TRUE(pair.meet());
  std::vector<Packet*> taken;
  std::vector<Packet*> left;
  for (int round = 0; round < 100 && left.empty(); ++round) {
    std::vector<Packet*> packets;
    while (packets.size() < 64) {
      Packet* packet = make_packet(*pair.a, 1400, static_cast<uint8_t>(packets.size()));
      if (packet == nullptr) break;
      packets.push_back(packet);
    }
    ASSERT_FALSE(packets.empty()) << "the queue is never full";
    const size_t sent = pair.a->tx_burst(packets, clock_now());
    left.assign(packets.begin() + static_cast<ptrdiff_t>(sent), packets.end());
    for (size_t i = sent; i < packets.size(); ++i) {
      EXPECT_TRUE(is_made_packet(*packets[i], 1400, static_cast<uint8_t>(i)));
    }
  }
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(pair.a->counters().tx_refused, left.size());
  // No frame is made again, nor made for a queue that will not take it.
  const uint64_t crcs = crc_count;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pair.a->tx_burst(left, clock_now()), 0u);
  EXPECT_EQ(crc_count, crcs);
  EXPECT_EQ(pair.a->next_due(), Instant()) << "it keeps some itself";
  auto received = receive(*pair.b, 1);
  EXPECT_EQ(pair.a->rx_burst({}, clock_now()), 0u);
  EXPECT_EQ(pair.a->next_due(), Instant::never());
  const auto rest = receive(*pair.b, pair.a->counters().tx_packets - received.size());
  received.insert(received.end(), rest.begin(), rest.end());
  EXPECT_EQ(received.size(), pair.a->counters().tx_packets);
  pair.b->give_back(received);
  EXPECT_EQ(pair.a->tx_burst(left, clock_now()), left.size());  // there is room again
}

TEST(FrameWanPort, hostile_frames_are_counted_and_go_no_further) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](FrameWanOptions& o) {
    if (o.address == "192.0.2.2") o.icrc = IcrcMode::Pseudo;  // wrong in the eyes of the other
  });
  ASSERT_TRUE(pair.meet());
  Packet* packet = make_packet(*pair.b, 100, 1);
  ASSERT_EQ(pair.b->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto is_counted = [&] { return pair.a->counters().rx_malformed > 0; };
  EXPECT_TRUE(receive_until(*pair.a, is_counted).empty());
  EXPECT_EQ(pair.a->counters().rx_malformed, 1u);
  EXPECT_EQ(pair.a->status().rx_unknown, 0u);
}

TEST(FrameWanPort, a_frame_with_a_wrong_icrc_that_was_left_is_counted_when_it_is_asked_for) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](FrameWanOptions& o) {
    if (o.address == "192.0.2.2") o.icrc = IcrcMode::Pseudo;  // wrong in the eyes of the other
  });
  ASSERT_TRUE(pair.meet());
  pair.a->leave_icrcs();
  Packet* packet = make_packet(*pair.b, 100, 1);
  ASSERT_EQ(pair.b->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto received = receive(*pair.a, 1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0]->is_icrc_due);
  EXPECT_EQ(pair.a->counters().rx_malformed, 0u);
  EXPECT_FALSE(pair.a->is_icrc_right(*received[0]));
  EXPECT_EQ(pair.a->counters().rx_malformed, 1u);
  pair.a->give_back(received);
}

TEST(FrameWanPort, a_frame_with_a_right_icrc_that_was_left_is_right) {
  for (const auto& [a, b] : {std::pair("192.0.2.1", "192.0.2.2"), {"2001:db8::1", "2001:db8::2"}}) {
    DpdkPair pair(a, b);
    ASSERT_TRUE(pair.meet());
    pair.a->leave_icrcs();
    for (const size_t payload_bytes : {0, 1, 1400}) {
      Packet* packet = make_packet(*pair.b, payload_bytes, 1);
      ASSERT_EQ(pair.b->tx_burst({&packet, 1}, clock_now()), 1u);
      const auto received = receive(*pair.a, 1);
      ASSERT_EQ(received.size(), 1u);
      EXPECT_TRUE(received[0]->is_icrc_due);
      EXPECT_TRUE(pair.a->is_icrc_right(*received[0]));
      pair.a->give_back(received);
    }
    EXPECT_EQ(pair.a->counters().rx_malformed, 0u);
  }
}

TEST(FrameWanPort, packets_from_strangers_are_counted) {
  DpdkPair pair("192.0.2.1", "192.0.2.2", [](FrameWanOptions& o) {
    if (o.address == "192.0.2.1") o.peers[0].udp_port = 9000;  // it waits for another source port
  });
  ASSERT_TRUE(pair.meet());
  Packet* packet = make_packet(*pair.b, 100, 1);
  ASSERT_EQ(pair.b->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto is_counted = [&] { return pair.a->status().rx_unknown > 0; };
  EXPECT_TRUE(receive_until(*pair.a, is_counted).empty());
  EXPECT_EQ(pair.a->status().rx_unknown, 1u);
}

TEST(FrameWanPort, is_refused_with_the_key_that_is_wrong) {
  start_small_eal();
  const auto refused = [](const std::function<void(FrameWanOptions&)>& change) {
    auto options = wan_options("net_null0", "192.0.2.1", "192.0.2.2");
    change(options);
    const auto made = FrameWanPort::make(dpdk_driver(), options);
    return made ? std::string("accepted")
                : made.error().sentence.substr(0, made.error().sentence.find(':'));
  };
  EXPECT_EQ(refused([](auto& o) { o.address = "here"; }), "address");
  EXPECT_EQ(refused([](auto& o) { o.address = "::1"; }), "address");
  EXPECT_EQ(refused([](auto& o) { o.device.clear(); }), "device");
  EXPECT_EQ(refused([](auto& o) { o.peers.clear(); }), "peers");
  EXPECT_EQ(refused([](auto& o) { o.peers[0].address = "there"; }), "peers");
  EXPECT_EQ(refused([](auto& o) { o.peers[0].next_hop = "01:00:00:00:00:00"; }), "next_hop");
  EXPECT_EQ(refused([](auto& o) { o.peers[0].next_hop = "fe80::1"; }), "next_hop");
  EXPECT_EQ(refused([](auto& o) { o.paths = 0; }), "paths");
  EXPECT_EQ(refused([](auto& o) { o.udp_port = 65535, o.paths = 2; }), "udp_port");
  EXPECT_EQ(refused([](auto& o) { o.payload_bytes_max = 100; }), "payload_bytes_max");
  EXPECT_EQ(refused([](auto& o) { o.icrc = IcrcMode::Hardware; }), "icrc");
}

}  // namespace

}  // namespace cw::test
