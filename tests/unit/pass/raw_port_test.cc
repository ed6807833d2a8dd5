#include "dataplane/pass/raw_port.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tests/unit/core/loop_port.h"

namespace cw {
namespace {

const Instant now = Instant() + Duration::from_ms(1);
const std::array<uint8_t, 64> memory = [] {
  std::array<uint8_t, 64> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}();

// Of 8 bytes, told apart by their PSN.
Send lent(uint32_t number) {
  Send send;
  send.head.psn = Psn(number);
  send.head.payload_bytes = 8;
  send.payload = &memory[number % 56];
  send.cookie = number + 1;
  return send;
}

struct Looped {
  explicit Looped(size_t packets = 256) : wire(packets) {}
  LoopPort wire;
  RawPort port{wire};

  size_t send(const std::vector<Send>& sends) { return port.send(sends, now); }
  // Their PSNs; payloads are compared with what was lent under that number.
  std::vector<uint32_t> receive() {
    std::array<Arrival, limits::burst_packets_max> arrived;
    const size_t count = port.receive(arrived, now);
    std::vector<uint32_t> numbers;
    for (const Arrival& arrival : std::span(arrived).first(count)) {
      EXPECT_EQ(arrival.form, Form::Write);
      numbers.push_back(arrival.head.psn.value());
      EXPECT_EQ(std::memcmp(arrival.payload, &memory[numbers.back() % 56], 8), 0);
    }
    port.end_arrivals();
    return numbers;
  }
  std::vector<uint64_t> done() {
    std::array<uint64_t, 3> some;  // few at a time
    std::vector<uint64_t> all;
    while (const size_t count = port.take_done(some)) {
      all.insert(all.end(), some.begin(), some.begin() + count);
    }
    return all;
  }
  // In a packet of the port's, with room for headers in front.
  Send in_packet(uint32_t number) {
    Send send = lent(number);
    send.cookie = 0;
    EXPECT_EQ(port.take_burst({&send.packet, 1}), 1u);
    uint8_t* const place = send.packet->data + 40;
    std::memcpy(place, send.payload, 8);
    send.payload = place;
    return send;
  }
};

std::vector<uint32_t> numbers(uint32_t first, uint32_t end) {
  std::vector<uint32_t> all;
  for (uint32_t i = first; i < end; ++i) all.push_back(i);
  return all;
}
std::vector<Send> lent_row(uint32_t first, uint32_t end) {
  std::vector<Send> all;
  for (uint32_t i = first; i < end; ++i) all.push_back(lent(i));
  return all;
}

TEST(RawPort, memory_that_it_copies_is_done_at_once_and_once) {
  Looped looped;
  EXPECT_EQ(looped.send(lent_row(0, 5)), 5u);
  EXPECT_EQ(looped.done(), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(looped.done(), std::vector<uint64_t>());
  EXPECT_EQ(looped.receive(), numbers(0, 5));
  EXPECT_EQ(looped.wire.lent_count(), 0u);
}

TEST(RawPort, memory_that_a_port_gathers_is_done_when_that_says_so) {
  Looped looped;
  looped.wire.says_it_gathers();
  EXPECT_EQ(looped.send(lent_row(0, 3)), 3u);
  EXPECT_EQ(looped.done(), std::vector<uint64_t>());
  looped.wire.done = {2, 1, 3};
  EXPECT_EQ(looped.done(), (std::vector<uint64_t>{2, 1, 3}));
  EXPECT_EQ(looped.receive(), numbers(0, 3));
}

TEST(RawPort, what_the_port_below_does_not_take_waits_and_keeps_its_place) {
  Looped looped;
  looped.wire.tx_packets_max = 2;
  EXPECT_EQ(looped.send(lent_row(0, 7)), 7u);
  EXPECT_EQ(looped.port.next_due(), Instant()) << "made packets call for another turn at once";
  EXPECT_EQ(looped.send(lent_row(7, 9)), 0u) << "behind those there is nothing to be taken";
  EXPECT_EQ(looped.receive(), numbers(0, 6)) << "a turn that only receives flushes as well";
  looped.wire.tx_packets_max = SIZE_MAX;
  EXPECT_EQ(looped.send(lent_row(7, 9)), 2u);
  EXPECT_EQ(looped.receive(), numbers(6, 9));
  EXPECT_EQ(looped.done().size(), 9u);
  EXPECT_EQ(looped.port.next_due(), Instant::never());
}

TEST(RawPort, gives_back_what_the_port_below_has_not_taken) {
  LoopPort wire;
  wire.tx_packets_max = 0;
  {
    RawPort port(wire);
    EXPECT_EQ(port.send(lent_row(0, 4), now), 4u);
    EXPECT_EQ(wire.lent_count(), 4u);
  }
  EXPECT_EQ(wire.lent_count(), 0u);
}

TEST(RawPort, stops_where_packets_for_copies_run_out) {
  Looped looped(3);
  EXPECT_EQ(looped.send(lent_row(0, 5)), 3u);
  EXPECT_EQ(looped.done().size(), 3u);
  EXPECT_EQ(looped.receive(), numbers(0, 3));
  EXPECT_EQ(looped.send(lent_row(3, 5)), 2u);
  EXPECT_EQ(looped.receive(), numbers(3, 5));
}

TEST(RawPort, a_packet_that_its_sender_has_alone_is_the_one_that_leaves) {
  Looped looped(1);
  Send send = looped.in_packet(4);
  send.has_packet_alone = true;
  EXPECT_EQ(looped.send({send}), 1u) << "needs no other";
  EXPECT_EQ(looped.receive(), numbers(4, 5));
  EXPECT_EQ(looped.done(), std::vector<uint64_t>());
  EXPECT_EQ(looped.wire.lent_count(), 0u);
}

TEST(RawPort, a_packet_that_others_send_too_is_copied_and_loses_one_owner) {
  Looped looped;
  const Send send = looped.in_packet(4);
  looped.port.share({&send.packet, 1});
  EXPECT_EQ(looped.send({send}), 1u);
  EXPECT_FALSE(looped.port.is_shared(*send.packet));
  EXPECT_EQ(looped.wire.lent_count(), 2u);
  EXPECT_EQ(looped.receive(), numbers(4, 5));
  EXPECT_EQ(looped.wire.lent_count(), 1u) << "the other owner's";
  looped.port.give_back({&send.packet, 1});
  EXPECT_EQ(looped.wire.lent_count(), 0u);
}

TEST(RawPort, packets_of_all_three_kinds_leave_in_the_order_given) {
  Looped looped;
  std::vector<Send> sends = {lent(0), looped.in_packet(1), lent(2), looped.in_packet(3), lent(4)};
  sends[1].has_packet_alone = true;
  EXPECT_EQ(looped.send(sends), 5u);
  EXPECT_EQ(looped.receive(), numbers(0, 5));
  EXPECT_EQ(looped.wire.lent_count(), 0u);
}

TEST(RawPort, a_long_burst_is_made_whole_while_nobody_asks_what_is_done) {
  Looped looped(4 * limits::burst_packets_max);
  const auto most = static_cast<uint32_t>(limits::burst_packets_max);
  EXPECT_EQ(looped.send(lent_row(0, most)), most);
  EXPECT_EQ(looped.send(lent_row(most, most + 1)), 0u) << "no place for its cookie";
  EXPECT_EQ(looped.done().size(), most);
  EXPECT_EQ(looped.send(lent_row(most, most + 1)), 1u);
}

}  // namespace
}  // namespace cw
