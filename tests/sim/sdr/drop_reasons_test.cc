// Every reason for which an endpoint drops a packet, provoked by a packet that is right but for one
// thing. Reasons of the outer headers (frame_..., ip_..., udp_length) are the ports':
// tests/data/packets/golden.txt has a packet for each.
#include <gtest/gtest.h>

#include "dataplane/pass/pass.h"
#include "tests/sim/sdr/intruder.h"

namespace cw::sim {
namespace {
using namespace literals;

/// A pair in the middle of a transfer, of which everything has been listened to.
struct Stakeout {
  explicit Stakeout(size_t posted = 8) : pair(options(posted), script(), b_script) {
    EXPECT_TRUE(pair.delivers(40, 3_s));
    // The receives stay posted and nothing more comes of itself.
    pair.courier().stop();
    pair.run_for(300_ms);
    recorded.withholds_data = true;
  }
  static PairOptions options(size_t posted) {
    SiteOptions site;
    site.policy = cw_policy_selective_repeat();
    site.stream.data_slots_max = 64;
    site.stream.messages = 8;
    site.paths = 2;
    return {.a = site, .b = site, .courier = {.posted = posted}};
  }
  WireScript& script() {
    script_.data = [this](const Packet& packet) { return recorded.take_data(packet); };
    script_.control = [this](const Packet& packet) { return recorded.take_control(packet); };
    return script_;
  }
  /// Drops of that reason which the packet causes at b.
  uint64_t drops_of(DropReason reason, const PacketBytes& bytes) {
    const uint64_t before = pair.dropped_at_b(reason);
    inject(pair, bytes);
    pair.run_for(15_ms);
    return pair.dropped_at_b(reason) - before;
  }

  Recorded recorded;
  WireScript script_, b_script;
  Pair pair;
  Intruder intruder{recorded, SiteOptions().key};
};

/// Slots, as their id: the place of a message that is posted now, in the life it has now.
void expect_slot(DropReason reason, const std::function<void(SlotWrite&)>& change) {
  Stakeout stakeout;
  EXPECT_EQ(stakeout.drops_of(reason, stakeout.intruder.slot(change)), 1u) << name_of(reason);
}

TEST(DropReasons, of_slots_are_provoked) {
  expect_slot(DropReason::link_unknown, [](SlotWrite& slot) { slot.target_qp += qpns_per_link; });
  expect_slot(DropReason::qpn_unknown, [](SlotWrite& slot) { slot.target_qp += 4096; });
  expect_slot(DropReason::key_stale, [](SlotWrite& slot) { slot.key ^= 1; });
  expect_slot(DropReason::window_misaligned, [](SlotWrite& slot) { slot.address += 4; });
  // The message it was a slot of is over: its place holds a later life.
  expect_slot(DropReason::generation_late, [](SlotWrite&) {});
  expect_slot(DropReason::slot_range, [](SlotWrite& slot) {
    slot.immediate = split_default.pack({1023, 0, 0});
  });
}

TEST(DropReasons, of_slots_that_come_twice_or_have_no_receive_are_provoked) {
  Stakeout stakeout(4);
  constexpr int64_t window = 64 * 1024;  // 64 slots of 1024 bytes
  SlotWrite last;
  ASSERT_TRUE(try_parse_slot_write(stakeout.recorded.data, last));
  const auto parts = split_default.unpack(last.immediate);
  uint64_t doubles = 0, closed = 0;
  // Lives are told by the QP number and the address, places by the id: one of these is open now.
  for (int32_t life = -3; life < 5; ++life) {
    for (uint32_t place = 0; place < 8; ++place) {
      const PacketBytes bytes = stakeout.intruder.slot([&](SlotWrite& slot) {
        slot.target_qp += static_cast<uint32_t>(life);
        const int64_t messages = int64_t{life} * 8 + place - parts.id;
        slot.address += messages * window - int64_t{parts.slot} * 1024;
        slot.immediate = split_default.pack({place, 0, 0});
      });
      closed += stakeout.drops_of(DropReason::message_not_open, bytes);
      doubles += stakeout.drops_of(DropReason::packet_duplicate, bytes);
    }
  }
  EXPECT_GT(closed, 0u) << "message_not_open";
  EXPECT_GT(doubles, 0u) << "packet_duplicate";
}

TEST(DropReasons, of_transport_headers_are_provoked) {
  Stakeout stakeout;
  const PacketBytes& slot = stakeout.recorded.data;
  const auto changed = [&](size_t offset, uint8_t bits) {
    PacketBytes bytes = slot;
    bytes[offset] ^= bits;
    return bytes;
  };
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_short, {slot.begin(), slot.begin() + 20}), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_version, changed(1, 0x01)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_opcode, changed(0, 0x2b ^ 0x5f)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_pad, {slot.begin(), slot.begin() + 33}), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_length, changed(27, 0x04)), 1u);
}

