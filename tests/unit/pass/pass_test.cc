// The WAN door over ports that move bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "dataplane/pass/pass.h"
#include "dataplane/pass/raw_port.h"
#include "tests/unit/core/loop_port.h"

namespace cw {
namespace {

// ---- pass ----

const std::array<uint8_t, 7> payload = {1, 2, 3, 4, 5, 6, 7};

Send slot_of(uint32_t payload_bytes) {
  Send send;
  send.head = {.target_qp = 0x123456,
               .psn = Psn(0xfffffe),
               .address = 0x1122334455667788,
               .key = 0xabcdef01,
               .payload_bytes = payload_bytes,
               .immediate = 0x8000'0001,
               .is_solicited = true};
  send.payload = payload.data();
  send.cookie = 77;
  send.at = Instant() + Duration::from_ms(3);
  send.peer = 2;
  send.path = 3;
  send.ecn = 1;
  send.dscp = 46;
  return send;
}

// A packet and its buffer, with room in front.
struct Written {
  std::array<uint8_t, 256> buffer{};
  Packet packet;
  Written() {
    buffer.fill(0xee);
    packet.data = &buffer[64];
    packet.bytes_max = 128;
  }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> all(packet.data, packet.data + packet.bytes);
    all.insert(all.end(), packet.payload, packet.payload + packet.payload_bytes);
    return all;
  }
};

TEST(Pass, a_write_is_read_as_it_was_written) {
  for (uint32_t payload_bytes = 1; payload_bytes <= payload.size(); ++payload_bytes) {
    const Send send = slot_of(payload_bytes);
    Written written;
    EXPECT_TRUE(pass::write(send, written.packet, false));
    EXPECT_EQ(written.packet.bytes, transport_bytes(send));
    EXPECT_EQ(written.packet.bytes % 4, 0u);
    Arrival arrival;
    pass::read(written.packet, arrival);
    ASSERT_EQ(arrival.form, Form::Write);
    EXPECT_EQ(arrival.head.target_qp, send.head.target_qp);
    EXPECT_EQ(arrival.head.psn, send.head.psn);
    EXPECT_EQ(arrival.head.address, send.head.address);
    EXPECT_EQ(arrival.head.key, send.head.key);
    EXPECT_EQ(arrival.head.immediate, send.head.immediate);
    EXPECT_TRUE(arrival.head.is_solicited);
    ASSERT_EQ(arrival.head.payload_bytes, payload_bytes);
    EXPECT_EQ(std::memcmp(arrival.payload, payload.data(), payload_bytes), 0);
    EXPECT_EQ(arrival.bytes, transport_bytes(send));
    EXPECT_EQ(arrival.at, send.at);
    EXPECT_EQ(arrival.peer, 2);
    EXPECT_EQ(arrival.path, 3);
    EXPECT_EQ(arrival.ecn, 1);
    EXPECT_EQ(arrival.dscp, 46);
  }
}

TEST(Pass, pads_with_zeros_and_counts_them) {
  Written written;
  pass::write(slot_of(5), written.packet, false);
  const std::vector<uint8_t> bytes = written.bytes();
  EXPECT_EQ(std::vector(bytes.end() - 4, bytes.end()), (std::vector<uint8_t>{5, 0, 0, 0}));
}

TEST(Pass, names_a_payload_that_a_port_gathers_and_needs_no_pad) {
  Send send = slot_of(4);
  Written copied, named;
  pass::write(send, copied.packet, false);
  EXPECT_FALSE(pass::write(send, named.packet, true));
  EXPECT_EQ(named.packet.payload, payload.data());
  EXPECT_EQ(named.packet.cookie, 77u);
  EXPECT_EQ(named.bytes(), copied.bytes());
  Arrival arrival;
  pass::read(named.packet, arrival);
  EXPECT_EQ(arrival.form, Form::Write);
  EXPECT_EQ(arrival.payload, payload.data());

  Written padded;
  EXPECT_TRUE(pass::write(slot_of(5), padded.packet, true)) << "the pad comes behind the payload";
  EXPECT_EQ(padded.packet.payload, nullptr);
  send.packet = &copied.packet;
  EXPECT_FALSE(pass::may_gather(send, true)) << "a packet's bytes are not memory outside";
}

TEST(Pass, writes_the_same_around_a_payload_in_place) {
  for (uint32_t payload_bytes = 1; payload_bytes <= payload.size(); ++payload_bytes) {
    Send send = slot_of(payload_bytes);
    Written copied, in_place;
    pass::write(send, copied.packet, false);
    uint8_t* const place = in_place.packet.data + 40;
    std::memcpy(place, payload.data(), payload_bytes);
    send.payload = place;
    send.packet = &in_place.packet;
    send.has_packet_alone = true;
    for (int i = 0; i < 2; ++i) {  // the second finds the headers and the pad of the first
      pass::write_in_place(send);
      EXPECT_EQ(in_place.bytes(), copied.bytes());
      EXPECT_EQ(in_place.packet.path, 3);
    }
  }
}

TEST(Pass, a_datagram_is_read_as_it_was_written) {
  Send send = slot_of(6);
  send.form = Form::Datagram;
  send.source_qp = 0x654321;
  Written written;
  EXPECT_TRUE(pass::write(send, written.packet, false));
  EXPECT_EQ(written.packet.bytes, transport_bytes(send));
  Arrival arrival;
  arrival.head.immediate = 5;  // of the arrival before
  pass::read(written.packet, arrival);
  ASSERT_EQ(arrival.form, Form::Datagram);
  EXPECT_EQ(arrival.head.target_qp, send.head.target_qp);
  EXPECT_EQ(arrival.head.psn, send.head.psn);
  EXPECT_EQ(arrival.head.key, send.head.key);
  EXPECT_EQ(arrival.head.is_solicited, send.head.is_solicited);
  EXPECT_EQ(arrival.source_qp, 0x654321u);
  ASSERT_EQ(arrival.head.payload_bytes, 6u);
  EXPECT_EQ(std::memcmp(arrival.payload, payload.data(), 6), 0);
  EXPECT_EQ(arrival.head.immediate, 0u);
}

std::array<uint8_t, limits::group_header_bytes> prefix_of_bytes() {
  std::array<uint8_t, limits::group_header_bytes> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(0xa0 + i);
  return bytes;
}

TEST(Pass, a_datagram_with_an_immediate_brings_prefix_and_payload_apart) {
  const auto prefix = prefix_of_bytes();
  for (const bool gathers : {false, true}) {
    for (uint32_t payload_bytes = 0; payload_bytes <= payload.size(); ++payload_bytes) {
      Send send = slot_of(payload_bytes);
      send.form = Form::DatagramImmediate;
      send.source_qp = 0x654321;
      set_prefix(send, prefix.data());
      Written written;
      const bool is_named = gathers && payload_bytes % 4 == 0;
      EXPECT_EQ(pass::write(send, written.packet, gathers), !is_named);
      EXPECT_EQ(written.bytes().size(), transport_bytes(send));
      Arrival arrival;
      pass::read(written.packet, arrival);
      ASSERT_EQ(arrival.form, Form::DatagramImmediate);
      EXPECT_EQ(arrival.head.target_qp, send.head.target_qp);
      EXPECT_EQ(arrival.head.psn, send.head.psn);
      EXPECT_EQ(arrival.head.key, send.head.key);
      EXPECT_EQ(arrival.head.immediate, send.head.immediate);
      EXPECT_EQ(arrival.head.is_solicited, send.head.is_solicited);
      EXPECT_EQ(arrival.source_qp, 0x654321u);
      ASSERT_EQ(arrival.head.payload_bytes, payload_bytes);
      EXPECT_EQ(std::memcmp(arrival.prefix, prefix.data(), prefix.size()), 0);
      EXPECT_EQ(std::memcmp(arrival.payload, payload.data(), payload_bytes), 0);
    }
  }
}

TEST(Pass, a_datagram_too_short_for_a_prefix_has_none) {
  const auto prefix = prefix_of_bytes();
  Send send = slot_of(0);
  send.form = Form::DatagramImmediate;
  set_prefix(send, prefix.data());
  Written whole;
  pass::write(send, whole.packet, false);
  for (uint32_t bytes = whole.packet.bytes; bytes-- > header_bytes_of(send.form);) {
    Packet cut = whole.packet;
    cut.bytes = bytes;
    Arrival arrival;
    pass::read(cut, arrival);
    if (bytes % 4 != 0) {
      EXPECT_EQ(arrival.form, Form::Other) << bytes;
      continue;
    }
    ASSERT_EQ(arrival.form, Form::DatagramImmediate) << bytes;
    EXPECT_EQ(arrival.prefix, nullptr);
    EXPECT_EQ(arrival.head.payload_bytes, bytes - header_bytes_of(send.form));
  }
}

TEST(Pass, says_why_bytes_are_nothing_it_knows) {
  const auto error_of = [](const Packet& packet) {
    Arrival arrival;
    arrival.form = Form::Write;
    pass::read(packet, arrival);
    EXPECT_EQ(arrival.form, Form::Other);
    return arrival.error;
  };
  Written whole;
  pass::write(slot_of(6), whole.packet, false);
  for (uint32_t bytes = 0; bytes < whole.packet.bytes; ++bytes) {
    Packet cut = whole.packet;
    cut.bytes = bytes;
    const WireError error = error_of(cut);
    EXPECT_TRUE(error == WireError::Short || error == WireError::Pad || error == WireError::Length)
        << bytes;
  }
  whole.packet.data[0] = 0x04;  // RC SEND ONLY: well formed, and not of these gateways
  EXPECT_EQ(error_of(whole.packet), WireError::Opcode);
}

// ---- raw port ----

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
  explicit Looped(size_t packets = 256, bool gathers = false) : wire(packets, -1, gathers) {}
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
  Looped looped(256, /*gathers=*/true);
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
