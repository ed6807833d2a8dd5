// The port of RNICs at devices in memory: numbers, placement, fences, and everything that breaks.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/verbs/end.h"

namespace cw::stand_in {

/// Both, connected one way: a sends to b.
class Ends : public ::testing::Test {
 protected:
  Ends() {
    Fabric::the().reset();
    Fabric::the().add_device("rnic0", "10.9.0.1", IBV_MTU_1024);
    Fabric::the().add_device("rnic1", "10.9.0.2", IBV_MTU_1024);
    a.emplace("rnic0", "10.9.0.1", "10.9.0.2");
    b.emplace("rnic1", "10.9.0.2", "10.9.0.1");
  }

  template <class Done>
  bool turn_until(const Done& is_done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (is_done()) return true;
      a->turn();
      b->turn();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return is_done();
  }
  /// Two queues, by two paths each.
  void connect() {
    ASSERT_TRUE(turn_until([&] { return a->try_open(own_of_a); }));
    ASSERT_TRUE(turn_until([&] { return b->try_open(numbers); }));
    for (uint32_t i = 0; i < numbers.size(); ++i) {
      ways.push_back({numbers[i], static_cast<uint16_t>(i % 2)});
    }
    ASSERT_TRUE(turn_until([&] { return a->port->try_connect_queues(0, End::first, ways); }));
  }
  /// Sends `count` by each way, each to its place of the window; returns how many were taken.
  size_t send_rows(const Window& window, std::span<const uint8_t> bytes, size_t count) {
    size_t sent = 0;
    for (size_t i = 0; i < count; ++i) {
      for (const SendQueue& way : ways) {
        const size_t slot = sent % 16;
        const Window to{window.address + slot * slot_bytes, window.key};
        sent += a->send(a->write(way, to, bytes.subspan(slot * slot_bytes, slot_bytes), ++cookie));
      }
    }
    return sent;
  }

  static constexpr size_t slot_bytes = 256;
  std::array<uint32_t, End::queue_count> numbers{}, own_of_a{};
  std::vector<SendQueue> ways;
  uint64_t cookie = 0;
  std::optional<End> a, b;
};

namespace {

using PortOfRnic = Ends;

std::vector<uint8_t> some_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 31 + 7);
  return bytes;
}

TEST_F(PortOfRnic, writes_land_where_they_say_and_are_called_by_our_numbers) {
  connect();
  EXPECT_NE(numbers[0], End::first) << "the device's are not ours";
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  ASSERT_NE(window.key, 0u);
  ASSERT_EQ(send_rows(window, from, 4), 16u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 16 && a->done.size() == 16; }));
  EXPECT_EQ(to, from);
  std::vector<uint32_t> ours;
  for (const auto& each : b->got) {
    EXPECT_EQ(each.arrival.form, Form::Write);
    EXPECT_EQ(each.arrival.head.payload_bytes, slot_bytes);
    EXPECT_EQ(each.arrival.payload, nullptr);
    ours.push_back(each.arrival.head.target_qp);
  }
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(std::ranges::count(ours, End::first + i), 4) << i;
  std::vector<uint64_t> expected(16);
  std::iota(expected.begin(), expected.end(), 1);
  std::ranges::sort(a->done);
  EXPECT_EQ(a->done, expected) << "each once";
}

TEST_F(PortOfRnic, paths_leave_by_the_udp_ports_that_they_are_to) {
  connect();
  std::vector<uint16_t> ports;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    if (crossing.is_write) ports.push_back(crossing.source_port);
    return true;
  });
  std::vector<uint8_t> from(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  ASSERT_EQ(send_rows(b->port->open_window(to), from, 1), 4u);
  EXPECT_EQ(ports, (std::vector<uint16_t>{49152, 49153, 49152, 49153}));
}