TEST(DropReasons, of_where_a_packet_came_from_are_provoked) {
  Stakeout stakeout;
  Packet* packet = nullptr;
  const auto drop = [&](DropReason reason, uint16_t peer, uint16_t path) {
    const uint64_t before = stakeout.pair.dropped_at_b(reason);
    EXPECT_EQ(stakeout.pair.b_sim().take_burst({&packet, 1}), 1u);
    std::ranges::copy(stakeout.recorded.data, packet->data);
    packet->bytes = static_cast<uint32_t>(stakeout.recorded.data.size());
    packet->peer = peer;
    packet->path = path;
    Arrival arrival;
    pass::read(*packet, arrival);
    stakeout.pair.b->endpoint().on_arrivals({&arrival, 1}, stakeout.pair.network().now());
    stakeout.pair.b_sim().give_back({&packet, 1});
    return stakeout.pair.dropped_at_b(reason) - before;
  };
  EXPECT_EQ(drop(DropReason::peer_unknown, 7, 0), 1u);
  EXPECT_EQ(drop(DropReason::path_unknown, stakeout.pair.peers().of_second, 2), 1u);
  stakeout.pair.restart_receiver();
  EXPECT_EQ(drop(DropReason::link_down, stakeout.pair.peers().of_second, 0), 1u);
}

TEST(DropReasons, of_control_qps_are_provoked) {
  Stakeout stakeout;
  const auto to_qp = [&](uint32_t qpn) {
    PacketBytes bytes = stakeout.recorded.control;
    for (size_t i = 0; i < 3; ++i) bytes[5 + i] = static_cast<uint8_t>(qpn >> (16 - 8 * i));
    return bytes;
  };
  const uint16_t last = limits::link_numbers_max - 1;
  for (const uint16_t link : {uint16_t{1}, last}) {
    EXPECT_EQ(stakeout.drops_of(DropReason::link_unknown, to_qp(control_qpn_of(link))), 1u);
  }
  EXPECT_EQ(stakeout.drops_of(DropReason::wire_opcode, to_qp(control_qpn_of(last) + 1)), 1u);
}

TEST(DropReasons, of_envelopes_are_provoked) {
  Stakeout stakeout;
  const PacketBytes& control = stakeout.recorded.control;
  constexpr size_t envelope = Intruder::headers_bytes;
  const auto changed = [&](size_t offset) {
    PacketBytes bytes = control;
    bytes[envelope + offset] ^= 1;
    return bytes;
  };
  PacketBytes brief(control.begin(), control.begin() + envelope + 44);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_short, brief), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_magic, changed(0)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_version, changed(2)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_length, changed(5)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_mac, changed(30)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_key, changed(3)), 1u);
  EXPECT_EQ(stakeout.drops_of(DropReason::control_link, stakeout.intruder.resealed(changed(7))),
            1u);
  PacketBytes nobody = control;
  std::fill_n(nobody.begin() + envelope + 8, 8, uint8_t{0});
  EXPECT_EQ(stakeout.drops_of(DropReason::control_nonce_zero, stakeout.intruder.resealed(nobody)),
            1u);
}

TEST(DropReasons, of_records_are_provoked) {
  Stakeout stakeout;
  const auto drops_of = [&](DropReason reason, const PacketBytes& records) {
    return stakeout.drops_of(reason, stakeout.intruder.next_control(records));
  };
  EXPECT_EQ(drops_of(DropReason::record_short, {5, 0, 0, 12, 0, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_pad, {3, 0, 0, 1, 'x', 0, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_flags, {5, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_unknown, {31, 0, 0, 0}), 1u);
  EXPECT_EQ(drops_of(DropReason::record_body, {5, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0}), 1u);
}

// [C-15] The probe in front stands, the one behind does not.
TEST(DropReasons, a_malformed_record_ends_its_packet_there) {
  Stakeout stakeout;
  const PacketBytes probe = {5, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0};
  const PacketBytes malformed = {5, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0};
  const auto clears_for = [&](std::initializer_list<PacketBytes> rows) {
    PacketBytes all;
    for (const PacketBytes& row : rows) all.insert(all.end(), row.begin(), row.end());
    const Counters& counters = stakeout.pair.b->counters();
    const uint64_t before = counters.read_any_thread(Counter::clears_sent);
    inject(stakeout.pair, stakeout.intruder.next_control(all));
    stakeout.pair.run_for(15_ms);
    return counters.read_any_thread(Counter::clears_sent) - before;
  };
  EXPECT_EQ(clears_for({probe, malformed}), 1u);
  EXPECT_EQ(clears_for({malformed, probe}), 0u);
}

TEST(DropReasons, of_epochs_are_provoked) {
  Stakeout stakeout;
  const EnvelopeHeader genuine = stakeout.intruder.header();
  const auto drops_of = [&](DropReason reason, EnvelopeHeader header) {
    const auto probe = [](EnvelopeWriter& writer) { EXPECT_TRUE(writer.try_add(Probe{})); };
    return stakeout.drops_of(reason, stakeout.intruder.control(header, probe));
  };
  EXPECT_EQ(drops_of(DropReason::epoch_reflected, {genuine.receiver_nonce, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_stale, {genuine.sender_nonce, 1, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_unproven, {0x1234, 0, 1}), 1u);
  EXPECT_EQ(drops_of(DropReason::epoch_replay, genuine), 1u);
}

}  // namespace
}  // namespace cw::sim
