#include "dataplane/pass/pass.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace cw {
namespace {

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
  EXPECT_EQ(arrival.source_qp, 0x654321u);
  ASSERT_EQ(arrival.head.payload_bytes, 6u);
  EXPECT_EQ(std::memcmp(arrival.payload, payload.data(), 6), 0);
  EXPECT_EQ(arrival.head.immediate, 0u);
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

}  // namespace
}  // namespace cw