TEST_F(PortOfRnic, first_contact_finds_the_number_of_the_control_queue) {
  const auto say = [&] {
    const auto hello = a->datagram(control_qpn_default, "hello");
    return hello && a->send(*hello);
  };
  ASSERT_TRUE(turn_until([&] { return say() && !b->got.empty(); }));
  const auto& first = b->got.front();
  EXPECT_EQ(first.arrival.form, Form::Datagram);
  EXPECT_EQ(first.arrival.head.target_qp, control_qpn_default);
  EXPECT_EQ(std::string(first.payload.begin(), first.payload.end()), "hello");
  EXPECT_EQ(first.arrival.bytes, 12 + 8 + 5u);
  EXPECT_GE(a->port->status().contacts_asked, 1u);
  EXPECT_GE(a->port->status().tx_unresolved, 1u) << "the first went nowhere";
  ASSERT_TRUE(turn_until([&] { return a->free_packets() == 256; })) << "and is free";
}

TEST_F(PortOfRnic, a_peer_that_is_no_rnic_hears_the_well_known_number) {
  Fabric::the().silence_contacts(true);
  std::vector<uint32_t> targets;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    targets.push_back(crossing.target_qp);
    return false;
  });
  ASSERT_TRUE(turn_until([&] {
    const auto hello = a->datagram(control_qpn_default, "hello");
    return hello && a->send(*hello) && !targets.empty();
  }));
  EXPECT_EQ(targets.front(), control_qpn_default);
}

TEST_F(PortOfRnic, what_was_held_back_for_ten_rounds_finds_its_window_closed) {
  connect();
  std::vector<Crossing> late;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    const bool is_held = crossing.is_write && late.size() < 10;
    if (is_held) late.push_back(crossing);
    return !is_held;
  });
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  for (size_t round = 0; round < 10; ++round) {
    const Window window = b->port->open_window(to);
    ASSERT_TRUE(
        a->send(a->write(ways[round % 4], window, std::span(from).first(slot_bytes), ++cookie)));
    b->port->close_window(window.key);
  }
  ASSERT_EQ(late.size(), 10u);
  std::ranges::fill(to, 0xee);  // the application's again
  for (const Crossing& each : late) Fabric::the().deliver(each);
  ASSERT_TRUE(turn_until([&] { return a->done.size() == 10; }));
  EXPECT_TRUE(std::ranges::all_of(to, [](uint8_t byte) { return byte == 0xee; }));
  EXPECT_TRUE(b->got.empty()) << "nor is anybody told";
  EXPECT_EQ(b->port->status().windows, 0u);
  const Window window = b->port->open_window(to);
  ASSERT_EQ(send_rows(window, from, 4), 16u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 16; })) << "the queues went on";
  EXPECT_EQ(to, from);
}

TEST_F(PortOfRnic, sends_from_memory_that_nobody_registered_are_copied) {
  connect();
  std::vector<uint8_t> from = some_bytes(slot_bytes), to(slot_bytes);
  const Window window = b->port->open_window(to);
  ASSERT_TRUE(a->send(a->write(ways[0], window, from, 7)));
  ASSERT_TRUE(turn_until([&] { return !a->done.empty(); }));
  EXPECT_EQ(a->done, std::vector<uint64_t>{7});
  EXPECT_EQ(a->port->status().tx_copied, 1u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 1; }));
  EXPECT_EQ(to, from);
  EXPECT_EQ(a->free_packets(), 256u);
  ASSERT_TRUE(a->port->register_memory(from));
  ASSERT_TRUE(a->port->register_memory(from));
  a->port->forget_memory(from);
  ASSERT_TRUE(a->send(a->write(ways[0], window, from, 8)));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 2; })) << "registered twice, forgotten once";
  EXPECT_EQ(a->port->status().tx_copied, 1u) << "read where it lies";
  ASSERT_TRUE(turn_until([&] { return a->done.size() == 2; }));
  EXPECT_GE(a->port->status().completions, 2u) << "rows that left";
  EXPECT_GE(b->port->status().completions, 2u) << "what came";
  const size_t before = Fabric::the().registrations();
  a->port->forget_memory(from);
  EXPECT_EQ(Fabric::the().registrations(), before - 1);
}

/// Bytes with a descriptor, as a device's driver would give them out.
struct Buffer {
  explicit Buffer(size_t count) : bytes(count), fd(memfd_create("buffer", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(count)), 0);
    at = static_cast<uint8_t*>(mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  ~Buffer() {
    munmap(at, bytes);
    close(fd);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::span<uint8_t> memory() const { return {at, bytes}; }

  size_t bytes;
  int fd;
  uint8_t* at = nullptr;
};

TEST_F(PortOfRnic, a_devices_memory_is_named_by_its_descriptor) {
  Fabric::the().accept_dmabufs(true);
  connect();
  const Buffer from(4 * slot_bytes), to(4 * slot_bytes);
  std::ranges::copy(some_bytes(from.bytes), from.at);
  ASSERT_TRUE(a->port->register_dmabuf(from.memory(), {from.fd, 0}));
  ASSERT_TRUE(b->port->register_dmabuf(to.memory(), {to.fd, 0}));
  EXPECT_EQ(Fabric::the().dmabuf_registrations(), 2u);
  const Window window = b->port->open_window(to.memory().subspan(slot_bytes, slot_bytes));
  EXPECT_EQ(Fabric::the().dmabuf_registrations(), 3u) << "a window of it is no other memory";
  ASSERT_TRUE(a->send(a->write(ways[0], window, from.memory().first(slot_bytes), 1)));
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 1 && a->done.size() == 1; }));
  EXPECT_TRUE(std::ranges::equal(to.memory().subspan(slot_bytes, slot_bytes),
                                 from.memory().first(slot_bytes)));
  EXPECT_EQ(a->port->status().tx_copied, 0u);
  b->port->close_window(window.key);
  a->port->forget_memory(from.memory());
  b->port->forget_memory(to.memory());
  EXPECT_EQ(Fabric::the().dmabuf_registrations(), 0u);
}

TEST_F(PortOfRnic, a_device_that_takes_no_dmabuf_says_so) {
  const Buffer buffer(slot_bytes);
  const auto refused = a->port->register_dmabuf(buffer.memory(), {buffer.fd, 0});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("its driver takes none"), std::string::npos)
      << refused.error().sentence;
  Fabric::the().accept_dmabufs(true);
  const auto closed = a->port->register_dmabuf(buffer.memory(), {9999, 0});
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().sentence.find("descriptor 9999"), std::string::npos)
      << closed.error().sentence;
  ASSERT_TRUE(a->port->register_dmabuf(buffer.memory(), {buffer.fd, 0}));
}

TEST_F(PortOfRnic, a_closed_epoch_gives_everything_back) {
  const size_t queues_before = Fabric::the().queue_count();
  connect();
  EXPECT_EQ(Fabric::the().queue_count(), queues_before + 12);
  for (const SendQueue& way : ways) {
    std::vector<uint8_t> to(slot_bytes);
    for (const uint32_t number : Fabric::the().queues("rnic0", IBV_QPT_UC, true)) {
      EXPECT_TRUE(Fabric::the().stall_queue("rnic0", number));
    }
    Packet* packet = nullptr;
    ASSERT_EQ(a->port->take_burst({&packet, 1}), 1u);
    Send send = a->write(way, {1, 1}, {packet->data, slot_bytes}, 0);
    send.packet = packet;
    ASSERT_TRUE(a->send(send));
  }
  EXPECT_EQ(a->free_packets(), 252u) << "the device has not read them";
  a->port->close_queues(0, End::first);
  b->port->close_queues(0, End::first);
  EXPECT_TRUE(turn_until(
      [&] { return a->free_packets() == 256 && Fabric::the().queue_count() == queues_before; }));
  EXPECT_TRUE(turn_until([&] { return a->port->status().epochs == 0; }));
  // The next one has other numbers.
  const auto before = numbers;
  ASSERT_TRUE(turn_until([&] { return b->try_open(numbers); }));
  EXPECT_NE(numbers, before);
}

TEST_F(PortOfRnic, what_is_sent_to_queues_of_nobody_is_lost) {
  connect();
  std::vector<uint8_t> from(slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  ASSERT_TRUE(a->send(a->write({.target_qp = 0xabcdef, .path = 0}, {1, 1}, from, 5)));
  EXPECT_TRUE(turn_until([&] { return a->done == std::vector<uint64_t>{5}; }));
}

// ---- what breaks ----

TEST_F(PortOfRnic, receive_queues_that_break_are_mended_and_keep_their_numbers) {
  connect();
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  for (const uint32_t number : numbers) {
    ASSERT_TRUE(Fabric::the().break_queue("rnic1", number));
  }
  ASSERT_TRUE(turn_until([&] { return b->port->status().queues_mended == 4; }))
      << b->port->status().queues_mended << " of " << b->port->status().queues_broken
      << b->port->status().trouble;
  ASSERT_EQ(send_rows(window, from, 4), 16u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 16; }));
  EXPECT_EQ(to, from);
  EXPECT_EQ(b->port->status().queues_broken, 4u);
}

TEST_F(PortOfRnic, send_queues_that_break_or_stall_give_back_what_they_held) {
  connect();
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  const auto senders = Fabric::the().queues("rnic0", IBV_QPT_UC, true);
  ASSERT_EQ(senders.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(i % 2 ? Fabric::the().break_queue("rnic0", senders[i])
                      : Fabric::the().stall_queue("rnic0", senders[i]));
  }
  const size_t sent = send_rows(window, from, 4);
  ASSERT_TRUE(turn_until([&] {
    return a->port->status().queues_mended == 4 && a->done.size() == sent;
  })) << a->port->status().queues_broken
      << ", " << a->done.size() << " of " << sent;
  ASSERT_EQ(send_rows(window, from, 4), 16u);
  ASSERT_TRUE(turn_until([&] { return a->done.size() == sent + 16; }));
  EXPECT_EQ(to, from);
  std::ranges::sort(a->done);
  EXPECT_EQ(std::ranges::adjacent_find(a->done), a->done.end()) << "each cookie once";
}

TEST_F(PortOfRnic, a_control_queue_that_breaks_is_mended) {
  const auto say = [&](End& from) {
    const auto hello = from.datagram(control_qpn_default, "hello");
    if (hello && !from.send(*hello)) from.port->give_back({&hello->packet, 1});
  };
  ASSERT_TRUE(turn_until([&] { return say(*a), !b->got.empty(); }));
  for (const char* device : {"rnic0", "rnic1"}) {
    for (const uint32_t number : Fabric::the().queues(device, IBV_QPT_UD, true)) {
      ASSERT_TRUE(Fabric::the().break_queue(device, number));
    }
  }
  ASSERT_TRUE(turn_until([&] {
    return a->port->status().queues_mended == 1 && b->port->status().queues_mended == 1;
  }));
  b->got.clear();
  ASSERT_TRUE(turn_until([&] { return say(*a), b->got.size() > 600; }))
      << "all its buffers take turns";
  EXPECT_TRUE(turn_until([&] { return a->free_packets() == 256; }));
}

TEST_F(PortOfRnic, a_datagram_longer_than_any_buffer_harms_nobody_for_long) {
  const auto say = [&] {
    const auto hello = a->datagram(control_qpn_default, "hello");
    if (hello) (void)a->send(*hello);
  };
  Crossing giant;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    if (!crossing.is_write) giant = crossing;
    return true;
  });
  ASSERT_TRUE(turn_until([&] { return say(), !b->got.empty(); }));
  giant.payload.resize(20000);
  Fabric::the().deliver(giant);
  ASSERT_TRUE(turn_until([&] { return b->port->status().queues_mended == 1; }));
  b->got.clear();
  EXPECT_TRUE(turn_until([&] { return say(), !b->got.empty(); }));
}

TEST_F(PortOfRnic, datagrams_of_strangers_alone_keep_no_buffer) {
  const auto say = [&] {
    const auto hello = a->datagram(control_qpn_default, "hello");
    if (hello) (void)a->send(*hello);
  };
  Crossing strange;
  Fabric::the().set_filter([&](const Crossing& crossing) {
    if (!crossing.is_write) strange = crossing;
    return true;
  });
  ASSERT_TRUE(turn_until([&] { return say(), !b->got.empty(); }));
  strange.from = "10.66.6.6";
  for (uint64_t i = 1; i <= 1000; ++i) {
    Fabric::the().deliver(strange);
    ASSERT_TRUE(turn_until([&] { return b->port->status().rx_unknown == i; }));
  }
  b->got.clear();
  EXPECT_TRUE(turn_until([&] { return say(), !b->got.empty(); }));
}

TEST_F(PortOfRnic, an_address_that_goes_and_comes_costs_no_restart) {
  connect();
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  Fabric::the().remove_address("10.9.0.1");
  const size_t sent = send_rows(window, from, 1);
  ASSERT_TRUE(turn_until([&] { return a->port->status().queues_broken >= 1; }));
  EXPECT_TRUE(turn_until([&] { return !a->port->status().trouble.empty(); }));
  EXPECT_FALSE(a->port->status().has_address);
  Fabric::the().restore_address("10.9.0.1");
  ASSERT_TRUE(turn_until([&] {
    const VerbsPortStatus status = a->port->status();
    return status.has_address && status.address_changes == 2 &&
           status.queues_broken == status.queues_mended;
  }));
  ASSERT_TRUE(turn_until([&] { return a->done.size() == sent; }));
  ASSERT_TRUE(turn_until([&] {
    b->got.clear();
    return send_rows(window, from, 4) == 16u && b->port->status().path_mtu > 0 &&
           (b->turn(), b->got.size() == 16);
  }));
  EXPECT_EQ(to, from);
}

TEST_F(PortOfRnic, a_port_that_goes_down_and_up_is_told_and_mended) {
  connect();
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  Fabric::the().set_port("rnic0", false);
  ASSERT_TRUE(turn_until([&] { return !a->port->status().is_port_up; }));
  const size_t sent = send_rows(window, from, 1);
  ASSERT_TRUE(turn_until([&] { return a->port->status().queues_broken >= 4; }));
  Fabric::the().set_port("rnic0", true);
  ASSERT_TRUE(turn_until([&] {
    const VerbsPortStatus status = a->port->status();
    return status.is_port_up && status.queues_broken == status.queues_mended;
  }));
  ASSERT_TRUE(turn_until([&] { return a->done.size() == sent; }));
  ASSERT_EQ(send_rows(window, from, 4), 16u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 16; }));
  EXPECT_EQ(a->port->status().port_downs, 1u);
}

TEST_F(PortOfRnic, a_device_that_is_lost_is_told) {
  EXPECT_EQ(a->port->status().fatal, 0u);
  EXPECT_TRUE(Fabric::the().lose_device("rnic0"));
  EXPECT_TRUE(turn_until([&] { return a->port->status().fatal == 1; }));
  EXPECT_EQ(b->port->status().fatal, 0u);
}

TEST_F(PortOfRnic, queues_that_cannot_be_made_are_made_later) {
  Fabric::the().refuse_queues(true);
  EXPECT_FALSE(a->try_open(own_of_a));
  EXPECT_TRUE(turn_until([&] { return !a->port->status().trouble.empty(); }));
  EXPECT_FALSE(a->try_open(own_of_a));
  Fabric::the().refuse_queues(false);
  EXPECT_TRUE(turn_until([&] { return a->try_open(own_of_a); }));
  // What nobody waits for any more does not block those that come.
  Fabric::the().refuse_queues(true);
  for (uint32_t i = 0; i < 20; ++i) {
    std::array<uint32_t, 4> row;
    EXPECT_FALSE(a->port->try_open_queues(0, 0x2000 + i, row));
    a->port->close_queues(0, 0x2000 + i);
    EXPECT_TRUE(turn_until([&] { return a->port->status().epochs == 1; }));
  }
}

TEST_F(PortOfRnic, more_than_a_queue_holds_waits_and_is_not_lost) {
  connect();
  std::vector<uint8_t> from = some_bytes(16 * slot_bytes), to(16 * slot_bytes);
  ASSERT_TRUE(a->port->register_memory(from));
  const Window window = b->port->open_window(to);
  // Of a receiver that does not look, the requests run out: 128 for each queue.
  size_t sent = 0;
  for (int i = 0; i < 8; ++i) {
    sent += send_rows(window, from, 4);
    a->turn();
  }
  ASSERT_EQ(sent, 128u);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == sent; }));
  EXPECT_EQ(Fabric::the().dropped(), 0u);
  for (int i = 0; i < 40; ++i) {
    sent += send_rows(window, from, 4);
    a->turn();
  }
  EXPECT_EQ(Fabric::the().dropped(), 640u - 4 * 128);
  ASSERT_TRUE(turn_until([&] { return b->got.size() == 128 + 4 * 128; }));
  EXPECT_EQ(b->port->status().rx_starved, 4u) << "as many queues were found empty";
}

}  // namespace

}  // namespace cw::stand_in
